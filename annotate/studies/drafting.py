"""Creation of draft studies: new ones, edited ones and copies.

The form and the command line use the same `Setup` and the same planning.
"""

import dataclasses
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.text import slugify
from django.utils.translation import gettext as _

from analysis.options import Progress, silent
from annotate import event_log
from annotate.models import Annotator, Event, Slot, Study, StudyMember, User
from annotate.presentation import same_size
from annotate.studies import deadline, lifecycle, planning
from annotate.studies.changing import names_now, withdrawn_names
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import Checks, Goals
from annotate.studies.planning import Setup
from annotate.studies.story_draw import draw_events, keep_draws
from annotate.studies.study_file import read_definition, write_definition
from annotate.studies.units import (
    PlanningError,
    UnitOutputs,
    choose_outputs,
    choose_units,
)
from evalcore.media import Box
from evalcore.models import Benchmark, Output, most_letters

STORING = "storing the study"
LONGEST_SLUG = most_letters(Study, "slug")


def create(
    setup: Setup,
    user: User,
    previous: Study | None = None,
    progress: Progress = silent,
) -> Study:
    """Create a draft study, which may be the next version of another."""
    planning.check_slug(setup.slug)
    if previous is not None:
        setup = _continuing(setup, previous)
    draft = planning.with_twins(planning.prepare(setup, progress))
    progress(STORING)
    return planning.store(draft, user, previous)


def replace(
    study: Study, setup: Setup, user: User, progress: Progress = silent
) -> Study:
    """Plan a draft again under its old name, with its members and versions.

    The old draft stays if annotators may have seen it, or if planning fails.
    """
    lifecycle.check_editable(study)
    setup = _continuing(setup, study)
    draft = planning.with_twins(planning.prepare(setup, progress))
    progress(STORING)
    with transaction.atomic():
        old = Study.objects.select_for_update().filter(pk=study.pk).first()
        if old is None:
            raise lifecycle.LifecycleError(
                _("Somebody else has saved this draft meanwhile. Reload the page.")
            )
        lifecycle.check_editable(old)
        members = list(old.members.exclude(user=user))
        role = old.members.filter(user=user).first()
        before, following = old.previous_version, list(old.next_versions.all())
        draws = draw_events(old)
        old.slots.all().delete()
        old.delete()
        new = planning.store(draft, user, before)
        if role is None:  # a superuser edits without being a member
            new.members.all().delete()
        StudyMember.objects.bulk_create(
            StudyMember(study=new, user=member.user, role=member.role)
            for member in members
        )
        Study.objects.filter(pk__in=[s.pk for s in following]).update(
            previous_version=new
        )
        keep_draws(new, draws)
        event_log.note(Event.Kind.STUDY_EDITED, new.pk, user=user)
    return new


def _continuing(setup: Setup, study: Study) -> Setup:
    """Return the setup of a study made of another one, which may be a follow-up."""
    if setup.definition.late_entry is None or setup.continues is not None:
        return setup
    return dataclasses.replace(setup, continues=study.continues)


def setup_of(study: Study) -> Setup:
    """Return the setup of a study."""
    if not study.definition:
        raise PlanningError("This study was imported; it has no study file.")
    planned = study.events.filter(kind=Event.Kind.STUDY_PLANNED).first()
    chosen = planned.details if planned else {}
    name = study.template or study.slug
    planned_as = read_definition(study.definition, file=f"{study.slug}.yaml", name=name)
    setup = Setup(
        study.slug,
        study.benchmark,
        planned_as.with_changes(
            deadline=deadline.day_of(study),
            goals=Goals(**study.goals),
            trained_on={name: tuple(own) for name, own in study.trained_on.items()},
        ),
        _annotators(study),
        tuple(chosen.get("methods", ())),
        tuple(chosen.get("stories", ())),
    )
    return _as_it_is_now(study, setup)


def file_of(study: Study) -> str:
    """Return the current study file, with the command that plans the study again.

    A comment names the chosen methods and stories, which are not part of the file.
    """
    setup = setup_of(study)
    people = setup.annotators
    if isinstance(people, int):
        numbers = str(people or "")
    else:
        numbers = ",".join(f"{name}={number}" for name, number in people.items())
    options = [
        ("--benchmark", setup.benchmark.slug),
        ("--file", f"{study.slug}.yaml"),
        ("--annotators", numbers),
        ("--methods", ",".join(setup.methods)),
        ("--stories", ",".join(setup.stories)),
    ]
    command = ["plan", "NAME"]
    for option, value in options:
        # A comment ends with its line.
        command += [option, shlex.quote(" ".join(value.split()))] if value else []
    again = f"# To plan this study again: plumbline {' '.join(command)}\n"
    return again + write_definition(setup.definition)


def _as_it_is_now(study: Study, setup: Setup) -> Setup:
    """List methods and stories by name if some were added or withdrawn."""
    gone_methods, gone_stories = withdrawn_names(study)
    extended = study.events.filter(kind=Event.Kind.STUDY_EXTENDED)
    is_larger = any(
        e.details.get("methods") or e.details.get("stories") for e in extended
    )
    if not (is_larger or gone_methods or gone_stories):
        return setup
    return as_judged(study, setup)


def as_judged(study: Study, setup: Setup) -> Setup:
    """Limit a setup to the methods and stories that the study rates now."""
    methods, stories = names_now(study)
    shaped = setup.definition.trained_on.items()
    return dataclasses.replace(
        setup,
        definition=setup.definition.with_changes(
            stories=None,
            trained_on={name: own for name, own in shaped if name in methods},
        ),
        methods=tuple(sorted(methods)),
        stories=tuple(sorted(stories)),
    )


def _annotators(study: Study) -> int | dict[str, int]:
    if study.is_open:
        return 0
    people = study.annotators.exclude(state=Annotator.State.REVOKED)
    count = Counter(people.values_list("language", flat=True))
    return dict(count) if study.languages else count.total()


def next_slug(slug: str) -> str:
    """Return a free name for the next version: `pilot`, `pilot-2`, `pilot-3`."""
    match = re.fullmatch(r"(.*)-(\d{1,4})", slug)
    stem, number = (match[1], int(match[2]) + 1) if match else (slug, 2)
    while True:
        ending = f"-{number}"
        name = stem[: LONGEST_SLUG - len(ending)] + ending
        if not Study.objects.filter(slug=name).exists():
            return name
        number += 1


def free_slug(table: type[Benchmark] | type[Study], title: str) -> str:
    """Return a web address name made of a title that no other row has."""
    base = slugify(title)[: LONGEST_SLUG - 6].strip("-_")
    return unused_slug(table, base or table.__name__.lower())


def unused_slug(table: type[Benchmark] | type[Study], slug: str) -> str:
    """Return a name that no row has, with a number if need be."""
    base = slug[: LONGEST_SLUG - 6]
    rows = table._base_manager.filter(slug__startswith=base)
    taken = set(rows.values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (slug, *numbered) if name not in taken)


# The annotator's page of a study before it is stored


@contextmanager
def first_slot(setup: Setup, among: QuerySet[Output] | None = None) -> Iterator[Slot]:
    """Yield the first story of a study as a slot, without storing anything.

    The slot's code contains its outputs and their displayed size, for the addresses of
    pictures. Only outputs `among` these are used, by default any of the benchmark.
    """
    outputs = choose_outputs(setup.benchmark, setup.methods, setup.stories, among=among)
    unit = choose_units(setup.definition, outputs)[0]
    with transaction.atomic():
        study = planning.plan_study(
            _only_questions(setup.definition),
            benchmark=setup.benchmark,
            slug=f"preview-{secrets.token_hex(8)}",
            methods=unit.methods,
            stories=[unit.story.key],
        )
        slot = study.slots.select_related(
            "study", "unit__story", *study.output_paths("unit__")
        ).get()
        slot.annotator = Annotator.objects.create(study=study, name="A01")
        slot.a_is_left, slot.turn = True, 0
        box = _box(setup, among)
        if box is not None:
            slot.study.presentation["box"] = list(box)
        slot.code = code(unit, box)
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


def code(unit: UnitOutputs, box: Box | None) -> str:
    """Return the numbers of a unit's outputs, left to right, and their size.

    The size is signed, so that pictures are only drawn in sizes that pages use.
    """
    numbers = "-".join(str(output.pk) for output in unit.outputs)
    if box is None:
        return numbers
    size = "{}x{}".format(*box)
    return f"{numbers}_{_signature(numbers, size)}_{size}"


def read_code(code: str) -> tuple[list[int], Box | None] | None:
    """Return the outputs and the size in a code, or None if its signature is wrong."""
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
    """Return a definition that plans one slot for one unit."""
    return definition.without_degradations().with_changes(
        assignment="open",
        redundancy=1,
        deadline=None,
        rounds=1,
        languages={},
        stories=None,
        subset=None,
        late_entry=None,
        pairs=None,
        sets=None,
        training=None,
        checks=Checks(),
        adaptive=None,
        goals=Goals(),
        trained_on={},
    )
