"""Recognition, preview and import of uploads."""

import json
import shutil

import pytest

from annotate.models import Event, Study, Upload, User
from annotate.uploads import queue, storage, working
from evalcore.importing import outputs
from evalcore.models import Benchmark, Frame, MetricScore, Output, Story
from tests.annotate.uploads.conftest import (
    checked_again,
    imported,
    pictures,
    worked,
    zipped,
)
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

STORY = json.dumps(
    {"Title": "Fox", "Shots": [{"Caption": "A fox."}, {"Caption": "Hm."}]}
)
TWO = pictures(
    *(f"outputs/{m}/0{s}/shot_0{n}.png" for m in "AB" for s in (1, 2) for n in (1, 2))
)
RATINGS = b"""story,method,dimension,annotator,rating
01,A,beauty,R1,1
01,A,beauty,R2,5
01,B,beauty,R1,3
"""
SCORES = b"story,method,metric,score\n01,A,lpips,.5\n01,B,lpips,.25\n"


def test_outputs_are_previewed_and_imported(upload, alice):
    row = upload({**TWO, "outputs/notes.txt": b"x"} | {"outputs/A/01/shot_02.png": b""})
    assert row.chosen["kind"] == "outputs"
    assert "shot_02.png" in row.found["problems"][0]
    assert "/data" not in row.found["problems"][0]
    assert "“Leave out unreadable files” leaves it out" in row.found["problems"][0]
    assert not queue.accept(row, {})
    row = checked_again(row, skip=True)
    assert row.found["figures"] == {
        **{"methods": 2, "stories": 2, "pictures": 7},
        **{"videos": 0, "missing": 1},
    }
    assert row.found["missing"] == [{"method": "A", "story": "01", "shot": 2}]
    assert row.found["rows"][0] == ["A", 2, 3, 0, 1, "96 x 64"]
    assert row.found["pictures"][0]["numbers"] == [0]
    assert not Benchmark.objects.exists()
    row = imported(row)
    assert row.is_imported, row.error
    benchmark = Benchmark.objects.get()
    assert (benchmark.slug, benchmark.title) == ("mine", "mine")
    assert [m.user for m in benchmark.members.all()] == [alice]
    assert Frame.objects.filter(media__isnull=False).count() == 7
    assert not storage.folder(row).exists()


def test_stories_then_outputs_of_one_zip_are_imported_one_after_another(upload):
    files = {f"set/ViStory/0{n}/story.json": STORY.encode() for n in (1, 2)}
    files |= {f"set/{name}": data for name, data in TWO.items()}
    row = upload({"set.zip": zipped(files)}, "set.zip")
    assert row.chosen["kind"] == "stories"
    assert row.found["figures"]["shots"] == 4
    row = imported(row)
    following = worked(queue.go_on(row, 0))
    assert queue.go_on(row, 0) is None
    assert following.found["figures"]["pictures"] == 8
    assert imported(following).is_imported
    assert Story.objects.filter(title="Fox").count() == 2
    assert Output.objects.count() == 4


def test_oneig_list_pictures_and_results_of_one_zip_are_imported(upload):
    head = b"category,id,prompt_en\n"
    prompts = b"Portrait,000,A nun\nGeneral_Object,000,A jug\n"
    cells = b",Flux,Kolors\nhuman_000,0.5,0.25\nobject_000,1.0,0.75\n"
    classes, methods = ("human", "object"), ("Flux", "Kolors")
    files = pictures(*(f"o/images/{c}/{m}/000.png" for c in classes for m in methods))
    files["o/OneIG-Bench.csv"] = head + prompts
    files["o/results/alignment_prompt_score_EN_2026-01-02_03-04-05.csv"] = cells
    row = upload({"o.zip": zipped(files)}, "o.zip")
    assert row.chosen["kind"] == "stories"
    outputs = worked(queue.go_on(imported(row), 0))
    assert [one[0] for one in outputs.found["rows"]] == [*methods]
    scores = worked(queue.go_on(imported(outputs), 0))
    assert imported(scores).is_imported
    found = MetricScore.objects.filter(metric="oneig_alignment")
    assert sorted(found.values_list("value", flat=True)) == [0.25, 0.5, 0.75, 1.0]


def test_scores_and_ratings_are_added_to_a_benchmark(upload, alice):
    imported(upload(TWO))
    row = upload({"scores.csv": SCORES}, "scores.csv")
    assert row.found["rows"] == [
        ["lpips", 2, "lower is better (assumed from the name)"]
    ]
    imported(checked_again(row, benchmark="mine"))
    assert MetricScore.objects.filter(metric="lpips").count() == 2
    row = upload({"people.csv": RATINGS}, "people.csv")
    assert (row.chosen["low"], row.chosen["high"]) == (1, 5)
    row = imported(checked_again(row, benchmark="mine", title="My people"))
    study = Study.objects.get()
    assert (row.study, study.slug, study.title) == (study, "my-people", "My people")
    assert study.members.get().user == alice
    assert study.events.filter(kind=Event.Kind.ANSWERS_IMPORTED).exists()
    assert Benchmark.objects.count() == 1


LAYOUTS = {
    "one method": (["A/fox/1.png", "A/moon/1.png"], ["A"], 2),
    "one method, one story": (["A/fox/1.png"], ["A"], 1),
    "no method's folder": (["fox/1.png", "moon/1.png"], ["mine"], 2),
    "a run": (["x/UNO/base/en/20250601_120000/01/1.png"], ["UNO"], 1),
    "mode last": (["UNO/en/base/20250601_120000/01/1.png"], ["UNO"], 1),
    "data set": (["UNO/ViStory_en/01/1.png", "UNO/ViStory_en/02/1.png"], ["UNO"], 2),
    "shots": (["A/fox/shots/1.png", "A/moon/shots/1.png"], ["A"], 2),
    "wrapped": (["x/y/A/fox/1.png", "x/y/B/fox/1.png"], ["A", "B"], 1),
}


@pytest.mark.parametrize(("names", "methods", "stories"), LAYOUTS.values(), ids=LAYOUTS)
def test_layout_is_recognised(upload, names, methods, stories):
    row = upload({"mine.zip": zipped(pictures(*names))}, "mine.zip")
    assert row.is_previewed, row.found
    assert [one[0] for one in row.found["rows"]] == methods
    assert row.found["figures"]["stories"] == stories


def test_odd_shapes_are_named(upload):
    files = pictures(*(f"o/{m}/fox/{n}.png" for m in "AB" for n in (1, 2)))
    row = upload(files | pictures("o/C/fox/1.png", "o/C/fox/2.png", size=(64, 64)))
    assert "64 x 64 pixels, not 96 x 64" in row.found["shapes"][0]


def test_failed_import_stores_nothing_and_returns_to_the_preview(upload, monkeypatch):
    row = upload(TWO)
    monkeypatch.setattr(outputs, "_store_pictures", lambda *_args: 1 / 0)
    row = imported(row)
    assert (row.stage, row.state) == ("inspect", "failed")
    assert "The server's log says why" in row.error
    assert not Benchmark.objects.exists()
    assert not Story.objects.exists()
    monkeypatch.undo()
    assert imported(checked_again(row)).is_imported


def test_import_discarded_meanwhile_stores_nothing(upload, monkeypatch):
    row = upload(TWO)
    write = outputs.written

    def discard_first(*args):
        queue.discard(row)
        return write(*args)

    monkeypatch.setattr(outputs, "written", discard_first)
    assert imported(row).state == "cancelled"
    assert not Benchmark.objects.exists()


def test_benchmark_of_others_is_never_changed(upload):
    make_benchmark(slug="mine")
    row = upload(TWO, user=User.objects.create_user("eve"))
    assert "Only managers" in row.error
    bob = User.objects.create_user("bob")
    Benchmark.objects.get().members.create(user=bob, role="member")
    row = upload(TWO, user=bob)
    assert "Only an owner" in checked_again(row, benchmark="mine").error
    row = imported(checked_again(row, benchmark=""))
    assert row.benchmark.slug == "mine-2"


def test_upload_whose_worker_was_killed_is_checked_again(upload, clock):
    row = upload(TWO)
    queue.accept(row, {})
    Upload.objects.filter(pk=row.pk).update(state="running")
    clock.move(2)
    queue.tidy_up()
    row.refresh_from_db()
    assert (row.stage, row.state) == ("inspect", "failed")
    assert imported(checked_again(row)).is_imported


def test_folder_of_the_server_is_read_in_place(alice, settings, tmp_path):
    settings.UPLOAD_FOLDER = str(tmp_path)
    for name, data in TWO.items():
        path = tmp_path / "run1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "set.zip").write_bytes(zipped(TWO))
    assert queue.entries() == ["run1", "set.zip"]
    for entry in queue.entries():
        row = imported(worked(queue.begin_entry(alice, entry)))
        assert row.is_imported, row.found
    assert (tmp_path / "run1/outputs/A/01/shot_01.png").exists()


@pytest.mark.parametrize("entry", ["link", "..", "../x", "/etc", ""])
def test_other_folder_of_the_server_is_refused(alice, settings, tmp_path, entry):
    settings.UPLOAD_FOLDER = str(tmp_path)
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(working.RefusedUploadError, match="server's folder"):
        queue.begin_entry(alice, entry)


def test_folder_of_a_store_is_copied_once_and_imported(alice, settings, shelf):
    settings.UPLOAD_ADDRESSES = ["gs://shelf/lab"]
    for name, data in TWO.items():
        path = shelf / "lab/run1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (shelf / "lab/set.zip").write_bytes(zipped(TWO))
    row = worked(queue.begin_entry(alice, "gs://shelf/lab/run1/"))
    assert row.found["figures"]["pictures"] == 8, row.error
    shutil.rmtree(shelf / "lab/run1")  # what was previewed is imported
    assert imported(row).is_imported
    assert not storage.folder(row).exists()
    row = imported(worked(queue.begin_entry(alice, "gs://shelf/lab/set.zip")))
    assert row.is_imported, row.found
    row = worked(queue.begin_entry(alice, "gs://shelf/lab/nothing"))
    assert "gs://shelf/lab/nothing: there are no files" in row.error


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("UPLOAD_MAX_FILES", 7, "These are 8 files"), ("UPLOAD_MAX_MB", 0, "have 0 MB")],
)
def test_store_folder_beyond_the_limits_is_refused(
    alice,
    settings,
    shelf,
    name,
    value,
    error,
):
    settings.UPLOAD_ADDRESSES = ["gs://shelf"]
    setattr(settings, name, value)
    for place, data in TWO.items():
        path = shelf / "run1" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    row = worked(queue.begin_entry(alice, "gs://shelf/run1"))
    assert error in row.error


@pytest.mark.parametrize(
    "entry",
    [
        *("gs://shelf/labs", "gs://shelf", "s3://shelf/lab", "file:///etc"),
        *("gs://shelf/lab/../other", "gs://shelf/lab/x::file:///etc", "memory://x"),
    ],
)
def test_other_address_is_refused(alice, settings, entry):
    settings.UPLOAD_ADDRESSES = ["gs://shelf/lab"]
    with pytest.raises(working.RefusedUploadError, match="address"):
        queue.begin_entry(alice, entry)
