"""A late method of an earlier study: its part of a definition, and its units."""

from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import Field

from annotate.schema import Count, Name, Part
from evalcore.models import Output

Group = tuple[Output, ...]


class LinkingUnit(Part):
    """A unit of an earlier study that is judged again."""

    story: Name
    methods: Annotated[tuple[Name, ...], Field(min_length=1)]


class LateEntry(Part):
    """A method that is judged after the end of a study, with units of that study.

    Side by side, the method meets `against` older ones in each story, by default all.
    """

    method: Name
    against: Count | None = None
    linking: Annotated[tuple[LinkingUnit, ...], Field(min_length=1)]


def late_groups(late: LateEntry, by_story: dict[str, list[Output]]) -> list[Group]:
    """Return the late method's units, then the linking ones.

    Side by side, the method meets older ones, which take turns from story to story.

    Raises
    ------
    ValueError
        An output is missing.
    """
    own = {
        (key, output.method.name): output
        for key, group in by_story.items()
        for output in group
    }
    is_paired = any(len(unit.methods) == 2 for unit in late.linking)
    groups = []
    for turn, (key, group) in enumerate(by_story.items()):
        if (key, late.method) not in own:
            continue
        others = [one.method.name for one in group if one.method.name != late.method]
        sets: list[tuple[str, ...]] = [(late.method,)]
        if is_paired:
            sets = [(late.method, name) for name in _met(others, late.against, turn)]
        groups += [tuple(own[key, name] for name in sorted(one)) for one in sets]
    if not groups:
        text = _("No story has an output of %(method)s to judge.")
        raise ValueError(text % {"method": late.method})
    for unit in late.linking:
        missing = [name for name in unit.methods if (unit.story, name) not in own]
        if missing:
            text = _("Story %(story)s has no output of %(methods)s.")
            named = {"story": unit.story, "methods": ", ".join(missing)}
            raise ValueError(text % named)
        groups.append(tuple(own[unit.story, name] for name in sorted(unit.methods)))
    return list(dict.fromkeys(groups))


def _met(others: list[str], number: int | None, turn: int) -> list[str]:
    """Return the older methods of one story."""
    if not others:
        return []
    met = min(number or len(others), len(others))
    start = turn * met % len(others)
    return [*others[start:], *others[:start]][:met]
