"""Import rendered stories: pictures become outputs with one frame a shot."""

import difflib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from tqdm import tqdm

from analysis.tables import InputError, Problem
from evalcore import media
from evalcore.importing.layouts import FoundFolder, find_folders, shot_number
from evalcore.models import Benchmark, Frame, Method, Output, Shot, Story


@dataclass
class Rendering:
    """One output as the folders have it: shot number in the file to picture."""

    method: str
    story: str
    folder: FoundFolder
    pictures: dict[int, Path]
    index_shift: int = 0


@dataclass
class Summary:
    """What an import did."""

    methods: int = 0
    stories: int = 0
    pictures: int = 0
    missing: list[str] = field(default_factory=list)
    new_outputs: int = 0
    new_pictures: int = 0
    warnings: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the summary as a sentence."""
        counts = (
            f"{self.methods} methods, {self.stories} stories, "
            f"{self.pictures} pictures, "
            f"{len(self.missing)} missing shots"
        )
        if not self.new_outputs and not self.new_pictures:
            return f"Nothing new: {counts}, all here already."
        return (
            f"Imported {counts} "
            f"({self.new_outputs} outputs and {self.new_pictures} pictures are new)."
        )


def import_outputs(
    root: Path,
    *,
    benchmark: Benchmark,
    method: str = "",
    mode: str = "",
    language: str = "",
    timestamp: str = "",
    create_stories: bool = False,
) -> Summary:
    """Import every rendered story below `root`; a second time changes nothing.

    Parameters
    ----------
    root
        The outputs' folder, or with `method` the folder of that one method.
    benchmark
        Whose stories were rendered.
    mode, language, timestamp
        Take only these; without timestamp the newest of each story is taken.
    create_stories
        Make stories and shots without text from the folders.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    if not root.is_dir():
        raise InputError([Problem(str(root), "a folder of outputs")])
    shots = _known_shots(benchmark)
    folders, warnings = find_folders(root, stories=set(shots), method=method)
    folders = _chosen(folders, mode, language, timestamp)
    if not folders:
        raise InputError([Problem(str(root), "at least one folder of pictures")])
    problems: list[Problem] = []
    renderings = _renderings(folders, problems, warnings)
    if create_stories:
        _add_new_stories(shots, renderings)
    for rendering in renderings:
        _fit_to_shots(rendering, shots, problems)
    _check_pictures(renderings, problems)
    if problems:
        raise InputError(problems)
    with transaction.atomic():
        summary = _store(benchmark, shots, renderings)
    summary.warnings = warnings
    return summary


def _known_shots(benchmark: Benchmark) -> dict[str, set[int]]:
    known: dict[str, set[int]] = {s.key: set() for s in benchmark.stories.all()}
    rows = Shot.objects.filter(story__benchmark=benchmark)
    for key, number in rows.values_list("story__key", "number"):
        known[key].add(number)
    return known


def _chosen(
    folders: list[FoundFolder], mode: str, language: str, timestamp: str
) -> list[FoundFolder]:
    """Keep what was asked for, and of several timestamps the newest."""
    kept = [
        f
        for f in folders
        if (not mode or f.mode == mode)
        and (not language or f.language == language.replace("ch", "zh"))
        and (not timestamp or f.timestamp == timestamp.replace("-", "_"))
    ]
    newest: dict[tuple[str, str, str, str], str] = {}
    for f in kept:
        key = f.method, f.mode, f.language, f.story
        newest[key] = max(newest.get(key, ""), f.timestamp)
    return [
        f for f in kept if f.timestamp == newest[f.method, f.mode, f.language, f.story]
    ]


def _renderings(
    folders: list[FoundFolder], problems: list[Problem], warnings: list[str]
) -> list[Rendering]:
    """Gather the pictures of each output and name its method."""
    modes: dict[str, set[str]] = defaultdict(set)
    languages: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        modes[folder.method].add(folder.mode)
        languages[folder.method].add(folder.language)
    found: dict[tuple[str, str], Rendering] = {}
    for folder in folders:
        extra = []
        if len(modes[folder.method]) > 1 and folder.mode:
            extra.append(folder.mode)
        if len(languages[folder.method]) > 1 and folder.language:
            extra.append(folder.language)
        name = f"{folder.method} ({', '.join(extra)})" if extra else folder.method
        rendering = found.setdefault(
            (name, folder.story), Rendering(name, folder.story, folder, {})
        )
        for path in folder.pictures:
            number = shot_number(path)
            if number is None:
                warnings.append(f"{path}: no shot number in the name; left out")
            elif number in rendering.pictures:
                other = rendering.pictures[number].name
                problems.append(
                    Problem(str(path), f"one picture of shot {number}; {other} is too")
                )
            else:
                rendering.pictures[number] = path
    return [found[key] for key in sorted(found)]


def _add_new_stories(shots: dict[str, set[int]], renderings: list[Rendering]) -> None:
    """Give each story that the benchmark lacks the shots that the methods drew."""
    new = {r.story for r in renderings} - set(shots)
    for story in new:
        own = [r for r in renderings if r.story == story]
        from_zero = any(0 in r.pictures for r in own)
        last = max((max(r.pictures, default=0) for r in own), default=0)
        shots[story] = set(range(1, last + 1 + from_zero))


def _fit_to_shots(
    rendering: Rendering, shots: dict[str, set[int]], problems: list[Problem]
) -> None:
    """Match file numbers with shot numbers; files counted from 0 move up by one."""
    expected = shots.get(rendering.story)
    path = str(rendering.folder.path)
    if expected is None:
        close = difflib.get_close_matches(rendering.story, shots, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        problems.append(
            Problem(
                path,
                f"a story of the benchmark{hint} (--create-stories makes new ones)",
                value=rendering.story,
            )
        )
        return
    numbers = set(rendering.pictures)
    if 0 in numbers and 0 not in expected:
        rendering.index_shift = 1
    extra = {n + rendering.index_shift for n in numbers} - expected
    for number in sorted(extra):
        file = rendering.pictures[number - rendering.index_shift]
        problems.append(
            Problem(str(file), f"a shot of story {rendering.story}, which has "
                    f"{len(expected)} shots", value=f"shot {number}")
        )  # fmt: skip


def _check_pictures(renderings: list[Rendering], problems: list[Problem]) -> None:
    """Decode every picture, so that a broken one is found before anything is kept."""
    paths = [path for r in renderings for path in r.pictures.values()]
    with ThreadPoolExecutor() as pool:
        checked = pool.map(_picture_problem, paths)
        for problem in tqdm(checked, total=len(paths), desc="checking", disable=None):
            if problem is not None:
                problems.append(problem)


def _picture_problem(path: Path) -> Problem | None:
    if path.is_symlink():
        return Problem(str(path), "a file of its own, not a link")
    try:
        media.open_picture(path.read_bytes())
    except media.UnreadablePictureError as error:
        return Problem(str(path), str(error))
    except OSError as error:
        return Problem(str(path), f"a readable file ({error.strerror})")
    return None


def _store(
    benchmark: Benchmark, shots: dict[str, set[int]], renderings: list[Rendering]
) -> Summary:
    summary = Summary(
        methods=len({r.method for r in renderings}),
        stories=len({r.story for r in renderings}),
        pictures=sum(len(r.pictures) for r in renderings),
    )
    rows = _story_rows(benchmark, shots, {r.story for r in renderings})
    for rendering in tqdm(renderings, desc="outputs", disable=None):
        _store_rendering(rendering, rows[rendering.story], summary)
    return summary


def _story_rows(
    benchmark: Benchmark, shots: dict[str, set[int]], keys: set[str]
) -> dict[str, dict[int, Shot]]:
    """Return the shots of each story by number, creating what is new."""
    result = {}
    for key in sorted(keys):
        story, _created = Story.objects.get_or_create(benchmark=benchmark, key=key)
        existing = {shot.number: shot for shot in story.shots.all()}
        for number in sorted(shots[key] - set(existing)):
            existing[number] = Shot.objects.create(story=story, number=number)
        result[key] = existing
    return result


def _store_rendering(
    rendering: Rendering, shots: dict[int, Shot], summary: Summary
) -> None:
    method, _created = Method.objects.get_or_create(name=rendering.method)
    story_id = next(iter(shots.values())).story_id
    folder = rendering.folder
    output, created = Output.objects.get_or_create(
        story_id=story_id,
        method=method,
        defaults={
            "mode": folder.mode,
            "language": folder.language,
            "timestamp": folder.timestamp,
            "index_shift": rendering.index_shift,
            "source": str(folder.path),
        },
    )
    summary.new_outputs += created
    frames = {frame.number: frame for frame in output.frames.all()}
    for number, shot in sorted(shots.items()):
        path = rendering.pictures.get(number - rendering.index_shift)
        stored = media.store_picture(path.read_bytes()) if path else None
        if stored is None:
            summary.missing.append(
                f"{method.name}: story {rendering.story}: shot {number}"
            )
        frame = frames.get(number)
        if frame is None:
            Frame.objects.create(output=output, shot=shot, number=number, media=stored)
            summary.new_pictures += stored is not None
        elif stored is not None and frame.media_id != stored.pk:
            frame.media = stored
            frame.save(update_fields=["media"])
            summary.new_pictures += 1
