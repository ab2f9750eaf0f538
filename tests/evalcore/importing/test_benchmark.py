import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.problems import InputError
from evalcore.importing.stories import import_benchmark
from evalcore.models import (
    Benchmark,
    CharacterImage,
    Frame,
    MetricScore,
    Shot,
    Story,
)
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, picture_bytes

pytestmark = pytest.mark.django_db


def both(text):
    return {"en": text, "ch": f"中{text}"}


def shot(index, on_stage=("Mira",)):
    return {
        "index": index,
        "Plot Correspondence": both("plot"),
        "Setting Description": both("wood"),
        "Shot Perspective Design": both("wide"),
        "Static Shot Description": both("still"),
        "Characters Appearing": {"en": list(on_stage), "ch": ["米拉"]},
    }


def write(root, key="01", bom=False, **changes):
    data = {
        "Story_type": both("fairy tale"),
        "Characters": {
            " Mira ": {
                "tag": "unrealistic_human",
                "name_en": "Mira",
                "name_ch": "米拉",
                "prompt_en": "a girl",
                "prompt_ch": "女孩",
                "num_of_appearances": 1,
            }
        },
        "Shots": [shot(1), shot(2)],
    } | changes
    folder = root / key
    (folder / "image/Mira/deep").mkdir(parents=True)
    (folder / "image/Mira/01.png").write_bytes(picture_bytes("b"))
    (folder / "image/Mira/deep/00.jpg").write_bytes(picture_bytes("a", fmt="JPEG"))
    text = json.dumps(data, ensure_ascii=False)
    (folder / "story.json").write_text(text, "utf-8-sig" if bom else "utf-8")
    return folder


@pytest.mark.postgresql
@pytest.mark.parametrize("base", ["", "ViStory", "ViStoryBench"])
@pytest.mark.parametrize("bom", [False, True])
def test_data_set_is_imported(tmp_path, base, bom):
    write(tmp_path / base, bom=bom)
    (tmp_path / base / "notes").mkdir()
    summary = import_benchmark(tmp_path, slug="v")
    assert (summary.stories, summary.shots, summary.pictures) == (1, 2, 2)
    row = Shot.objects.get(number=1)
    assert row.text["en"] == {
        "setting": "wood",
        "plot": "plot",
        "static": "still",
        "camera": "wide",
    }
    assert row.text["zh"]["plot"] == "中plot"
    assert row.characters.get().names == {"en": "Mira", "zh": "米拉"}
    assert row.story.tags == {"genre": "fairy tale"}


@pytest.mark.postgresql
def test_second_run_changes_nothing(tmp_path):
    write(tmp_path)
    import_benchmark(tmp_path, slug="v")
    assert import_benchmark(tmp_path, slug="v").line().startswith("Nothing new")
    assert CharacterImage.objects.count() == 2


@pytest.mark.postgresql
def test_problems_are_reported_with_lines_and_nothing_is_stored(tmp_path):
    write(tmp_path, "01")
    (tmp_path / "02").mkdir()
    (tmp_path / "03").mkdir()
    (tmp_path / "03/story.json").write_text('{"Shots":\n [,]}')
    bad = write(tmp_path, "04", Shots=[shot(1), shot(1)])
    (bad / "image/Mira/01.png").write_bytes(b"no")
    with pytest.raises(InputError) as caught:
        import_benchmark(tmp_path, slug="v")
    text = "\n".join(map(str, caught.value.problems))
    assert "02/story.json: expected a file story.json" in text
    assert "03/story.json:2: expected JSON (" in text
    assert "04/story.json: shot 1: expected each index once" in text
    assert "04/image/Mira/01.png: expected a readable picture" in text
    assert not Benchmark.objects.exists()


# Unusual folders ----------------------------------------------------------------------


def complaints(root):
    with pytest.raises(InputError) as caught:
        import_benchmark(root, slug="v")
    assert not Benchmark.objects.exists()
    return [str(problem) for problem in caught.value.problems]


def test_link_out_of_story_folder_is_refused(tmp_path):
    outside = tmp_path / "a.jpg"
    outside.write_bytes(picture_bytes("a", fmt="JPEG"))
    folder = write(tmp_path / "set")
    (folder / "image/Mira/link.jpg").symlink_to(outside)
    (problem,) = complaints(tmp_path / "set")
    assert "link.jpg" in problem
    assert "not a link out of it" in problem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Characters": []}, None),
        ({"Characters": ["Mira"]}, "an object with an object of Characters"),
        ({"Characters": {"Mira": "a girl"}}, "character 'Mira': "),
        ({"Shots": [shot(1), 7]}, "shot 2: "),
        ({"Shots": [shot(10**30)]}, "shot 1: "),
        ({"Shots": [shot(1) | {"Characters Appearing": ["Mira"]}]}, None),
        ({"Shots": [shot(1) | {"Characters Appearing": "Mira"}]}, "shot 1: "),
        ({"Characters": {"Mira": {}, "Mira ": {}}}, "differ in more than spaces"),
        ({"Characters": {"M" * 201: {}}}, "a key of at most 200 letters"),
        ({"Characters": {"Mira": {"tag": "x" * 41}}}, "a tag of at most 40 letters"),
        ({"Title": both("x" * 301)}, "a title of at most 300 letters"),
        ({"Title": both("a\0b")}, "text without NUL"),
        ({"Title": {"en": "HALF"}}, "text without NUL or invalid characters"),
    ],
)
def test_unusual_story_is_read_or_reported(tmp_path, changes, message):
    file = write(tmp_path, **changes) / "story.json"
    file.write_text(file.read_text("utf-8").replace("HALF", r"\ud800"), "utf-8")
    (tmp_path / "01/image/Mira/folder.jpg").mkdir()
    (tmp_path / "²").mkdir()
    if message is None:
        assert import_benchmark(tmp_path, slug="v").stories == 1
    else:
        assert message in complaints(tmp_path)[0]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"Title": both("New")}, "the title"),
        ({"Story_type": both("war")}, "the tag genre"),
        (
            {"Shots": [shot(1) | {"Plot Correspondence": both("other")}, shot(2)]},
            "shot 1",
        ),
        ({"Shots": [shot(1, []), shot(2)]}, "the characters of shot 1"),
        ({"Shots": [shot(1)]}, "the shots"),
        ({"Characters": {}}, "the characters"),
        ({"Characters": {"Mira": {"tag": "non_human"}}}, "description of character"),
    ],
)
def test_changed_data_set_is_refused(tmp_path, changes, what):
    write(tmp_path / "old", Title=both("Old"))
    import_benchmark(tmp_path / "old", slug="v")
    write(tmp_path / "new", **({"Title": both("Old")} | changes))
    with pytest.raises(InputError) as caught:
        import_benchmark(tmp_path / "new", slug="v")
    assert what in str(caught.value.problems[0])
    assert "another benchmark" in str(caught.value.problems[0])


def test_added_shot_counts_as_missing_in_outputs(tmp_path):
    write(tmp_path)
    benchmark = make_benchmark(slug="v", stories=1, shots=1, methods=["UNO"])
    benchmark.stories.update(title="")
    Shot.objects.update(text={})

    def share():
        metric_runs.run(metric_runs.queue_run(benchmark, ["shots_present"]).pk)
        return MetricScore.objects.get().value

    assert share() == 1.0
    import_benchmark(tmp_path, slug="v")
    first, second = Frame.objects.order_by("number")
    assert first.media is not None
    assert (second.number, second.media) == (2, None)
    assert share() == 0.5


def test_stories_from_folders_get_texts_later(tmp_path):
    write(tmp_path, Title=both("Old"))
    benchmark = Benchmark.objects.create(slug="v", title="v")
    story = Story.objects.create(benchmark=benchmark, key="01")
    Shot.objects.create(story=story, number=1)
    import_benchmark(tmp_path, slug="v")
    story.refresh_from_db()
    assert (story.title, story.tags) == ("Old", {"genre": "fairy tale"})
    assert [s.text["en"]["plot"] for s in story.shots.all()] == ["plot", "plot"]


def test_unreadable_reference_picture_is_refused_or_left_out(tmp_path, capsys):
    bad = write(tmp_path) / "image/Mira/deep/00.jpg"
    whole = bad.read_bytes()
    bad.write_bytes(b"")
    with pytest.raises(CommandError, match="--skip-unreadable leaves it out"):
        call_command("import_benchmark", tmp_path, benchmark="v")
    call_command("import_benchmark", tmp_path, benchmark="v", skip_unreadable=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "Left out 1 unreadable file; their reference pictures are missing:",
        f"  {bad}: expected a readable picture; this file is empty",
    ]
    # The others keep their positions, so that a repaired picture finds its place.
    places = CharacterImage.objects.filter(character__key="Mira")
    assert list(places.values_list("ordinal", flat=True)) == [2]
    bad.write_bytes(whole)
    import_benchmark(tmp_path, slug="v")
    assert list(places.values_list("ordinal", flat=True)) == [1, 2]
