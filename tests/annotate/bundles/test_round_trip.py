"""A study that goes to another server in a bundle is the same study there."""

import json
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.problems import InputError
from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.bundles import exporting
from annotate.bundles.importing import import_bundle
from annotate.models import Annotator, Invitation, Report, Slot, Study, User
from annotate.reports import building
from annotate.studies.study_file import read_definition
from evalcore import media
from evalcore.models import Benchmark, MediaFile, MetricScore, Output
from tests.annotate.bundles.studies import answered, empty_server, with_everything
from tests.cases import slow
from tests.factories import make_study

pytestmark = pytest.mark.django_db

PROLIFIC = """
recruitment:
  platform: prolific
  outcomes: {completed: {code: SECRET1}}
"""


def export(study, path, **how):
    exporting.write_bundle(study, path, **how)
    return contents(path)


def contents(path):
    """Return each file of a bundle, without the time of its export."""
    with zipfile.ZipFile(path) as packed:
        found = {name: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(found.pop("manifest.json"))
    del manifest["made_at"]
    return found | {"manifest": manifest}


@pytest.mark.postgresql
@pytest.mark.parametrize("kind", ["ranking", *slow("choice", "likert", "checklist")])
def test_bundle_of_imported_study_is_the_same(kind, tmp_path, settings):
    study = answered(kind)
    assert problems(study) == []
    before = export(study, tmp_path / "trial.zip")
    empty_server(settings, tmp_path / "elsewhere")
    found = import_bundle(tmp_path / "trial.zip")
    assert found.remarks == ()
    assert problems(found.study) == []
    assert export(found.study, tmp_path / "again.zip") == before


@pytest.mark.slow
@pytest.mark.postgresql
def test_reports_and_logs_are_the_same_elsewhere(tmp_path, settings):
    study = with_everything()
    row = Report.objects.create(study=study, options={"resamples": 0})
    assert building.build_report(row.pk).state == "done"
    first = building.folder(row)
    tables = {path.name: path.read_bytes() for path in first.glob("tables/*.csv")}
    before = export(study, tmp_path / "trial.zip")
    empty_server(settings, tmp_path / "elsewhere")
    study = import_bundle(tmp_path / "trial.zip").study
    assert export(study, tmp_path / "again.zip") == before
    old = Report.objects.get()
    folder = building.folder(old)
    assert {p.name: p.read_bytes() for p in folder.glob("tables/*.csv")} == tables
    # Built again as of the same event, it has the same numbers.
    row = building.build_again(old, user=None)
    assert building.build_report(row.pk).state == "done"
    again = building.folder(row)
    for name in tables.keys() - {"run.csv"}:
        assert (again / "tables" / name).read_bytes() == tables[name]
    excluded = study.events.filter(kind="slot excluded").order_by("pk")
    hidden = [as_of_event.moment(study, one.pk).hidden for one in excluded]
    assert [len(slots) for slots in hidden] == [1, 2]


@pytest.mark.slow
def test_pictures_are_stored_by_their_content(tmp_path, settings):
    export(answered("likert"), tmp_path / "trial.zip")
    empty_server(settings, tmp_path / "elsewhere")
    import_bundle(tmp_path / "trial.zip")
    row = MediaFile.objects.first()
    assert media.file_digest(media.original_path(row)) == row.sha256
    with zipfile.ZipFile(tmp_path / "trial.zip") as packed:
        entry = packed.getinfo(f"media/{row.sha256}.png")
    assert entry.compress_type == zipfile.ZIP_STORED


@pytest.mark.slow
def test_bundle_without_pictures_has_the_same_answers(tmp_path, settings):
    before = export(answered("likert"), tmp_path / "trial.zip", pictures=False)
    assert not any(name.startswith("media/") for name in before)
    empty_server(settings, tmp_path / "elsewhere")
    study = import_bundle(tmp_path / "trial.zip").study
    assert problems(study) == []
    assert not MediaFile.objects.exists()
    assert export(study, tmp_path / "again.zip", pictures=False) == before


@pytest.mark.slow
def test_links_codes_and_accounts_stay_behind(tmp_path, settings, client):
    study = answered("composites")
    study.definition += PROLIFIC
    definition = read_definition(study.definition, file="study.yaml", name="trial")
    study.recruitment = definition.recruitment.stored()
    study.save()
    exclusion = study.slots.filter(state="excluded").first().exclusions.get()
    exclusion.author = User.objects.create_user("alice")
    exclusion.save()
    links = set(Invitation.objects.values_list("token", flat=True))
    codes = set(Annotator.objects.values_list("completion_code", flat=True))
    codes |= {one["code"] for one in study.recruitment["outcomes"].values()}
    assert "SECRET1" in codes
    found = export(study, tmp_path / "trial.zip")
    text = b"".join(one for one in found.values() if isinstance(one, bytes)).decode(
        errors="replace"
    )
    for secret in {"5f00aa", "alice", *links, *codes} - {""}:
        assert secret not in text
    empty_server(settings, tmp_path / "elsewhere")
    import_bundle(tmp_path / "trial.zip")
    for row in Invitation.objects.all():
        assert row.revoked_at
        page = client.get(reverse("rate-entry", args=[row.token]))
        assert page.status_code in (403, 404, 410)


@pytest.mark.slow
def test_study_is_imported_beside_itself_under_another_name(tmp_path):
    study = with_everything()
    export(study, tmp_path / "trial.zip")
    with pytest.raises(InputError, match="'trial' is here already"):
        import_bundle(tmp_path / "trial.zip")
    found = import_bundle(tmp_path / "trial.zip", slug="copy")
    assert found.study.slug == "copy"
    assert not found.is_new_benchmark
    assert Benchmark.objects.count() == 1
    assert problems(study) == problems(found.study) == []
    assert MetricScore.everything.filter(posted_to="copy").count() == 1
    assert not set(study.slots.values_list("code")) & set(
        found.study.slots.values_list("code")
    )


@pytest.mark.slow
def test_other_benchmark_of_the_name_stays(tmp_path):
    study = answered("likert")
    export(study, tmp_path / "trial.zip")
    story = study.benchmark.stories.first()
    story.title = "Another title"
    story.save()
    found = import_bundle(tmp_path / "trial.zip", slug="copy")
    assert found.study.benchmark.slug == "woods-2"
    assert "'woods-2'" in found.remarks[0]
    third = import_bundle(tmp_path / "trial.zip", slug="third")
    assert third.study.benchmark.slug == "woods-2"


@pytest.mark.slow
def test_study_that_continues_another_brings_it(tmp_path, settings):
    first = answered("composites", slug="first")
    study = make_study(benchmark=first.benchmark, slug="second", annotators=1)
    study.continues, study.definition = first, first.definition
    study.save()
    before = export(study, tmp_path / "second.zip")
    empty_server(settings, tmp_path / "elsewhere")
    study = import_bundle(tmp_path / "second.zip").study
    assert study.continues.slug == "first"
    assert problems(study.continues) == problems(study) == []
    assert export(study, tmp_path / "again.zip") == before


@pytest.mark.slow
def test_export_leaves_other_stories_and_methods_out(tmp_path, settings):
    study = answered("likert")
    story = study.benchmark.stories.order_by("key").last()
    Slot.objects.filter(unit__story=story).update(repeat_of=None)
    other = make_study(benchmark=study.benchmark, slug="other")
    other.units.exclude(story=story).delete()
    other.units.exclude(output_a__method__name="Cedar").delete()
    export(other, tmp_path / "other.zip")
    empty_server(settings, tmp_path / "elsewhere")
    import_bundle(tmp_path / "other.zip")
    (output,) = Output.objects.all()
    assert (output.story.key, output.method.name) == (story.key, "Cedar")


@pytest.mark.slow
def test_export_refuses_damaged_picture(tmp_path):
    study = answered("likert")
    path = media.original_path(MediaFile.objects.first())
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    try:
        with pytest.raises(exporting.BundleError, match="damaged"):
            export(study, tmp_path / "trial.zip")
    finally:
        path.write_bytes(content)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_commands_export_and_import(tmp_path, settings, capsys):
    answered("likert")
    path = tmp_path / "trial.zip"
    call_command("export_study", "trial", bundle=path, license="cc-by-4.0")
    with pytest.raises(CommandError, match="is here already"):
        call_command("import_bundle", path)
    empty_server(settings, tmp_path / "elsewhere")
    User.objects.create_user("alice")
    call_command("import_bundle", path, slug="copy", owner="alice")
    study = Study.objects.get()
    assert study.members.get().user.username == "alice"
    assert "copy: 12 items and 26 ratings over woods" in capsys.readouterr().out
