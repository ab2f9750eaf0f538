"""Price and requests of a run that asks a judge."""

import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from evalcore.metrics.llm_judge.estimates import estimated_cost
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import JudgeSettings
from evalcore.models import MetricRun, MetricScore
from evalcore.scoring import planning
from evalcore.scoring.judge_preview import preview
from tests.evalcore.metrics.asking import image_of, noise
from tests.evalcore.metrics.llm_judge.test_requests import reasons_only
from tests.evalcore.scoring.test_judging_runs import scored
from tests.factories import make_benchmark


def test_cost_is_counted_from_texts_pictures_and_answers():
    """By hand.

    Text: 1,200 bytes, or 300 to 400 tokens. Picture of 512 x 512: 85 + 170 tokens, or
    512 x 512 / 750 = 350. Answers: 64 to 256 of 512 tokens. At most 64 + 1,200 tokens
    and 2,833 + 5,667 for the picture, and 512 for the answer.
    """
    settings = JudgeSettings("", "owl", price_in=Decimal(2), price_out=Decimal(8))
    question = JudgeQuestion((1200 * "a", image_of(noise(1))), size=(512, 512))
    price = estimated_cost([question] * 1000, settings)
    assert price.low == (300 + 255) * Decimal("0.002") + 64 * Decimal("0.008")
    assert price.high == (400 + 350) * Decimal("0.002") + 256 * Decimal("0.008")
    assert price.most == 9764 * Decimal("0.002") + 512 * Decimal("0.008")
    assert str(price) == "about $1.62 to $3.55 for 1,000 questions (at most $23.62)"


@pytest.mark.django_db
def test_preview_counts_questions_without_stored_answer(judge):
    benchmark = make_benchmark(stories=2, shots=2, methods=("Alder",))
    run = MetricRun(benchmark=benchmark, metrics=["pa_scene", "sharpness"])
    assert preview(run).price.questions == 4
    assert not judge.asked
    scored(benchmark, "pa_scene")
    # The same pictures, and others.
    fields = make_benchmark(slug="fields", stories=1, shots=2, methods=("Alder", "Elm"))
    assert preview(run).price.questions == 0
    fields = MetricRun(benchmark=fields, metrics=["pa_scene"])
    assert len(preview(fields).metrics[0].answered) == 2
    assert preview(fields).price.questions == 2
    assert preview(MetricRun(benchmark=benchmark, metrics=["sharpness"])) is None


@pytest.mark.django_db
def test_dry_run_prints_a_whole_request_and_sends_nothing(judge, capsys, monkeypatch):
    make_benchmark(slug="woods", stories=1, shots=2, methods=("Alder",))
    call_command("score", "woods", metrics="pa_scene", dry_run=True)
    said = capsys.readouterr().out
    assert said.startswith(f"POST {judge.base_url}/chat/completions\n")
    request = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert (request["model"], request["max_tokens"]) == ("test-judge", 512)
    *_texts, picture = request["messages"][-1]["content"]
    assert picture["image_url"]["url"].startswith(
        "data:image/jpeg;base64, (512 x 512, "
    )
    assert "The judge: about $" in said
    assert "for 2 questions (at most $" in said
    assert "Budget: $1 for a run; $1 for all runs, $0.00 spent so far." in said
    assert said.endswith("Nothing was sent.\n")
    assert not judge.asked
    assert not MetricRun.objects.exists()
    with pytest.raises(CommandError, match="Unknown metric 'pa_scenes'"):
        call_command("score", "woods", metrics="pa_scenes", dry_run=True)
    monkeypatch.delenv("JUDGE_NAME")
    with pytest.raises(CommandError, match="no judge is set: set JUDGE_NAME"):
        call_command("score", "woods", metrics="pa_scene", dry_run=True)


@pytest.mark.django_db
def test_price_says_what_it_cannot_know(judge, capsys):
    """Questions about characters cannot be counted before they are found."""
    benchmark = make_benchmark(slug="woods", stories=1, shots=2, methods=("Alder",))
    scored(benchmark, "pa_scene")
    asked = preview(MetricRun(benchmark=benchmark, metrics=["pa_scene"]))
    assert asked.price_in_words == "The judge: no new questions."
    asked.metrics[0].unknown = 3
    assert asked.price_in_words == (
        "The judge: no new questions. Questions of 3 more outputs are not known yet, "
        "since they need features; they add to the price."
    )


@pytest.mark.django_db
def test_score_names_price_before_it_asks(judge, capsys):
    make_benchmark(slug="woods", stories=1, shots=2, methods=("Alder",))
    call_command("score", "woods", metrics="pa_scene")
    assert "The judge: about $" in capsys.readouterr().out
    assert len(judge.asked) == 2


@pytest.mark.django_db
def test_run_learns_parameters_of_server_once_for_all_chunks(judge, monkeypatch):
    monkeypatch.setattr(planning, "CHUNK", 1)
    monkeypatch.setenv("JUDGE_CONCURRENCY", "1")
    judge.by_question = reasons_only
    run = scored(make_benchmark(stories=3, shots=1, methods=("Alder",)), "pa_scene")
    assert (run.state, MetricScore.objects.count()) == ("done", 3)
    assert len(judge.asked) == 2 + 3
