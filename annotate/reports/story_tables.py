"""The table of a study's stories: their tags and drawing probabilities."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import Q

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


def drawing_probabilities(study: Study) -> dict[str, float]:
    """Return the known drawing probabilities by story, also of stories not drawn.

    They are unknown of drawn stories that were withdrawn, and of others that were added
    by hand. A study that rates all stories has none.
    """
    draws = study.story_draws.values_list("story__key", "probability", "is_drawn")
    if not (found := list(draws)):
        return {}
    _methods, withdrawn = withdrawn_names(study)
    units = study.units.filter(purpose=Purpose.REAL).order_by()
    rated = {*units.values_list("story__key", flat=True)}
    return {
        key: probability
        for key, probability, is_drawn in found
        if (key in rated - withdrawn if is_drawn else key not in rated)
    }


def stories_header(study: Study) -> tuple[str, ...]:
    """Return the columns of the table of stories; only the first if it says nothing."""
    drawn = [PROBABILITY] if study.story_draws.exists() else []
    return ("story", *tag_names(study), *drawn)


def story_rows(study: Study) -> Iterator[list[object]]:
    """Yield each story with its tags and the probability with which it was drawn."""
    header, known = stories_header(study), drawing_probabilities(study)
    for key, tags in story_tags(study).items():
        cells = {**tags, PROBABILITY: known.get(key, "")}
        yield [key, *(cells.get(name, "") for name in header[1:])]


def stories_frame(study: Study) -> "pd.DataFrame | None":
    """Return the table of stories, or None if it has no column but the story."""
    import pandas as pd

    header = stories_header(study)
    return pd.DataFrame(story_rows(study), columns=header) if header[1:] else None


def tags_frame(study: Study) -> "pd.DataFrame | None":
    """Return a table with column story and a column for each tag, or None."""
    frame = stories_frame(study)
    tags = [] if frame is None else [name for name in frame if name != PROBABILITY]
    return frame[tags] if frame is not None and tags[1:] else None


class DrawnStories(NamedTuple):
    """Numbers of stories drawn and drawn from, and those chosen by hand."""

    drawn: int
    among: int
    by_hand: list[str]


def drawn_stories(study: Study) -> DrawnStories | None:
    """Summarise the draw of a study's stories; None if it rates all of them."""
    draws = dict(study.story_draws.values_list("story__key", "is_drawn"))
    if not draws:
        return None
    units = study.units.filter(purpose=Purpose.REAL).order_by()
    rated = {*units.values_list("story__key", flat=True)}
    by_hand = (rated | draws.keys()) - drawing_probabilities(study).keys()
    return DrawnStories(sum(draws.values()), len(draws), sorted(by_hand))
