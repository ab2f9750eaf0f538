"""What lies beside OneIG-Bench's list of prompts.

Below the list's folder, where the benchmark's own programs keep it:

    scripts/alignment/Q_D/anime.json      {id: {question, dependency}}, as JSON in text
    scripts/text/text_content.csv         id, text_content: the texts to be rendered
    scripts/style/style.csv               id, class: the style asked for
    scripts/reasoning/gt_answer.json      {id: answer}

For the Chinese list their names end in `_zh` (the styles are the same). `Q_D` may lie
beside the list as well.
"""

import ast
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem
from analysis.tables import is_text
from evalcore.formats.json_files import NO_LINK, read_json, read_text
from evalcore.formats.story_scripts import ReadStory
from evalcore.metrics.oneig.questionnaire import read_questionnaire

Stories = Mapping[str, ReadStory]
QUESTIONS = ("scripts/alignment/Q_D", "Q_D")
TEXTS, STYLES = "scripts/text/text_content", "scripts/style/style"
ANSWERS = "scripts/reasoning/gt_answer"


def read_sides(path: Path, stories: Stories, problems: list[Problem]) -> list[str]:
    """Add what lies beside a list to the stories read from it."""
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
        f"{file}: {count} prompts that the list lacks; left out"
        for file, count in sides.unknown.items()
    ]


class _SideFiles:
    """Adds files to stories, and notes problems and prompts that are missing."""

    def __init__(self, root: Path, stories: Stories, problems: list[Problem]) -> None:
        self.root = root
        self.stories = stories
        self.problems = problems
        self.unknown: Counter[Path] = Counter()

    def is_own(self, file: Path) -> bool:
        """Say whether no link leads to a file; one is noted as a problem."""
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
        story.extra["oneig"] = found | story.extra["oneig"]  # the list's own word goes

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
        for number, found in self.object_of(file, "question and dependency").items():
            if not isinstance(found, dict) or "question" not in found:
                what = "an object with question and dependency"
                self.problems.append(Problem(str(file), what, value=number))
                continue
            asked = found["question"], found.get("dependency")
            if wrong := question_problem(*asked):
                self.problems.append(Problem(str(file), wrong, value=number))
            told = dict(zip(("questions", "dependencies"), asked, strict=True))
            self.add(file, item, number, told)

    def texts(self, file: Path) -> None:
        """Read the texts to be rendered, as one text for metrics and as they stand."""
        for line, number, cell in self.cells(file, "text_content"):
            try:
                found = _texts(cell)
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                what = "a list of texts in quotes"
                problem = Problem(str(file), what, line, "text_content", cell[:60])
                self.problems.append(problem)
                continue
            told = {"text": " ".join(found), "text_content": cell}
            self.add(file, "text", number, told)

    def styles(self, file: Path) -> None:
        for _line, number, style in self.cells(file, "class"):
            self.add(file, "anime", number, {"style": style})

    def cells(self, file: Path, column: str) -> Iterator[tuple[int, str, str]]:
        """Yield line, id and text of the cells of a column that are not empty."""
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
    """Return the texts of a cell such as `['SALE', "today's"]`."""
    found = ast.literal_eval(cell) if cell else []
    if not isinstance(found, list) or not all(isinstance(t, str) for t in found):
        raise ValueError("no list of texts")
    return found


def question_problem(questions: Any, dependencies: Any) -> str:
    """Return what would be right where questions are wrong; empty if they are not.

    Questions are an object of texts by number, dependencies an object of lists of
    numbers; both may be JSON in text.
    """
    try:
        read_questionnaire(questions, dependencies or {})
    except (ValueError, RecursionError) as error:
        return f"question and dependency that can be asked ({error})"
    return ""
