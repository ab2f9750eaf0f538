"""Storing of a data set's stories, shots, characters and reference pictures."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from tqdm import tqdm

from analysis.problems import InputError, Problem
from evalcore import media
from evalcore.formats.file_checks import PreparedFiles, written
from evalcore.formats.story_scripts import ReadCharacter, ReadStory
from evalcore.importing.formats import read_stories
from evalcore.models import Benchmark, Character, CharacterImage, Frame, Shot, Story
from evalcore.perturbations import degraded_copies
from evalcore.scoring import score_rows

# Further fields of files, by format.
Extra = dict[str, Any]


@dataclass
class StoryImport:
    """Counts of imported stories and their parts."""

    stories: int = 0
    shots: int = 0
    characters: int = 0
    pictures: int = 0
    created: int = 0
    warnings: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def line(self) -> str:
        counts = (
            f"{self.stories} stories, {self.shots} shots, "
            f"{self.characters} characters, "
            f"{self.pictures} reference pictures"
        )
        if not self.created:
            return f"Nothing new: {counts}, all stored already."
        return f"Imported {counts} ({self.created} of these rows are new)."


def import_benchmark(
    root: Path,
    *,
    slug: str,
    title: str = "",
    form: str = "",
    skip_unreadable: bool = False,
    also: Callable[[], object] = bool,
) -> StoryImport:
    """Import a data set into a benchmark; a second call changes nothing.

    `root` is a folder or file in one of `formats.FORMATS`; `form` names the format if
    it is ambiguous. Empty fields of a stored story (created from folders or tables) are
    filled in. `skip_unreadable` leaves out unreadable reference pictures. `also` is
    called at the end of the transaction.
    """
    left_out: list[str] = []
    source, stories, warnings = read_benchmark(
        root, slug, form, left_out if skip_unreadable else None
    )
    prepared = written(pictures_of(stories), media.prepare_file, "pictures")
    summary = StoryImport(warnings=warnings, unreadable=left_out)
    with transaction.atomic():
        benchmark, _created = Benchmark.objects.get_or_create(
            slug=slug,
            defaults={"title": title or slug, "source": source},
        )
        media.store_prepared(prepared.values())
        for story in tqdm(stories, desc="stories", disable=None):
            _store_story(benchmark, story, prepared, summary)
        also()
    return summary


def read_benchmark(
    root: Path, slug: str, form: str = "", left_out: list[str] | None = None
) -> tuple[str, list[ReadStory], list[str]]:
    """Return source, stories and notes of a data set, compared with what is stored."""
    source, stories, warnings = read_stories(root, form, left_out)
    stored = {
        story.key: story
        for story in Story.objects.filter(benchmark__slug=slug).prefetch_related(
            "shots__characters", "characters__images__media"
        )
    }
    problems = [
        problem
        for story in stories
        if story.key in stored
        for problem in _differences(story, stored[story.key])
    ]
    if problems:
        raise InputError(problems)
    return source, stories, warnings


def pictures_of(stories: Iterable[ReadStory]) -> Iterator[Path]:
    """Yield the reference pictures of stories."""
    for story in stories:
        for character in story.characters:
            yield from character.images.values()


def _differences(read: ReadStory, stored: Story) -> Iterator[Problem]:
    """Yield a problem for each difference, since people may have judged by it."""

    def problem(what: str) -> Problem:
        expected = f"{what} as stored before; a changed data set is another benchmark"
        return Problem(str(read.file), expected)

    if stored.title and stored.title != read.title:
        yield problem("the title")
    if stored.conditioning_seconds not in (None, read.conditioning):
        yield problem("the conditioning seconds")
    for name, value in read.tags.items():
        if stored.tags.get(name, value) != value:
            yield problem(f"the tag {name}")
    for what in _other_extras(read.extra, stored.extra):
        yield problem(what)
    shots = {shot.number: shot for shot in stored.shots.all()}
    with_text = {number for number, shot in shots.items() if shot.text}
    stored_with_text = {shot.number for shot in read.shots}
    if with_text and with_text != stored_with_text:
        yield problem("the shots")
    for shot in read.shots:
        if shot.number in with_text & stored_with_text:
            row = shots[shot.number]
            on_stage = {character.key for character in row.characters.all()}
            if row.text != shot.text:
                yield problem(f"the text of shot {shot.number}")
            if (row.start_seconds, row.end_seconds) != (shot.start, shot.end):
                yield problem(f"the times of shot {shot.number}")
            if on_stage != set(shot.characters):
                yield problem(f"the characters of shot {shot.number}")
    characters = {character.key: character for character in stored.characters.all()}
    if characters and set(characters) != {c.key for c in read.characters}:
        yield problem("the characters")
    for character in read.characters:
        if character.key in characters:
            known = characters[character.key]
            for what in _character_differences(character, known):
                yield problem(f"{what} of character {character.key}")


def _other_extras(read: Extra, stored: Extra) -> Iterator[str]:
    """Yield the fields that differ; their position in the file may change."""
    for name, found in read.items():
        before = stored.get(name, found)
        if not isinstance(found, dict) or not isinstance(before, dict):
            if before != found:
                yield repr(name)
        else:
            for part, value in found.items():
                if before.get(part, value) != value:
                    yield f"{part!r} of {name}"


def _character_differences(read: ReadCharacter, stored: Character) -> Iterator[str]:
    if (stored.names, stored.descriptions, stored.kind) != (
        read.names,
        read.descriptions,
        read.kind,
    ):
        yield "the description"
    images = {image.ordinal: image.media for image in stored.images.all()}
    for ordinal, path in read.images.items():
        picture = images.get(ordinal)
        if picture and not media.is_same_picture(picture, media.read(path)):
            yield f"reference picture {ordinal}"


def _store_story(
    benchmark: Benchmark, read: ReadStory, prepared: PreparedFiles, summary: StoryImport
) -> None:
    story, created = Story.objects.get_or_create(benchmark=benchmark, key=read.key)
    known = summary.created
    summary.stories += 1
    before = (story.title, story.tags, story.conditioning_seconds, story.extra)
    story.title = story.title or read.title
    story.tags = {**read.tags, **story.tags}
    story.conditioning_seconds = story.conditioning_seconds or read.conditioning
    known_extra, story.extra = story.extra, read.extra | story.extra
    for name in set(read.extra) & set(known_extra):
        parts = read.extra[name], known_extra[name]
        if isinstance(parts[0], dict) and isinstance(parts[1], dict):
            story.extra[name] = parts[0] | parts[1]
    after = (story.title, story.tags, story.conditioning_seconds, story.extra)
    if created or after != before:
        story.save(update_fields=["title", "tags", "conditioning_seconds", "extra"])
        summary.created += 1
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
        for ordinal, path in character.images.items():
            _image, created = CharacterImage.objects.get_or_create(
                character=row,
                ordinal=ordinal,
                defaults={"media_id": prepared[path].sha256},
            )
            summary.pictures += 1
            summary.created += created
    for shot in read.shots:
        saved, created = Shot.objects.get_or_create(story=story, number=shot.number)
        if created:
            # Existing outputs lack the new shot, so it is marked as missing.
            for output in story.outputs.filter(frames__isnull=False).distinct():
                Frame.objects.create(output=output, shot=saved, number=shot.number)
                score_rows.forget_computed(output)
                degraded_copies.forget_perturbations(output)
        if not saved.text:
            saved.text = shot.text
            saved.start_seconds, saved.end_seconds = shot.start, shot.end
            saved.save(update_fields=["text", "start_seconds", "end_seconds"])
            saved.characters.set(characters[key] for key in shot.characters)
            created = True
        summary.shots += 1
        summary.created += created
    if summary.created > known:
        score_rows.forget_story(story)
        for output in story.outputs.filter(video__isnull=False):
            # New shot times may cut the video elsewhere.
            degraded_copies.forget_perturbations(output)
