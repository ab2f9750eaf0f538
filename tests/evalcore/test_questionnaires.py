"""Questionnaires: written by a judge, exported with their author, and imported."""

import csv
import json
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.formats.vistar import FILE, TABLE
from evalcore.importing.stories import import_benchmark
from evalcore.metrics.vistar.questionnaire import prompt_version
from evalcore.models import Benchmark, Story
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
    """Return a judge with one reply, at 1 and 10 dollars per million tokens."""
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
    """Return two prompts that ask for hwpq, and one that does not, as lines."""
    path = tmp_path / "core.txt"
    lines = '[GD-MA] A poster {text="SALE"}\n[SA-SF] A fox at dawn\n[SA-LI] A fox\n'
    path.write_text(lines)
    import_benchmark(path, slug="v")
    return Benchmark.objects.get()


def write(folder, **options):
    call_command("write_questionnaires", "v", folder, **options)


def rows(folder):
    text = (folder / FILE).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_written_questionnaires_are_read_by_the_metric(
    judge, benchmark, tmp_path, capsys
):
    out = tmp_path / "out"
    write(out)
    # Two questions of 1,000 and 100 tokens: .4 cents, two dollars a thousand.
    said = capsys.readouterr().out
    assert "The judge cost 0.00 dollars, or 2.00 per thousand prompts" in said
    assert "Wrote 2 questionnaires to 2 files (2 new, 0 replaced)." in said
    poster, fox = rows(out)
    assert poster["prompt"] == '[GD-MA] A poster {text="SALE"}'
    assert fox["prompt_id"] == "0002"
    assert fox["questionnaire"] == {
        "prompt_id": "0002",
        "prompt": "A fox at dawn",
        "author": {
            "name": "test-judge",
            "written_on": f"{datetime.now(UTC):%Y-%m-%d}",
            "prompt_version": prompt_version(),
        },
        "levels": LEVELS,
    }
    first, second = sorted(asked.text for asked in judge.asked)
    assert "Prompt: A fox at dawn" in first + second
    assert "Parameter text: SALE" in first + second
    assert "Angle: Material Accuracy" in first + second
    import_benchmark(out / FILE, slug="v")
    for story in Story.objects.exclude(key="0003"):
        assert story.extra["vistar"]["questionnaire"]["levels"] == LEVELS
        assert story.extra["vistar"]["role"] in ("GD", "SA")
    write(out)
    assert "no prompt of SF, CUL, MA lacks" in capsys.readouterr().out
    assert len(judge.asked) == 2
    write(tmp_path / "more", stories="0003")
    assert [row["prompt_id"] for row in rows(tmp_path / "more")] == ["0003"]


def test_exported_questionnaires_are_imported_unchanged(tmp_path, capsys):
    author = {"name": "Alice Smith", "written_on": "2026-11-29"}
    prompts = tmp_path / "prompts.jsonl"
    row = {
        "prompt_id": "p1",
        "prompt": '[PM-SF] A "fox" {mood="=1+1"}',
        "questionnaire": {"author": author, "levels": LEVELS},
    }
    bare = {"prompt_id": "p2", "prompt": "[GD-TR] A poster"}
    prompts.write_text(f"{json.dumps(row)}\n{json.dumps(bare)}\n")
    import_benchmark(prompts, slug="v")
    out = tmp_path / "out"
    call_command("export_questionnaires", "v", out)
    assert "Wrote 1 questionnaire to 2 files (2 new" in capsys.readouterr().out
    assert import_benchmark(out / FILE, slug="v").line().startswith("Nothing new")
    import_benchmark(out / FILE, slug="copy")
    extra, copy = (story.extra for story in Story.objects.filter(key="p1"))
    assert copy == extra
    assert copy["vistar"]["questionnaire"]["author"] == author
    with (out / TABLE).open(encoding="utf-8", newline="") as file:
        (pair,) = csv.DictReader(file)
    assert pair == {
        "story": "p1",
        "role": "PM",
        "angle": "SF",
        "prompt": 'A "fox"',
        "level": "L1",
        "level_weight": "1.0",
        "pair": "fox",
        "positive": "Is there a fox?",
        "negative": "Is there a dog?",
        "weight": "1.0",
        "author_name": "Alice Smith",
        "author_written_on": "2026-11-29",
        "author_prompt_version": "",
    }


def test_refused_questionnaire_is_reported_by_story(judge, benchmark, tmp_path, capsys):
    judge.by_question = lambda asked: answers(
        "I would rather not."
        if "poster" in asked.text
        else json.dumps({"levels": LEVELS})
    )
    with pytest.raises(CommandError, match="No questionnaire for 1 prompt"):
        write(tmp_path / "out")
    errors = capsys.readouterr().err
    assert "note: story 0001: the judge gave no usable answer in 3 attempts" in errors
    assert "expected a JSON object with levels, found none" in errors
    assert [row["prompt_id"] for row in rows(tmp_path / "out")] == ["0002"]


@pytest.mark.parametrize(
    ("stories", "what"), [("0009", "0009: expected a story of v"), ("", "")]
)
def test_unknown_stories_and_other_benchmarks_are_reported(
    judge, benchmark, tmp_path, stories, what
):
    if not stories:
        make_benchmark(slug="other", stories=1)
        with pytest.raises(
            CommandError, match="imported from a list in VISTAR's format"
        ):
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
def test_wrong_reply_is_reported_by_story(
    judge, benchmark, tmp_path, capsys, reply, reason
):
    judge.then = answers(reply, usage=USAGE)
    with pytest.raises(CommandError, match="No questionnaire for 2 prompts"):
        write(tmp_path / "out")
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
