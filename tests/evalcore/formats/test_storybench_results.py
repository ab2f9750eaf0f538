"""Import of DOVER's tables and of files with one number per sample."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.models import MetricScore
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

HEAD = "name\taesthetic_score\ttechnical_score\toverall_score\n"


@pytest.fixture(autouse=True)
def benchmark():
    return make_benchmark(pictures=False)


def load(tmp_path, text, name, **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    options = {"benchmark": "woods", "method": "Alder"} | options
    call_command("import_scores", path, **options)


def complaints(tmp_path, text, name, **options):
    with pytest.raises(CommandError) as refused:
        load(tmp_path, text, name, **options)
    assert not MetricScore.objects.exists()
    lines = str(refused.value).splitlines()[:-1]
    return [line.removeprefix(str(tmp_path / name)) for line in lines]


@pytest.mark.parametrize("head", [HEAD, HEAD.replace("_score", "")])
def test_dover_table_is_imported(tmp_path, head, capsys):
    text = "\ufeff" + head + "01\t40.5\t60\t50.25\n\n02\t1\t2\t3\n"
    load(tmp_path, text, "scores_0.tsv")
    rows = MetricScore.objects.filter(story__key="01").order_by("metric")
    assert list(rows.values_list("metric", "value", "backend")) == [
        ("pqa", 50.25, "DOVER"),
        ("pqa_aesthetic", 40.5, "DOVER"),
        ("pqa_technical", 60.0, "DOVER"),
    ]
    load(tmp_path, text, "scores_0.tsv")
    assert "Nothing new" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "name,aesthetic\n",
            [
                ":1: expected tabs between the columns name, aesthetic,"
                " technical and overall"
            ],
        ),
        (HEAD, [":1: expected at least one row below the header"]),
        (
            HEAD + "01\t1\t2\n01\t1\t2\tnan\n01\t1\t2\tx\n",
            [
                ":2: expected 4 columns as in the header, not 3",
                ":3: overall: nan: expected a finite number",
                ":4: name: 01: expected each name once; line 3 has the same",
                ":4: overall: x: expected a finite number",
            ],
        ),
        (
            HEAD + "77\t1\t2\t3\n",
            [":2: story: 77: expected a story of woods (--create adds new ones)"],
        ),
    ],
)
def test_wrong_dover_table_is_reported(tmp_path, text, problems):
    assert complaints(tmp_path, text, "scores_0.tsv") == problems


def test_samples_are_imported(tmp_path):
    text = "1.25e+02\n1.75e+02\n\n"
    load(tmp_path, text, "result.txt", metric="fid", metric_version="96x160")
    score = MetricScore.objects.get()
    assert (score.metric, score.value, score.story) == ("fid", 150.0, None)
    assert (score.metric_version, score.higher_is_better) == ("96x160", False)
    assert score.details == {"storybench": {"samples": [125.0, 175.0]}}
    load(tmp_path, "0.5", "result.txt", metric="vtm")
    assert MetricScore.objects.get(metric="vtm").higher_is_better
