"""The annotator's page of a study that does not exist: built, shown, taken back."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac

from annotate.models import Annotator, Slot
from annotate.presentation import same_size
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import Checks
from annotate.studies.planning import Setup, plan_study
from annotate.studies.units import Shown, choose_outputs, choose_units
from evalcore.media import Box
from evalcore.models import Output


@contextmanager
def first_slot(setup: Setup, among: QuerySet[Output] | None = None) -> Iterator[Slot]:
    """Lend the first story of a study as a slot; nothing of it stays stored.

    The slot's code names its outputs and the size in which they are shown, for the
    addresses of pictures. Only outputs `among` these are shown, by default any of the
    benchmark.
    """
    outputs = choose_outputs(setup.benchmark, setup.methods, setup.stories, among=among)
    shown = choose_units(setup.definition, outputs)[0]
    with transaction.atomic():
        study = plan_study(
            _only_questions(setup.definition),
            benchmark=setup.benchmark,
            slug=f"preview-{secrets.token_hex(8)}",
            methods=shown.methods,
            stories=[shown.story.key],
        )
        slot = study.slots.select_related(
            "study", "unit__story", *study.output_paths("unit__")
        ).get()
        slot.annotator = Annotator.objects.create(study=study, name="A01")
        slot.a_is_left, slot.turn = True, 0
        box = _box(setup, among)
        if box is not None:
            slot.study.presentation["box"] = list(box)
        slot.code = code(shown, box)
        yield slot
        transaction.set_rollback(True)


def _box(setup: Setup, among: QuerySet[Output] | None) -> Box | None:
    if not setup.definition.presentation.same_size:
        return None
    outputs = Output.objects.filter(story__benchmark=setup.benchmark)
    if setup.methods:
        outputs = outputs.filter(method__name__in=setup.methods)
    if among is not None:
        outputs = outputs.filter(pk__in=among)
    return same_size.box_around(outputs)


def code(shown: Shown, box: Box | None) -> str:
    """Return the outputs of a unit by number, left to right, and their size.

    A size is signed: pictures are drawn in the sizes of pages only.
    """
    numbers = "-".join(str(output.pk) for output in shown.outputs)
    if box is None:
        return numbers
    size = "{}x{}".format(*box)
    return f"{numbers}_{_signature(numbers, size)}_{size}"


def read_code(code: str) -> tuple[list[int], Box | None] | None:
    """Return the outputs and the size that a page's code names; None for no page's."""
    numbers, *signed = code.split("_")
    outputs = [int(number) for number in numbers.split("-")]
    if not signed:
        return outputs, None
    signature, size = signed
    if not constant_time_compare(signature, _signature(numbers, size)):
        return None
    width, height = map(int, size.split("x"))
    return outputs, (width, height)


def _signature(numbers: str, size: str) -> str:
    signed = f"{numbers} {size}"
    return salted_hmac("annotate.preview", signed, algorithm="sha256").hexdigest()


def _only_questions(definition: StudyDefinition) -> StudyDefinition:
    """Return the study with a single slot, of the one unit there is."""
    return definition.without_degradations().with_changes(
        assignment="open",
        redundancy=1,
        rounds=1,
        languages={},
        stories=None,
        subset=None,
        pairs=None,
        sets=None,
        training=None,
        checks=Checks(),
        adaptive=None,
    )
