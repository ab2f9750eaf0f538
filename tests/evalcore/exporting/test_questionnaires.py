"""Having a judge write questionnaires, and taking them in."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.exporting import FILE
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, MetricRun, Story
from tests.evalcore.metrics.llm_judge.serving import answers, serving
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

PAIR = {
    "id": "fox",
    "positive": "Is there a fox?",
    "negative": "Is there a dog?",
    "weight": 1.0,
}
LEVELS = [{"level": "L1", "weight": 1.0, "questions": [PAIR]}]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


@pytest.fixture
def judge(monkeypatch):
    """A judge that writes the same for everybody, at 1 and 10 dollars a million."""
    with serving() as server:
        server.then = answers(json.dumps({"levels": LEVELS}), usage=USAGE)
        for name, value in {
            "JUDGE_BASE_URL": server.base_url,
            "JUDGE_NAME": "test-judge",
            "JUDGE_PRICE_IN": "1",
            "JUDGE_PRICE_OUT": "10",
            "JUDGE_BUDGET": "1",
            "JUDGE_CONCURRENCY": "1",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def benchmark(tmp_path):
    """Two prompts as lines."""
    path = tmp_path / "core.txt"
    path.write_text('[GD-TR] A poster {text="SALE"}\n[SA-LI] A fox at dawn\n')
    import_benchmark(path, slug="v")
    return Benchmark.objects.get()


def write(folder, **options):
    call_command("write_questionnaires", "v", folder, **options)


def rows(folder):
    text = (folder / FILE).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_what_is_written_is_read_by_the_metric(judge, benchmark, tmp_path, capsys):
    out = tmp_path / "out"
    write(out)
    # Two questions of 1,000 and 100 tokens: .4 cents, two dollars a thousand.
    said = capsys.readouterr().out
    assert "0.00 dollars paid to the judge: 2.00 for a thousand prompts" in said
    assert "Wrote 2 questionnaires to 1 file (1 new, 0 replaced)." in said
    poster, fox = rows(out)
    assert poster["prompt"] == '[GD-TR] A poster {text="SALE"}'
    assert fox["prompt_id"] == "0002"
    assert fox["questionnaire"] == {
        "prompt_id": "0002",
        "prompt": "A fox at dawn",
        "levels": LEVELS,
    }
    first, second = sorted(asked.text for asked in judge.asked)
    assert "Prompt: A fox at dawn" in first + second
    assert "Parameter text: SALE" in first + second
    assert "Angle: Text Rendering" in first + second
    import_benchmark(out / FILE, slug="v")
    for story in Story.objects.all():
        assert story.extra["vistar"]["questionnaire"]["levels"] == LEVELS
        assert story.extra["vistar"]["role"] in ("GD", "SA")
    write(out)
    assert "each prompt has a questionnaire" in capsys.readouterr().out
    assert len(judge.asked) == 2


def test_only_what_lacks_one_and_was_named_is_asked_for(judge, tmp_path):
    path = tmp_path / "core.json"
    known = {"prompt_id": "p1", "prompt": "A cat", "levels": LEVELS}
    plain = [{"prompt_id": f"p{i}", "prompt": "A fox", "role": "me"} for i in (2, 3)]
    path.write_text(json.dumps([known, *plain]))
    import_benchmark(path, slug="v")
    write(tmp_path / "out", stories="p3,p1")
    (row,) = rows(tmp_path / "out")
    assert (row["prompt_id"], row["prompt"]) == ("p3", "A fox")
    assert "Asked for by: me" in judge.asked[0].text
    assert "Angle:" not in judge.asked[0].text
    summary = import_benchmark(tmp_path / "out" / FILE, slug="v")
    assert summary.created == 1


def test_what_is_refused_is_named_by_story(judge, benchmark, tmp_path, capsys):
    judge.by_question = lambda asked: answers(
        "I would rather not."
        if "poster" in asked.text
        else json.dumps({"levels": LEVELS})
    )
    with pytest.raises(CommandError, match="1 prompt got none"):
        write(tmp_path / "out")
    errors = capsys.readouterr().err
    assert "note: story 0001: the judge gave no usable answer in 3 attempts" in errors
    assert "expected a JSON object with levels, found none" in errors
    assert [row["prompt_id"] for row in rows(tmp_path / "out")] == ["0002"]


def test_a_spent_budget_writes_nothing_and_a_larger_one_goes_on(
    judge, benchmark, tmp_path, monkeypatch
):
    # Each costs 4.1 cents, and with 4,096 tokens at most a little more: one fits.
    dear = {"prompt_tokens": 1000, "completion_tokens": 4000}
    judge.then = answers(json.dumps({"levels": LEVELS}), usage=dear)
    monkeypatch.setenv("JUDGE_BUDGET", "0.05")
    with pytest.raises(CommandError, match=r"budget .* Nothing was written\."):
        write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert len(judge.asked) == 1
    monkeypatch.setenv("JUDGE_BUDGET", "1")
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", "0.05")
    with pytest.raises(CommandError, match="JUDGE_BUDGET_TOTAL"):
        write(tmp_path / "out")
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", "1")
    write(tmp_path / "out")
    assert (len(judge.asked), len(rows(tmp_path / "out"))) == (2, 2)
    paid = MetricRun.objects.values_list("source", "dollars")
    assert [round(dollars, 3) for _source, dollars in paid] == [0.041, 0, 0.041]
    assert {source for source, _dollars in paid} == {"asked"}


def test_another_file_is_not_overwritten(judge, benchmark, tmp_path):
    other = tmp_path / "out" / FILE
    other.parent.mkdir()
    other.write_text("mine")
    with pytest.raises(CommandError, match="--replace overwrites it"):
        write(tmp_path / "out")
    assert other.read_text() == "mine"
    write(tmp_path / "out", replace=True)
    assert len(rows(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("stories", "what"), [("0009", "0009: expected a story of v"), ("", "")]
)
def test_unknown_stories_and_other_benchmarks(
    judge, benchmark, tmp_path, stories, what
):
    if not stories:
        make_benchmark(slug="other", stories=1)
        with pytest.raises(CommandError, match="imported from a list of VISTAR's form"):
            call_command("write_questionnaires", "other", tmp_path / "out")
    else:
        with pytest.raises(CommandError, match=what):
            write(tmp_path / "out", stories=stories)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"a":' * 3000 + "1" + "}" * 3000, "nested too deeply"),
        (
            json.dumps(
                {
                    "levels": [
                        LEVELS[0] | {"questions": [PAIR | {"positive": "Is \ud800?"}]}
                    ]
                }
            ),
            r"positive: expected whole characters",
        ),
    ],
    ids=["deep", "half a character"],
)
def test_an_odd_reply_is_refused_by_story(
    judge, benchmark, tmp_path, capsys, reply, reason
):
    judge.then = answers(reply, usage=USAGE)
    with pytest.raises(CommandError, match="2 prompts got none"):
        write(tmp_path / "out")
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
