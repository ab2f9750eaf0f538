"""Slots that check annotators: separate keys, left out of analyses."""

import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from annotate.audit_log import as_of_event
from annotate.models import Purpose, Slot, Unit
from annotate.reports import score_tables, study_tables
from evalcore.models import Frame, Output
from evalcore.scoring import metric_runs
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


def degraded(output, kind):
    """Return a degraded copy of an output, with the same pictures."""
    copy = Output.everything.create(
        story=output.story, method=output.method, twin_of=output, degradation=kind
    )
    for frame in output.frames.all():
        Frame.objects.create(
            output=copy, shot=frame.shot, number=frame.number, media=frame.media
        )
    return copy


def checks(study, unit, person):
    """Add every kind of check of a unit, and a repeat of the unit."""
    first, second = unit.output_a, unit.output_b
    blurred, shuffled = degraded(first, "blurred"), degraded(first, "shuffled")
    pairs = [
        (Purpose.TRAINING, first, second),
        (Purpose.GOLD, first, second),
        (Purpose.TWIN, blurred, None),
        (Purpose.TWIN, shuffled, None),
    ]
    if study.is_side_by_side:
        pairs[2:] = [(Purpose.TWIN, first, blurred), (Purpose.TWIN, shuffled, first)]
    units = [
        Unit.objects.create(
            study=study,
            story=unit.story,
            purpose=purpose,
            output_a=a,
            output_b=b,
            original=unit if purpose == Purpose.TWIN else None,
        )
        for purpose, a, b in pairs
    ]
    real = unit.slots.get(annotator=person)
    wanted = [(row, row.purpose, None) for row in units]
    for position, (row, purpose, original) in enumerate(
        [*wanted, (unit, Purpose.REPEAT, real)], start=100
    ):
        Slot.objects.create(
            study=study,
            unit=row,
            annotator=person,
            position=position,
            session=1,
            purpose=purpose,
            repeat_of=original,
            a_is_left=real.a_is_left,
        )


def checked(kind):
    """A study with scores, without and then with checks of one person."""
    study = make_study(kind=kind)
    metric_runs.run(
        metric_runs.queue_run(study.benchmark, ["sharpness", "shots_present"]).pk
    )
    answer_everything(study, "a" if study.is_side_by_side else 3)
    return study


def add_checks(study):
    person = study.annotators.first()
    unit = study.units.select_related("output_a", "output_b").first()
    checks(study, unit, person)
    answer_everything(study, "b" if study.is_side_by_side else 1)
    return unit


def test_ratings_of_checks_name_their_purpose():
    study = checked("likert")
    add_checks(study)
    rows = [
        row
        for row in study_tables.answer_rows(study, "ratings")
        if row["dimension"] == "character"
    ]
    gold = {row["method"]: row["rating"] for row in rows if row["is_gold"]}
    assert gold == {
        "Alder [gold]": 1,
        "Alder [twin: blurred]": 1,
        "Alder [twin: shuffled]": 1,
    }
    assert [row["method"] for row in rows if row["is_repeat"]] == ["Alder"]
    assert {row["method"] for row in rows if not row["is_gold"]} == {
        "Alder",
        "Birch",
        "Cedar",
    }
    assert len(rows) == 12 + 4
    assert len(study_tables.answers_frame(study, "ratings")) == 2 * len(rows)


def test_choices_of_checks_name_their_purpose():
    study = checked("choice")
    add_checks(study)
    rows = [
        row
        for row in study_tables.answer_rows(study, "choices")
        if row["criterion"] == "character"
    ]
    gold = {(row["method_a"], row["method_b"]) for row in rows if row["is_gold"]}
    assert gold == {
        ("Alder [gold]", "Birch [gold]"),
        ("Alder", "Alder [twin: blurred]"),
        ("Alder [twin: shuffled]", "Alder"),
    }
    for row in rows:
        assert row["left_method"] in (row["method_a"], row["method_b"])
    table = study_tables.answers_frame(study, "choices")
    assert len(table) == 2 * len(rows)
    turned = table[table["method_b"] == "Alder [twin: shuffled]"]
    assert list(turned["choice"]) == ["a", "a"]


def analysed(study, **options):
    name = "choices" if study.is_side_by_side else "ratings"
    table = study_tables.answers_frame(study, name, as_of=as_of_event.now(study))
    given = {"ratings": None, "choices": None} | {name: table}
    return align(
        **given,
        scores=score_tables.scores_frame(study),
        options=AlignOptions(resamples=0, **options),
    ).tables


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "choice"])
def test_checks_are_only_in_the_table_of_repeats(kind):
    study = checked(kind)
    before = analysed(study)
    add_checks(study)
    after = analysed(study)
    assert set(before) == set(after)
    annotators = [records(tables.pop("annotators")) for tables in (before, after)]
    assert not annotators[0] - annotators[1]
    added = annotators[1] - annotators[0]
    assert {row[2] for row in added if row[2] != "n_answers"} >= {"intra_rater_exact"}
    assert {row[3] for row in added if row[2] == "intra_rater_exact"} == {"0.0"}
    assert {row[3] for row in added if row[2] == "n_answers"} == {"1.0"}
    # Checks are left out, with their reason.
    assert "repeated answers" in set(after.pop("sample_flow")["reason"])
    del before["sample_flow"]
    for name, table in before.items():
        assert after[name].equals(table), name


def records(table):
    return set(table.astype(str).itertuples(index=False, name=None))


def test_scores_are_those_of_rated_outputs():
    """A check may show a method, or a story, that the study does not rate."""
    study = checked("likert")
    alien = study.units.filter(output_a__method__name="Cedar")
    Slot.objects.filter(unit__in=alien).update(purpose="gold", ordinal=None)
    alien.update(purpose="gold")
    assert {row["method"] for row in score_tables.score_rows(study)} == {
        "Alder",
        "Birch",
    }
