"""Import rendered stories: outputs with a video, or with one frame a shot."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from django.db import transaction

from analysis.problems import InputError, Problem, Problems
from evalcore import media
from evalcore.database.postgresql import analyze
from evalcore.formats import renderings as reading
from evalcore.formats.file_checks import (
    ANOTHER,
    VIDEO,
    BadFile,
    PreparedFiles,
    StoredMedia,
    check_files,
    ignore,
    without,
    written,
)
from evalcore.formats.folder_layouts import as_name, find_folders
from evalcore.formats.renderings import FolderRendering, Shots
from evalcore.models import Benchmark, Frame, Method, Output, Shot, Story
from evalcore.perturbations import degraded_copies
from evalcore.scoring import score_rows
from evalcore.video import storing

# Folder of all methods in ViStoryBench's layout.
CONTAINER = "outputs"
SHOWN_METHODS = 10


@dataclass
class OutputImport:
    """Counts of imported outputs and files."""

    methods: list[str] = field(default_factory=list)
    stories: int = 0
    pictures: int = 0
    videos: int = 0
    missing: list[str] = field(default_factory=list)
    new_outputs: int = 0
    new_pictures: int = 0
    new_videos: int = 0
    warnings: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    spoilt: list[str] = field(default_factory=list)  # stored files can be read

    def line(self) -> str:
        counts = (
            f"{self.stories} stories by {len(self.methods)} "
            f"method{'s' * (len(self.methods) != 1)} "
            f"({', '.join(self.methods[:SHOWN_METHODS])}"
            f"{', ...' * (len(self.methods) > SHOWN_METHODS)})"
        )
        new = f"{self.new_outputs} outputs"
        if self.videos:
            counts += f", {self.videos} videos"
            new += f", {self.new_videos} videos"
        if self.pictures or not self.videos:
            counts += f", {self.pictures} pictures, {len(self.missing)} missing shots"
            new += f" and {self.new_pictures} pictures"
        if not self.new_outputs and not self.new_pictures and not self.new_videos:
            return f"Nothing new: {counts}, all stored already."
        return f"Imported {counts} ({new} are new)."


@dataclass
class ReadOutputs:
    """Outputs of a folder after every check, before anything is stored."""

    renderings: list[FolderRendering]
    # shots of the benchmark's stories, with those that the outputs add
    shots: Shots
    stored: StoredMedia
    warnings: list[str]
    left_out: list[BadFile]


class OutputOptions(TypedDict, total=False):
    """Options of an import; without them everything is read as it lies there."""

    method: str  # the method of a folder that is one method's
    mode: str  # only these outputs; of several times the newest
    language: str
    timestamp: str
    form: str  # a benchmark's own layout (`oneig`), where stored stories do not tell it
    create_stories: bool
    skip_unreadable: bool


def import_outputs(
    root: Path,
    *,
    benchmark: Benchmark,
    also: Callable[[], object] = bool,
    tell: Callable[[int, int], object] = ignore,
    **options: Unpack[OutputOptions],
) -> OutputImport:
    """Import every rendered story below `root`; a second call changes nothing.

    `also` is called at the end of the transaction, `tell` with the number of pictures
    written and of all, before it.
    """
    read = read_outputs(root, benchmark=benchmark, **options)
    pictures = (
        path
        for rendering in read.renderings
        for number, path in rendering.by_shot.items()
        if (rendering.method, rendering.story, number) not in read.stored
    )
    prepared = written(pictures, media.prepare_file, "pictures", tell)
    videos = (
        rendering.video
        for rendering in read.renderings
        if rendering.video is not None
        and (rendering.method, rendering.story, VIDEO) not in read.stored
    )
    films = written(videos, storing.prepare_video, "videos")
    with transaction.atomic():
        if not benchmark.pk:
            benchmark.save()
        summary = _store(benchmark, read.shots, read.renderings, prepared, films)
        analyze(Output, Frame)
        also()
    summary.warnings = read.warnings
    summary.unreadable = [str(one) for one in read.left_out if not one.is_stored]
    summary.spoilt = [str(one) for one in read.left_out if one.is_stored]
    return summary


def read_outputs(
    root: Path, *, benchmark: Benchmark, **options: Unpack[OutputOptions]
) -> ReadOutputs:
    """Read and check every rendered story below `root`; store nothing."""
    if not root.is_dir():
        raise InputError([Problem(str(root), "a folder of outputs")])
    stories = Story.objects.filter(benchmark__slug=benchmark.slug)
    shots: Shots = {key: set() for key in stories.values_list("key", flat=True)}
    rows = Shot.objects.filter(story__benchmark__slug=benchmark.slug)
    for key, number in rows.values_list("story__key", "number"):
        shots[key].add(number)
    method = as_name(options.get("method", ""))
    if not method and (root / CONTAINER).is_dir():
        root = root / CONTAINER
    form = options.get("form", "")
    create_stories = options.get("create_stories", False)
    files = find_folders(root, stories=set(shots), method=method, form=form)
    warnings = files.notes
    problems: Problems[Problem] = Problems()
    chosen = reading.choose(
        files.folders,
        options.get("mode", ""),
        options.get("language", ""),
        options.get("timestamp", ""),
        warnings,
    )
    others = {f.method for f in files.folders} - {f.method for f in chosen}
    methods = {name: at for name, at in files.methods.items() if name not in others}
    found = reading.gather(chosen, problems, warnings)
    if not found:
        expected = (
            "at least one folder of pictures named like shot_01.png, or one video "
            "named like its story or video.mp4"
        )
        if not method:
            expected += ", in a folder per method (--method names the method of PATH)"
        if not problems:
            problems.append(Problem(str(root), expected))
            reading.check_methods(methods, found, warnings, problems)
        raise InputError(problems)
    stored = _stored(benchmark)
    reading.settle(found, _with_pictures(stored), warnings)
    reading.set_shifts(found, shots, warnings)
    if create_stories:
        reading.add_new_shots(shots, found)
    for rendering in found:
        reading.check_fit(rendering, shots, problems)
    _check_kinds(found, stored, problems)
    bad = check_files(found, stored, warnings)
    may_skip = options.get("skip_unreadable", False)
    left_out = [one for one in bad if may_skip and one.is_unreadable]
    problems += [one.problem() for one in bad if one not in left_out]
    found = without(found, {one.path for one in left_out}, warnings)
    reading.check_methods(methods, found, [*warnings, *map(str, left_out)], problems)
    if problems:
        raise InputError(problems)
    reading.note_absent(found, warnings)
    return ReadOutputs(found, shots, stored, warnings, left_out)


def _stored(benchmark: Benchmark) -> StoredMedia:
    frames = Frame.objects.filter(
        output__story__benchmark__slug=benchmark.slug,
        output__twin_of=None,
        media__isnull=False,
    ).select_related("media", "output__method", "output__story")
    films = Output.objects.filter(
        story__benchmark__slug=benchmark.slug, video__isnull=False
    ).select_related("video", "method", "story")
    stored = {(o.method.name, o.story.key, VIDEO): o.video for o in films if o.video}
    return stored | {
        (f.output.method.name, f.output.story.key, f.number): f.media
        for f in frames
        if f.media
    }


def _with_pictures(stored: StoredMedia) -> set[tuple[str, str]]:
    return {(method, story) for method, story, number in stored if number != VIDEO}


def _check_kinds(
    renderings: Iterable[FolderRendering],
    stored: StoredMedia,
    problems: Problems[Problem],
) -> None:
    """Refuse a video where pictures are stored, and the reverse."""
    with_pictures = _with_pictures(stored)
    for r in renderings:
        if r.video is None and (r.method, r.story, VIDEO) in stored:
            what = f"a video, as stored for story {r.story} before; {ANOTHER}"
            rule = "a video, as stored before"
            problems.append(Problem(str(r.folder.path), what, rule=rule))
        elif r.video is not None and (r.method, r.story) in with_pictures:
            what = f"pictures, as stored for story {r.story} before; {ANOTHER}"
            rule = "pictures, as stored before"
            problems.append(Problem(str(r.video), what, rule=rule))


def _store(
    benchmark: Benchmark,
    shots: Shots,
    renderings: list[FolderRendering],
    prepared: PreparedFiles,
    films: PreparedFiles,
) -> OutputImport:
    summary = OutputImport(
        methods=sorted({r.method for r in renderings}),
        stories=len({r.story for r in renderings}),
        pictures=sum(len(r.pictures) for r in renderings),
        videos=sum(r.video is not None for r in renderings),
    )
    media.store_prepared([*prepared.values(), *films.values()])
    rows = _story_rows(benchmark, shots, {r.story for r in renderings})
    for rendering in renderings:
        story, own_shots = rows[rendering.story]
        output, created = _output(rendering, story)
        summary.new_outputs += created
        if rendering.video is None:
            _store_pictures(output, rendering, own_shots, prepared, summary)
        elif output.video_id is None:
            output.video_id = films[rendering.video].pk
            output.save(update_fields=["video"])
            summary.new_videos += 1
    return summary


def _story_rows(
    benchmark: Benchmark, shots: Shots, keys: set[str]
) -> dict[str, tuple[Story, dict[int, Shot]]]:
    """Return each story with its shots by number, creating missing ones."""
    result = {}
    for key in sorted(keys):
        story, _created = Story.objects.get_or_create(benchmark=benchmark, key=key)
        existing = {shot.number: shot for shot in story.shots.all()}
        for number in sorted(shots[key] - set(existing)):
            existing[number] = Shot.objects.create(story=story, number=number)
        result[key] = story, existing
    return result


def _output(rendering: FolderRendering, story: Story) -> tuple[Output, bool]:
    method, _created = Method.objects.get_or_create(name=rendering.method)
    folder = rendering.folder
    origin = {
        "mode": folder.mode,
        "language": folder.language,
        "timestamp": folder.timestamp,
        "index_shift": rendering.index_shift,
        "source": str(rendering.video or folder.path),
    }
    output, created = Output.objects.get_or_create(
        story=story, method=method, defaults=origin
    )
    if not created and output.video_id is None and not output.frames.exists():
        # A table of scores or ratings created this output without media.
        Output.objects.filter(pk=output.pk).update(**origin)
    return output, created


def _store_pictures(
    output: Output,
    rendering: FolderRendering,
    shots: dict[int, Shot],
    prepared: PreparedFiles,
    summary: OutputImport,
) -> None:
    frames = {frame.number: frame for frame in output.frames.all()}
    pictures = rendering.by_shot
    new, filled = [], []
    for number, shot in sorted(shots.items()):
        path = pictures.get(number)
        frame = frames.get(number) or Frame(output=output, shot=shot, number=number)
        if path is None and frame.media_id is None:
            summary.missing.append(
                f"{rendering.method}: story {rendering.story}: shot {number}"
            )
        if frame.media_id is None and path is not None:
            frame.media_id = prepared[path].sha256
            summary.new_pictures += 1
            if frame.pk:
                filled.append(frame)
        if not frame.pk:
            new.append(frame)
    Frame.objects.bulk_create(new)
    Frame.objects.bulk_update(filled, ["media"])
    if filled or (new and frames):
        score_rows.forget_computed(output)
        degraded_copies.forget_perturbations(output)
