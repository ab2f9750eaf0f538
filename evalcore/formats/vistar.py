"""Reader and writer of VISTAR's prompts: one per line of text, or JSON objects.

A line is a prompt of the language `[role-angle] text {key="value"}`. An object has
`prompt_id` and `prompt`, of that language or plain, and perhaps a `questionnaire` (or
its `levels`). A prompt becomes a story of one shot, which people and methods see
without tag and parameters. The whole prompt is stored with its story, so that it can be
written back with its questionnaire.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.sentences import counted
from analysis.tables import Lines, defused, is_text
from evalcore.formats.json_files import read_rows, read_text
from evalcore.formats.story_scripts import (
    ReadShot,
    ReadStory,
    can_name_a_file,
)
from evalcore.formats.written_files import Files, as_lines
from evalcore.metrics.vistar.prompt_language import (
    ANGLES,
    ROLES,
    ParseError,
    did_you_mean,
    parse,
)
from evalcore.metrics.vistar.questionnaire import (
    AUTHOR,
    PromptForJudge,
    QuestionnaireError,
    read_questionnaire,
)

CODES = {"role": ROLES, "angle": ANGLES}
SHOWN = 60
FILE, TABLE = "questionnaires.jsonl", "questionnaires.csv"
# Columns of the table of questionnaires, a row per pair of questions.
HEADER = (
    *("story", "role", "angle", "prompt", "level", "level_weight"),
    *("pair", "positive", "negative", "weight"),
    *(f"author_{key}" for key in AUTHOR),
)
# VISTAR's fields for each prompt, by the story's key.
Prompts = Mapping[str, Mapping[str, Any]]
# A prompt's object and its position: its line, if lines are counted.
PromptRow = tuple[int, Any]


class WrongError(ValueError):
    """A prompt is wrong; `expected` lists one text per problem."""

    def __init__(self, *expected: str) -> None:
        super().__init__(*expected)
        self.expected = expected


def read_prompts(path: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check a list of prompts; return remarks on unknown roles and angles."""
    problems: Problems[Problem] = Problems()
    stories: list[ReadStory] = []
    has_lines = path.suffix.lower() != ".json"
    for place, row in _rows(path, problems):
        try:
            stories.append(_story(path, row))
        except WrongError as error:
            line = place if has_lines else None
            named = f"prompt {place}" + f": {_key(row)[:SHOWN]}" * bool(_key(row))
            problems += [
                Problem(str(path), expected, line, value=named)
                for expected in error.expected
            ]
    keys = [story.key for story in stories]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        problems.append(Problem(str(path), "each prompt_id once", value=key))
    if not stories and not problems:
        problems.append(Problem(str(path), "at least one prompt"))
    if problems:
        raise InputError(problems)
    return stories, list(_remarks(path, stories))


def _remarks(path: Path, stories: Sequence[ReadStory]) -> Iterator[str]:
    """Yield a remark for each role or angle that is not known."""
    for what, known in CODES.items():
        users: dict[str, list[str]] = defaultdict(list)
        for story in stories:
            code = story.tags.get(what, "")
            if code and code not in known:
                users[code].append(story.key)
        for code, keys in users.items():
            hint = did_you_mean(code, known)
            yield (
                f"{path.name}: the {what} {code!r} of {counted(len(keys), 'prompt')} "
                f"({keys[0]}{', ...' * (len(keys) > 1)}) is kept, but not known"
                f"{', so every metric scores it' * (what == 'angle')}; known are "
                f"{', '.join(known)}{f'; {hint}' * bool(hint)}"
            )


def _rows(path: Path, problems: list[Problem]) -> list[PromptRow]:
    if path.suffix.lower() == ".txt":
        return list(_lines(path, problems))
    return read_rows(path, "a list of objects with prompt_id and prompt")


def _lines(path: Path, problems: list[Problem]) -> Iterator[PromptRow]:
    count = 0
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        line = text.removesuffix("\r")
        if not is_text(line):
            what = "text without NUL or invalid characters"
            problems.append(Problem(str(path), what, number))
        elif line.strip():
            count += 1
            yield number, (f"{count:04d}", line)


def _key(row: Any) -> str:
    key = row.get("prompt_id") if isinstance(row, dict) else None
    return key if isinstance(key, str) else ""


def _story(path: Path, row: Any) -> ReadStory:
    """Return a prompt as a story of one shot, or raise its problems."""
    if isinstance(row, tuple):
        key, line = row
        text, parsed = _understood(line)
        fields = {"prompt": line, **parsed}
    else:
        _check_fields(row)
        key = row["prompt_id"]
        text, parsed = row["prompt"].strip(), {}
        if text.startswith("["):
            text, parsed = _understood(row["prompt"])
        if not row.get("parameters", {}) == parsed.get("parameters", {}) == {}:
            _check_parameters(row, parsed)
        fields = parsed | row | _questionnaire(row, text)
    return ReadStory(
        file=path,
        key=key,
        title="",
        tags={name: fields[name] for name in CODES if fields.get(name)},
        shots=[ReadShot(1, {"en": {"prompt": text}})],
        extra={"vistar": fields},
    )


def _understood(source: str) -> tuple[str, dict[str, Any]]:
    """Return a prompt's plain text, and the further fields that metrics read."""
    try:
        prompt = parse(source)
    except ParseError as error:
        where = f"at column {error.column}"
        if "\n" in source.strip():
            where += f" of the prompt's line {error.line}"
        expected = f"{error.expected} {where}, not {error.found}"
        raise WrongError(expected) from error
    return prompt.text, {
        "role": prompt.role,
        "angle": prompt.angle,
        "parameters": dict(prompt.parameters),
    }


def _check_fields(row: Any) -> None:
    if not _key(row) or not can_name_a_file(_key(row)):
        raise WrongError("an object whose prompt_id is a valid file name")
    prompt = row.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise WrongError("a prompt with text")
    if not all(isinstance(row.get(name) or "", str) for name in CODES):
        raise WrongError("role and angle as text")


def _check_parameters(row: dict[str, Any], parsed: dict[str, Any]) -> None:
    """Refuse parameters that metrics cannot read, or that contradict the prompt."""
    given = row.get("parameters", parsed.get("parameters"))
    if not isinstance(given, dict) or not all(
        isinstance(value, str) for value in given.values()
    ):
        raise WrongError("parameters as an object of texts")
    if parsed and given != parsed["parameters"]:
        raise WrongError("the same parameters as in the prompt")


def _questionnaire(row: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a prompt's whole questionnaire, if it has one; `found` has its form."""
    given = row.get("questionnaire")
    if given is None and "levels" in row:
        given = {"levels": row["levels"]}
    if given is None:
        return {}
    whole = given
    if isinstance(given, dict):
        whole = {"prompt_id": row["prompt_id"], "prompt": text, **given}
    try:
        read_questionnaire(whole)
    except QuestionnaireError as error:
        what = "a questionnaire of the documented form"
        raise WrongError(*(f"{what} ({p})" for p in error.problems)) from error
    return {"questionnaire": whole}


# Writing ------------------------------------------------------------------------------


def prompt_for_judge(fields: Mapping[str, Any]) -> PromptForJudge:
    """Return a prompt as a judge receives it."""
    text = str(fields["prompt"]).strip()
    return PromptForJudge(
        parse(text).text if text.startswith("[") else text,
        fields.get("role") or "",
        fields.get("angle") or "",
        fields.get("parameters") or {},
    )


def questionnaire_files(prompts: Prompts) -> Files:
    """Return prompts with their questionnaires as files.

    The list of objects can be imported: it adds questionnaires to the prompts of a
    benchmark, or makes a benchmark of them. The table is for reading.
    """
    table = io.StringIO()
    writer = csv.writer(Lines(table))
    writer.writerow(HEADER)
    for key, fields in prompts.items():
        for row in _table_rows(key, fields):
            writer.writerow([defused(v) if isinstance(v, str) else v for v in row])
    rows = [{"prompt_id": key, **fields} for key, fields in prompts.items()]
    return {FILE: as_lines(rows), TABLE: table.getvalue()}


def _table_rows(key: str, fields: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    read = read_questionnaire(fields["questionnaire"])
    codes = [fields.get(name) or "" for name in CODES]
    author = [read.author.get(name, "") for name in AUTHOR]
    for level in read.levels:
        for pair in level.questions:
            asked = (pair.id, pair.positive, pair.negative, pair.weight)
            of_level = (read.prompt, level.level, level.weight)
            yield key, *codes, *of_level, *asked, *author
