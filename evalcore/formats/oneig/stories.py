"""Read and write OneIG-Bench's prompts: a list as CSV or JSON, and what lies beside it.

A row has `category`, `id` and `prompt_en` or `prompt_cn`. Every category counts from
000, so a story's key names its class too, as OneIG's own results do: `anime_000`. A
prompt is a story of one shot; all of it stays with its story, to be written again.
`side_files` reads questions, texts, styles and answers that lie beside the list.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.tables import Lines, is_text
from evalcore.formats.json_files import NO_LINK, read_rows, read_text, refuse
from evalcore.formats.oneig.side_files import (
    ANSWERS,
    QUESTIONS,
    STYLES,
    TEXTS,
    question_problem,
    read_sides,
)
from evalcore.formats.originals import Extras, Original, by_file
from evalcore.formats.story_scripts import ReadShot, ReadStory, can_name_a_file, origin
from evalcore.formats.written_files import Files, as_list

CLASSES = {
    "Anime_Stylization": "anime",
    "Portrait": "human",
    "General_Object": "object",
    "Text_Rendering": "text",
    "Knowledge_Reasoning": "reasoning",
    "Multilingualism": "multilingualism",
}
# As the paper calls them.
TITLES = {
    "Anime_Stylization": "Anime & Stylization",
    "General_Object": "General Object",
    "Text_Rendering": "Text Rendering",
    "Knowledge_Reasoning": "Knowledge & Reasoning",
}
# Columns with a prompt, and its language.
PROMPTS = {"prompt_en": "en", "prompt_cn": "zh", "prompt_zh": "zh"}
LISTS = ("OneIG-Bench.csv", "OneIG-Bench-ZH.csv")
TableRows = list[tuple[int, Any]]


def read_prompts(path: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check a list of prompts, or the one in a folder."""
    path = _list_of(path) if path.is_dir() else path
    problems: Problems[Problem] = Problems()
    rows = _rows(path)
    stories: dict[str, ReadStory] = {}
    for place, row in rows:
        story = _story(path, place, row, problems)
        if story is not None:
            other = stories.setdefault(story.key, story)
            if other is not story:
                what = "an id that occurs once in its category"
                problems.append(_problem(path, place, row, what))
    if not rows:
        problems.append(Problem(str(path), "at least one prompt"))
    notes = read_sides(path, stories, problems)
    if problems:
        raise InputError(problems)
    return list(stories.values()), notes


def _list_of(folder: Path) -> Path:
    """Return the list of a folder; English and Chinese are benchmarks of their own."""
    found = [folder / name for name in LISTS if (folder / name).is_file()]
    if links := [path for path in found if path.is_symlink()]:
        refuse(links[0], NO_LINK)
    if len(found) == 1:
        return found[0]
    what = f"one of {' and '.join(LISTS)} in it"
    if found:
        what = "the path of one list; each of the two is a benchmark of its own"
    raise InputError([Problem(str(folder), what)])


def _rows(path: Path) -> TableRows:
    if path.suffix.lower() == ".csv":
        return list(_of_csv(path))
    what = "a list of objects with category, id and prompt_en or prompt_cn"
    return read_rows(path, what)


def _of_csv(path: Path) -> Iterable[tuple[int, dict[Hashable, str]]]:
    from analysis.reading.csv_files import read_csv

    if not is_text(read_text(path)):
        refuse(path, "text without NUL or broken letters")
    table = read_csv(path)
    header = list(table.columns)
    if not {"category", "id"} <= set(header) or not set(PROMPTS) & set(header):
        what = "the columns category, id and prompt_en or prompt_cn"
        refuse(path, what, 1, value=", ".join(header))
    return zip(table.index.tolist(), table.to_dict("records"), strict=True)


def _problem(path: Path, place: int, row: Any, expected: str) -> Problem:
    line = place if path.suffix.lower() in (".csv", ".jsonl") else None
    said = row if isinstance(row, dict) else {}
    named = f"prompt {place}: {said.get('category')} {said.get('id')}"
    return Problem(str(path), expected, line, value=named[:120])


def class_of(category: str) -> str:
    """Return the folder in which OneIG keeps a category's pictures and questions.

    >>> class_of("Anime_Stylization"), class_of("My own prompts")
    ('anime', 'my_own_prompts')
    """
    own = re.sub(r"\W+", "_", category.lower()).strip("_")
    return CLASSES.get(category, own)


def _story(
    path: Path, place: int, row: Any, problems: list[Problem]
) -> ReadStory | None:
    def complain(expected: str) -> None:
        problems.append(_problem(path, place, row, expected))

    if not isinstance(row, dict):
        complain("an object with category, id and prompt_en or prompt_cn")
        return None
    category, number = row.get("category"), row.get("id")
    if not isinstance(category, str) or not class_of(category):
        complain("a category as text, such as Portrait")
        return None
    if not isinstance(number, str) or not number.strip():
        complain("an id as text, such as 000")
        return None
    key = f"{class_of(category)}_{number.strip()}"
    if not can_name_a_file(key):
        complain("a category and an id that can name a file")
        return None
    told: dict[str, dict[str, str]] = {}
    for column, language in PROMPTS.items():
        text = row.get(column)
        if isinstance(text, str) and text.strip():
            told[language] = {"prompt": text.strip()}
        elif text is not None and not isinstance(text, str):
            complain(f"{column} as text")
            return None
    if not told:
        complain("prompt_en or prompt_cn with text")
        return None
    asked: dict[str, Any] = {}
    if row.get("question") is not None:
        asked = {"questions": row["question"], "dependencies": row.get("dependency")}
        if wrong := question_problem(*asked.values()):
            complain(wrong)
    if len(told) == 1:
        asked["language"] = next(iter(told))
    return ReadStory(
        file=path,
        key=key,
        title="",
        tags={"category": TITLES.get(category, category)},
        shots=[ReadShot(1, told)],
        extra={
            "oneig": {"class_item": class_of(category), **asked, **row},
            **origin(path.name, place, fields=list(row)),
        },
    )


def prompt_files(stories: Extras) -> Files:
    """Return the lists of prompts of which stories were made, with all beside them."""
    files: Files = {}
    for file, originals in by_file(stories, "oneig", "OneIG-Bench.csv").items():
        files[file] = _list(file, originals)
        files |= _sides(originals)
    return files


def _list(file: str, originals: Sequence[Original]) -> str:
    rows = [original.row() for original in originals]
    if file.lower().endswith(".csv"):
        header = dict.fromkeys(field for one in originals for field in one.fields)
        return _csv(header, rows)
    return as_list(file, rows)


def _csv(header: Iterable[str], rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(Lines(text), list(header), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _sides(originals: Sequence[Original]) -> Files:
    """Return the files beside a list: what its rows do not say themselves."""
    ending = "" if any(one.data.get("prompt_en") for one in originals) else "_zh"
    questions: dict[str, dict[str, Any]] = defaultdict(dict)
    texts, styles, answers = [], [], {}
    for one in originals:
        number, beside = one.data["id"], set(one.data) - set(one.fields)
        item = one.data["class_item"]
        if "questions" in beside and "question" not in one.data:
            names = (("question", "questions"), ("dependency", "dependencies"))
            questions[item][number] = {name: one.data[ours] for name, ours in names}
        if "text_content" in beside:
            column = next(name for name in PROMPTS if one.data.get(name))
            texts.append(one.row(("id", column, "text_content")))
        if item == "anime":
            styles.append({"id": number, "class": one.data.get("style", "")})
        if "answer" in beside:
            answers[number] = one.data["answer"]
    files = {
        f"{QUESTIONS[0]}/{item}{ending}.json": _object(found)
        for item, found in questions.items()
    }
    if texts:
        files[f"{TEXTS}{ending}.csv"] = _csv(texts[0], texts)
    if any(row["class"] for row in styles):
        files[f"{STYLES}.csv"] = _csv(styles[0], styles)
    if answers:
        files[f"{ANSWERS}{ending}.json"] = _object(answers)
    return files


def _object(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=4)
