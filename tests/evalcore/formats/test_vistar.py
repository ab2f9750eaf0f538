"""Reader of VISTAR's prompts, as lines and as objects."""

import json

import pytest

from analysis.problems import InputError
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Story

pytestmark = pytest.mark.django_db

PAIR = {
    "id": "girl",
    "positive": "Is there a girl?",
    "negative": "Is it empty?",
    "weight": 1.0,
}
LEVELS = [{"level": "L1", "weight": 1.0, "questions": [PAIR]}]


def write(tmp_path, content, name="core.txt"):
    path = tmp_path / name
    if name.endswith(".jsonl"):
        content = "".join(json.dumps(row) + "\n" for row in content)
    elif name.endswith(".json"):
        content = json.dumps(content)
    path.write_text(content, encoding="utf-8", newline="")
    return path


def complaints(path, form="vistar"):
    with pytest.raises(InputError) as refused:
        import_benchmark(path, slug="v", form=form)
    assert not Benchmark.objects.exists()
    return [str(p).removeprefix(str(path)) for p in refused.value.problems]


def test_line_becomes_story_of_one_shot(tmp_path):
    text = '[GD—TR] A poster that says "SALE" {text="SALE", font="Futura"}\r\n\n'
    path = write(tmp_path, text + "[SA-LI] A fox at dawn\n")
    assert import_benchmark(path, slug="v").shots == 2
    story = Story.objects.get(key="0001")
    assert story.tags == {"role": "GD", "angle": "TR"}
    assert story.shots.get().text == {"en": {"prompt": 'A poster that says "SALE"'}}
    assert story.extra["vistar"] == {
        "prompt": text.splitlines()[0],
        "role": "GD",
        "angle": "TR",
        "parameters": {"text": "SALE", "font": "Futura"},
    }
    assert import_benchmark(path, slug="v").line().startswith("Nothing new")


def test_wrong_lines_are_reported_with_their_columns(tmp_path):
    path = write(tmp_path, "[GD-TR] fine\n[-TR] a\n\n[GD-TR] b {font=}\nno tag\n")
    first, second, third = complaints(path)
    assert first.startswith(":2: prompt 2: expected a role")
    assert "at column 2, not '-'" in first
    assert second.startswith(":4: prompt 4: expected the value of 'font'")
    assert "column 17" in second
    assert third.startswith(
        ':5: prompt 5: expected a tag such as "[GD—TR]" at column 1'
    )


def test_unknown_roles_and_angles_are_kept_with_a_remark(tmp_path):
    path = write(tmp_path, "[PM-TR] a\n[GD-ORI] b\n[Product designer-TR] c\n[PM-LI] d")
    summary = import_benchmark(path, slug="v")
    assert Story.objects.get(key="0002").tags == {"role": "GD", "angle": "ORI"}
    manager, designer, angle = summary.warnings
    assert manager.startswith(
        "core.txt: the role 'PM' of 2 prompts (0001, ...) is kept"
    )
    assert "(0003) is kept, but not known; known are GD, SA, MS, CA, PD" in designer
    assert designer.endswith("did you mean 'PD' (Product Designer)?")
    assert angle.startswith("core.txt: the angle 'ORI' of 1 prompt (0002) is kept")


@pytest.mark.parametrize("name", ["core.json", "core.jsonl"])
def test_objects_with_questionnaires_are_read(tmp_path, name):
    rows = [
        {"prompt_id": "p1", "prompt": "[CE-CUL] A girl in Hanfu", "levels": LEVELS},
        {
            "prompt_id": "p2",
            "prompt": "A fox",
            "role": "SA",
            "angle": "MA",
            "questionnaire": {"levels": LEVELS},
            "tier": "hard",
        },
        {"prompt_id": "p3", "prompt": '[GD-TR] B {text="B"}', "role": "designer"},
    ]
    import_benchmark(write(tmp_path, rows, name), slug="v")
    first, second, third = Story.objects.order_by("key")
    whole = {"prompt_id": "p1", "prompt": "A girl in Hanfu", "levels": LEVELS}
    assert first.extra["vistar"]["questionnaire"] == whole
    assert first.tags == {"role": "CE", "angle": "CUL"}
    assert second.extra["vistar"]["questionnaire"]["prompt_id"] == "p2"
    assert second.extra["vistar"]["tier"] == "hard"
    assert second.tags == {"role": "SA", "angle": "MA"}
    assert second.shots.get().text["en"]["prompt"] == "A fox"
    assert third.extra["vistar"]["role"] == "designer"
    assert third.extra["vistar"]["parameters"] == {"text": "B"}


GOOD = {"prompt_id": "good", "prompt": "A fox"}
WRONG = {
    "no id": ({"prompt": "a"}, "an object whose prompt_id is a valid file name"),
    "id as number": ({"prompt_id": 1, "prompt": "a"}, "prompt_id is a valid file name"),
    "id as path": ({"prompt_id": "a/b", "prompt": "a"}, "prompt 2: a/b: expected an"),
    "no prompt": ({"prompt_id": "p"}, "prompt 2: p: expected a prompt with text"),
    "no object": (["a"], "an object whose prompt_id"),
    "role": ({"prompt_id": "p", "prompt": "a", "role": 5}, "role and angle as text"),
    "tag": ({"prompt_id": "p", "prompt": "[GD] a"}, "expected"),
    "parameters": (
        {"prompt_id": "p", "prompt": "a", "parameters": {"count": 3}},
        "parameters as an object of texts",
    ),
    "other parameters": (
        {"prompt_id": "p", "prompt": '[GD-TR] a {text="x"}', "parameters": {}},
        "the same parameters as in the prompt",
    ),
    "weights": (
        {"prompt_id": "p", "prompt": "a", "levels": [{**LEVELS[0], "weight": 0.5}]},
        "$.levels: the weights sum to 0.5, not to 1",
    ),
    "questionnaire as text": (
        {"prompt_id": "p", "prompt": "a", "questionnaire": "later"},
        "a questionnaire of the documented form ($: expected an object",
    ),
}


@pytest.mark.parametrize(("row", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_object_is_reported(tmp_path, row, what):
    path = write(tmp_path, [GOOD, row, {"prompt_id": "z"}], "core.jsonl")
    first, second = complaints(path)
    assert first.startswith(":2: ")
    assert what in first
    assert second == ":3: prompt 3: z: expected a prompt with text"
