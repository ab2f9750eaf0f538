"""A method that joins a running study, alone and with its outputs."""

import pytest

from annotate.audit_log.verifying import problems
from annotate.models import Study
from annotate.studies import lifecycle
from annotate.studies.changing import ChangeError
from annotate.studies.extending import extend
from annotate.studies.new_method import join_method
from evalcore.models import Output
from tests.annotate.studies.test_extending import planned_study, standing, work
from tests.working import join

pytestmark = pytest.mark.django_db


def test_method_joins_an_open_study_that_people_are_rating():
    study = planned_study(assignment="open")
    person = join(study)
    work(person, 3)
    before = standing(study)
    result = join_method(study, "Cedar")
    assert (result.units, result.slots) == (2, 4)
    assert standing(study) == before
    work(person, 3)
    assert person.slots.filter(state="submitted").count() == 6
    assert study.events.get(kind="study extended").details["methods"] == ["Cedar"]
    assert problems(study) == []


def test_method_is_compared_with_those_it_is_set_against():
    study = planned_study("choice", assignment="open")
    result = join_method(study, "Cedar", against=["Birch"])
    assert (result.units, result.slots) == (2, 4)
    pairs = study.units.values_list("output_a__method__name", "output_b__method__name")
    assert set(pairs) == {("Alder", "Birch"), ("Birch", "Cedar")}
    assert problems(study) == []


@pytest.mark.slow
def test_further_method_adds_no_pairs_of_older_ones():
    """Cedar and Alder were not to be compared, and are not by what comes after."""
    study = planned_study("choice", methods=["Alder", "Birch"], assignment="open")
    join_method(study, "Cedar", against=["Birch"])
    extend(study, stories=["03"])
    join_method(study, _copy_of("Cedar"), against=["Alder"])
    old = study.units.filter(story__key__in=("01", "02"))
    pairs = old.values_list("output_a__method__name", "output_b__method__name")
    assert ("Alder", "Cedar") not in set(pairs)
    assert problems(study) == []


def _copy_of(name: str) -> str:
    """Make another method with the same pictures, and return its name."""
    from evalcore.models import Frame, Method

    method = Method.objects.create(name="Dogwood")
    for output in Output.objects.filter(method__name=name):
        frames = list(output.frames.all())
        copy = Output.objects.create(story=output.story, method=method)
        Frame.objects.bulk_create(
            Frame(output=copy, shot=one.shot, number=one.number, media=one.media)
            for one in frames
        )
    return "Dogwood"


@pytest.mark.slow
def test_method_joins_an_adaptive_study_and_restarts_it():
    adaptive = {"question": "quality", "top": 1, "least": 2}
    study = planned_study("choice", assignment="open", adaptive=adaptive)
    study.adaptive["stopped"] = "2026-01-01"
    study.save()
    join_method(study, "Cedar")
    assert "stopped" not in study.adaptive
    assert study.units.count() == 6
    with pytest.raises(ChangeError, match="fixed pairs"):
        join_method(study, _copy_of("Cedar"), against=["Alder"])
    person = join(study)
    work(person, 4)
    assert problems(study) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "Alder"}, "has Alder already"),
        ({"method": "Elm"}, "no output of these stories: 01, 02"),
        ({"against": ["Elm"]}, "Not in this study: Elm"),
    ],
)
def test_method_that_cannot_join_changes_nothing(change, said):
    study = planned_study("choice", assignment="open")
    with pytest.raises(ChangeError, match=said):
        join_method(study, **{"method": "Cedar", **change})
    assert study.units.count() == 2


def test_method_with_a_story_missing_is_refused():
    study = planned_study(assignment="open")
    Output.objects.get(method__name="Cedar", story__key="02").delete()
    with pytest.raises(ChangeError, match="Cedar has no output of these stories: 02"):
        join_method(study, "Cedar")


@pytest.mark.parametrize("state", ["draft", "closed"])
def test_only_a_running_study_takes_a_method(state):
    study = planned_study(assignment="open")
    if state == "closed":
        lifecycle.close(study)
    Study.objects.filter(pk=study.pk).update(state=state)
    study.refresh_from_db()
    with pytest.raises(ChangeError, match="running or paused"):
        join_method(study, "Cedar")
