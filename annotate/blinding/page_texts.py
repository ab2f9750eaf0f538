"""What can be read in an answer: texts, attributes and addresses of HTML and JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

ADDRESSES = {"action", "formaction", "href", "hx-get", "hx-post", "poster", "src"}


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
        # The token against forged requests is random by design.
        is_random = ("name", "csrfmiddlewaretoken") in attrs
        for name, value in dict(attrs).items():
            if is_random and name == "value":
                continue
            loaded = name in ("src", "poster", "srcset") or name.endswith("-src")
            asked = loaded or name in ADDRESSES or name.endswith("-url")
            texts = [value or ""]
            if name == "srcset":
                texts = [
                    part.split()[0] for part in texts[0].split(",") if part.strip()
                ]
            for text in texts:
                self._add(tag, name, text, address=asked, embedded=loaded)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            del self.inside[len(self.inside) - 1 - self.inside[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self._add(self.inside[-1] if self.inside else "html", "text", data)

    def handle_comment(self, data: str) -> None:
        self._add("comment", "", data)

    def _add(self, element: str, attribute: str, text: str, **how: bool) -> None:
        if text.strip():
            line = self.getpos()[0]
            self.pieces.append(Piece(element, attribute, line, text, **how))


def _read_json(data: Any, path: str = "JSON") -> Iterator[Piece]:
    """Yield every key and value; a text that begins like a path is an address."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield Piece(path, "key", 0, str(key))
            yield from _read_json(value, f"{path}.{key}")
    elif isinstance(data, list):
        for value in data:
            yield from _read_json(value, path)
    elif data is not None:
        is_address = str(data).startswith(("/", "http"))
        yield Piece(path, "", 0, str(data), address=is_address, embedded=is_address)


def read(content_type: str, body: bytes) -> list[Piece]:
    """Return the pieces of an answer, none of one that is no text."""
    kind = content_type.partition(";")[0].strip()
    text = body.decode("utf-8", "replace")
    if kind == "text/html":
        parser = _Pieces()
        parser.feed(text)
        parser.close()
        return parser.pieces
    if kind == "application/json":
        return list(_read_json(json.loads(text)))
    return [Piece("text", "", 0, text)] if kind.startswith("text/") and text else []
