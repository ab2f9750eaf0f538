"""Units that check annotators: training, gold, and degraded copies.

They are chosen and drawn before the study is stored, because drawing takes minutes and
a transaction would block all other writes meanwhile.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from analysis.problems import InputError
from annotate.assignment.designs import sampling
from annotate.models import Purpose, Study, Unit
from annotate.models.studies import LETTERS
from annotate.models.units import as_fields
from annotate.responses.leasing import FIRST_POSITION
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import KnownUnit
from annotate.studies.units import PlanningError, UnitOutputs
from evalcore.models import Benchmark, Output
from evalcore.perturbations import degraded_copies
from evalcore.perturbations.degrading import ImpossibleDegradationError

FIELDS = {Purpose.TRAINING: "training", Purpose.GOLD: "checks.gold"}


@dataclass(frozen=True)
class KnownUnitOutputs:
    """A training or gold unit and its outputs, in the order of the methods."""

    purpose: Purpose
    wanted: KnownUnit
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Twin:
    """A degraded copy of an output, which belongs to the unit at `place`."""

    place: int
    original: Output
    output: Output


# Known units


def choose_known(
    definition: StudyDefinition, benchmark: Benchmark, units: Sequence[UnitOutputs]
) -> tuple[KnownUnitOutputs, ...]:
    """Return the training and gold units, which may show any output of the benchmark.

    Gold units that the study itself rates are refused: annotators would meet them
    twice.
    """
    training = definition.training.units if definition.training else ()
    _check_room(definition)
    wanted = [(Purpose.TRAINING, one) for one in training]
    wanted += [(Purpose.GOLD, one) for one in definition.checks.gold]
    stories = {one.story for _purpose, one in wanted}
    rows = Output.objects.filter(story__benchmark=benchmark, story__key__in=stories)
    outputs = {
        (row.story.key, row.method.name): row
        for row in rows.select_related("story", "method")
    }
    number = definition.outputs
    known = tuple(
        KnownUnitOutputs(purpose, one, _outputs_of(purpose, one, outputs, number))
        for purpose, one in wanted
    )
    judged = {one.outputs for one in units}
    for one in known:
        if one.purpose == Purpose.GOLD and one.outputs in judged:
            names = ", ".join(output.method.name for output in one.outputs)
            raise PlanningError(
                _(
                    "The known-answer check of story %(story)s (%(names)s) is also "
                    "rated in the study, so annotators would meet it twice. Leave some "
                    "stories out of the study, and take the checks from them."
                ),
                field="checks.gold",
                story=one.wanted.story,
                names=names,
            )
    return known


def _outputs_of(
    purpose: Purpose,
    one: KnownUnit,
    outputs: dict[tuple[str, str], Output],
    number: int,
) -> tuple[Output, ...]:
    names = sorted(one.methods)
    missing = [name for name in names if (one.story, name) not in outputs]
    if missing or len(set(names)) != number:
        wanted = "two different methods" if number > 1 else "one method"
        raise PlanningError(
            f"{purpose.label} unit of story {one.story}: write {wanted} with an output "
            f"of this story, not {', '.join(missing or names)}.",
            field=FIELDS[purpose],
        )
    return tuple(outputs[one.story, name] for name in names)


def _check_room(definition: StudyDefinition) -> None:
    """Refuse more training slots than fit before those of the study."""
    training = definition.training
    if training is None:
        return
    # A copy that is shown alone follows its original.
    each = 2 if definition.outputs == 1 else 1
    items = [each] * training.twins + [1] * len(training.units)
    number = sum(items[: training.per_round or None])
    if number * training.attempts >= FIRST_POSITION:
        raise PlanningError(
            _(
                "%(n)d training items in up to %(attempts)d attempts are too many; at "
                "most %(most)d are possible in total."
            ),
            field="training",
            n=number,
            attempts=training.attempts,
            most=FIRST_POSITION - 1,
        )


# Degraded copies


def has_twins(definition: StudyDefinition) -> bool:
    """Return whether degraded copies are among the checks of a study."""
    return bool(definition.checks.degradations and "twin" in definition.checks.kinds)


def make_twins(
    definition: StudyDefinition,
    units: Sequence[UnitOutputs],
    explained: Collection[int] = (),
) -> tuple[Twin, ...]:
    """Make or reuse degraded copies of some of the outputs of the study.

    There are no copies of outputs that cannot be degraded, nor of those `explained` in
    training or examples, whose faults annotators know.
    """
    checks = definition.checks
    if not has_twins(definition):
        return ()
    places = {
        output.pk: (place, output)
        for place, one in enumerate(units)
        for output in one.outputs
        if output.pk not in explained
    }
    subgroups = {pk: output.method_id for pk, (_place, output) in places.items()}
    number = min(len(places), max(1, round(checks.share * len(places))))
    dice = random.Random(definition.seed)
    made = []
    for pk in sampling.sample(list(places), number, definition.seed, subgroups):
        place, output = places[pk]
        twin = _twin(output, checks.degradations, definition.seed, dice)
        if twin is not None:
            made.append(Twin(place, output, twin))
    return tuple(made)


def _twin(
    output: Output, degradations: Sequence[str], seed: int, dice: random.Random
) -> Output | None:
    """Make a copy with the first possible degradation, in random order."""
    kinds = sorted(degraded_copies.possible(output, degradations))
    for kind in dice.sample(kinds, len(kinds)):
        try:
            return degraded_copies.make_perturbation(output, kind, seed)
        except ImpossibleDegradationError:
            continue
        except InputError as error:
            raise PlanningError(str(error), field="checks.degradations") from error
    return None


# Storing them


def create_check_units(
    study: Study,
    units: Sequence[Unit],
    known: Sequence[KnownUnitOutputs],
    made: Sequence[Twin],
) -> None:
    """Store the units that check annotators; `units` are those of the study itself.

    In a Likert study a degraded copy is shown alone and compared with the annotator's
    rating of the original. Side by side, the original should win.
    """
    Unit.objects.bulk_create(
        [_known_unit(study, one) for one in known]
        + [_twin_unit(study, units[one.place], one) for one in made]
    )


def _known_unit(study: Study, one: KnownUnitOutputs) -> Unit:
    names = [output.method.name for output in one.outputs]
    return Unit(
        study=study,
        story=one.outputs[0].story,
        purpose=one.purpose,
        **as_fields(one.outputs),
        expected={
            key: _stored(value, names) for key, value in one.wanted.expected.items()
        },
        feedback=one.wanted.feedback,
    )


def _stored(
    value: tuple[int, int] | tuple[str, ...] | str, names: list[str]
) -> list[int] | str:
    """Convert the names of methods to their places in the unit."""
    if value == "tie":
        return value
    if isinstance(value, str):
        return LETTERS[names.index(value)]
    if isinstance(value[0], str):
        return "".join(LETTERS[names.index(str(name))] for name in value)
    return [int(limit) for limit in value]


def _twin_unit(study: Study, unit: Unit, twin: Twin) -> Unit:
    if not study.is_side_by_side:
        return Unit(
            study=study,
            story=unit.story,
            output_a=twin.output,
            purpose=Purpose.TWIN,
            original=unit,
        )
    story = twin.original.story
    questions = (q for q in study.questions.all() if q.is_asked_of(story))
    return Unit(
        study=study,
        story=story,
        output_a=twin.original,
        output_b=twin.output,
        purpose=Purpose.TWIN,
        expected={question.key: "a" for question in questions},
    )
