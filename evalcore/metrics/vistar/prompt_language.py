r"""VISTAR's prompt language: a tag, a text, and parameters.

::

    [GD—TR] A poster that says "SALE" {text="SALE", font="Futura"}

The paper (VISTAR, section 3.2) mentions a specification in EBNF but does not print it;
this one is ours (ISO 14977; "ws" is optional white space)::

    prompt     = ws, "[", ws, role, ws, dash, ws, angle, ws, "]", ws, text, ws,
                 { parameters, ws } ;
    dash       = "—" | "–" | "-" ;
    text       = piece, { piece } ;      (* more than white space *)
    piece      = "\", ( "\" | "{" | "}" ) | character - ( "\" | "{" | "}" ) ;
    parameters = "{", ws, pair, { ws, [ "," ], ws, pair }, ws, "}" ;
    pair       = key, ws, "=", ws, '"', { unit }, '"' ;
    role       = code ;    angle = code ;
    code       = word, { word | " " } ;  (* word: a letter, a digit or "_" *)
    key        = letter, { letter | digit | "_" | "-" } ;    (* ASCII, each once *)
    unit       = "\", ( "\" | '"' | "n" | "r" | "t" )
               | character - ( "\" | '"' | line end ) ;

The paper names three of its seven roles and one code (GD); the others are ours. Any
other code is a role or an angle too, with a remark of the importer. The keys of
parameters that metrics read are also ours: `text` (TR); `grid`, `panels`, `subject`
(CSE; see `composition`); `count`, `posture` and `expression` (CPA; one word per person,
separated by commas).
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalcore.metrics.base import MetricInfo, Rendering

ROLES = {
    # The three roles that the paper names.
    "GD": "Graphic Designer",
    "SA": "Storyboard Artist",
    "MS": "Marketing Specialist",
    # The paper does not name the other four; these are ours.
    "CA": "Concept Artist",
    "PD": "Product Designer",
    "AV": "Architectural Visualiser",
    "CE": "Cultural Educator",
}
ANGLES = {
    "TR": "Text Rendering",
    "LI": "Lighting Integrity",
    "CSE": "Compositional Scene Evaluation",
    "CPA": "Character Portrayal Accuracy",
    "PSC": "Physical-Spatial Consistency",
    "GC": "Geometric Coherence",
    "SF": "Style Fusion",
    "CUL": "Cultural-Historical Fidelity",
    "MA": "Material Accuracy",
}
DASHES = "—–-"
CODE = re.compile(r"\w[\w ]*")
KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
SPACE = re.compile(r"\s*")
TEXT_ESCAPES = {"\\": "\\", "{": "{", "}": "}"}
VALUE_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
CLOSE_ENOUGH = 0.5  # threshold for "did you mean"


class ParseError(ValueError):
    """A prompt does not follow the grammar.

    `at`: index of the wrong character. `expected`: what should be there. `found`: what
    is there instead; the character, or the end, if empty. `line`, `column`: position of
    the error, from 1.
    """

    def __init__(self, source: str, at: int, expected: str, found: str = "") -> None:
        start = source.rfind("\n", 0, at) + 1
        self.line = source.count("\n", 0, at) + 1
        self.column = at - start + 1
        self.expected = expected
        self.found = found or (repr(source[at]) if at < len(source) else "the end")
        line_text = source[start:].partition("\n")[0]
        super().__init__(
            f"line {self.line}, column {self.column}: expected {expected}, "
            f"found {self.found}\n"
            f"    {line_text}\n    {' ' * (self.column - 1)}^"
        )


@dataclass(frozen=True)
class Prompt:
    """A prompt of the language."""

    # codes of the user's role and of the angle to judge; known ones are in `ROLES` and
    # `ANGLES`
    role: str
    angle: str
    text: str  # text for the method, without white space around it
    parameters: Mapping[str, str]  # constraints by key, in order


def parse(source: str) -> Prompt:
    """Return the prompt parsed from a text of the language."""
    return _Parser(source).prompt()


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def prompt(self) -> Prompt:
        self._take("[", 'a tag such as "[GD—TR]"')
        role = self._code("a role, such as GD")
        if not self._next() or self._next() not in DASHES:
            raise self._error('"—" between role and angle')
        self.at += 1
        angle = self._code("an angle, such as TR")
        self._take("]", '"]" after the angle')
        text = self._text()
        parameters: dict[str, str] = {}
        while self._after_space():
            self._parameters(parameters)
        return Prompt(role, angle, text, parameters)

    def _next(self) -> str:
        """Return the next character; empty at the end."""
        return self.source[self.at : self.at + 1]

    def _after_space(self) -> str:
        """Skip white space, and return the next character."""
        space = SPACE.match(self.source, self.at)
        if space is not None:
            self.at = space.end()
        return self._next()

    def _error(self, expected: str) -> ParseError:
        return ParseError(self.source, self.at, expected)

    def _take(self, sign: str, expected: str) -> None:
        if self._after_space() != sign:
            raise self._error(expected)
        self.at += 1

    def _code(self, expected: str) -> str:
        """Read the code of a role or an angle."""
        self._after_space()
        match = CODE.match(self.source, self.at)
        if match is None:
            raise self._error(expected)
        self.at = match.end()
        self._after_space()
        return match.group().strip()

    def _text(self) -> str:
        """Read the text, up to its parameters or the end."""
        self._after_space()
        pieces = []
        while self._next() not in ("", "{"):
            if self._next() == "}":
                raise self._error(r'more text; a brace in the text is written "\}"')
            pieces.append(self._unit(TEXT_ESCAPES))
        text = "".join(pieces).strip()
        if not text:
            raise self._error("a text that says what to draw")
        return text

    def _unit(self, escapes: Mapping[str, str]) -> str:
        """Read a character, or an escaped one."""
        character = self._next()
        self.at += 1
        if character != "\\":
            return character
        if not self._next() or self._next() not in escapes:
            ways = " ".join(f"\\{letter}" for letter in escapes)
            raise self._error(f"an escape sequence such as {ways}")
        self.at += 1
        return escapes[self.source[self.at - 1]]

    def _parameters(self, parameters: dict[str, str]) -> None:
        self._take("{", 'the end, or parameters such as {font="Futura"}')
        self._after_space()
        while True:
            self._pair(parameters)
            sign = self._after_space()
            if sign == "}":
                self.at += 1
                return
            if sign == ",":
                self.at += 1
                self._after_space()
            elif not KEY.match(sign):
                raise self._error('"," and another parameter, or "}"')

    def _pair(self, parameters: dict[str, str]) -> None:
        key = KEY.match(self.source, self.at)
        if key is None:
            rule = "a key is a letter, then letters, digits, '_' or '-'"
            raise self._error(f"a parameter's key ({rule})")
        if key.group() in parameters:
            again = f"{key.group()!r} a second time"
            raise ParseError(self.source, self.at, "a new key", again)
        self.at = key.end()
        self._take("=", f'"=" and a value in double quotes after {key.group()!r}')
        self._take('"', f"the value of {key.group()!r} in double quotes")
        opened = self.at - 1
        value = []
        while self._next() != '"':
            if self._next() in ("", "\n", "\r"):
                raise ParseError(
                    self.source,
                    opened,
                    'a value that ends with a double quote on the same line ("\\n" is '
                    "a line break in it)",
                    "a value that does not",
                )
            value.append(self._unit(VALUE_ESCAPES))
        self.at += 1
        parameters[key.group()] = "".join(value)


def did_you_mean(word: str, known: Mapping[str, str]) -> str:
    """Return a question that suggests a known code for a code or a name, or ''.

    >>> did_you_mean("graphic designer", ROLES)
    "did you mean 'GD' (Graphic Designer)?"
    """
    by_name = {name.casefold(): code for code, name in known.items()}
    by_code = {code.casefold(): code for code in known}
    wanted = word.casefold()
    code = by_code.get(wanted) or _closest(wanted, by_name) or _closest(wanted, by_code)
    return f"did you mean {code!r} ({known[code]})?" if code else ""


def _closest(word: str, codes: Mapping[str, str]) -> str:
    near: Iterable[str] = difflib.get_close_matches(word, codes, 1, CLOSE_ENOUGH)
    return next((codes[one] for one in near), "")


def vistar_of(rendering: Rendering) -> Mapping[str, Any]:
    """Return the importer's fields of the structured prompt; empty if it has none."""
    fields = rendering.extra.get("vistar")
    return fields if isinstance(fields, Mapping) else {}


def is_asked(metric: MetricInfo, extra: Mapping[str, Any]) -> bool:
    """Return whether a story asks for a metric: by the angle of its VISTAR prompt.

    `extra`: the story's further fields. A story without an angle, or with one that no
    metric is declared for, asks for every metric.

    Source: VISTAR, section 3.2: the tag of a prompt leads to its scoring function.
    """
    prompt = extra.get("vistar")
    angle = prompt.get("angle") if isinstance(prompt, Mapping) else None
    return not metric.angles or angle not in ANGLES or angle in metric.angles


def parameter(rendering: Rendering, key: str) -> str:
    """Return a parameter of the prompt without surrounding white space, or ''."""
    parameters = vistar_of(rendering).get("parameters")
    if not isinstance(parameters, Mapping):
        return ""
    return str(parameters.get(key, "")).strip()
