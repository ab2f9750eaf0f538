import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.models import MetricRun, MetricScore, Story
from tests.factories import make_benchmark

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

HEAD = "story,method,metric,score\n"


@pytest.fixture
def benchmark():
    return make_benchmark(pictures=False)


def load(tmp_path, text, **options):
    path = tmp_path / "cids.csv"
    path.write_text(text)
    call_command("import_scores", path, **({"benchmark": "woods"} | options))


def test_table_is_imported(tmp_path, benchmark, capsys):
    load(tmp_path, HEAD + "01,Alder,cids,0.5\n02,Alder,cids,\n,Birch,cids,0.25\n")
    assert "2 new" in capsys.readouterr().out
    values = MetricScore.objects.order_by("value").values_list("value", "story__key")
    assert list(values) == [(0.25, None), (0.5, "01")]
    run = MetricRun.objects.get()
    assert (run.source, run.file_name, run.state) == ("imported", "cids.csv", "done")


def test_second_run_changes_nothing(tmp_path, benchmark, capsys):
    for _ in range(2):
        load(tmp_path, HEAD + "01,Alder,cids,0.5\n")
    assert "Nothing new: 1 scores" in capsys.readouterr().out
    assert MetricScore.objects.count() == MetricRun.objects.count() == 1


def test_shots_wide_tables_and_directions(tmp_path, benchmark):
    load(tmp_path, "story,method,shot,metric,score\n01,Alder,2,sharp,0.5\n")
    assert MetricScore.objects.get().shot.number == 2
    load(
        tmp_path,
        "story,method,family,fid,sim\n01,Alder,oak,12,0.5\n",
        wide=True,
        lower_is_better=("fid",),
    )
    assert not MetricScore.objects.get(metric="fid").higher_is_better
    assert MetricScore.objects.get(metric="sim").higher_is_better
    assert MetricScore.objects.count() == 3


def test_conflicting_directions_of_metric_are_refused(tmp_path, benchmark):
    head = HEAD.replace("score\n", "score,higher_is_better\n")
    with pytest.raises(CommandError, match=r"cids.csv:3: .*direction of the metric"):
        load(tmp_path, head + "01,Alder,fid,5,true\n02,Alder,fid,6,false\n")


def test_changed_value_is_refused_without_replace(tmp_path, benchmark):
    load(tmp_path, HEAD + "01,Alder,cids,0.5\n")
    with pytest.raises(
        CommandError, match=r"cids.csv:2: score: 0.7: expected the stored value"
    ):
        load(tmp_path, HEAD + "01,Alder,cids,0.7\n")
    load(tmp_path, HEAD + "01,Alder,cids,0.7\n", replace=True)
    assert MetricScore.objects.get().value == 0.7


def test_problems_are_reported_and_nothing_is_stored(tmp_path, benchmark):
    text = HEAD + "01,Alder,cids,0.5\n01,Aldr,cids,0.5\n9,Alder,cids,0.5\n"
    with pytest.raises(CommandError) as caught:
        load(tmp_path, text)
    assert caught.value.returncode == 2
    assert (
        "cids.csv:3: method: Aldr: expected a method of woods; did you mean Alder?"
        in str(caught.value)
    )
    assert "cids.csv:4: story: 9: expected a story of woods" in str(caught.value)
    assert not MetricScore.objects.exists()


def test_direction_defaults_to_that_of_our_metric(tmp_path, benchmark, capsys):
    arrow = "KID\N{DOWNWARDS ARROW}"
    names = ("FID", "Copy-Paste", "occm", "LPIPS-x", "blur", arrow)
    load(tmp_path, HEAD + "".join(f"01,Alder,{name},1\n" for name in names))
    found = MetricScore.objects.values_list("metric", "higher_is_better")
    assert dict(found) == {
        "FID": False,
        "Copy-Paste": False,
        "occm": True,
        "LPIPS-x": False,
        "blur": True,
        arrow: False,
    }
    notes = capsys.readouterr().err.splitlines()
    assert [note.removeprefix("note: ").split("-is-better")[0] for note in notes] == [
        "blur: assumed higher",
        "Copy-Paste: assumed lower",
        "FID: assumed lower",
        f"{arrow}: assumed lower",
        "LPIPS-x: assumed lower",
    ]


def test_table_adds_no_shot_to_story_with_pictures(tmp_path, benchmark):
    story = Story.objects.get(key="01")
    with pytest.raises(CommandError, match="9: expected the number of a shot"):
        load(
            tmp_path,
            "story,method,shot,metric,score\n01,Alder,9,sharp,0.5\n",
            create=True,
        )
    assert story.shots.count() == 3
    assert not MetricScore.objects.exists()


def test_unknown_names_and_bad_values_are_reported_together(tmp_path, benchmark):
    rows = "".join(f"9,Nobody{i},cids,bad\n" for i in range(15))
    with pytest.raises(CommandError) as caught:
        load(tmp_path, HEAD + rows)
    lines = str(caught.value).splitlines()
    assert lines[3::4] == ["... and 12 more"] * 3
    assert lines[0].startswith("cids.csv:2: score: bad: expected a number")
    assert lines[4].startswith("cids.csv:2: story: 9: expected a story of woods")
    assert lines[8].startswith("cids.csv:2: method: Nobody0: expected a method of")
    assert lines[12:] == ["Nothing was written."]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("01,alder,cids,1", "method: alder: expected one spelling of a name"),
        ("1,Alder,cids,1", "story: 1: expected one spelling of a name"),
    ],
)
def test_name_in_another_spelling_is_refused(tmp_path, benchmark, row, message):
    with pytest.raises(CommandError, match=message):
        load(tmp_path, f"{HEAD}{row}\n", create=True)
    assert not MetricScore.objects.exists()
