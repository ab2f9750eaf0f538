"""Lists of stories are written as they were read."""

import csv
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import strategies as st

from analysis.problems import InputError
from evalcore.exporting import export_benchmark
from evalcore.formats.written_files import write_files
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Story
from tests.evalcore.formats.test_envision import sequence
from tests.evalcore.formats.test_oneig import QUESTIONS, ROWS, beside
from tests.evalcore.formats.test_oneig import write as write_list
from tests.evalcore.formats.test_storybench import LATER, TASK, write_tasks
from tests.evalcore.formats.test_vistar import LEVELS

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def there_and_back(path, out, **options):
    """Import a file, export it, and import that into another benchmark."""
    import_benchmark(path, slug="one")
    stories, written = export_benchmark(
        Benchmark.objects.get(slug="one"), out, **options
    )
    assert stories == Story.objects.count()
    assert written.new == written.files
    again = export_benchmark(Benchmark.objects.get(slug="one"), out, **options)[1]
    assert again.line("x").startswith("Nothing new: x in ")
    return out


def test_storybench(tmp_path):
    odd = LATER | {"durations": [1.5, None], "new_field": {"b": ["ü"]}}
    file = write_tasks(
        tmp_path / "in", odd, TASK | {"comment": "zz", "texts": ["\u00a0 a "] * 3}
    )
    out = there_and_back(file, tmp_path / "out")
    written = out / "oops-test/story_cont.json"
    # The order of tasks and of their fields, blanks and unknown fields: byte for byte.
    assert written.read_bytes() == file.read_bytes()
    assert import_benchmark(written, slug="one").line().startswith("Nothing new")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)


def test_envision(tmp_path):
    rows = [sequence(2), sequence(1, source=None, category="")]
    rows[0]["prompts"].reverse()
    rows[0]["prompts"][0]["note"] = "kept"
    folder = tmp_path / "in"
    folder.mkdir()
    for name, process in (("envision_bio.json", "Biology"), ("envision_x.json", "X")):
        listed = [row | {"process_type": process} for row in rows]
        text = json.dumps(listed, ensure_ascii=False, indent=2)
        (folder / name).write_text(text, encoding="utf-8")
    out = there_and_back(folder, tmp_path / "out")
    for file in folder.iterdir():
        assert (out / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_vistar_objects(tmp_path, ending):
    whole = {"prompt_id": "other", "prompt": "other words", "levels": LEVELS}
    rows = [
        {"prompt": "A fox", "prompt_id": "p9", "levels": LEVELS},
        {"prompt_id": "p1", "prompt": '[GD-TR] B {text="B"}', "role": "designer"},
        {"prompt_id": "p2", "prompt": "C", "questionnaire": {"levels": LEVELS}, "n": 1},
        {"prompt_id": "p3", "prompt": "D", "questionnaire": whole, "parameters": {}},
        {"prompt_id": "p4", "prompt": "[GD-TR] E", "questionnaire": None},
    ]
    file = tmp_path / f"core.{ending}"
    if ending == "json":
        file.write_text(json.dumps(rows))
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = there_and_back(file, tmp_path / "out") / file.name
    text = out.read_text()
    back = json.loads(text) if ending == "json" else map(json.loads, text.splitlines())
    assert [list(row.items()) for row in back] == [list(row.items()) for row in rows]


def test_oneig(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [{"": str(i), **row} for i, row in enumerate(ROWS)]
    file = write_list(folder, rows)
    beside(folder, "scripts/alignment/Q_D/anime.json", {"000": QUESTIONS})
    cell = '"[\'5G\', ""today\'s""]"'
    beside(folder, "scripts/text/text_content.csv", f"id,text_content\n000,{cell}\n")
    beside(folder, "scripts/style/style.csv", "id,class\n000,pop art\n")
    beside(folder, "scripts/reasoning/gt_answer.json", {"000": "Hügel."})
    out = there_and_back(file, tmp_path / "out")
    assert (out / file.name).read_bytes() == file.read_bytes()
    for name in ("alignment/Q_D/anime.json", "reasoning/gt_answer.json"):
        one, other = (
            json.loads((f / "scripts" / name).read_text()) for f in (folder, out)
        )
        assert one == other
    for name in ("text/text_content.csv", "style/style.csv"):
        one, other = (
            list(csv.DictReader((f / "scripts" / name).open(newline="")))
            for f in (folder, out)
        )
        assert [
            row.items() <= more.items() for row, more in zip(one, other, strict=True)
        ] == [True]
    assert import_benchmark(out, slug="one").line().startswith("Nothing new")


# Refusals -----------------------------------------------------------------------------


def test_stories_that_came_from_elsewhere_are_named(tmp_path):
    import_benchmark(write_tasks(tmp_path, TASK), slug="one")
    benchmark = Benchmark.objects.get()
    Story.objects.create(benchmark=benchmark, key="own")
    with pytest.raises(InputError) as refused:
        export_benchmark(benchmark, tmp_path / "out")
    (problem,) = refused.value.problems
    assert str(problem).startswith(
        "story own: expected a story imported from storybench"
    )
    assert not (tmp_path / "out").exists()
    with pytest.raises(
        CommandError, match="story oops_val_0_0_ms: expected a story im"
    ):
        call_command("export_benchmark", "one", tmp_path / "out", format="vistar")


def test_the_command_overwrites_only_if_asked(tmp_path, capsys):
    import_benchmark(write_tasks(tmp_path, TASK), slug="one")
    out = tmp_path / "out"
    call_command("export_benchmark", "one", out)
    assert "Wrote 1 stories to 1 file (1 new, 0 replaced)." in capsys.readouterr().out
    written = out / "oops-test/story_cont.json"
    right = written.read_bytes()
    written.write_text("mine")
    with pytest.raises(CommandError, match=r"no other file in this place \(--replace"):
        call_command("export_benchmark", "one", out)
    assert written.read_text() == "mine"
    call_command("export_benchmark", "one", out, replace=True)
    assert "(0 new, 1 replaced)" in capsys.readouterr().out
    assert written.read_bytes() == right
    assert [p.name for p in written.parent.iterdir()] == ["story_cont.json"]


@pytest.mark.parametrize(
    "name", ["../a.json", "/a.json", "a/../../b", "", "a\0b", "x" * 300]
)
def test_no_file_is_written_elsewhere(tmp_path, name):
    out = tmp_path / "out"
    with pytest.raises(InputError, match="expected a name that"):
        write_files(out, {"good.json": "1", name: "2"}, replace=True)
    assert not out.exists()


def test_links_and_folders_are_not_written_over(tmp_path):
    target = tmp_path / "target.json"
    target.write_text("keep")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    (out / "folder.json").mkdir(parents=True)
    (out / "link.json").symlink_to(target)
    (out / "way").symlink_to(elsewhere)
    (out / "file").write_text("1")
    names = ["folder.json", "link.json", "way/a.json", "file/a.json", "good.json"]
    with pytest.raises(InputError) as refused:
        write_files(out, dict.fromkeys(names, "new"), replace=True)
    assert len(refused.value.problems) == 4
    assert target.read_text() == "keep"
    assert not (out / "good.json").exists()
    assert not any(elsewhere.iterdir())
