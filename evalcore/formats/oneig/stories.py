"""Reader of OneIG-Bench's prompts: a list as CSV or JSON, and accompanying files.

A row has `category`, `id` and `prompt_en` or `prompt_cn`. Every category counts from
000, so a story's key names its class: `anime_000`. `class` (a style, a subject or a
kind of text), `type` and `prompt_length` become tags. The list's folder may contain

    scripts/alignment/Q_D/anime.json      {id: {question, dependency}}, as JSON in text
    scripts/text/text_content.csv         id, text_content: the texts to be rendered
    scripts/style/style.csv               id, class: the style asked for
    scripts/reasoning/gt_answer.json      {id: answer}

Files of the Chinese list have names that end in `_zh`; `Q_D` may also lie beside the
list.
"""

import ast
import csv
import io
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.problems import InputError, Problem, Problems
from analysis.tables import is_text
from evalcore.formats.json_files import NO_LINK, read_json, read_rows, read_text, refuse
from evalcore.formats.story_scripts import ReadShot, ReadStory, can_name_a_file
from evalcore.metrics.oneig.alignment import read_questionnaire

if TYPE_CHECKING:
    import pandas as pd

Stories = Mapping[str, ReadStory]
QUESTIONS = ("scripts/alignment/Q_D", "Q_D")
TEXTS, STYLES = "scripts/text/text_content", "scripts/style/style"
ANSWERS = "scripts/reasoning/gt_answer"


def read_sides(path: Path, stories: Stories, problems: list[Problem]) -> list[str]:
    """Add the files beside a list to the stories read from it."""
    zh = stories and all("en" not in s.shots[0].text for s in stories.values())
    ending = "_zh" if zh else ""
    sides = _SideFiles(path.parent, stories, problems)
    for folder in QUESTIONS:
        for file in sorted((path.parent / folder).glob("*.json")):
            if file.stem.endswith("_zh") == bool(zh) and sides.is_own(file):
                sides.questions(file, file.stem.removesuffix("_zh"))
    for name, read in (
        (f"{TEXTS}{ending}.csv", sides.texts),
        (f"{STYLES}.csv", sides.styles),
        (f"{ANSWERS}{ending}.json", sides.answers),
    ):
        file = path.parent / name
        if sides.is_own(file) and file.is_file():
            read(file)
    return [
        f"{file}: {count} prompts not in the list; left out"
        for file, count in sides.unknown.items()
    ]


class _SideFiles:
    """Adds files to stories, and records problems and missing prompts."""

    def __init__(self, root: Path, stories: Stories, problems: list[Problem]) -> None:
        self.root = root
        self.stories = stories
        self.problems = problems
        self.unknown: Counter[Path] = Counter()

    def is_own(self, file: Path) -> bool:
        """Return whether the file's path has no link; record a problem otherwise."""
        below = [file, *file.parents][: len(file.relative_to(self.root).parts)]
        links = [Problem(str(part), NO_LINK) for part in below if part.is_symlink()]
        self.problems += [one for one in links if one not in self.problems]
        return not links

    def add(self, file: Path, item: str, number: str, found: dict[str, Any]) -> None:
        story = self.stories.get(f"{item}_{number}")
        if story is None:
            self.unknown[file] += 1
            return
        if style := found.get("style"):
            story.tags["style"] = style
            story.tags |= stylization_of(style)
        # the list's own field takes precedence
        story.extra["oneig"] = found | story.extra["oneig"]

    def object_of(self, file: Path, what: str) -> dict[str, Any]:
        try:
            data = read_json(file)
        except InputError as error:
            self.problems += error.problems
            return {}
        if isinstance(data, dict):
            return data
        self.problems.append(Problem(str(file), f"an object of {what} by id"))
        return {}

    def questions(self, file: Path, item: str) -> None:
        for number, entry in self.object_of(file, "question and dependency").items():
            if not isinstance(entry, dict) or "question" not in entry:
                what = "an object with question and dependency"
                self.problems.append(Problem(str(file), what, value=number))
                continue
            pair = entry["question"], entry.get("dependency")
            if wrong := question_problem(*pair):
                self.problems.append(Problem(str(file), wrong, value=number))
            fields = dict(zip(("questions", "dependencies"), pair, strict=True))
            self.add(file, item, number, fields)

    def texts(self, file: Path) -> None:
        """Read the expected texts, joined for metrics and as written."""
        for line, number, cell in self.cells(file, "text_content"):
            try:
                texts = _texts(cell)
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                what = "a list of texts in quotes"
                problem = Problem(str(file), what, line, "text_content", cell[:60])
                self.problems.append(problem)
                continue
            fields = {"text": " ".join(texts), "text_content": cell}
            self.add(file, "text", number, fields)

    def styles(self, file: Path) -> None:
        for _line, number, style in self.cells(file, "class"):
            self.add(file, "anime", number, {"style": style})

    def cells(self, file: Path, column: str) -> Iterator[tuple[int, str, str]]:
        """Yield line, id and text of the non-empty cells of a column."""
        try:
            text = read_text(file)
        except InputError as error:
            self.problems += error.problems
            return
        reader = csv.DictReader(io.StringIO(text, newline=""))
        if not {"id", column} <= set(reader.fieldnames or ()):
            what = f"the columns id and {column}"
            self.problems.append(Problem(str(file), what, 1))
            return
        for row in reader:
            cell = (row[column] or "").strip()
            if cell and is_text(cell):
                yield reader.line_num, row["id"] or "", cell

    def answers(self, file: Path) -> None:
        for number, answer in self.object_of(file, "answers").items():
            if isinstance(answer, str):
                self.add(file, "reasoning", number, {"answer": answer})
            else:
                problem = Problem(str(file), "an answer as text", value=number)
                self.problems.append(problem)


def _texts(cell: str) -> list[str]:
    """Return the texts in a cell such as `['SALE', "today's"]`."""
    texts = ast.literal_eval(cell) if cell else []
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise ValueError("not a list of texts")
    return texts


def question_problem(questions: Any, dependencies: Any) -> str:
    """Return what is expected in place of wrong questions; empty if they are right."""
    try:
        read_questionnaire(questions, dependencies or {})
    except (ValueError, RecursionError) as error:
        return f"question and dependency that can be asked ({error})"
    return ""


CLASSES = {
    "Anime_Stylization": "anime",
    "Portrait": "human",
    "General_Object": "object",
    "Text_Rendering": "text",
    "Knowledge_Reasoning": "reasoning",
    "Multilingualism": "multilingualism",
}
# Categories by their names in the paper.
TITLES = {
    "Anime_Stylization": "Anime & Stylization",
    "General_Object": "General Object",
    "Text_Rendering": "Text Rendering",
    "Knowledge_Reasoning": "Knowledge & Reasoning",
}
# Columns of the groups in OneIG's analysis.
TAGS = ("class", "type", "prompt_length")
# Styles by their group, as OneIG's analysis has them.
STYLE_GROUPS = {
    "traditional": (
        *("abstract_expressionism", "art_nouveau", "baroque", "chinese_ink_painting"),
        *("cubism", "fauvism", "impressionism", "line_art", "minimalism"),
        *("pointillism", "pop_art", "rococo", "ukiyo-e"),
    ),
    "media": (
        *("clay", "crayon", "graffiti", "lego", "comic", "pencil_sketch"),
        *("stone_sculpture", "watercolor"),
    ),
    "anime": (
        *("celluloid", "chibi", "cyberpunk", "ghibli", "impasto", "pixar"),
        *("pixel_art", "3d_rendering"),
    ),
}
NO_STYLE = "none"
# Columns with a prompt, and their language.
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
                what = "each id once per category"
                problems.append(_problem(path, place, row, what))
    if not rows:
        problems.append(Problem(str(path), "at least one prompt"))
    notes = read_sides(path, stories, problems)
    if problems:
        raise InputError(problems)
    return list(stories.values()), notes


def _list_of(folder: Path) -> Path:
    """Return the list in a folder; English and Chinese are separate benchmarks."""
    lists = [folder / name for name in LISTS if (folder / name).is_file()]
    if links := [path for path in lists if path.is_symlink()]:
        refuse(links[0], NO_LINK)
    if len(lists) == 1:
        return lists[0]
    what = f"one of {' and '.join(LISTS)} in it"
    if lists:
        what = "the path of one list; the two are separate benchmarks"
    raise InputError([Problem(str(folder), what)])


def _rows(path: Path) -> TableRows:
    if path.suffix.lower() == ".csv":
        return list(_of_csv(path))
    what = "a list of objects with category, id and prompt_en or prompt_cn"
    return read_rows(path, what)


def read_table(path: Path) -> "pd.DataFrame":
    """Return the cells of a CSV file as text, after a check of the file."""
    from analysis.reading.csv_files import read_csv

    if not is_text(read_text(path)):
        refuse(path, "text without NUL or invalid characters")
    return read_csv(path)


def _of_csv(path: Path) -> Iterable[tuple[int, dict[Hashable, str]]]:
    table = read_table(path)
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
    """Return OneIG's folder for a category's pictures and questions.

    >>> class_of("Anime_Stylization"), class_of("My own prompts")
    ('anime', 'my_own_prompts')
    """
    own = re.sub(r"\W+", "_", category.lower()).strip("_")
    return CLASSES.get(category, own)


def stylization_of(style: str) -> dict[str, str]:
    """Return the tag for a style's group; nothing for a style that OneIG lacks.

    >>> stylization_of("Pop art"), stylization_of(""), stylization_of("My own")
    ({'stylization': 'traditional'}, {'stylization': 'none'}, {})
    """
    name = style.strip().lower().replace(" ", "_")
    groups = [group for group, styles in STYLE_GROUPS.items() if name in styles]
    return {"stylization": (*groups, NO_STYLE)[0]} if groups or not name else {}


def _tags(row: dict[str, Any], category: str) -> dict[str, str]:
    tags = {"category": TITLES.get(category, category)}
    for name in TAGS:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            tags[name] = value.strip()
    if "class" in row and class_of(category) == "anime":
        tags |= stylization_of(tags.get("class", ""))
    return tags


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
        complain("a category and an id that form a valid file name")
        return None
    texts: dict[str, dict[str, str]] = {}
    for column, language in PROMPTS.items():
        text = row.get(column)
        if isinstance(text, str) and text.strip():
            texts[language] = {"prompt": text.strip()}
        elif text is not None and not isinstance(text, str):
            complain(f"{column} as text")
            return None
    if not texts:
        complain("prompt_en or prompt_cn with text")
        return None
    fields: dict[str, Any] = {}
    if row.get("question") is not None:
        fields = {"questions": row["question"], "dependencies": row.get("dependency")}
        if wrong := question_problem(*fields.values()):
            complain(wrong)
    tags = _tags(row, category)
    if len(texts) == 1:
        tags["language"] = fields["language"] = next(iter(texts))
    return ReadStory(
        file=path,
        key=key,
        title="",
        tags=tags,
        shots=[ReadShot(1, texts)],
        extra={"oneig": {"class_item": class_of(category), **fields, **row}},
    )
