"""Reader of StoryBench's tasks, and of users' stories whose outputs are videos."""

import json

import pytest

from analysis.problems import InputError
from evalcore.formats.folder_layouts import find_folders
from evalcore.importing.stories import import_benchmark
from evalcore.models import Story
from tests.evalcore.importing.test_benchmark import both, write

pytestmark = pytest.mark.django_db

# Two tasks of data/tasks/oops-test/story_cont.json.
TASK = {
    "texts": [
        "A man wearing white shorts is jumping on a trampoline.",
        "The man performing a flip.",
        "The man falls when the trampoline falls on the ground.",
    ],
    "durations": None,
    "exact_frames_per_prompt": [15, 17, 47],
    "background": None,
    "npz_video": "storybench/npy_96x160pix_8fps/oops-test/videos/20.npy",
    "npz_video_start_frame": 0,
    "npz_video_end_frame": 4,
    "npz_gt_video_start_frame": 0,
    "npz_gt_video_end_frame": None,
    "skip_frames_after_generation": 4,
    "storybench_mode": "story_cont",
    "indices_to_select": None,
    "comment": "oops_val_0_0_ms",
}
LATER = TASK | {
    "texts": ["A brown llama is coming to the car."],
    "exact_frames_per_prompt": [24],
    "npz_video_end_frame": 8,
    "comment": "oops_val_1002_0",
}


def write_tasks(tmp_path, *tasks, folder="oops-test", name="story_cont.json"):
    file = tmp_path / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(tasks), encoding="utf-8")
    return file


def test_tasks_become_stories(tmp_path):
    file = write_tasks(tmp_path, TASK, LATER)
    summary = import_benchmark(file, slug="oops")
    assert (summary.stories, summary.shots) == (2, 4)
    story = Story.objects.get(key="oops_val_0_0_ms")
    assert story.conditioning_seconds == 0.5
    assert story.tags == {"task": "story_cont", "data set": "oops"}
    shots = story.shots.values_list("number", "start_seconds", "end_seconds")
    assert list(shots) == [(1, 0.5, 2.375), (2, 2.375, 4.5), (3, 4.5, 10.375)]
    assert story.shots.get(number=2).text == {
        "en": {"caption": "The man performing a flip."}
    }
    assert Story.objects.get(key="oops_val_1002_0").conditioning_seconds == 1.0
    assert import_benchmark(file, slug="oops").line().startswith("Nothing new")


def test_story_generation_has_background_but_no_conditioning(tmp_path):
    task = TASK | {
        "background": "There is a pond. ",
        "npz_video_end_frame": 0,
        "storybench_mode": "story_gen",
    }
    import_benchmark(write_tasks(tmp_path, task), slug="oops")
    story = Story.objects.get()
    assert story.conditioning_seconds is None
    assert story.tags["task"] == "story_gen"
    first, second = story.shots.all()[:2]
    assert first.text["en"]["setting"] == "There is a pond."
    assert first.start_seconds == 0
    assert "setting" not in second.text["en"]


WRONG = {
    "comment": ({"comment": "a/b"}, "story 1: a/b: comment: expected an object whose"),
    "no comment": ({"comment": None}, "comment: expected an object whose comment"),
    "texts": ({"texts": []}, "oops_val_0_0_ms: texts: expected a list of texts"),
    "empty text": ({"texts": ["a", " ", "b"]}, "texts: expected a list of texts"),
    "frames": ({"exact_frames_per_prompt": [1, 2]}, "expected 3 numbers of frames"),
    "half frames": ({"exact_frames_per_prompt": [1, 2, 0.5]}, "3 numbers of frames"),
    "given": ({"npz_video_end_frame": -4}, "npz_video_end_frame: expected a number"),
    "background": ({"background": 5}, "background: expected a text, or null"),
}


@pytest.mark.parametrize(("change", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_row_is_reported(tmp_path, change, what):
    file = write_tasks(tmp_path, TASK | change, LATER | {"texts": 3})
    with pytest.raises(InputError) as refused:
        import_benchmark(file, slug="oops")
    first, second = map(str, refused.value.problems)
    assert first.startswith(str(file))
    assert what in first
    assert "story 2: oops_val_1002_0: texts" in second
    assert not Story.objects.exists()


def film_shot(index, start, end, **more):
    return {
        "index": index,
        "Caption": both(f"walks {index}"),
        "start_seconds": start,
        "end_seconds": end,
        **more,
    }


@pytest.mark.parametrize(
    ("shots", "given", "what"),
    [
        (
            [film_shot(1, 0, 1), film_shot(2, None, None)],
            None,
            "shot 2: expected start_seconds and end_seconds",
        ),
        ([film_shot(1, 2, 2)], None, "shot 1: expected an end after its start"),
        ([film_shot(1, 1, 2), film_shot(2, 0, 3)], None, "shot 2: expected a start"),
        ([film_shot(1, -1, 2)], None, "shot 1: expected a number of seconds"),
        ([film_shot(1, 0, "2")], None, "shot 1: expected a number of seconds"),
        ([film_shot(1, 0, True)], None, "shot 1: expected a number of seconds"),
        ([film_shot(1, 0, 2)], -1, "conditioning_seconds: expected a number of"),
        ([film_shot(1, 0, 2)], float("inf"), "conditioning_seconds: expected a"),
    ],
)
def test_wrong_times_are_reported(tmp_path, shots, given, what):
    write(tmp_path, Shots=shots, conditioning_seconds=given)
    with pytest.raises(InputError) as refused:
        import_benchmark(tmp_path, slug="v")
    assert any(what in str(problem) for problem in refused.value.problems)


def test_folder_of_tasks_is_one_benchmark(tmp_path):
    folder = tmp_path / "tasks"
    generated = TASK | {"storybench_mode": "story_gen", "background": "A garden"}
    write_tasks(folder, TASK, LATER)
    write_tasks(folder, generated, name="story_gen.json")
    import_benchmark(folder, slug="oops")
    stories = {story.key: story.tags for story in Story.objects.all()}
    assert stories == {
        "oops_val_0_0_ms-story_cont": {"task": "story_cont", "data set": "oops"},
        "oops_val_1002_0-story_cont": {"task": "story_cont", "data set": "oops"},
        "oops_val_0_0_ms-story_gen": {"task": "story_gen", "data set": "oops"},
    }


def test_comment_occurs_once_in_a_task_of_a_folder(tmp_path):
    write_tasks(tmp_path, TASK)
    write_tasks(tmp_path, TASK, folder="oops-val")
    with pytest.raises(InputError) as caught:
        import_benchmark(tmp_path, slug="oops")
    assert "oops-val" in str(caught.value)
    assert "each comment once in a task" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "Ours/story_gen/a_0.mp4",
        "Ours/story_gen/oops-val/a_0.mp4",
        "Ours/story_gen/a_0/video.mp4",
    ],
)
def test_folder_of_a_video_names_its_task(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.touch()
    keys = {"a_0-story_gen", "a_0-story_cont"}
    (found,) = find_folders(tmp_path, stories=keys).folders
    assert (found.method, found.mode, found.story) == ("Ours", "", "a_0-story_gen")
