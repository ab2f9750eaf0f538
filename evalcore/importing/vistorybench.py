"""Read ViStoryBench's data set: stories, shots, characters, reference pictures."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
from django.db import transaction
from tqdm import tqdm

from analysis.tables import InputError, Problem
from evalcore import media
from evalcore.models import Benchmark, Character, CharacterImage, Shot, Story

LANGUAGES = {"en": "en", "ch": "zh"}
SHOT_FIELDS = {
    "Setting Description": "setting",
    "Plot Correspondence": "plot",
    "Static Shot Description": "static",
    "Shot Perspective Design": "camera",
}
ON_STAGE = "Characters Appearing"
PICTURES = (".jpg", ".jpeg", ".png")


@dataclass
class ReadCharacter:
    """A character as the folder describes it."""

    key: str
    names: dict[str, str]
    descriptions: dict[str, str]
    kind: str
    images: list[Path]


@dataclass
class ReadShot:
    """A shot as the folder describes it."""

    number: int
    text: dict[str, dict[str, str]]
    characters: list[str]


@dataclass
class ReadStory:
    """A story as the folder describes it."""

    key: str
    title: str
    tags: dict[str, Any]
    characters: list[ReadCharacter]
    shots: list[ReadShot]


@dataclass
class Summary:
    """What an import did."""

    stories: int = 0
    shots: int = 0
    characters: int = 0
    pictures: int = 0
    created: int = 0
    warnings: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the summary as a sentence."""
        counts = (
            f"{self.stories} stories, {self.shots} shots, "
            f"{self.characters} characters, "
            f"{self.pictures} reference pictures"
        )
        if not self.created:
            return f"Nothing new: {counts}, all here already."
        return f"Imported {counts} ({self.created} of these rows are new)."


def story_folders(root: Path) -> list[Path]:
    """Return the story folders below the data set's root, in order of their number."""
    for base in (root / "ViStory", root / "ViStoryBench", root):
        if base.is_dir():
            found = [p for p in base.iterdir() if p.is_dir() and p.name.isdigit()]
            if found:
                return sorted(found, key=lambda p: (int(p.name), p.name))
    raise InputError(
        [Problem(str(root), "a folder with stories named by numbers (01, 02, ...)")]
    )


def read_benchmark(root: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check the whole data set.

    Returns
    -------
    tuple
        The stories, and notes on what was passed over.

    Raises
    ------
    InputError
        With every problem of every file.
    """
    problems: list[Problem] = []
    warnings: list[str] = []
    tags = _metadata(root, warnings)
    stories = []
    for folder in story_folders(root):
        reader = _StoryReader(folder, problems, warnings)
        story = reader.read()
        if story is not None:
            story.tags |= tags.get(story.key, {})
            stories.append(story)
    if problems:
        raise InputError(problems)
    return stories, warnings


class _StoryReader:
    """Reads one story folder and notes problems and warnings."""

    def __init__(
        self, folder: Path, problems: list[Problem], warnings: list[str]
    ) -> None:
        self.folder = folder
        self.file = folder / "story.json"
        self.problems = problems
        self.warnings = warnings

    def problem(self, expected: str, line: int | None = None, what: str = "") -> None:
        self.problems.append(Problem(str(self.file), expected, line, what))

    def read(self) -> ReadStory | None:
        try:
            data = json.loads(self.file.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            self.problem("a file story.json")
        except UnicodeDecodeError:
            self.problem("UTF-8 text")
        except json.JSONDecodeError as error:
            self.problem(f"JSON ({error.msg})", error.lineno)
        else:
            if isinstance(data, dict) and isinstance(data.get("Shots"), list):
                return self._story(data)
            self.problem("an object with Characters and a list of Shots")
        return None

    def _story(self, data: dict[str, Any]) -> ReadStory:
        characters = [
            self._character(str(key).strip(), row)
            for key, row in (data.get("Characters") or {}).items()
        ]
        keys = {character.key for character in characters}
        shots = [
            shot
            for position, row in enumerate(data["Shots"], start=1)
            if (shot := self._shot(position, row, keys)) is not None
        ]
        numbers = [shot.number for shot in shots]
        for number in sorted({n for n in numbers if numbers.count(n) > 1}):
            self.problem("an index that occurs once", what=f"shot {number}")
        if not shots:
            self.problem("at least one complete shot")
        genre = _both(data.get("Story_type")).get("en", "")
        return ReadStory(
            key=self.folder.name,
            title=_both(data.get("Title")).get("en", ""),
            tags={"genre": genre} if genre else {},
            characters=characters,
            shots=shots,
        )

    def _character(self, key: str, row: dict[str, Any]) -> ReadCharacter:
        images = sorted(
            (
                path
                for path in (self.folder / "image" / key).rglob("*")
                if path.suffix.lower() in PICTURES
            ),
            key=lambda path: path.name,
        )
        if not images:
            self.warnings.append(f"{self.file}: {key}: no reference picture")
        for path in images:
            try:
                media.open_picture(path.read_bytes())
            except media.UnreadablePictureError as error:
                self.problems.append(Problem(str(path), str(error)))
        return ReadCharacter(
            key=key,
            names={"en": row.get("name_en") or key, "zh": row.get("name_ch") or key},
            descriptions={
                "en": row.get("prompt_en") or "",
                "zh": row.get("prompt_ch") or "",
            },
            kind=str(row.get("tag") or ""),
            images=images,
        )

    def _shot(
        self, position: int, row: dict[str, Any], keys: set[str]
    ) -> ReadShot | None:
        missing = [name for name in (*SHOT_FIELDS, ON_STAGE) if name not in row]
        if missing:
            self.warnings.append(
                f"{self.file}: shot {position} left out, it lacks {', '.join(missing)}"
            )
            return None
        number = row.get("index", position)
        if type(number) is not int or number < 1:
            self.problem("an index from 1", what=f"shot {position}")
            return None
        text: dict[str, dict[str, str]] = {"en": {}, "zh": {}}
        for name, short in SHOT_FIELDS.items():
            for language, value in _both(row[name]).items():
                text[language][short] = value
        on_stage = [str(k).strip() for k in (row[ON_STAGE] or {}).get("en") or []]
        for key in on_stage:
            if key not in keys:
                self.warnings.append(
                    f"{self.file}: shot {number}: no character {key!r}; left out"
                )
        return ReadShot(number, text, [key for key in on_stage if key in keys])


def _both(value: Any) -> dict[str, str]:
    """Return the texts of a {en, ch} object under our language codes."""
    if not isinstance(value, dict):
        return {}
    return {
        ours: str(value[theirs]).strip()
        for theirs, ours in LANGUAGES.items()
        if value.get(theirs)
    }


def _metadata(root: Path, warnings: list[str]) -> dict[str, dict[str, Any]]:
    """Read tags of stories from metadata.xlsx, where there is one."""
    path = root / "metadata.xlsx"
    if not path.is_file():
        return {}
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    if "ViStory" not in book.sheetnames:
        warnings.append(f"{path}: no sheet ViStory; tags left out")
        return {}
    rows: Iterator[tuple[Any, ...]] = book["ViStory"].iter_rows(values_only=True)
    header = [str(name or "") for name in next(rows, ())]
    if "story_id" not in header:
        warnings.append(f"{path}: no column story_id; tags left out")
        return {}
    tags = {}
    for row in rows:
        values = dict(zip(header, row, strict=False))
        key = values.pop("story_id")
        if key is not None:
            clean = {k: v for k, v in values.items() if k and v is not None}
            tags[str(key).zfill(2)] = {k: str(v) for k, v in clean.items()}
    return tags


@transaction.atomic
def import_benchmark(root: Path, *, slug: str, title: str = "") -> Summary:
    """Read the data set below `root` into a benchmark; a second time changes nothing.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    stories, warnings = read_benchmark(root)
    benchmark, _created = Benchmark.objects.get_or_create(
        slug=slug, defaults={"title": title or slug, "source": "ViStoryBench data set"}
    )
    summary = Summary(warnings=warnings)
    for story in tqdm(stories, desc="stories", disable=None):
        _store_story(benchmark, story, summary)
    return summary


def _store_story(benchmark: Benchmark, read: ReadStory, summary: Summary) -> None:
    story, created = Story.objects.get_or_create(
        benchmark=benchmark,
        key=read.key,
        defaults={"title": read.title, "tags": read.tags},
    )
    summary.stories += 1
    summary.created += created
    characters = {}
    for character in read.characters:
        row, created = Character.objects.get_or_create(
            story=story,
            key=character.key,
            defaults={
                "names": character.names,
                "descriptions": character.descriptions,
                "kind": character.kind,
            },
        )
        characters[character.key] = row
        summary.characters += 1
        summary.created += created
        for ordinal, path in enumerate(character.images, start=1):
            stored = media.store_picture(path.read_bytes())
            _image, created = CharacterImage.objects.get_or_create(
                character=row, ordinal=ordinal, defaults={"media": stored}
            )
            summary.pictures += 1
            summary.created += created
    for shot in read.shots:
        saved, created = Shot.objects.get_or_create(
            story=story, number=shot.number, defaults={"text": shot.text}
        )
        if created:
            saved.characters.set(characters[key] for key in shot.characters)
        elif not saved.text:
            saved.text = shot.text
            saved.save(update_fields=["text"])
            saved.characters.set(characters[key] for key in shot.characters)
            summary.created += 1
        summary.shots += 1
        summary.created += created
