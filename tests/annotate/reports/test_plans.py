"""Plans asked for in the browser are those that the commands make of the downloads."""

import json
import shlex

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.__main__ import main
from annotate.models import Report
from annotate.quality import exclusion
from annotate.reports import building
from evalcore.models import MetricScore
from tests.annotate.reports.test_scales import BEAUTY, answered
from tests.cases import slow
from tests.factories import make_study
from tests.people import answer_everything, eve, rob

pytestmark = pytest.mark.django_db

COMMON = {"questions": ["beauty"], "confidence": "0.9", "seed": "3", "resamples": "20"}
LEVELS = {"levels": ["pooled"], "coefficients": ["kendall"]}
ASKED = {
    "power": COMMON | LEVELS | {"metrics": ["sharpness"], "target": "0.1"},
    "subset": COMMON
    | {"metrics": ["sharpness"], "sizes": "2, 3", "part": "genre=myth"},
    "stability": COMMON | LEVELS | {"judges": ["A01"]},
}


@pytest.fixture
def study():
    """Four stories of two genres; one answer is excluded."""
    row = answered(BEAUTY)
    for story in row.benchmark.stories.all():
        story.tags = {"genre": "myth" if story.key < "03" else "farce"}
        story.save()
    slot = row.slots.filter(state="submitted").first()
    exclusion.exclude(slot, reason="asleep", author=None)
    return row


def ask(study, command, **asked):
    url = reverse(f"report-{command}", args=[study.slug])
    answer = rob(study).post(url, ASKED[command] | asked)
    assert answer.status_code == 302, answer.context["form"].errors
    report = building.build_report(Report.objects.latest("pk").pk)
    assert report.state == "done", report.error
    return report


def downloaded(study, folder):
    """Store what the study's pages give, as files of the command line."""
    client = rob(study)
    for table in ("ratings", "scores"):
        url = reverse(f"study-{table}-csv", args=[study.slug])
        (folder / f"{table}.csv").write_bytes(client.get(url).getvalue())
    ratings = pd.read_csv(folder / "ratings.csv", dtype=str)
    judge = ratings["annotator"] == "A01"
    ratings[judge].to_csv(folder / "judge.csv", index=False)
    ratings[~judge].to_csv(folder / "people.csv", index=False)
    tags = [(one.key, one.tags["genre"]) for one in study.benchmark.stories.all()]
    pd.DataFrame(tags, columns=["story", "genre"]).to_csv(
        folder / "tags.csv", index=False
    )


BY_HAND = {
    "power": "--ratings ratings.csv --scores scores.csv --target 0.1 "
    "--levels pooled --coefficients kendall",
    "subset": "--ratings ratings.csv --scores scores.csv --sizes 2,3 "
    "--stories tags.csv --tag genre --value myth",
    "stability": "--ratings judge.csv --people people.csv --levels pooled "
    "--coefficients kendall",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", list(ASKED))
def test_a_plan_is_what_the_command_makes_of_the_downloads(
    study, command, tmp_path, monkeypatch
):
    report = ask(study, command)
    assert report.command == command
    downloaded(study, tmp_path)
    monkeypatch.chdir(tmp_path)
    words = f"{command} {BY_HAND[command]} --confidence 0.9 --seed 3 --resamples 20"
    words += " --scale 0:4 --images none --out out"
    assert main(words.split()) == 0
    tables = building.folder(report) / "tables"
    names = {path.name for path in tables.iterdir()}
    assert names == {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    for name in names - {"run.csv", "run.tex"}:
        made = (tmp_path / "out" / "tables" / name).read_bytes()
        assert (tables / name).read_bytes() == made, name
    client = rob(study)
    page = client.get(reverse("report-page", args=[study.slug, report.pk]))
    assert page.status_code == 200
    listed = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert f"<strong>{Report.Command(command).label}</strong>" in listed
    assert "disagreements" not in listed


@pytest.mark.slow
@pytest.mark.parametrize("command", list(ASKED))
def test_its_command_makes_the_plan_again(study, command, tmp_path):
    report = ask(study, command)
    run = pd.read_csv(building.folder(report) / "tables" / "run.csv", index_col="key")
    words = shlex.split(run["value"]["command"])
    out = tmp_path / "again"
    given = [str(out) if word == "DIR" else word for word in words[2:]]
    call_command(*given, "--images", "none")
    for path in (building.folder(report) / "tables").iterdir():
        assert path.read_bytes() == (out / "tables" / path.name).read_bytes()
    again = building.build_again(report, user=None)
    assert (again.command, again.options) == (command, report.options)


@pytest.mark.parametrize("command", ["stability", *slow("power", "subset")])
def test_a_plan_speaks_only_of_what_it_read(study, command):
    MetricScore.objects.filter(metric="sharpness", story__key="01").delete()
    report = ask(study, command)
    stored = json.loads((building.folder(report) / "report.json").read_text())
    reads_scores = command != "stability"
    notes = " ".join(stored["notes"])
    assert ("should beat before it is believed: sharpness." in notes) == reads_scores
    assert ("Metric sharpness: " in notes) == reads_scores
    run = pd.read_csv(building.folder(report) / "tables" / "run.csv", index_col="key")
    hashed = {key for key in run.index if key.startswith("sha256 of ")}
    expected = {"sha256 of ratings.csv"}
    if reads_scores:
        expected |= {"sha256 of scores.csv"}
    if command == "subset":
        expected |= {"sha256 of tags of the study"}
    assert hashed == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "kind"), [("en", "How stable a judge is"), ("zh-Hans", "裁判有多稳定")]
)
def test_a_plan_is_headed_by_its_study(study, language, kind):
    report = ask(study, "stability", language=language)
    page = (building.folder(report) / "report.html").read_text("utf-8")
    assert f"<h1>{study.title} · {kind}</h1>" in page


@pytest.mark.parametrize(
    ("command", "asked", "told"),
    [
        ("power", {"target": "0"}, "target"),
        ("power", {"resamples": "1"}, "resamples"),
        ("power", {"questions": ["beuty"]}, "questions"),
        ("power", {"metrics": []}, "metrics"),
        ("subset", {"sizes": "5, many"}, "sizes"),
        ("subset", {"sizes": "0"}, "sizes"),
        ("subset", {"part": "genre=epic"}, "part"),
        ("stability", {"judges": []}, "judges"),
        ("stability", {"judges": ["A07"]}, "judges"),
    ],
)
def test_what_cannot_be_planned_is_refused_beside_its_field(
    study, command, asked, told
):
    url = reverse(f"report-{command}", args=[study.slug])
    answer = rob(study).post(url, ASKED[command] | asked)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [told]
    assert not Report.objects.exists()


@pytest.mark.parametrize("command", list(ASKED))
def test_a_plan_is_hidden_from_outsiders(study, command):
    url = reverse(f"report-{command}", args=[study.slug])
    client = rob(study)
    assert client.get(url).status_code == 200
    listed = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert f'href="{url}"' in listed
    assert eve().get(url).status_code == 404
    assert eve().post(url, ASKED[command]).status_code == 404
    assert not Report.objects.exists()


def test_a_study_of_choices_has_plans_of_subsets_alone(tmp_path):
    study = make_study(kind="choice")
    answer_everything(study, "a")
    client = rob(study)
    for command, offered in (("power", False), ("subset", True), ("stability", False)):
        url = reverse(f"report-{command}", args=[study.slug])
        page = client.get(url).content.decode()
        assert ("no question that rates single outputs" not in page) == offered
    with pytest.raises(CommandError, match="no question that rates single outputs"):
        call_command("report", study.slug, out=tmp_path / "out", kind="power")


def test_plans_are_not_compared_with_reports(study):
    ask(study, "subset")
    url = reverse("report-comparison", args=[study.slug])
    assert rob(study).get(url).context["finished"] == []


@pytest.mark.slow
def test_a_plan_has_neither_a_comparison_nor_disagreements(study):
    plan = ask(study, "subset")
    rows = [
        Report.objects.create(study=study, options={"resamples": 0}) for _ in range(2)
    ]
    before, after = (building.build_report(row.pk) for row in rows)
    client = rob(study)
    url = reverse("report-comparison", args=[study.slug])
    assert client.get(url, {"before": before.pk, "after": after.pk}).status_code == 200
    assert client.get(url, {"before": plan.pk, "after": after.pk}).status_code == 404
    assert client.get(url, {"before": before.pk, "after": plan.pk}).status_code == 404
    for report, status in ((before, 200), (plan, 404)):
        url = reverse("report-disagreements", args=[study.slug, report.pk])
        assert client.get(url).status_code == status


def test_an_option_of_another_kind_is_refused(study, tmp_path):
    with pytest.raises(CommandError, match="--target: not an option of subset"):
        call_command(
            "report", study.slug, out=tmp_path / "out", kind="subset", target=0.1
        )
