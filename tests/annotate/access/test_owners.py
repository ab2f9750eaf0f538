"""Two labs on one server: what is Alice's stays hers, whatever Eve manages."""

import io
import re

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotate.models import Report, User
from annotate.reports import building
from annotate.studies.planning import plan_study
from annotate.studies.study_file import load_definition
from evalcore import members
from evalcore.models import (
    Benchmark,
    Frame,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import metric_runs
from tests.cases import slow
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything, log_in, program

pytestmark = pytest.mark.django_db

# One has a value an output, the other a value a shot.
METRICS = ["shots_present", "sharpness"]
LIKERT = "vistorybench-user-study"


@pytest.fixture
def hers():
    """Alice's study over her woods."""
    study = make_study(slug="hers")
    alice(study)
    return study


@pytest.fixture
def own():
    """Eve's study over her benchmark."""
    swamp = make_benchmark(slug="swamp", stories=1, shots=1)
    return make_study(slug="own", benchmark=swamp)


@pytest.fixture
def beside(hers):
    """Eve's study over Alice's woods, of two methods, which somebody once gave her."""
    study = make_study(slug="beside", benchmark=hers.benchmark)
    cedar = study.units.filter(output_a__method__name="Cedar")
    study.slots.filter(unit__in=cedar).delete()
    cedar.delete()
    return study


def eve(study):
    """Eve, who manages a study; of the two benchmarks the swamp is hers."""
    client = log_in("eve", study, "manager")
    if study.benchmark.slug == "swamp":
        members.add(study.benchmark, members.account("eve"), members.Role.OWNER)
    return client


def post_scores(study, rows, replace=True):
    url = reverse("api-scores", args=[study.slug])
    return program("eve").post(url, {"scores": rows, "replace": replace}, format="json")


def score(value, method="Alder", story="01", metric="shots_present", **more):
    row = {"story": story, "method": method, "metric": metric, "score": value}
    return row | more


def stored_as(metric):
    """Return the version and backend under which a metric was computed."""
    row = MetricScore.objects.filter(metric=metric).first()
    return {"metric_version": row.metric_version, "backend": row.backend}


# Another lab's benchmark does not exist


@pytest.mark.slow
def test_another_labs_benchmark_is_not_offered(hers, own):
    client = eve(own)
    page = client.get("/setup/").content.decode()
    assert 'value="swamp"' in page
    assert "woods" not in page.lower()
    sent = {"benchmark": "woods", "template": LIKERT}
    assert client.post("/setup/", sent).status_code == 422
    assert client.post("/setup/", sent | {"benchmark": "nowhere"}).status_code == 422


def test_benchmark_pages_show_only_own_benchmarks(hers, own):
    client = eve(own)
    assert "woods" not in client.get("/benchmarks/").content.decode().lower()
    assert client.get("/benchmarks/woods/").status_code == 404
    add = reverse("member-add", args=["woods"])
    assert client.post(add, {"name": "eve"}).status_code == 404
    assert alice(hers).get("/benchmarks/woods/").status_code == 200


# Scores that are posted to a study


def report_of(study):
    report = Report.objects.create(study=study, options={"resamples": 0})
    return building.build_report(report.pk)


def files_of(report):
    folder = building.folder(report)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_extra_fields_do_not_change_another_labs_report(hers, beside):
    metric_runs.run(metric_runs.queue_run(hers.benchmark, METRICS).pk)
    answer_everything(hers)
    eve(beside)
    scores = reverse("study-scores-csv", args=[hers.slug])
    table = alice(hers).get(scores).getvalue()
    before = report_of(hers)
    assert before.state == "done", before.error

    version = stored_as("shots_present")
    rows = [score(-9.0, story=story, **version) for story in ("01", "02")]
    shot = {"metric": "sharpness", "shot": 1}
    rows += [score(-9.0, **shot, **stored_as("sharpness"))]
    rows += [score(0.5, metric="brought"), score(7.0, story="", metric="whole")]
    assert post_scores(beside, rows).status_code == 200
    assert post_scores(beside, [score(0.9, metric="brought")]).status_code == 200
    turned = [score(-8.0, higher_is_better=False, **version)]
    assert post_scores(beside, turned).status_code == 200

    after = building.build_report(building.build_again(before, user=None).pk)
    assert files_of(after) == files_of(before)
    assert alice(hers).get(scores).getvalue() == table
    fresh = files_of(report_of(hers))
    assert b"brought" not in b"".join(fresh.values())
    mine = report_of(beside)
    assert mine.state == "failed"  # nobody has answered
    told = eve(beside).get(reverse("study-scores-csv", args=["beside"])).getvalue()
    assert b",-8.0," in told
    assert b",0.9," in told


@pytest.mark.slow
def test_posted_score_replaces_the_benchmarks_with_a_note(beside):
    metric_runs.run(metric_runs.queue_run(beside.benchmark, METRICS).pk)
    eve(beside)
    answer_everything(beside)
    version = stored_as("shots_present")
    first = post_scores(beside, [score(2.5, **version)], replace=False)
    (problem,) = first.json()["problems"]
    assert problem["expected"].startswith("the stored value")
    done = post_scores(beside, [score(2.5, **version)])
    assert (done.json()["created"], done.json()["replaced"]) == (0, 1)
    same = post_scores(beside, [score(2.5, **version)], replace=False)
    assert (same.json()["created"], same.json()["replaced"]) == (0, 0)

    lines = eve(beside).get(reverse("study-scores-csv", args=["beside"])).getvalue()
    of_alder = [
        line for line in lines.decode().splitlines() if "01,Alder,shots" in line
    ]
    assert len(of_alder) == 1
    assert ",2.5," in of_alder[0]
    assert of_alder[0].endswith(",posted")
    assert lines.count(b",shots_present,") == 4
    assert lines.count(b",computed\n") == 3 + 4 * 3
    page = files_of(report_of(beside))["report.html"].decode()
    assert "Scores posted to this study replace the benchmark" in page
    assert "shots_present (1)" in page
    shown = eve(beside).get(reverse("study-scoring", args=["beside"])).content.decode()
    assert "Posted to this study and used only here: shots_present." in shown


@pytest.mark.parametrize("kind", ["likert", *slow("choice")])
def test_score_is_left_out_when_the_study_does_not_show_its_output(kind):
    """Only Alder's first story and Birch's second one; of pairs, with Cedar's."""
    study = make_study(slug="beside", kind=kind)
    metric_runs.run(metric_runs.queue_run(study.benchmark, METRICS).pk)
    shown = {("01", "Alder"), ("02", "Birch")}
    units = [
        unit
        for unit in study.units.all()
        if any((unit.story.key, name) in shown for name in unit.methods)
        and (kind == "likert" or "Cedar" in unit.methods)
    ]
    study.slots.exclude(unit__in=units).delete()
    study.units.exclude(pk__in=[unit.pk for unit in units]).delete()
    if kind == "choice":
        shown |= {("01", "Cedar"), ("02", "Cedar")}
    table = eve(study).get(reverse("study-scores-csv", args=["beside"])).getvalue()
    rows = [line.split(",") for line in table.decode().splitlines()[1:]]
    assert {(story, method) for story, method, *_more in rows} == shown
    page = eve(study).get(reverse("study-scoring", args=["beside"]))
    assert page.status_code == 200


@pytest.mark.postgresql
def test_scores_are_unique_per_benchmark_and_study(beside):
    from django.db import IntegrityError, transaction

    eve(beside)
    post_scores(beside, [score(1.0), score(1.0, story="")])
    for row in MetricScore.everything.all():
        row.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save()
        row.posted_to = ""
        row.save()
    assert MetricScore.objects.count() == 2
    assert MetricScore.everything.count() == 4


# A study over a benchmark that one is no member of


@pytest.mark.slow
def test_removed_member_sees_only_the_study(beside):
    client = eve(beside)
    other = Output.objects.filter(method__name="Cedar").first()
    own = Output.objects.filter(method__name="Alder").first()
    names = ("study-detail", "study-detail", "annotator-list", "report-list")
    for name in (*names, "study-scoring", "study-extend"):
        page = client.get(reverse(name, args=["beside"]))
        assert page.status_code == 200, name
        assert b"Cedar" not in page.content, name
    place = "woods", "only", "1", "display"
    seen = reverse("preview-picture", args=[place[0], str(own.pk), *place[1:]])
    assert client.get(seen).status_code == 200
    for code in (str(other.pk), f"{own.pk}-{other.pk}"):
        hidden = reverse("preview-picture", args=[place[0], code, *place[1:]])
        assert client.get(hidden).status_code == 404
    frame = other.frames.first()
    thumb = reverse("frame-thumb", args=["beside", frame.pk])
    assert client.get(thumb).status_code == 404


def test_planning_and_scoring_require_benchmark_membership(beside):
    client = eve(beside)
    run = metric_runs.queue_run(beside.benchmark, ["sharpness"]).pk
    for name, args, sent in (
        ("study-score", [], {}),
        ("study-score", [], {"metric": "pa_scene"}),
        ("scoring-stop", [run], {}),
        ("run-delete", [run], {"sure": "yes"}),
        ("metric-again", [], {"metric": "sharpness"}),
        ("metric-delete", [], {"sure": "yes"}),
        ("study-extend", [], {"method": "Cedar"}),
        ("study-extend", [], {"method": "Cedar", "check": "1"}),
        ("study-edit", [], {"do": "create"}),
        ("study-version", [], {"do": "create"}),
        ("study-late-entry", [], {"do": "create"}),
    ):
        address = reverse(name, args=["beside", *args])
        assert client.post(address, sent).status_code == 403, name
    assert MetricRun.objects.get().state == "queued"
    assert client.get("/setup/woods/?template=" + LIKERT).status_code == 404


@pytest.mark.slow
def test_preview_of_a_study_shows_what_it_judges(hers):
    """Outputs came later, in a story before all others."""
    study = plan_study(
        load_definition(LIKERT),
        benchmark=hers.benchmark,
        slug="planned",
        annotators=2,
        methods=["Alder"],
        redundancy=1,
    )
    outputs = Output.objects.filter(story__benchmark=hers.benchmark)
    last = outputs.filter(method__name="Alder").latest("pk")
    story = Story.objects.create(benchmark=hers.benchmark, key="00", title="Secret")
    later = Output.objects.create(story=story, method=last.method)
    shot = Shot.objects.create(story=story, number=1)
    media = last.frames.first().media
    Frame.objects.create(output=later, shot=shot, number=1, media=media)
    client = eve(study)
    page = client.get(reverse("study-preview", args=["planned"])).content.decode()
    assert 'id="annotator"' in page
    assert f"/{later.pk}" not in page
    (address, *_more) = re.findall(r'src="(/preview/[^"]+)"', page)
    assert client.get(address).status_code == 200


# Giving a benchmark to somebody


def test_owner_adds_and_removes_members_by_name(hers):
    client = alice(hers)
    bob = log_in("bob")
    add = reverse("member-add", args=["woods"])
    assert (
        "There is no account “nobody”"
        in client.post(add, {"name": "nobody"}, follow=True).content.decode()
    )
    client.post(add, {"name": "bob"})
    assert bob.get("/benchmarks/woods/").status_code == 200
    assert bob.get("/setup/woods/?template=" + LIKERT).status_code == 200
    assert bob.post(add, {"name": "bob", "owner": "1"}).status_code == 403
    member = hers.benchmark.members.get(user__username="bob")
    remove = reverse("member-remove", args=["woods", member.pk])
    assert bob.post(remove).status_code == 403
    assert client.post(remove).status_code == 302
    assert bob.get("/benchmarks/woods/").status_code == 404
    client.post(add, {"name": "bob", "owner": "1"})
    assert bob.post(add, {"name": "bob"}).status_code == 302


def test_last_owner_is_not_lost_by_accident(hers):
    client = alice(hers)
    for name in ("bob", "carol"):
        User.objects.create_user(name)
    add = reverse("member-add", args=["woods"])
    page = client.post(add, {"name": "alice"}, follow=True).content.decode()
    assert "alice is already an owner" in page
    own = hers.benchmark.members.get(user__username="alice")
    remove = reverse("member-remove", args=["woods", own.pk])
    page = client.post(remove, follow=True).content.decode()
    assert "alice is the only owner" in page
    assert "Make somebody else an owner first" in page
    client.post(add, {"name": "carol"})
    assert client.post(remove).status_code == 302
    assert members_of("woods") == [("alice", "owner"), ("carol", "member")]
    client.post(add, {"name": "carol", "owner": "1"})
    client.post(add, {"name": "carol"})
    assert client.post(remove)["Location"] == reverse("benchmark-list")
    assert members_of("woods") == [("carol", "owner")]


def members_of(slug):
    rows = Benchmark.objects.get(slug=slug).members.order_by("user__username")
    return [(row.user.username, row.role) for row in rows.select_related("user")]


def test_benchmark_members_lists_and_changes_members(hers):
    for name in ("bob", "carol"):
        User.objects.create_user(name)
    out = io.StringIO()
    change = {"owner": "bob", "add": "carol", "remove": "alice"}
    call_command("benchmark_members", "woods", stdout=out, **change)
    assert out.getvalue() == "bob: owner\ncarol: member\n"
    assert members_of("woods") == [("bob", "owner"), ("carol", "member")]
    call_command("benchmark_members", "woods", add="bob")
    with pytest.raises(CommandError, match="no account “dave”") as refused:
        call_command("benchmark_members", "woods", remove="bob", add="dave")
    assert refused.value.returncode == 2
    assert members_of("woods") == [("bob", "owner"), ("carol", "member")]


def test_import_requires_an_existing_owner(tmp_path, capsys):
    table = tmp_path / "scores.csv"
    table.write_text("story,method,metric,score\n01,Alder,cids,0.5\n")
    User.objects.create_user("ann")
    given = {"benchmark": "mine", "create": True}
    with pytest.raises(CommandError, match="no account “nobody”"):
        call_command("import_scores", table, owner="nobody", **given)
    assert not Benchmark.objects.exists()
    call_command("import_scores", table, owner="ann", **given)
    assert members_of("mine") == [("ann", "owner")]
    assert "managers of everything" not in capsys.readouterr().err
    call_command("import_scores", table, benchmark="ours", create=True)
    assert members_of("ours") == []
    assert "benchmark_members ours --owner" in capsys.readouterr().err
    call_command("import_scores", table, benchmark="ours", create=True)
    assert "benchmark_members" not in capsys.readouterr().err
