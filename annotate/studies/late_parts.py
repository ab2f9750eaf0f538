"""The part of a study definition that adds a late method to an earlier study."""

from collections.abc import Iterator
from typing import Annotated

from django.utils.translation import gettext_noop as _
from pydantic import Field

from annotate.schema import Count, Name, Part, Path, Problem

LATE_ENTRY = _("YAML, such as: {method: C, linking: [{story: '01', methods: [A]}]}")


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


def problems_of_late(late: LateEntry | None, outputs: int) -> Iterator[Problem]:
    """Yield what does not suit a study that shows so many outputs at once."""
    if late is None:
        return
    if outputs > 2:
        text = "only ratings and comparisons of two outputs have a late method"
        yield Problem(["late_entry"], text)
    for index, unit in enumerate(late.linking):
        at: Path = ["late_entry", "linking", index, "methods"]
        if not len(set(unit.methods)) == outputs == len(unit.methods):
            yield Problem(at, f"write {outputs} of the older methods")
        elif late.method in unit.methods:
            yield Problem(at, "write older methods only")
