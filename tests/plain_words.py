"""Find texts that a stranger has to read twice; `make rules` runs this.

    python -m tests.plain_words [--count] [PATH ...]

reads docstrings, comments and names of tests of Python files, comments of scripts, styles
and templates, and the English texts of catalogues and pages.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Where a mark is looked for: the first word of a docstring, anywhere in prose.
FIRST, ANYWHERE, TEST_NAME = "docstring", "text", "test"

# Each pattern with the reason, which says what to write instead.
MARKS = {
    FIRST: {
        r"(What|Who|Which|How|Whose|Where|Whether|When|Why|That|If|As|Of|From|To)\b": (
            "a clause names nothing: begin with a verb (functions) or a noun"
        ),
        r"(It|They|Nobody|Somebody|Everybody|Whoever|Whatever|Nothing)\b": (
            "a riddle: begin with a verb (functions) or a noun"
        ),
    },
    ANYWHERE: {
        r"\btold\b(?! (?:the|an?|users?|people|annotators?|managers?) )": (
            "say distinguished, reported or named"
        ),
        r"\btells? (?:\w+ )?(?:apart|of)\b": "say distinguishes, or describes",
        r"\b[Ww]hoever\b|\b[Ww]hosoever\b": "name the person: the annotator, the user",
        r"\bthere (?:is|are) (?:no|nothing) more\b|\bis there(?=[.,;:)]|$)": (
            "say exists, or is available"
        ),
        r"\bof (?:which|whom)\b": "two sentences, or that",
        r"\bhow-manieth\b": "say 1-based index",
        r"\bby now\b|\bas yet\b": "say already, yet or current",
        r"\bforetell|\bforetold\b": "say predict",
        r"\bput down\b|\bputs down\b": "say record",
        r"\bmisfortune\b|\bcourtesy\b": "say what happens",
        r"\banew\b": "say again",
        r"\bthe like\b": "name the others",
        r"\b(?:says?|said|say) of\b": "say about, or describes",
        r"\b(?:his|her|its|their|one's) own(?=[.,;:)]| (?:affair|say|way)\b)": (
            "say what is owned"
        ),
        r"\bof (?:its|their|his|her|one's) own\b": "say separate, or its own before the noun",
        r"\bshall\b|\blest\b|\bthereof\b|\btherein\b|\bwherein\b|\bwhereof\b": "old English",
        r"\b(?:has|have|had) its say\b|\bmay be said\b|\bis meant\b|\bare meant\b": (
            "say what is intended"
        ),
        r"\b(?:mend|mends|mended|mending)\b": "say fix, or correct",
        r"\b(?:is|are|was|were) (?:wanted|looked at|gone on with|handed)\b": (
            "name the thing and the verb"
        ),
        r"\bgo(?:es)? on (?!the\b|a\b|by\b)": "say continue",
        r"\bstands? (?:clear|open|by itself|beside|apart)\b": "say is",
        r"\bamong themselves\b": "say with each other",
        r"\b(?:does|do|did) alike\b|\ball alike\b": "say in the same way",
        r"\bof (?:a|an|one) kind\b": "name the kind",
        r"\bwhat is (?:left over|asked for|at hand|there)\b": "name the thing",
        r"\bhow (?:far|many|much) (?:it|they) (?:is|are) (?:told|meant)\b": "say the quantity",
        r"\bjudge[sd]? (?:what|which)\b": "say rate",
        r"\btwins?\b": "say degraded copies (perturbations)",
        r"\bstrata\b|\bstratum\b": "say subgroups",
        r"\bthe seat\b|\ba seat\b": "say the annotator's page",
        r"\bcame (?:to|into) nothing\b|\bnothing is lost on\b": "say what happens",
    },
    TEST_NAME: {
        r"test_(?:who|whoever|what|which|how|whose|where|whether|when|nobody|somebody|one|it|they|there|whatever|nothing|everybody)_": (
            "name the thing first: test_<thing>_<behaviour>[_when_<condition>]"
        ),
        r"_(?:is|are|was)_told_|_told\b|_tells_|_whoever_|_anew\b|_of_its_own\b|_alike\b": (
            "use plain verbs: reports, names, again, the same"
        ),
        r"test_(?:a|an|the)_": "leave the article out",
    },
}
# Files whose words are others', or are about these words.
LEFT_OUT = ("tests/plain_words.py", "LICENSE", "CHANGELOG.md", "docs/decisions/")
SUFFIXES = (".py", ".html", ".js", ".css", ".po", ".toml", ".md", ".yaml", ".txt")


@dataclass(frozen=True)
class Text:
    """A text with its place; `where` is one of the keys of `MARKS`."""

    path: str
    line: int
    where: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    """Yield the texts of a file that people read."""
    name = str(path.relative_to(ROOT))
    content = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from _python(name, content)
    elif path.suffix == ".po":
        for match in re.finditer(r'^msgid ((?:".*"\n)+)', content, re.M):
            text = "".join(re.findall(r'"(.*)"\n', match[1]))
            yield Text(name, _line(content, match.start()), ANYWHERE, text)
    elif path.suffix in {".js", ".css"}:
        for match in re.finditer(
            r"/\*.*?\*/|(?<!:)//.*", content, re.S if path.suffix == ".css" else 0
        ):
            yield Text(name, _line(content, match.start()), ANYWHERE, match[0])
    elif path.suffix == ".html":
        for match in re.finditer(
            r"\{#.*?#\}|\{% comment.*?endcomment %\}", content, re.S
        ):
            yield Text(name, _line(content, match.start()), ANYWHERE, match[0])
    else:
        for number, line in enumerate(content.splitlines(), 1):
            yield Text(name, number, ANYWHERE, line)


def _line(content: str, position: int) -> int:
    return content.count("\n", 0, position) + 1


def _python(name: str, content: str) -> Iterator[Text]:
    is_test = name.startswith("tests/")
    for node in ast.walk(ast.parse(content)):
        if not isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            continue
        line = getattr(node, "lineno", 1)
        if is_test and getattr(node, "name", "").startswith("test_"):
            yield Text(name, line, TEST_NAME, node.name)
        docstring = ast.get_docstring(node)
        if docstring:
            if not getattr(node, "name", "").startswith("test_"):
                yield Text(name, line, FIRST, docstring)
            yield Text(name, line, ANYWHERE, docstring)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(name, token.start[0], ANYWHERE, token.string)


def marks_in(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the marked words of a text, each with the reason."""
    for pattern, reason in MARKS[text.where].items():
        find = re.match if text.where == FIRST else re.search
        if match := find(pattern, text.text):
            yield match[0], reason


def files(paths: list[str]) -> list[Path]:
    """Return the tracked files below paths that hold texts."""
    listed = subprocess.run(
        ["git", "ls-files", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    return [
        ROOT / name
        for name in listed
        if name.endswith(SUFFIXES)
        and not name.startswith(LEFT_OUT)
        and "/migrations/" not in name
        and "/data/" not in name
        and "requirements" not in name
        and (ROOT / name).exists()
    ]


def main() -> int:
    """Print every marked text, or their number by file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", action="store_true", help="numbers only")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in files(options.paths):
        for text in texts_of(path):
            for word, reason in marks_in(text):
                counts[text.where] += 1
                if not options.count:
                    print(f"{text.path}:{text.line}: {word!r}: {reason}")
    print(", ".join(f"{where} {n}" for where, n in counts.items()) or "no marks")
    return bool(counts)


if __name__ == "__main__":
    sys.exit(main())
