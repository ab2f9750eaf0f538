"""The table of a study's stories: their tags and drawing probabilities."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import Q

from annotate.audit_log.as_of_event import Moment
from annotate.models import Purpose, Study
from annotate.studies.changing import withdrawn_names
from evalcore.models import Story

if TYPE_CHECKING:
    import pandas as pd

# The column of the probability with which a story was drawn; no tag.
PROBABILITY = "drawing_probability"


def story_tags(study: Study) -> dict[str, dict[str, str]]:
    """Return the tags of the study's stories, as text, by the story's key.

    These are the rated stories and those that could be drawn.
    """
    own = [study.units.order_by().values("story"), study.story_draws.values("story")]
    stories = Story.objects.filter(Q(pk__in=own[0]) | Q(pk__in=own[1])).order_by("key")
    return {
        story.key: {str(tag): str(value) for tag, value in story.tags.items()}
        for story in stories
    }


def tag_names(study: Study) -> list[str]:
    named = {tag for tags in story_tags(study).values() for tag in tags}
    return sorted(named - {"story", "", PROBABILITY})


def _shown(study: Study, as_of: Moment | None, **purpose: Purpose) -> set[str]:
    """Return the stories of the study's units, or of the slots at a moment."""
    if as_of is None:
        units = study.units.filter(**purpose).order_by()
        return {*units.values_list("story__key", flat=True)}
    slots = study.slots.filter(**{f"unit__{name}": p for name, p in purpose.items()})
    rows = slots.order_by().values_list("pk", "unit__story__key")
    return {key for pk, key in rows if pk in as_of.slots}


def drawing_probabilities(
    study: Study, as_of: Moment | None = None
) -> dict[str, float]:
    """Return the known drawing probabilities by story, also of stories not drawn.

    They are unknown of drawn stories that were withdrawn, and of others that were added
    by hand. A study that rates all stories has none.
    """
    draws = study.story_draws.values_list("story__key", "probability", "is_drawn")
    if not (found := list(draws)):
        return {}
    _methods, withdrawn = withdrawn_names(study, as_of.event if as_of else None)
    rated = _shown(study, as_of, purpose=Purpose.REAL)
    return {
        key: probability
        for key, probability, is_drawn in found
        if (key in rated - withdrawn if is_drawn else key not in rated)
    }


def stories_header(study: Study) -> tuple[str, ...]:
    """Return the columns of the table of stories; only the first if it says nothing."""
    drawn = [PROBABILITY] if study.story_draws.exists() else []
    return ("story", *tag_names(study), *drawn)


def story_rows(study: Study, as_of: Moment | None = None) -> Iterator[list[object]]:
    """Yield each story with its tags and the probability with which it was drawn.

    The probabilities are those known at a moment; tags are those of now.
    """
    header, known = stories_header(study), drawing_probabilities(study, as_of)
    drawn = {*study.story_draws.values_list("story__key", flat=True)}
    there = _shown(study, as_of) | drawn
    for key, tags in story_tags(study).items():
        if key not in there:
            continue
        cells = {**tags, PROBABILITY: known.get(key, "")}
        yield [key, *(cells.get(name, "") for name in header[1:])]


def stories_frame(study: Study, as_of: Moment | None = None) -> "pd.DataFrame | None":
    """Return the table of stories, or None if it has no column but the story."""
    import pandas as pd

    header = stories_header(study)
    rows = story_rows(study, as_of) if header[1:] else None
    return None if rows is None else pd.DataFrame(rows, columns=header)


def tags_frame(stories: "pd.DataFrame | None") -> "pd.DataFrame | None":
    """Return a table of stories without probabilities, or None if it has no tags."""
    tags = [] if stories is None else [name for name in stories if name != PROBABILITY]
    return stories[tags] if stories is not None and tags[1:] else None


class DrawnStories(NamedTuple):
    """Numbers of stories drawn and drawn from; those added or withdrawn by hand."""

    drawn: int
    among: int
    added: list[str]
    withdrawn: list[str]


def drawn_stories(study: Study) -> DrawnStories | None:
    """Summarise the draw of a study's stories; None if it rates all of them."""
    draws = dict(study.story_draws.values_list("story__key", "is_drawn"))
    if not draws:
        return None
    rated = _shown(study, None, purpose=Purpose.REAL)
    by_hand = (rated | draws.keys()) - drawing_probabilities(study).keys()
    withdrawn = {key for key in by_hand if draws.get(key)}
    added = sorted(by_hand - withdrawn)
    return DrawnStories(sum(draws.values()), len(draws), added, sorted(withdrawn))
