"""Checks on the names of uploaded files."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from analysis.problems import shown
from analysis.tables import control_character, is_text
from evalcore.formats.folder_layouts import is_shown

LONGEST_PART_BYTES, LONGEST_PATH, DEEPEST = 255, 700, 30


class RefusedUploadError(ValueError):
    """An upload that is refused as a whole; the message says why."""


def checked_parts(name: str) -> tuple[str, ...]:
    r"""Return the parts of a relative path, or refuse the name.

    >>> checked_parts("a/b.png"), checked_parts("a\\b.png")
    (('a', 'b.png'), ('a', 'b.png'))
    """
    text = name.replace("\\", "/")
    parts = PurePosixPath(text).parts
    is_absolute = text.startswith("/") or text[1:2] == ":"
    if is_absolute or ".." in parts or not parts:
        problem = _("it leads out of its folder")
    elif not is_text(text) or control_character(text):
        problem = _("it has characters that are no letters")
    elif (
        len(text) > LONGEST_PATH
        or len(parts) > DEEPEST
        or any(len(part.encode()) > LONGEST_PART_BYTES for part in parts)
    ):
        problem = _("it is too long")
    else:
        return parts
    raise RefusedUploadError(
        _("The name “%(name)s” is not allowed: %(problem)s.")
        % {"name": shown(name), "problem": problem}
    )


def is_wanted(parts: Iterable[str]) -> bool:
    """Say whether a file is the user's, not one that a system added."""
    return all(is_shown(part) for part in parts)


def check_unique(paths: Iterable[tuple[str, ...]]) -> None:
    """Refuse two files of one name, and a file that is a folder as well."""
    files: set[tuple[str, ...]] = set()
    folders: set[tuple[str, ...]] = set()
    for parts in paths:
        if parts in files:
            raise RefusedUploadError(
                _("Two files have the name “%(name)s”.")
                % {"name": shown("/".join(parts))}
            )
        files.add(parts)
        folders |= {parts[:depth] for depth in range(1, len(parts))}
    if both := files & folders:
        raise RefusedUploadError(
            _("“%(name)s” is a file and a folder.")
            % {"name": shown("/".join(min(both)))}
        )
