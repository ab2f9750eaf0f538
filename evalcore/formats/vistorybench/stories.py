"""Reader of ViStoryBench's data set: stories, shots, characters, reference pictures.

The same files describe stories whose outputs are videos: a shot may have a `Caption` in
place of ViStoryBench's five fields, and `start_seconds` and `end_seconds`; a story
`conditioning_seconds`.
"""

import re
from pathlib import Path
from typing import Any

import openpyxl

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.file_checks import check_picture
from evalcore.formats.folder_layouts import MOST_SHOTS, PICTURES, is_shown
from evalcore.formats.json_files import NO_LINK, read_json
from evalcore.formats.story_scripts import (
    ReadCharacter,
    ReadShot,
    ReadStory,
    check_times,
    seconds,
)
from evalcore.models import Character, Story, most_letters

LANGUAGES = {"en": "en", "ch": "zh"}
SHOT_FIELDS = {
    "Setting Description": "setting",
    "Plot Correspondence": "plot",
    "Static Shot Description": "static",
    "Shot Perspective Design": "camera",
}
CAPTION = "Caption"
SHEET = "ViStory"
ON_STAGE = "Characters Appearing"
NUMBER = re.compile(r"[0-9]{1,9}")
LONGEST = {
    "title": most_letters(Story, "title"),
    "key": most_letters(Character, "key"),
    "tag": most_letters(Character, "kind"),
}


def story_folders(root: Path) -> list[Path]:
    """Return the story folders below the data set's root, ordered by number."""
    for base in (root / "ViStory", root / "ViStoryBench", root):
        if base.is_dir():
            folders = [p for p in base.iterdir() if NUMBER.fullmatch(p.name)]
            folders = [p for p in folders if p.is_dir() and not p.is_symlink()]
            if folders:
                return sorted(folders, key=lambda p: (int(p.name), p.name))
    what = "a folder with stories named by numbers (01, 02, ...)"
    raise InputError([Problem(str(root), what)])


def read_benchmark(
    root: Path, left_out: list[str] | None = None
) -> tuple[list[ReadStory], list[str]]:
    """Read and check the whole data set."""
    problems: Problems[Problem] = Problems()
    warnings: list[str] = []
    tags = _metadata(root, problems, warnings)
    stories = []
    for folder in story_folders(root):
        reader = _StoryReader(folder, problems, warnings, left_out)
        story = reader.read()
        if story is not None:
            story.tags |= tags.get(story.key, {})
            stories.append(story)
    if problems:
        raise InputError(problems)
    return stories, warnings


class _StoryReader:
    def __init__(
        self,
        folder: Path,
        problems: Problems[Problem],
        warnings: list[str],
        left_out: list[str] | None,
    ) -> None:
        self.folder = folder
        self.file = folder / "story.json"
        self.problems = problems
        self.warnings = warnings
        self.left_out = left_out

    def problem(self, expected: str, line: int | None = None, what: str = "") -> None:
        self.problems.append(Problem(str(self.file), expected, line, what))

    def complain(self, expected: str, what: str) -> None:
        self.problem(expected, what=what)

    def length(self, what: str, text: str) -> None:
        if len(text) > LONGEST[what]:
            expected = f"a {what} of at most {LONGEST[what]} letters"
            self.problem(expected, what=f"{text[:40]}...")

    def read(self) -> ReadStory | None:
        if self.file.is_symlink():
            self.problem(NO_LINK)
            return None
        if not self.file.exists():
            self.problem("a file story.json")
            return None
        try:
            data = read_json(self.file, strange=True)
        except InputError as error:
            self.problems += error.problems
            return None
        if not (
            isinstance(data, dict)
            and isinstance(data.get("Shots"), list)
            and isinstance(data.get("Characters") or {}, dict)
        ):
            self.problem("an object with an object of Characters and a list of Shots")
            return None
        return self._story(data)

    def _story(self, data: dict[str, Any]) -> ReadStory:
        characters = [
            found
            for key, row in (data.get("Characters") or {}).items()
            if (found := self._character(key.strip(), row)) is not None
        ]
        keys = {character.key for character in characters}
        if len(keys) < len(characters):
            self.problem("characters whose names differ in more than spaces")
        shots = [
            shot
            for position, row in enumerate(data["Shots"], start=1)
            if (shot := self._shot(position, row, keys)) is not None
        ]
        numbers = [shot.number for shot in shots]
        for number in sorted({n for n in numbers if numbers.count(n) > 1}):
            self.problem("each index once", what=f"shot {number}")
        if not shots:
            self.problem("at least one complete shot")
        check_times(shots, self.complain)
        given = data.get("conditioning_seconds")
        genre = _both(data.get("Story_type")).get("en", "")
        title = _both(data.get("Title")).get("en", "")
        self.length("title", title)
        return ReadStory(
            file=self.file,
            key=self.folder.name,
            title=title,
            tags={"genre": genre} if genre else {},
            characters=characters,
            shots=shots,
            conditioning=seconds(given, "conditioning_seconds", self.complain) or None,
        )

    def _character(self, key: str, row: Any) -> ReadCharacter | None:
        if not isinstance(row, dict):
            self.problem("an object", what=f"character {key!r}")
            return None
        if not key or key in (".", "..") or set(key) & set("/\\\0"):
            self.problem("a valid folder name", what=f"character {key!r}")
            return None
        self.length("key", key)
        self.length("tag", str(row.get("tag") or ""))
        images = self._images(key)
        if not images:
            self.warnings.append(f"{self.file}: {key}: no reference picture")
        bad = {
            path: found
            for path in images
            if (found := check_picture(path, self.warnings))
        }
        for one in bad.values():
            if one.is_unreadable and self.left_out is not None:
                self.left_out.append(str(one))
            else:
                self.problems.append(one.problem())
        return ReadCharacter(
            key=key,
            names={
                ours: str(row.get(f"name_{theirs}") or key)
                for theirs, ours in LANGUAGES.items()
            },
            descriptions={
                ours: str(row.get(f"prompt_{theirs}") or "")
                for theirs, ours in LANGUAGES.items()
            },
            kind=str(row.get("tag") or ""),
            images={n: p for n, p in enumerate(images, start=1) if p not in bad},
        )

    def _images(self, key: str) -> list[Path]:
        """Return a character's pictures; refuse links out of the folder."""
        home = self.folder.resolve()
        images = []
        for path in (self.folder / "image" / key).rglob("*"):
            if not path.is_file() or not is_shown(path.name):
                continue
            if path.suffix.lower() not in PICTURES:
                self.warnings.append(f"{path}: no picture by its suffix; left out")
            elif path.resolve().is_relative_to(home):
                images.append(path)
            else:
                what = "a picture inside the story's folder, not a link out of it"
                self.problems.append(Problem(str(path), what))
        return sorted(images, key=lambda path: path.name)

    def _shot(self, position: int, row: Any, keys: set[str]) -> ReadShot | None:
        if not isinstance(row, dict):
            self.problem("an object", what=f"shot {position}")
            return None
        missing = [name for name in (*SHOT_FIELDS, ON_STAGE) if name not in row]
        if missing and CAPTION not in row:
            self.warnings.append(
                f"{self.file}: shot {position} left out; it lacks {', '.join(missing)}"
            )
            return None
        number = row.get("index", position)
        if type(number) is not int or not 1 <= number <= MOST_SHOTS:
            self.problem(f"an index from 1 to {MOST_SHOTS}", what=f"shot {position}")
            return None
        text: dict[str, dict[str, str]] = {"en": {}, "zh": {}}
        for name, short in (*SHOT_FIELDS.items(), (CAPTION, "caption")):
            for language, value in _both(row.get(name)).items():
                text[language][short] = value
        named = row.get(ON_STAGE) or {}
        listed = named.get("en") or [] if isinstance(named, dict) else named
        if not isinstance(listed, list):
            self.problem("a list of characters on stage", what=f"shot {number}")
            return None
        on_stage = [str(key).strip() for key in listed]
        for key in on_stage:
            if key not in keys:
                self.warnings.append(
                    f"{self.file}: shot {number}: unknown character {key!r}; left out"
                )
        what = f"shot {number}"
        return ReadShot(
            number,
            text,
            [key for key in on_stage if key in keys],
            seconds(row.get("start_seconds"), what, self.complain),
            seconds(row.get("end_seconds"), what, self.complain),
        )


def _both(value: Any) -> dict[str, str]:
    """Return the texts of an {en, ch} object by our language codes."""
    if isinstance(value, str):
        value = {"en": value}
    if not isinstance(value, dict):
        return {}
    return {
        ours: str(value[theirs]).strip()
        for theirs, ours in LANGUAGES.items()
        if value.get(theirs)
    }


def _metadata(
    root: Path, problems: list[Problem], warnings: list[str]
) -> dict[str, dict[str, Any]]:
    path = root / "metadata.xlsx"
    if path.is_symlink():
        problems.append(Problem(str(path), NO_LINK))
    if path.is_symlink() or not path.is_file():
        return {}
    rows = _rows(path, problems)
    if rows is None:
        warnings.append(f"{path}: no sheet {SHEET}; tags left out")
        return {}
    header = [str(name or "") for name in next(iter(rows), ())]
    if "story_id" not in header:
        warnings.append(f"{path}: no column story_id; tags left out")
        return {}
    tags = {}
    for row in rows[1:]:
        values = dict(zip(header, row, strict=False))
        key = values.pop("story_id", None)
        if key is not None:
            clean = {k: v for k, v in values.items() if k and v is not None}
            tags[str(key).zfill(2)] = {k: str(v) for k, v in clean.items()}
    return tags


def _rows(path: Path, problems: list[Problem]) -> list[tuple[Any, ...]] | None:
    """Return the rows of the sheet with the tags; None if it does not exist."""
    # openpyxl is imported late, since it loads pandas.
    from analysis.reading.workbooks import BROKEN, check_unpacked

    try:
        check_unpacked(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        if SHEET not in book.sheetnames:
            return None
        sheet = book[SHEET]
        sheet.reset_dimensions()  # Damaged workbooks may be huge when unpacked.
        return list(sheet.iter_rows(values_only=True))
    except InputError as error:
        problems += error.problems
    except BROKEN as error:
        problems.append(Problem(str(path), f"an Excel workbook ({error})"))
    return []
