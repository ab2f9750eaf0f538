"""Import of ViStoryBench's result folders as scores."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.models import (
    MetricAbsence,
    MetricRun,
    MetricScore,
)
from tests.evalcore.vistorybench_folder import (
    STAMP,
    change,
    item,
    write_run,
)
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """Return stories 01 and 02 of three shots each."""
    return make_benchmark(pictures=False, methods=["UNO"])


def load(path, **options):
    call_command("import_scores", path, **({"benchmark": "woods"} | options))


def complaints(path, **options):
    with pytest.raises(CommandError) as refused:
        load(path, **options)
    assert refused.value.returncode == 2
    assert not MetricScore.objects.exists()
    *problems, last = str(refused.value).splitlines()
    assert last == "Nothing was written."
    return problems


def of_story(key, **more):
    rows = MetricScore.objects.filter(story__key=key, shot=None, **more)
    return dict(rows.values_list("metric", "value"))


def test_stories_become_scores(tmp_path, benchmark, capsys):
    write_run(tmp_path)
    load(tmp_path)
    assert of_story("02") == {
        "cids_self": 0.9,
        "cids_cross": 0.6,
        "copy_paste": 0.4375,
        "occm": 77.8801,
        "pa_action": 2.0,
        "csd_self": 0.625,
        "csd_cross": 0.1 + 0.2,
        "pa_scene": 3.5,
        "pa_interaction": 2.0,
        "pa_camera": 4 / 3,
        "aesthetic": 5.59765625,
    }
    score = MetricScore.objects.filter(metric="csd_self").first()
    assert score.metric_version == f"vsb-code {STAMP}"
    assert (score.backend, score.method.name) == ("vistorybench", "UNO")
    lower = MetricScore.objects.filter(higher_is_better=False)
    assert set(lower.values_list("metric", flat=True)) == {"copy_paste"}
    (run,) = MetricRun.objects.all()
    assert (run.source, run.file_name) == ("imported", f"UNO/base/en/{STAMP}")
    # 21 scores of stories and an absence, 1 of the method, 36 of shots.
    assert "Imported 59 scores (59 new, 0 replaced)." in capsys.readouterr().out


def test_method_gets_values_of_all_stories(tmp_path, benchmark):
    write_run(tmp_path)
    load(tmp_path)
    score = MetricScore.objects.get(story=None)
    assert (score.metric, score.value) == ("inception_score", 8.5)


def test_shots_become_scores_but_characters_do_not(tmp_path, benchmark):
    write_run(tmp_path)
    load(tmp_path)
    rows = MetricScore.objects.filter(story__key="01", shot__number=2)
    assert dict(rows.values_list("metric", "value")) == {
        "csd_cross": 0.33,
        "pa_scene": 3.0,
        "pa_interaction": 2.0,
        "pa_camera": 1.0,
        "aesthetic": 5.6,
        "pa_action": 3.0,
    }
    # Values of single characters have no row, but are kept as details.
    kept = MetricScore.objects.get(story__key="01", shot=None, metric="cids_cross")
    lines = kept.details["vistorybench"]["items"]
    assert [line["scope"]["character_key"] for line in lines[::2]] == ["Mira"] * 3
    assert kept.details["vistorybench"]["record"]["cids"]["Mira"]["cross"] == 0.5123


def test_undefined_rate_becomes_absence(tmp_path, benchmark):
    write_run(tmp_path)
    load(tmp_path)
    assert "copy_paste" not in of_story("01")
    absence = MetricAbsence.objects.get()
    assert (absence.story.key, absence.metric) == ("01", "copy_paste")
    assert absence.reason == "undefined: copy-paste-score is null"


# Several runs -------------------------------------------------------------------------


def test_newest_run_is_read_unless_another_is_chosen(tmp_path, benchmark, capsys):
    write_run(tmp_path)
    new = write_run(tmp_path, stamp="20260203_000000")
    change(
        new / "metrics/aesthetic/story_results.json",
        lambda data: data["01"]["metrics"].update(aesthetic_score=6.5),
    )
    load(tmp_path)
    assert of_story("01")["aesthetic"] == 6.5
    assert "the newest, 20260203_000000, is used" in capsys.readouterr().err
    load(tmp_path, timestamp=STAMP.replace("_", "-"))
    versions = MetricScore.objects.filter(metric="occm", story__key="01")
    assert sorted(versions.values_list("metric_version", flat=True)) == [
        f"vsb-code {STAMP}",
        "vsb-code 20260203_000000",
    ]
    with pytest.raises(
        CommandError, match=f"--timestamp: 1: expected one of: .*{STAMP}"
    ):
        load(tmp_path, timestamp="1")


# Unusual content ----------------------------------------------------------------------


def test_unusual_numbers_are_read_with_notes(tmp_path, benchmark, capsys):
    folder = write_run(tmp_path)
    path = folder / "metrics/csd/story_results.json"
    text = path.read_text().replace('"self_csd": 0.5,', '"self_csd": NaN,')
    text = text.replace('"self_csd": 0.625', '"self_csd": "0.625"')
    path.write_text(
        text.replace('"cross_csd": 0.30000000000000004', '"cross_csd": "null"')
    )
    load(tmp_path)
    assert of_story("02", metric__startswith="csd") == {"csd_self": 0.625}
    assert of_story("01", metric__startswith="csd") == {}
    absences = MetricAbsence.objects.filter(metric__startswith="csd", shot=None)
    assert sorted(absences.values_list("story__key", "metric", "reason")) == [
        ("01", "csd_cross", "no value"),
        ("01", "csd_self", "not finite"),
        ("02", "csd_cross", "no value"),
    ]
    notes = capsys.readouterr().err
    assert "1 values of self_csd that are not numbers" in notes
    assert "2 values of cross_csd that are not numbers" in notes
    assert "1 values of self_csd that are text; read as numbers" in notes


def test_incomplete_records_are_left_out_and_counted(tmp_path, benchmark, capsys):
    folder = write_run(tmp_path)
    change(
        folder / "metrics/aesthetic/story_results.json",
        lambda data: data["01"].update(status="failed"),
    )
    with (folder / "metrics/aesthetic/items.jsonl").open("a") as file:
        row = item("aesthetic", "aesthetic_score", "01", 1, 9.9) | {"status": "failed"}
        file.write(json.dumps(row) + "\n")
    load(tmp_path)
    assert "aesthetic" not in of_story("01")
    assert not MetricScore.objects.filter(value=9.9).exists()
    notes = capsys.readouterr().err
    assert "1 stories that are not complete; left out" in notes
    assert "1 lines that are not complete; left out" in notes


def test_shots_counted_from_0_are_shifted(tmp_path, benchmark, capsys):
    write_run(tmp_path, shots=(0, 1, 2))
    load(tmp_path)
    shots = MetricScore.objects.filter(
        metric="csd_cross", story__key="01", shot__number__gt=0
    )
    assert sorted(shots.values_list("shot__number", "value")) == [
        (1, 0.31),
        (2, 0.32),
        (3, 0.33),
    ]
    assert "shots are counted from 0 here" in capsys.readouterr().err


# Mistakes -----------------------------------------------------------------------------

RECORDS, LINES = "metrics/csd/story_results.json", "metrics/csd/items.jsonl"
RUN = {"method": "UNO", "mode": "base", "language": "en", "timestamp": STAMP}
WRONG = {
    "no json": (RECORDS, "{\n oops", "story_results.json:2: expected JSON"),
    "a list": (RECORDS, "[]", "expected an object of records by story"),
    "no record": (RECORDS, '{"01": 5}', "story 01: expected one object per story"),
    "twice": (RECORDS, '{"01": {}, "01": {}}', "01: expected each key once per object"),
    "line no json": (LINES, "\n{", "items.jsonl:2: expected JSON"),
    "line no object": (LINES, "5", "items.jsonl:1: expected an object with metric"),
    "no submetric": (
        LINES,
        '{"metric": {"name": "csd"}, "scope": {"story_id": "01"}}',
        "expected an object with metric {name, submetric} and scope",
    ),
    "no shot": (
        LINES,
        json.dumps(item("csd", "cross_csd", "01", "one", 1)),
        "items.jsonl:1: one: expected a shot_index that is a whole number",
    ),
    "not text": (LINES, "\xff", "items.jsonl:1: expected UTF-8"),
    "scores": ("metrics/diversity/scores.json", "[1]", "expected an object with met"),
    "metadata": ("metadata.json", "[]", "metadata.json: expected an object with run:"),
    "method": (
        "metadata.json",
        '{"run": {"method": "a/b"}}',
        "expected the method of the run",
    ),
    "summary": ("summary.json", "[1]", "summary.json: expected an object, with met"),
    "manifest": ("manifest.json", '{"metrics": [1]}', "expected an object, with metr"),
    "ours": (
        "metadata.json",
        json.dumps({"run": RUN, "plumbline": {"csd": {"self_csd": 5}}}),
        "expected plumbline as an object of folders, of keys",
    ),
}


@pytest.mark.parametrize(("name", "text", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_row_is_reported(tmp_path, benchmark, name, text, what):
    folder = write_run(tmp_path)
    (folder / name).write_text(text, encoding="latin-1")
    problems = complaints(tmp_path)
    assert len(problems) == 1
    assert what in problems[0]


@pytest.mark.parametrize("name", ["csd/story_results.json", "aesthetic/items.jsonl"])
def test_links_are_not_followed(tmp_path, benchmark, name):
    path = write_run(tmp_path / "in") / "metrics" / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    (problem,) = complaints(tmp_path / "in")
    assert problem == f"{path}: expected a regular file, not a link"
