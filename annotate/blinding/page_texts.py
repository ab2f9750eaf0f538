"""What can be read in an answer: texts, attributes and addresses of HTML and JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

ADDRESSES = {
    "action",
    "formaction",
    "href",
    "hx-delete",
    "hx-get",
    "hx-post",
    "hx-put",
    "poster",
    "src",
}
# Random by design, and different in every answer.
RANDOM = ("csrfmiddlewaretoken",)


@dataclass(frozen=True)
class Piece:
    """One text of an answer, and where it stands in it."""

    element: str
    attribute: str
    line: int
    text: str
    address: bool = False
    embedded: bool = False

    @property
    def where(self) -> str:
        place = f"<{self.element}>" if self.element.isidentifier() else self.element
        named = f"{self.attribute} of {place}" if self.attribute else place
        return f"{named}, line {self.line}" if self.line else named


class _Pieces(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[Piece] = []
        self.inside = ["html"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside.append(tag)
        given = dict(attrs)
        line = self.getpos()[0]
        for name, value in given.items():
            if given.get("name") in RANDOM and name == "value":
                continue
            asked = name in ADDRESSES or (
                name.startswith("data-") and name.endswith(("-url", "-src"))
            )
            loaded = name in ("src", "poster") or name.endswith("-src")
            if name == "srcset":
                for part in (value or "").split(","):
                    address = part.strip().split(" ")[0]
                    self._add(tag, name, line, address, address=True, embedded=True)
            else:
                self._add(tag, name, line, value, address=asked, embedded=loaded)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            del self.inside[len(self.inside) - 1 - self.inside[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self._add(self.inside[-1] if self.inside else "html", "text", None, data)

    def handle_comment(self, data: str) -> None:
        self._add("comment", "", None, data)

    def _add(
        self,
        element: str,
        attribute: str,
        line: int | None,
        text: str | None,
        **how: bool,
    ) -> None:
        if text and text.strip():
            self.pieces.append(
                Piece(element, attribute, line or self.getpos()[0], text, **how)
            )


def read_html(text: str) -> list[Piece]:
    """Return every text and attribute of a page."""
    parser = _Pieces()
    parser.feed(text)
    parser.close()
    return parser.pieces


def read_json(data: Any, path: str = "JSON") -> Iterator[Piece]:
    """Yield every key and value; a text that begins like a path is an address."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield Piece(path, "key", 0, str(key))
            yield from read_json(value, f"{path}.{key}")
    elif isinstance(data, list):
        for value in data:
            yield from read_json(value, path)
    elif data is not None:
        text = str(data)
        address = isinstance(data, str) and text.startswith(("/", "http"))
        if isinstance(data, str) and text.lstrip().startswith("<"):
            yield from read_html(text)
        else:
            yield Piece(path, "", 0, text, address=address, embedded=address)


def read(content_type: str, body: bytes) -> list[Piece]:
    """Return the pieces of an answer, none of one that is no text."""
    kind = content_type.partition(";")[0].strip()
    text = body.decode("utf-8", "replace")
    if kind == "text/html":
        return read_html(text)
    if kind == "application/json":
        return list(read_json(json.loads(text)))
    return [Piece("text", "", 0, text)] if kind.startswith("text/") and text else []
