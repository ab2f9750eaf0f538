"""The draw of a study's stories with known probabilities, and its place in the log."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.assignment.designs import sampling
from annotate.models import Event, StoryDraw, Study, User
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import DrawnSample
from annotate.studies.units import PlanningError, UnitOutputs, asked_stories
from evalcore.models import MetricScore, Output, Story
from evalcore.scoring.identities import used_scores

# NumPy and SQLite take more; people copy it.
LARGEST_SEED = 999_999


@dataclass(frozen=True)
class Draw:
    """The stories that could be drawn, with their probabilities, and the drawn ones.

    The probabilities of stories `without_spread` are those of a mean spread.
    """

    wanted: DrawnSample
    stories: Mapping[str, Story]
    probabilities: Mapping[str, float]
    drawn: frozenset[str]
    without_spread: tuple[str, ...] = ()

    def is_known(self, units: Sequence[UnitOutputs]) -> bool:
        """Return whether all drawn stories, and no others, are rated."""
        return {unit.story.key for unit in units} == self.drawn


def draw_notes(
    definition: StudyDefinition, draw: Draw | None, units: Sequence[UnitOutputs]
) -> list[str]:
    """Return what a manager should know of the draw before people begin."""
    wanted, rated = definition.stories, {unit.story.key for unit in units}
    if wanted is None:
        return []
    if draw is None:
        if wanted.number <= len(rated):
            return []
        text = ngettext(
            "There is %(n)d story, and %(wanted)d were to be drawn: all are rated.",
            "There are %(n)d stories, and %(wanted)d were to be drawn: all are rated.",
            len(rated),
        )
        return [text % {"n": len(rated), "wanted": wanted.number}]
    notes = []
    if draw.without_spread:
        text = ngettext(
            "%(n)d story has fewer than two scores of %(metric)s and counts as one of "
            "mean spread: %(named)s.",
            "%(n)d stories have fewer than two scores of %(metric)s and count as ones "
            "of mean spread: %(named)s.",
            len(draw.without_spread),
        )
        named = ", ".join(draw.without_spread[:3])
        named += ", ..." * (len(draw.without_spread) > 3)
        about = {"n": len(draw.without_spread), "metric": wanted.spread_of}
        notes.append(text % {**about, "named": named})
    if not draw.is_known(units):
        notes.append(
            _(
                "Some drawn stories have nothing to compare, so the stories' drawing "
                "probabilities are unknown."
            )
        )
    return notes


def with_seed(definition: StudyDefinition, slug: str) -> StudyDefinition:
    """Make a seed of the study's name unless one is given.

    Studies then draw different stories, and one study draws those that were checked.
    """
    if definition.stories is None or definition.seed:
        return definition
    return definition.with_changes(seed=crc32(slug.encode()) % LARGEST_SEED + 1)


def draw_stories(definition: StudyDefinition, outputs: Sequence[Output]) -> Draw | None:
    """Draw the stories that are rated; None if all are."""
    wanted = definition.stories
    if wanted is None:
        return None
    by_story = {
        key: group
        for key, group in asked_stories(definition, outputs).items()
        if len(group) >= definition.outputs
    }
    stories = {key: group[0].story for key, group in by_story.items()}
    number = wanted.number
    if number >= len(stories):
        return None
    tags = {key: str(story.tags.get(wanted.by, "")) for key, story in stories.items()}
    sizes, without = None, tuple[str, ...]()
    if wanted.spread_of:
        sizes, without = _spreads(wanted.spread_of, by_story)
    keys = list(stories)
    probabilities = sampling.inclusion_probabilities(keys, number, sizes)
    drawn = sampling.sample(keys, number, definition.seed, tags, sizes)
    return Draw(wanted, stories, probabilities, frozenset(drawn), without)


def _spreads(
    metric: str, by_story: Mapping[str, Sequence[Output]]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the standard deviation over methods of each story's scores.

    The scores are of the identity that reports use. A story with fewer than two gets
    the mean, and is named.
    """
    outputs = [output for group in by_story.values() for output in group]
    rows: QuerySet[Any] = MetricScore.objects.filter(
        benchmark=outputs[0].story.benchmark_id,
        method__in={output.method_id for output in outputs},
        story__isnull=False,
        run__finished_at__isnull=False,
    )
    scores = used_scores(rows.filter(metric=metric))
    if not scores:
        names = rows.order_by().values_list("metric", flat=True).distinct()
        raise PlanningError(
            _("No scores of %(metric)s for these stories. There are: %(known)s.")
            % {"metric": metric, "known": ", ".join(sorted(names)) or "–"},
            field="stories.spread_of",
        )
    values: dict[str, list[float]] = defaultdict(list)
    for own in scores.values():
        for (story, _method), value in own.items():
            values[story].append(value)
    spreads = {
        key: float(np.std(values[key])) for key in by_story if len(values[key]) > 1
    }
    without = tuple(key for key in by_story if key not in spreads)
    usual = float(np.mean([*spreads.values()])) if spreads else 1.0
    return {key: spreads.get(key, usual) for key in by_story}, without


def store_draw(study: Study, draw: Draw, user: User | None) -> None:
    """Store the draw of a study's stories, and log it."""
    chances = draw.probabilities.values()
    span = dict.fromkeys(f"{chance:.3g}" for chance in (min(chances), max(chances)))
    StoryDraw.objects.bulk_create(
        [
            StoryDraw(
                study=study,
                story=draw.stories[key],
                probability=probability,
                is_drawn=key in draw.drawn,
            )
            for key, probability in draw.probabilities.items()
        ],
        batch_size=500,
    )
    event_log.note(
        Event.Kind.STORIES_DRAWN,
        study.pk,
        user=user,
        drawn=len(draw.drawn),
        drawn_from=len(draw.stories),
        spread_of=draw.wanted.spread_of,
        strata=draw.wanted.by,
        seed=study.seed,
        probabilities=" – ".join(span),
    )


def draw_events(study: Study) -> list[Event]:
    """Return the log's draws of a draft, with the stories that the last one drew."""
    events = [*study.events.filter(kind=Event.Kind.STORIES_DRAWN).order_by("pk")]
    drawn = study.story_draws.filter(is_drawn=True).values_list("story__key", flat=True)
    for event in events:
        if not event.details.get("earlier"):
            event.details |= {"stories": sorted(drawn), "earlier": True}
    return events


def keep_draws(study: Study, draws: Iterable[Event]) -> None:
    """Log the draws of a draft that this study replaces, with their times."""
    Event.objects.bulk_create(
        Event(
            study=study,
            kind=draw.kind,
            at=draw.at,
            user_id=draw.user_id,
            details=draw.details,
        )
        for draw in draws
    )


def made_unknown(
    study: Study, *, added: Collection[str] = (), withdrawn: Collection[str] = ()
) -> dict[str, Any]:
    """Return the stories that a change chooses by hand, for its event; empty if none.

    These are stories that were drawn and are withdrawn, and added ones that were not.
    """
    drawn = dict(study.story_draws.values_list("story__key", "is_drawn"))
    by_hand = {key for key in withdrawn if drawn.get(key)}
    by_hand |= {key for key in added if drawn and not drawn.get(key)}
    return {"probability_unknown": tuple(sorted(by_hand))} if by_hand else {}
