import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.models import Method, MetricRun, MetricScore, Output, Story
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

HEAD = "story,method,metric,score\n"


@pytest.fixture
def benchmark():
    return make_benchmark(pictures=False)


def load(tmp_path, text, **options):
    path = tmp_path / "cids.csv"
    path.write_text(text)
    call_command("import_scores", path, benchmark="woods", **options)


def test_it_works(tmp_path, benchmark, capsys):
    load(tmp_path, HEAD + "01,Alder,cids,0.5\n02,Alder,cids,\n,Birch,cids,0.25\n")
    assert "2 new" in capsys.readouterr().out
    values = MetricScore.objects.order_by("value").values_list("value", "story__key")
    assert list(values) == [(0.25, None), (0.5, "01")]
    run = MetricRun.objects.get()
    assert (run.source, run.file_name, run.state) == ("imported", "cids.csv", "done")


def test_a_second_run_changes_nothing(tmp_path, benchmark, capsys):
    for _ in range(2):
        load(tmp_path, HEAD + "01,Alder,cids,0.5\n")
    assert "Nothing new: 1 scores" in capsys.readouterr().out
    assert MetricScore.objects.count() == MetricRun.objects.count() == 1


def test_shots_wide_tables_and_directions(tmp_path, benchmark):
    load(tmp_path, "story,method,shot,metric,score\n01,Alder,2,sharp,0.5\n")
    assert MetricScore.objects.get().shot.number == 2
    load(tmp_path, "story,method,family,fid,sim\n01,Alder,oak,12,0.5\n", wide=True,
         lower_is_better="fid")  # fmt: skip
    assert not MetricScore.objects.get(metric="fid").higher_is_better
    assert MetricScore.objects.get(metric="sim").higher_is_better
    assert MetricScore.objects.count() == 3


def test_another_value_is_refused_until_it_is_asked_for(tmp_path, benchmark):
    load(tmp_path, HEAD + "01,Alder,cids,0.5\n")
    with pytest.raises(
        CommandError, match=r"cids.csv:2: score: 0.7: expected the stored value"
    ):
        load(tmp_path, HEAD + "01,Alder,cids,0.7\n")
    load(tmp_path, HEAD + "01,Alder,cids,0.7\n", replace=True)
    assert MetricScore.objects.get().value == 0.7


def test_every_problem_is_named_and_nothing_is_written(tmp_path, benchmark):
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


def test_missing_stories_and_methods_can_be_created(tmp_path, benchmark):
    load(tmp_path, HEAD + "77,Elm,cids,0.5\n", create=True)
    assert Story.objects.filter(key="77").exists()
    assert Method.objects.filter(name="Elm").exists()
    assert Output.objects.get(story__key="77").frames.count() == 0
