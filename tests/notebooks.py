"""Notebooks of the documentation, run without Jupyter.

    python -m tests.notebooks docs/tutorials/library.ipynb

runs one in a fresh process and writes what its cells give into it.
"""

import ast
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import analysis

# The library that they use is the one that stands here.
ROOT = Path(analysis.__file__).resolve().parents[1]
# What a cell gives is kept as these; a figure is drawn by who opens the notebook.
TEXT, HTML = "text/plain", "text/html"
FIGURES = "plotly"


def cells(path: Path) -> Iterator[dict]:
    """Yield the cells of code."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield cell


def outputs(path: Path, folder: Path) -> list[list[dict]]:
    """Return the outputs of each cell of code, run in `folder` by a fresh Python."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.notebooks", str(path.resolve())],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[dict]] = json.loads(done.stdout)
    return found


def _run(path: Path) -> list[list[dict]]:
    names: dict[str, object] = {"__name__": "__main__"}
    return [outputs_of("".join(cell["source"]), names) for cell in cells(path)]


def outputs_of(source: str, names: dict[str, object]) -> list[dict]:
    """Run a cell, and return what it prints and what its last expression is."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    found = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(text)})
    if value is not None and not type(value).__module__.startswith(FIGURES):
        data = {TEXT: _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {HTML: _lines(value._repr_html_()), **data}
        kind = {"output_type": "execute_result", "execution_count": None}
        found.append({**kind, "data": data, "metadata": {}})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def rewrite(path: Path) -> None:
    """Write into a notebook what its cells give."""
    notebook = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        found = iter(outputs(path, Path(folder)))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(found)
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    if file.is_absolute():  # in the fresh process
        print(json.dumps(_run(file)))
    else:
        rewrite(file)
