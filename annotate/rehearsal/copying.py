"""The copy of a study's benchmark that a rehearsal works on."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core import serializers
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from annotate.models import Rehearsal, Study, StudyPlan
from annotate.studies import drafting, lifecycle, planning
from annotate.studies.plan_queue import chosen_of, setup_of
from annotate.studies.study_file import write_definition
from evalcore.models import (
    Benchmark,
    Character,
    CharacterImage,
    Frame,
    MediaFile,
    Method,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    ScoreIdentity,
    Shot,
    Story,
    TwinScore,
)

ROWS_AT_ONCE = 500


def write_copy(rehearsal: Rehearsal, path: Path) -> None:
    """Write all rows of the benchmark that planning, answers and reports read."""
    benchmark = rehearsal.study.benchmark
    with transaction.atomic(), path.open("w", encoding="utf-8") as file:
        rows = itertools.chain.from_iterable(
            part.iterator(chunk_size=2000) for part in _parts(benchmark)
        )
        serializers.serialize("jsonl", rows, stream=file)


def _parts(benchmark: Benchmark) -> Iterator[QuerySet[Any]]:
    """Yield rows in the order in which they refer to one another."""
    outputs = Output._base_manager.filter(story__benchmark=benchmark)
    frames = Frame._base_manager.filter(output__in=outputs)
    images = CharacterImage._base_manager.filter(character__story__benchmark=benchmark)
    scores = MetricScore._base_manager.filter(benchmark=benchmark)
    absences = MetricAbsence._base_manager.filter(benchmark=benchmark)
    used = Q(pk__in=frames.values("media")) | Q(pk__in=images.values("media"))
    used |= Q(pk__in=outputs.values("video"))
    methods = Q(pk__in=outputs.values("method")) | Q(pk__in=scores.values("method"))
    methods |= Q(pk__in=absences.values("method"))
    yield Benchmark._base_manager.filter(pk=benchmark.pk)
    yield Method._base_manager.filter(methods).order_by("pk")
    yield MediaFile._base_manager.filter(used).order_by("pk")
    yield Story._base_manager.filter(benchmark=benchmark).order_by("pk")
    characters = Character._base_manager.filter(story__benchmark=benchmark)
    yield characters.order_by("pk")
    yield images.order_by("pk")
    shots = Shot._base_manager.filter(story__benchmark=benchmark)
    yield shots.order_by("pk").prefetch_related("characters")
    yield outputs.order_by("pk")
    yield frames.order_by("pk")
    yield MetricRun._base_manager.filter(benchmark=benchmark).order_by("pk")
    yield ScoreIdentity._base_manager.order_by("pk")
    yield scores.order_by("pk")
    yield absences.order_by("pk")
    yield TwinScore._base_manager.filter(twin__in=outputs).order_by("pk")


def create_tables() -> None:
    """Create all tables in an empty SQLite database that need not survive."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=OFF")
    with connection.schema_editor() as editor:
        for model in apps.get_models():
            if not model._meta.proxy:
                editor.create_model(model)


def read_copy(path: Path) -> Benchmark:
    """Store the rows of a file in an empty database; return the benchmark."""
    with transaction.atomic(), path.open(encoding="utf-8") as file:
        rows = serializers.deserialize("jsonl", file)
        for model, group in itertools.groupby(rows, lambda row: type(row.object)):
            _store(model, group)
    return Benchmark.objects.get()


def _store(model: type[Model], rows: Iterable[Any]) -> None:
    left = iter(rows)
    while part := list(itertools.islice(left, ROWS_AT_ONCE)):
        model._base_manager.bulk_create([row.object for row in part])
        for row in part:
            for name, others in row.m2m_data.items():
                getattr(row.object, name).set(others)


def setup_for(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return how to plan the study for the people of a rehearsal, as JSON.

    A deadline that has passed is left out: nobody could plan the study with it.
    """
    setup = drafting.setup_of(rehearsal.study)
    until = setup.definition.deadline
    if until is not None and until < timezone.localdate():
        setup = replace(setup, definition=setup.definition.with_changes(deadline=None))
    people = setup.annotators
    number = sum(rehearsal.people.values())
    if not isinstance(people, int):
        people = _shared(people, number)
    elif people:
        people = number
    return {
        "definition": write_definition(setup.definition),
        "chosen": chosen_of(replace(setup, annotators=people)),
    }


def _shared(people: Mapping[str, int], number: int) -> dict[str, int]:
    """Return a number of people by language, in the proportions of the study."""
    total, left = sum(people.values()), number
    shared = {}
    for name, n in people.items():
        shared[name] = max(1, round(n * left / total))
        total, left = total - n, left - shared[name]
    return shared


def plan(stored: Mapping[str, Any], benchmark: Benchmark) -> Study:
    """Plan and launch the study in the copy."""
    asked = StudyPlan(
        benchmark=benchmark,
        definition=stored["definition"],
        chosen=stored["chosen"],
    )
    setup = setup_of(asked)
    study = planning.store(planning.with_twins(planning.prepare(setup)), None)
    return lifecycle.launch(study)
