"""Scales of the questions of a study."""

import random

import pandas as pd
import pytest
from django.core.management import call_command
from django.utils import timezone

from analysis.__main__ import main
from annotate.kinds.registry import kind_of
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark
from tests.working import make_planned

pytestmark = pytest.mark.django_db

BEAUTY = '{key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}'
FAITH = '{key: faith, kind: likert, scale: [1, 7], title: Faith, text: "As told?"}'
PAN = '{key: pan, kind: checklist, category: Camera, title: Pan, text: "It turns."}'


def answered(*questions):
    """Return a study with a scale whose ends are unused."""
    text = "redundancy: 2\nquestions:\n" + "".join(f"  - {q}\n" for q in questions)
    benchmark = make_benchmark(stories=4, shots=1)
    study = make_planned(text, benchmark=benchmark, annotators=2)
    metric_runs.run(metric_runs.queue_run(benchmark, ["sharpness"]).pk)
    for slot in study.slots.select_related("unit__story", "unit__output_a"):
        values, boxes = {}, {}
        for question in slot.questions:
            output = slot.unit.output_a_id
            dice = random.Random(f"{output} {question.key} {slot.annotator_id}")
            if kind_of(question).of_shots:
                boxes[1, question] = dice.choice([0, 1])
            else:
                values[question] = random.Random(output).choice([2, 3]) - (
                    dice.random() < 0.2
                )
        store_judgements([SlotAnswers(slot, values, timezone.now(), 40.0, boxes)])
    return study


def agreement_in(folder):
    table = pd.read_csv(folder / "tables" / "agreement.csv", dtype=str)
    return table.set_index(["question", "statistic"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("questions", "scale"),
    [
        ([BEAUTY], "0:4"),
        ([BEAUTY, PAN], "0:4 (beauty); 0:1 (pan|text, pan|video)"),
        ([BEAUTY, FAITH], "0:4 (beauty); 1:7 (faith)"),
    ],
)
def test_question_has_the_agreement_of_a_separate_file(questions, scale, tmp_path):
    study = answered(*questions)
    call_command(
        "report", study.slug, out=tmp_path / "study", resamples=20, images="none"
    )
    found = agreement_in(tmp_path / "study")
    run = pd.read_csv(tmp_path / "study/tables/run.csv", index_col="key")["value"]
    assert run["scale"] == scale

    call_command("export_study", study.slug, out=tmp_path / "export")
    ratings = pd.read_csv(tmp_path / "export/ratings.csv", dtype=str)
    for question in study.questions.all():
        own = tmp_path / f"{question.ordinal}.csv"
        ratings[ratings["dimension"] == question.key].to_csv(own, index=False)
        command = ["agreement", "--ratings", str(own), "--out", str(tmp_path / "own")]
        command += ["--scale", f"{question.scale_min}:{question.scale_max}"]
        assert main([*command, "--resamples", "20", "--images", "none"]) == 0
        alone = agreement_in(tmp_path / "own").loc[question.key]
        pd.testing.assert_frame_equal(found.loc[question.key], alone)
