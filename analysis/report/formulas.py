"""Formulas of the page as MathML, from text that reads like them."""

import re

from markupsafe import Markup

TOKEN = re.compile(r'"[^"]*"|[^\W\d_]+|\d+|\S')
# What has its bounds below and above instead of behind.
BOUNDED = tuple('∑∏"')
SCRIPTS = {
    "_": ("msub", "munder"),
    "^": ("msup", "mover"),
    "_^": ("msubsup", "munderover"),
}


def math(text: str, *, display: bool = False) -> Markup:
    """Return a formula as MathML.

    >>> print(math("a_1 = 2"))
    <math><msub><mi>a</mi><mn>1</mn></msub><mo>=</mo><mn>2</mn></math>
    """
    if not text:
        return Markup("")
    tokens = TOKEN.findall(text)
    attribute = ' display="block"' if display else ""
    return Markup(f"<math{attribute}>{''.join(_items(tokens))}</math>")


def display(text: str) -> Markup:
    """Return a formula that stands on a line of its own."""
    return math(text, display=True)


def _items(tokens: list[str]) -> list[str]:
    """Take what stands before a closing brace, or the end."""
    found = []
    while tokens and tokens[0] != "}":
        found.append(_scripted(tokens))
    return found


def _scripted(tokens: list[str]) -> str:
    """Take one thing with what is set low and high."""
    is_bounded = tokens[0].startswith(BOUNDED)
    parts, signs = [_one(tokens)], ""
    while tokens and tokens[0] in ("_", "^"):
        signs += tokens.pop(0)
        parts.append(_one(tokens))
    if not signs:
        return parts[0]
    return _tag(SCRIPTS[signs][is_bounded], *parts)


def _one(tokens: list[str]) -> str:
    token = tokens.pop(0)
    if token == "{":
        items = _items(tokens)
        tokens.pop(0)
        return items[0] if len(items) == 1 else _tag("mrow", *items)
    if token == "frac":
        return _tag("mfrac", _one(tokens), _one(tokens))
    if token == "sqrt":
        return _tag("msqrt", _one(tokens))
    if token == "bar":
        return _tag("mover", _one(tokens), _tag("mo", "¯"))
    if token.startswith('"'):
        return _tag("mtext", Markup.escape(token.strip('"')))
    kind = "mi" if token.isalpha() else "mn" if token.isdigit() else "mo"
    return _tag(kind, Markup.escape(token))


def _tag(name: str, *parts: str) -> str:
    return f"<{name}>{''.join(parts)}</{name}>"
