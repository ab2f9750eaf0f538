"""What the files said from which stories were imported, to write those files again."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.problems import InputError, Problem
from evalcore.formats.story_scripts import ORIGIN

# What files say of each story, by its key: `Story.extra`.
Extras = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Original:
    """What a file said of one story."""

    key: str
    place: int  # where it stood: the line, or the place in a list, from 1
    fields: tuple[str, ...]  # names of its fields as they stood in the file
    data: Mapping[str, Any]  # these, and what was added for metrics
    origin: Mapping[str, Any]  # more that was noted of its form

    def row(self, fields: Iterable[str] = ()) -> dict[str, Any]:
        """Return its fields, in the file's order."""
        return {
            name: self.data[name] for name in fields or self.fields if name in self.data
        }


def by_file(stories: Extras, form: str, default: str) -> dict[str, list[Original]]:
    """Return what the files of a format said, in the order of each file."""
    found: dict[str, list[Original]] = defaultdict(list)
    problems = []
    for key, extra in stories.items():
        data = extra.get(form)
        if not isinstance(data, Mapping):
            what = f"a story imported from {form}; importing its file again adds that"
            problems.append(Problem(f"story {key}", what))
            continue
        origin = extra.get(ORIGIN) or {}
        found[str(origin.get("file") or default)].append(
            Original(
                key,
                int(origin.get("place") or 0),
                tuple(origin.get("fields") or data),
                data,
                origin,
            )
        )
    if problems:
        raise InputError(problems)
    return {
        file: sorted(originals, key=lambda one: (one.place, one.key))
        for file, originals in sorted(found.items())
    }


def ordered(found: Mapping[str, Any], first: Sequence[str]) -> dict[str, Any]:
    """Return an object with some keys first: databases do not remember their order.

    >>> ordered({"prompt": "a", "note": 1, "step": 2}, ("step", "prompt"))
    {'step': 2, 'prompt': 'a', 'note': 1}
    """
    rest = sorted(set(found) - set(first))
    return {name: found[name] for name in (*first, *rest) if name in found}
