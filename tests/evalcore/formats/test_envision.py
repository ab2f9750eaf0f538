"""Reader of Envision's sequences, and folders of their pictures."""

import copy
import json

import pytest

from analysis.problems import InputError
from evalcore.importing.outputs import import_outputs
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Output, Story
from tests.cases import slow
from tests.factories import picture_bytes

pytestmark = pytest.mark.django_db

WORDS = ("seed", "sprout", "leaf", "tree")


def sequence(index=1, process="Biology", *, count=4, **changes):
    words = [WORDS[n % len(WORDS)] for n in range(count)]
    prompts = [
        {"step": n, "prompt": f"A {word}. ", "explanation": f"ΔP: {word} grows."}
        for n, word in enumerate(words, start=1)
    ]
    row = {
        "index": index,
        "category": "Science",
        "process_type": process,
        "prompts": prompts,
    }
    return row | changes


def write(tmp_path, rows, name="envision_bio.json"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


def complaints(path, **options):
    with pytest.raises(InputError) as refused:
        import_benchmark(path, slug="e", **options)
    assert not Benchmark.objects.exists()
    return [str(problem) for problem in refused.value.problems]


def test_sequence_becomes_story_of_four_shots(tmp_path):
    path = write(tmp_path, [sequence(7, source="own")])
    summary = import_benchmark(path, slug="e")
    assert (summary.stories, summary.shots) == (1, 4)
    story = Story.objects.get()
    assert story.key == "biology_0007"
    assert story.tags == {"category": "Science", "process_type": "Biology"}
    assert story.extra["envision"] == sequence(7, source="own")
    texts = [shot.text["en"] for shot in story.shots.all()]
    assert texts[0] == {"prompt": "A seed.", "explanation": "ΔP: seed grows."}
    assert [t["prompt"] for t in texts] == [
        "A seed.",
        "A sprout.",
        "A leaf.",
        "A tree.",
    ]
    assert import_benchmark(path, slug="e").line().startswith("Nothing new")
    assert story.benchmark.source == "Envision sequences"


@pytest.mark.parametrize("count", [2, 6, 16])
def test_steps_are_shots_when_there_are_not_four(tmp_path, count):
    import_benchmark(write(tmp_path, [sequence(7, count=count)]), slug="e")
    names = [f"Flux/bio/index_0007/index_0007_step_{s}.png" for s in range(1, count)]
    summary = import_outputs(draw(tmp_path, *names), benchmark=Benchmark.objects.get())
    numbers = Output.objects.get().frames.values_list("number", flat=True)
    assert [*numbers] == [*range(1, count + 1)]
    assert summary.missing == [f"Flux: story biology_0007: shot {count}"]


def test_folder_has_one_file_per_domain_counting_from_1(tmp_path):
    write(tmp_path, [sequence(1), sequence(2)])
    write(
        tmp_path,
        [sequence(1, "World History", category="Culture")],
        "envision_cul.json",
    )
    import_benchmark(tmp_path, slug="e")
    keys = ["biology_0001", "biology_0002", "world_history_0001"]
    assert sorted(Story.objects.values_list("key", flat=True)) == keys


def without(row, step):
    row = copy.deepcopy(row)
    row["prompts"] = [p for p in row["prompts"] if p["step"] != step]
    return row


def with_prompt(**changes):
    row = copy.deepcopy(sequence())
    row["prompts"][2] |= changes
    return row


WRONG = {
    "missing step": (without(sequence(), 3), "index 1: steps 1, 2, 4: expected steps"),
    "step twice": (with_prompt(step=2), "steps 1, 2, 2, 4: expected steps 1 to 4"),
    "step as text": (with_prompt(step="3"), "steps 1, 2, 3, 4: expected steps"),
    "one step": (sequence(count=1), "prompts: expected 2 to 16 steps, not 1"),
    "too many steps": (sequence(count=17), "prompts: expected 2 to 16 steps, not 17"),
    "empty prompt": (with_prompt(prompt=" "), "step 3: expected a prompt with text"),
    "prompt as list": (with_prompt(prompt=["a"]), "step 3: expected a prompt with"),
    "explanation": (with_prompt(explanation=5), "step 3: expected an explanation as"),
    "no prompts": (sequence(prompts=None), "prompts: expected a list of 2 to 16"),
    "text for prompts": (sequence(prompts=["a"] * 4), "prompts: expected a list of"),
    "no index": (sequence(None), "sequence 2: index None: expected an object with"),
    "index as text": (sequence("1"), "expected an object with a whole index"),
    "index below 0": (sequence(-1), "index -1: expected an object with a whole index"),
    "index is true": (sequence(True), "expected an object with a whole index"),
    "category": (sequence(category=["a"]), "category and process_type as text"),
    "no object": (7, "sequence 2: expected an object with a whole index"),
}


@pytest.mark.parametrize(("row", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_row_is_reported(tmp_path, row, what):
    path = write(tmp_path, [sequence(8), row, sequence(9, prompts=3)])
    first, second = complaints(path)
    assert first.startswith(f"{path}: sequence 2")
    assert what in first
    assert "sequence 3: index 9: prompts" in second


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "name it with --format"),
        ("{}", "name it with --format"),
        ('{"prompts": []}', "a list of sequences"),
        ("no json", ":1: expected JSON"),
        ('[{"index": 1,\n "prompts": oops}]', ":2: expected JSON"),
    ],
)
def test_foreign_file_is_reported(tmp_path, text, what):
    path = tmp_path / "a.json"
    path.write_text(text)
    (problem,) = complaints(path)
    assert what in problem


def test_reimport_adds_missing_fields_and_keeps_others(tmp_path):
    path = write(tmp_path, [sequence()])
    import_benchmark(path, slug="e")
    Story.objects.update(extra={"note": "mine", "envision": {"index": 1}})
    summary = import_benchmark(path, slug="e")
    assert summary.created == 1
    story = Story.objects.get()
    assert story.extra["note"] == "mine"
    assert story.extra["envision"] == sequence()


# Pictures -----------------------------------------------------------------------------


@pytest.fixture
def benchmark(tmp_path):
    """Return two domains of two sequences."""
    folder = tmp_path / "lists"
    write(folder, [sequence(1), sequence(2)])
    write(folder, [sequence(1, "Physics"), sequence(2, "Physics")], "envision_phy.json")
    import_benchmark(folder, slug="e")
    return Benchmark.objects.get()


def draw(tmp_path, *names):
    for name in names:
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture_bytes(name, size=(8, 8)))
    return tmp_path / "out"


LAYOUTS = {
    "both": "Flux/{domain}/index_{i:04d}/index_{i:04d}_step_{s}.png",
    "short": "Flux/{domain}/index_{i}/{i}_step_{s}.png",
    "number": "Flux/{domain}/{i}/step_{s}.png",
    "plain": "Flux/{domain}/index_{i:04d}/{s}.png",
    "flat": "Flux/{domain}/index_{i:04d}_step_{s}.png",
    "flat, short": "Flux/{domain}/{i}_step_{s}.png",
    "its own file's name": "Flux/envision_{domain}/index_{i:04d}/{s}.png",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize(
    "domains", [*slow(("biology", "physics")), ("bio", "phy")], ids=str
)
def test_folder_layouts_are_recognised(tmp_path, benchmark, layout, domains):
    names = [
        layout.format(domain=domain, i=i, s=s)
        for domain in domains
        for i in (1, 2)
        for s in (1, 2, 3, 4)
    ]
    summary = import_outputs(draw(tmp_path, *names), benchmark=benchmark)
    assert (summary.methods, summary.pictures, summary.missing) == (["Flux"], 16, [])
    assert summary.warnings == []
    output = Output.objects.get(story__key="physics_0002")
    assert [frame.number for frame in output.frames.all()] == [1, 2, 3, 4]
    assert (output.mode, output.index_shift) == ("", 0)
