"""The templates that the code of a report says, read from the code itself."""

import ast
import re
from pathlib import Path

from analysis.commands.arguments import parser
from analysis.options import title
from analysis.report.figure import DECLARED
from analysis.report.language import catalogue
from analysis.statistics import TABLE_GROUPS, TABLES, coefficients, named

ROOT = Path(__file__).resolve().parents[3]
ROOM = ROOT / "analysis/report"
IN_TEMPLATES = re.compile(r'\bsay\("((?:[^"\\]|\\.)*)"')
# Which arguments of these functions are templates.
SPOKEN = {
    "say": (0,),
    "listed": (1,),
    "claim": (1,),
    "answer": (0, 1),
    "Section": (0,),
}
# What is made below reports, or for them, and said there.
MADE = ("sentence", "chained")


def said_in_code() -> set[str]:
    """Return every template that is passed to one of `SPOKEN`, or to `texts`."""
    found = {", "}
    for path in ROOM.glob("*.py"):
        for call in _calls(path):
            places = SPOKEN.get(_name(call), ())
            for argument in [call.args[i] for i in places if i < len(call.args)]:
                found |= _strings(argument)
            if _name(call) == "texts":
                entries = [*call.args, *(entry.value for entry in call.keywords)]
                found |= {text for entry in entries for text in _of_table(entry)}
    return found


def _makers() -> list[Path]:
    return [
        path
        for folder in ("analysis", "annotate/reports")
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in ("language.py", "sentences.py")
    ]


def made_in_library() -> set[str]:
    """Return every template of a sentence that the library makes."""
    found: set[str] = set()
    for path in _makers():
        for call in _calls(path):
            if _name(call) in MADE:
                found |= _strings(call.args[0])
    return found


def said_in_templates() -> set[str]:
    found: set[str] = set()
    for path in (ROOM / "templates").iterdir():
        found |= set(IN_TEMPLATES.findall(path.read_text("utf-8")))
    return found


def declared() -> set[str]:
    """Return what the registry and the declared figures say."""
    found = {text for one in DECLARED.values() for text in vars(one).values()}
    found = {text for text in found if isinstance(text, str)}
    for name in ("name", "title", "asked"):
        found |= set(named(name).values())
    found |= {one.explained for one in coefficients().values()}
    return found | set(TABLE_GROUPS) | {one.title for one in TABLES.values()} - {""}


def _literals() -> set[str]:
    """Return every text that stands in the library."""
    nodes = (
        n for path in _makers() for n in ast.walk(ast.parse(path.read_text("utf-8")))
    )
    return {
        n.value
        for n in nodes
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def said() -> set[str]:
    """Return all templates: of code, of pages, of counted nouns, and of headings."""
    commands = next(one.choices for one in parser()._actions if one.choices)
    titles = {title(name) for name in commands} | {title("align", with_metrics=False)}
    literals = _literals() | {"remark", "more sentence", "answer"}
    nouns = {key for key in catalogue("zh-Hans") if key.startswith("{n} ")}
    counted = {key for key in nouns if key.removeprefix("{n} ") in literals}
    made = made_in_library() | said_in_code() | said_in_templates() | declared()
    return made | counted | titles - {""}


def unread() -> list[str]:
    """Return calls of `say` that put a template together, which no catalogue has."""
    return [
        f"{path.name}:{call.lineno}"
        for path in _makers()
        for call in _calls(path)
        if _name(call) in ("say", *MADE)
        if not (_strings(call.args[0]) or _is_of_table(call.args[0]))
    ]


def _calls(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _strings(node: ast.expr) -> set[str]:
    """Return a literal, both of a condition, or those of a list."""
    if isinstance(node, ast.IfExp):
        return _strings(node.body) | _strings(node.orelse)
    if isinstance(node, ast.BoolOp):
        return _strings(node.values[-1])
    if isinstance(node, ast.Tuple | ast.List):
        return {text for part in node.elts for text in _strings(part)}
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    return set()


def _of_table(node: ast.expr) -> set[str]:
    """Return the texts of a table; of tables in tables their headings, too."""
    if isinstance(node, ast.Dict):
        nested = [
            key
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None and isinstance(value, ast.Dict)
        ]
        parts = [*nested, *node.values]
        return {text for part in parts for text in _of_table(part)}
    if isinstance(node, ast.Tuple):
        return {text for part in node.elts for text in _of_table(part)}
    return _strings(node)


def _is_of_table(node: ast.expr) -> bool:
    """Say whether it is looked up in a table, or one of its entries in turn."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name)
