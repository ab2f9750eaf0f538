"""Reader of OneIG-Bench's prompts and accompanying files."""

import csv
import json

import pytest

from analysis.problems import InputError
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Story

pytestmark = pytest.mark.django_db

ROWS = [
    {"category": "Anime_Stylization", "id": "000", "prompt_en": "A boy, drawn."},
    {"category": "Text_Rendering", "id": "000", "prompt_en": 'A slide: "5G"'},
    {"category": "Knowledge_Reasoning", "id": "000", "prompt_en": "A contour map"},
    {"category": "Portrait", "id": "001", "prompt_en": "A nun\nin two lines"},
]
QUESTIONS = {
    "question": '{"1": "Are there boys?","2": "Are there four?"}',
    "dependency": '{"1": [0],"2": [1]}',
}


def write(tmp_path, rows=ROWS, name="OneIG-Bench.csv"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def beside(tmp_path, name, content):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def complaints(path, **options):
    with pytest.raises(InputError) as refused:
        import_benchmark(path, slug="o", **options)
    assert not Benchmark.objects.exists()
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("by_folder", [False, True])
def test_prompt_becomes_story_of_one_shot(tmp_path, by_folder):
    path = write(tmp_path)
    import_benchmark(tmp_path if by_folder else path, slug="o")
    keys = ["anime_000", "human_001", "reasoning_000", "text_000"]
    assert sorted(Story.objects.values_list("key", flat=True)) == keys
    story = Story.objects.get(key="human_001")
    assert story.tags == {"category": "Portrait", "language": "en"}
    assert story.shots.get().text == {"en": {"prompt": "A nun\nin two lines"}}
    assert story.extra["oneig"] == ROWS[3] | {"class_item": "human", "language": "en"}
    assert import_benchmark(path, slug="o").line().startswith("Nothing new")
    assert Story.objects.get(key="anime_000").tags["category"] == "Anime & Stylization"


def test_accompanying_files_are_added_to_prompts(tmp_path):
    path = write(tmp_path)
    beside(tmp_path, "scripts/alignment/Q_D/anime.json", {"000": QUESTIONS})
    beside(tmp_path, "scripts/alignment/Q_D/anime_zh.json", {"000": {"no": 1}})
    cell = '"[\'5G\', ""today\'s""]"'
    beside(
        tmp_path, "scripts/text/text_content.csv", f",id,text_content\n0,000,{cell}\n"
    )
    beside(tmp_path, "scripts/style/style.csv", ",id,class\n0,000,pop art\n1,001,\n")
    beside(tmp_path, "scripts/reasoning/gt_answer.json", {"000": "Hills.", "7": "x"})
    summary = import_benchmark(path, slug="o")
    (note,) = summary.warnings
    assert note.endswith("gt_answer.json: 1 prompts not in the list; left out")
    extras = {s.key: s.extra["oneig"] for s in Story.objects.all()}
    assert extras["anime_000"]["questions"] == QUESTIONS["question"]
    assert extras["anime_000"]["dependencies"] == QUESTIONS["dependency"]
    assert extras["anime_000"]["style"] == "pop art"
    assert extras["text_000"]["text"] == "5G today's"
    assert extras["reasoning_000"]["answer"] == "Hills."
    assert Story.objects.get(key="anime_000").tags["style"] == "pop art"


def test_chinese_prompts_get_chinese_questions(tmp_path):
    rows = [{"category": "Multilingualism", "id": "000", "prompt_cn": "一个男孩"}]
    path = write(tmp_path, rows, "OneIG-Bench-ZH.csv")
    beside(tmp_path, "Q_D/multilingualism_zh.json", {"000": QUESTIONS})
    beside(tmp_path, "Q_D/multilingualism.json", {"000": {}})
    import_benchmark(path, slug="o")
    story = Story.objects.get()
    assert story.shots.get().text == {"zh": {"prompt": "一个男孩"}}
    assert story.extra["oneig"]["language"] == "zh"
    assert story.extra["oneig"]["questions"] == QUESTIONS["question"]


WRONG = {
    "category": ({"category": ""}, "expected a category as text, such as Portrait"),
    "id": ({"id": " "}, "expected an id as text, such as 000"),
    "id as path": ({"id": "a/b"}, "a category and an id that form a valid file name"),
    "prompt": ({"prompt_en": " "}, "expected prompt_en or prompt_cn with text"),
    "twice": (ROWS[0], "expected each id once per category"),
}


@pytest.mark.parametrize(("change", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_row_is_reported_with_its_line(tmp_path, change, what):
    path = write(tmp_path, [ROWS[0], ROWS[1] | change, ROWS[2] | {"id": ""}])
    problems = complaints(path)
    assert len(problems) == 2
    assert any(p.startswith(f"{path}:3: prompt 3") and what in p for p in problems)
    assert any(p.startswith(f"{path}:4: ") for p in problems)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("id,prompt_en\n0,a\n", ":1: id, prompt_en: expected the columns category, id"),
        ("category,id\nPortrait,0\n", ":1: category, id: expected the columns"),
        ("category,id,prompt_en\nPortrait,0\n", ":2: expected 3 columns as in the"),
        ("category,id,id,prompt_en\n", ":1: id: expected a column name once"),
        ('category,id,prompt_en\nPortrait,0,"a', ":2: expected CSV ("),
        ("category,id,prompt_en\n", ": expected at least one prompt"),
        ("", ":1: expected the columns category"),
        ("category,id,prompt_en\nPortrait,0,a\0\n", "text without NUL"),
    ],
)
def test_foreign_file_is_reported(tmp_path, text, what):
    assert what in complaints(beside(tmp_path, "list.csv", text))[0]


@pytest.mark.parametrize(
    "name",
    [
        "Q_D/anime.json",
        "scripts/alignment/Q_D/anime.json",
        "scripts/text/text_content.csv",
        "scripts/style/style.csv",
        "scripts/reasoning/gt_answer.json",
    ],
)
def test_link_beside_list_is_refused(tmp_path, name):
    path = write(tmp_path)
    content = {
        "Q_D/anime.json": {"000": QUESTIONS},
        "text_content.csv": "id,text_content\n000,['5G']\n",
        "style.csv": "id,class\n000,pixar\n",
        "gt_answer.json": {"000": "contours"},
    }
    (text,) = (text for ending, text in content.items() if name.endswith(ending))
    target = beside(tmp_path / "elsewhere", "target", text)
    link = beside(tmp_path, name, "")
    link.unlink()
    link.symlink_to(target)
    (problem,) = complaints(path)
    assert problem == f"{link}: expected a regular file, not a link"
