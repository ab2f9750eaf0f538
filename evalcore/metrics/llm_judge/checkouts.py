"""Prompts of the papers' programs, read from the operator's own checkouts of them.

Prompts are like weights: they belong to their authors, are not part of Plumbline, and
lie in `checkouts/` below `EVALCORE_WEIGHTS_DIR`. A file that differs from the published
one is refused. Python sources are parsed, never run.
"""

import ast
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evalcore.metrics.base import FatalError, MissingRequirement, MissingRequirements
from evalcore.metrics.weights import VARIABLE, file_hash

FOLDER = "checkouts"


class PromptsError(FatalError):
    """A program's prompts are missing or altered; the message says how to get them."""


@dataclass(frozen=True)
class Checkout:
    """A program as its authors published it."""

    folder: str  # its folder below `checkouts/`
    address: str  # its repository
    revision: str  # the commit that a profile follows
    licence: str

    def find(self) -> Path | None:
        folder = os.environ.get(VARIABLE, "").strip()
        path = Path(folder) / FOLDER / self.folder
        return path if folder and path.is_dir() else None

    @property
    def lack(self) -> MissingRequirement:
        place = f'"${VARIABLE}/{FOLDER}/{self.folder}"'
        is_set = os.environ.get(VARIABLE, "").strip()
        return MissingRequirement(
            f"prompts of {self.folder} at {self.revision[:7]}",
            f"export {VARIABLE}=FOLDER && "
            * (not is_set)
            + f"git clone {self.address} {place} && "
            f"git -C {place} checkout {self.revision[:7]}",
            self.licence,
        )


@dataclass(frozen=True)
class PromptFile:
    """A file of a checkout that holds prompts."""

    checkout: Checkout
    path: str
    sha256: str  # of the published file

    @property
    def name(self) -> str:
        """Return repository, revision and path, as part of a score's identity."""
        return f"{self.checkout.folder}@{self.checkout.revision[:7]}/{self.path}"

    @property
    def lack(self) -> MissingRequirement | None:
        """Return what is missing; None if the file is as published."""
        folder = self.checkout.find()
        if folder is None or not (folder / self.path).is_file():
            return self.checkout.lack
        found = file_hash(folder / self.path)
        if found == self.sha256:
            return None
        return MissingRequirement(
            f"{self.name} as published",
            f"its SHA-256 begins with {found[:8]}, not with {self.sha256[:8]}: git -C "
            f"{shlex.quote(str(folder))} checkout --force {self.checkout.revision[:7]}",
            self.checkout.licence,
        )

    def read(self) -> str:
        """Return the text; PromptsError if it is missing or altered."""
        if (lack := self.lack) is not None:
            raise PromptsError(f"not here: {lack}")
        folder = self.checkout.find()
        assert folder is not None
        return (folder / self.path).read_text("utf-8")


def missing_prompts(files: Iterable[PromptFile]) -> MissingRequirements:
    """Return what is missing before these files can be read; empty if nothing is."""
    lacks = [lack for file in files if (lack := file.lack) is not None]
    return MissingRequirements(dict.fromkeys(lacks))


def hashes(files: Iterable[PromptFile]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name; no file is read."""
    return {file.name: file.sha256 for file in files}


# Texts in Python sources --------------------------------------------------------------


@dataclass(frozen=True)
class Template:
    """A text with gaps: its pieces in order, each a text or the name of a gap.

    A gap is named by its expression in the source, such as `story['title']`.
    """

    pieces: tuple[tuple[str, bool], ...]  # text, and whether it names a gap

    @property
    def gaps(self) -> tuple[str, ...]:
        return tuple(text for text, is_gap in self.pieces if is_gap)

    def filled(self, values: Mapping[str, object] | None = None) -> str:
        """Return the text with a value in each gap; KeyError if one is missing.

        >>> Template((("Is it ", False), ("colour", True))).filled({"colour": "red"})
        'Is it red'
        """
        return "".join(
            str((values or {})[text]) if is_gap else text
            for text, is_gap in self.pieces
        )


@lru_cache(maxsize=32)
def templates(source: str, function: str) -> tuple[Template, ...]:
    """Return the strings and f-strings of a function, in order, without its docstring.

    LookupError if the source has no such function.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            return tuple(one for part in body for one in _templates(part))
    raise LookupError(f"no function {function} in the source")


def template_with(source: str, function: str, *gaps: str) -> Template:
    """Return a function's only f-string with exactly these gaps, in this order.

    LookupError if there is none, or several that differ.
    """
    found = {one for one in templates(source, function) if one.gaps == gaps}
    if len(found) != 1:
        what = f"{len(found)} texts with {', '.join(gaps)}"
        raise LookupError(f"{what} in {function}; one was expected")
    return found.pop()


def longest_text(source: str, function: str) -> str:
    """Return a function's longest string without gaps."""
    texts = [one.filled() for one in templates(source, function) if not one.gaps]
    return max(texts, key=len, default="")


def _templates(node: ast.AST) -> Iterator[Template]:
    """Yield the outermost strings of a node, in the order of the source."""
    if isinstance(node, ast.JoinedStr):
        yield Template(tuple(_piece(part) for part in node.values))
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield Template(((node.value, False),))
    else:
        for part in ast.iter_child_nodes(node):
            yield from _templates(part)


def _piece(part: ast.expr) -> tuple[str, bool]:
    if isinstance(part, ast.FormattedValue):
        return ast.unparse(part.value), True
    assert isinstance(part, ast.Constant)
    return str(part.value), False


# The programs -------------------------------------------------------------------------

VISTORYBENCH = Checkout(
    "vistorybench",
    "https://github.com/ViStoryBench/vistorybench",
    "514cc31f2a7130550b48b8f2c66d18b6b6880a9c",
    "Apache-2.0",
)
ENVISION = Checkout(
    "envision",
    "https://github.com/opendatalab-raiser/Envision",
    "05be9604274eada169d8c6e68c10a143716c978c",
    "none named by its authors",
)
ONEIG = Checkout(
    "oneig",
    "https://github.com/OneIG-Bench/OneIG-Benchmark",
    "41b49831e79e6dde5323618c164da1c4cf0f699d",
    "none named by its authors",
)
