"""What a study shows: outputs, or several of one story at once."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import ngettext

from annotate.assignment.designs import sampling
from annotate.assignment.designs.planned_slots import DesignUnit
from annotate.models import Study, Unit
from annotate.models.units import as_fields
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import CellPairs, StorySample
from evalcore.models import Benchmark, Frame, Output, Story


class PlanningError(ValueError):
    """The study cannot be planned as asked; the message says why.

    `field` names the value that it is about: a key of the study file, or what is said
    beside the file (`slug`, `annotators`, `method`, `story`).
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Shown:
    """One output, or several of a story, and how often they are to be judged."""

    outputs: tuple[Output, ...]
    redundancy: int

    @property
    def story(self) -> Story:
        return self.outputs[0].story

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(output.method.name for output in self.outputs)

    def as_design(self, number: int, study_redundancy: int) -> DesignUnit:
        own = None if self.redundancy == study_redundancy else self.redundancy
        return DesignUnit(number, self.story.key, self.methods, own)


def choose_outputs(
    benchmark: Benchmark,
    methods: Sequence[str] | None = None,
    stories: Sequence[str] | None = None,
    *,
    among: QuerySet[Output] | None = None,
) -> list[Output]:
    """Return the outputs to judge; each must have something to look at.

    Nothing is chosen that is not `among` these, by default all of the benchmark.
    """
    outputs = Output.objects.filter(story__benchmark=benchmark).select_related(
        "story", "method"
    )
    if among is not None:
        outputs = outputs.filter(pk__in=among)
    for names, lookup, word in (
        (methods, "method__name", "method"),
        (stories, "story__key", "story"),
    ):
        if names:
            known = set(outputs.values_list(lookup, flat=True))
            unknown = sorted(set(names) - known)
            if unknown:
                raise PlanningError(
                    f"No output of {word} {', '.join(unknown)} in {benchmark.slug}. "
                    f"There are: {', '.join(sorted(known)[:20]) or 'none'}.",
                    field=word,
                )
            outputs = outputs.filter(**{f"{lookup}__in": names})
    listed = list(outputs.order_by("story__key", "method__name"))
    if not listed:
        raise PlanningError(f"{benchmark.slug} has no outputs; import some first.")
    seen = set(
        outputs.filter(frames__media__isnull=False).values_list("pk", flat=True)
    ) | set(outputs.filter(video__isnull=False).values_list("pk", flat=True))
    blank = [output for output in listed if output.pk not in seen]
    if blank:
        named = ", ".join(f"{o.method.name}/{o.story.key}" for o in blank[:10])
        raise PlanningError(
            f"{len(blank)} outputs have no picture to show ({named}); import their "
            "pictures or leave their methods or stories out.",
            field="method",
        )
    return listed


def gaps_note(shown: Sequence[Shown]) -> str:
    """Say how many outputs lack shots, and which lack most; empty: none."""
    outputs = {output.pk for one in shown for output in one.outputs}
    frames = Frame.objects.filter(output__in=outputs, media=None).order_by()
    gaps = Counter(frames.values_list("output__method__name", "output__story__key"))
    if not gaps:
        return ""
    named = [f"{method}/{story}: {n}" for (method, story), n in gaps.most_common(4)]
    text = ngettext(
        "%(n)d output lacks shots (%(named)s), and annotators read that they are "
        "missing. By gaps a method can be recognised.",
        "%(n)d outputs lack shots (%(named)s), and annotators read that they are "
        "missing. By gaps a method can be recognised.",
        len(gaps),
    )
    listed = ", ".join(named[:3]) + ", ..." * (len(gaps) > 3)
    return text % {"n": len(gaps), "named": listed}


def choose_units(definition: StudyDefinition, outputs: Sequence[Output]) -> list[Shown]:
    """Return the units of a study: sampled stories, chosen pairs, own redundancies.

    Stories of which no question is asked have none.
    """
    by_story: dict[str, list[Output]] = defaultdict(list)
    for output in outputs:
        if any(output.story.suits(asked.stories) for asked in definition.questions):
            by_story[output.story.key].append(output)
    if outputs and not by_story:
        raise PlanningError(
            "No question is asked of these stories: their tags are others than each "
            "question's `stories` names.",
            field="story",
        )
    stories = {key: group[0].story for key, group in by_story.items()}
    chosen = _sampled(definition.stories, stories, definition.seed)
    kept = {key: by_story[key] for key in by_story if key in chosen}
    more: set[str] = set()
    if definition.subset is not None:
        left = {key: stories[key] for key in kept}
        more = _sampled(definition.subset.stories, left, definition.seed + 1)
    groups = _groups(definition, kept)
    if not groups:
        number = definition.outputs
        raise PlanningError(
            f"No story has outputs of {number} methods to compare.",
            field=definition.sets_key,
        )
    usual = sum(definition.answers.values())
    often = definition.subset.redundancy if definition.subset else usual
    return [
        Shown(group, often if group[0].story.key in more else usual) for group in groups
    ]


def _sampled(
    sample: StorySample | None, stories: dict[str, Story], seed: int
) -> set[str]:
    """Draw so many of the stories, or take all where there are no more."""
    if sample is None or sample.number >= len(stories):
        return set(stories)
    strata = None
    if sample.by:
        strata = {
            key: str(story.tags.get(sample.by, "")) for key, story in stories.items()
        }
    return set(sampling.sample(list(stories), sample.number, seed, strata))


def _groups(
    definition: StudyDefinition, by_story: dict[str, list[Output]]
) -> list[tuple[Output, ...]]:
    if definition.outputs == 1:
        return [(output,) for group in by_story.values() for output in group]
    wanted: dict[str, list[tuple[str, ...]]]
    together = definition.together
    if isinstance(together, CellPairs):
        wanted = _pairs_of_cells(together, by_story, definition.seed)
    else:
        methods = {output.method.name for g in by_story.values() for output in g}
        try:
            sets = sampling.method_sets(sorted(methods), together, definition.outputs)
        except ValueError as error:
            raise PlanningError(str(error), field=definition.sets_key) from error
        wanted = dict.fromkeys(by_story, sets)
    groups = []
    for key, group in by_story.items():
        own = {output.method.name: output for output in group}
        groups += [
            tuple(own[name] for name in names)
            for names in map(sorted, wanted[key])
            if own.keys() >= set(names)
        ]
    return groups


def _pairs_of_cells(
    wanted: CellPairs, by_story: dict[str, list[Output]], seed: int
) -> dict[str, list[tuple[str, ...]]]:
    """Draw as many pairs of methods for each combination of tags, spread over stories.

    In VISTAR the tags are role and angle. Every pair of methods is drawn equally often,
    within one, among the stories that get equally many pairs.
    """
    cells: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, group in by_story.items():
        tags = group[0].story.tags
        missing = [name for name in wanted.by if name not in tags]
        if missing:
            raise PlanningError(
                f"Story {key} has no tag {', '.join(missing)}.", field="pairs.by"
            )
        cells[tuple(str(tags[name]) for name in wanted.by)].append(key)
    shares: dict[int, list[str]] = defaultdict(list)
    dice = random.Random(seed)
    for keys in cells.values():
        each, more = divmod(wanted.number, len(keys))
        dice.shuffle(keys)
        for place, key in enumerate(keys):
            shares[each + (place < more)].append(key)
    methods = {output.method.name for g in by_story.values() for output in g}
    pairs = sampling.method_sets(sorted(methods))
    result: dict[str, list[tuple[str, ...]]] = {}
    for number, keys in shares.items():
        if number > len(pairs):
            raise PlanningError(
                f"{wanted.number} pairs for each {' and '.join(wanted.by)} are "
                f"{number} for some stories; {len(methods)} methods have "
                f"{len(pairs)} pairs.",
                field="pairs.number",
            )
        result |= sampling.cell_pairs(keys, pairs, number, seed)
    return result


def create_units(study: Study, shown: Sequence[Shown]) -> list[Unit]:
    return Unit.objects.bulk_create(
        [
            Unit(
                study=study,
                story=one.story,
                redundancy=one.redundancy,
                **as_fields(one.outputs),
            )
            for one in shown
        ],
        batch_size=500,
    )
