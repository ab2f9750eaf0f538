"""Previews of imports: what was understood, before anything is stored."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from analysis.problems import InputError
from analysis.tables import RANKING_ANSWER
from annotate.presentation.same_size import shape_notes
from annotate.uploads import storage
from annotate.uploads.importing import (
    outputs_options,
    store_judgements,
    store_scores,
)
from annotate.uploads.task import SHOWN_OF_A_KIND, ImportTask
from evalcore import media
from evalcore.formats.folder_layouts import VIDEOS, natural
from evalcore.formats.renderings import FolderRendering
from evalcore.importing.outputs import ReadOutputs, read_outputs
from evalcore.importing.stories import pictures_of, read_benchmark
from evalcore.video.decoding import UnreadableVideoError
from evalcore.video.storing import picture_at

SHOWN_ROWS, SHOWN_MISSING = 30, 20
SHOWN_METHODS, SHOWN_SHOTS = 8, 4
Preview = dict[str, Any]


def preview(task: ImportTask) -> Preview:
    """Return the preview of an import; its problems are raised.

    Raises
    ------
    InputError
        The import would be refused.
    """
    readers = {"stories": _stories, "outputs": _outputs, "scores": _scores}
    return readers.get(task.kind, _judgements)(task)


def _stories(task: ImportTask) -> Preview:
    left_out: list[str] = []
    source, stories, notes = read_benchmark(
        task.path,
        task.benchmark.slug,
        left_out=left_out if task.skip_unreadable else None,
    )
    pictures = list(pictures_of(stories))
    return {
        "source": source,
        "figures": {
            "stories": len(stories),
            "shots": sum(len(story.shots) for story in stories),
            "characters": sum(len(story.characters) for story in stories),
            "references": len(pictures),
        },
        "rows": [
            [story.key, story.title, len(story.shots), len(story.characters)]
            for story in stories[:SHOWN_ROWS]
        ],
        "notes": task.lines(notes),
        "skipped": task.lines(left_out),
        "pictures": _drawn(task, [("", path, "") for path in pictures[:SHOWN_METHODS]]),
    }


def _outputs(task: ImportTask) -> Preview:
    read = read_outputs(task.path, **outputs_options(task))
    found = read.renderings
    sizes = Counter(_sizes(found))
    missing = list(_missing(read))
    lacking = Counter(method for method, _story, _shot in missing)
    methods = sorted({one.method for one in found}, key=natural)
    stories = {one.story for one in found}
    rows = []
    for method in methods:
        own = [one for one in found if one.method == method]
        of_size: Counter[media.Box] = Counter()
        for (_story, name, size), number in sizes.items():
            of_size[size] += number * (name == method)
        rows.append(
            [
                method,
                len(own),
                sum(len(one.pictures) for one in own),
                sum(one.video is not None for one in own),
                lacking[method],
                ", ".join(
                    f"{wide} x {high}"
                    for (wide, high), n in of_size.most_common(3)
                    if n
                ),
            ]
        )
    shapes = shape_notes((*key, number) for key, number in sizes.items())
    return {
        "figures": {
            "methods": len(methods),
            "stories": len(stories),
            "pictures": sum(row[2] for row in rows),
            "videos": sum(row[3] for row in rows),
            "missing": len(missing),
        },
        "rows": rows,
        "shapes": [note.text for note in shapes],
        "missing": [
            {"method": method, "story": story, "shot": shot}
            for method, story, shot in missing[:SHOWN_MISSING]
        ],
        "notes": task.lines(read.warnings),
        "skipped": task.lines(map(str, read.left_out)),
        "pictures": _drawn(task, _first_pictures(found, methods)),
    }


def _sizes(found: list[FolderRendering]) -> Iterator[tuple[str, str, media.Box]]:
    for one in found:
        for path in one.pictures.values():
            yield one.story, one.method, media.measure_picture(path)


def _missing(read: ReadOutputs) -> Iterator[tuple[str, str, int]]:
    """Yield the shots that have neither a new picture nor a stored one."""
    for one in read.renderings:
        if one.video is None:
            have = one.by_shot
            for number in sorted(read.shots[one.story]):
                key = one.method, one.story, number
                if number not in have and key not in read.stored:
                    yield key


def _first_pictures(
    found: list[FolderRendering], methods: list[str]
) -> list[tuple[str, Path, str]]:
    """Return pictures of the story that most methods have, by method and shot."""
    ordered = sorted(found, key=lambda one: natural(one.story))
    ((story, _number),) = Counter(one.story for one in ordered).most_common(1)
    shown: list[tuple[str, Path, str]] = []
    for one in sorted(found, key=lambda one: natural(one.method)):
        if one.story == story and one.method in methods[:SHOWN_METHODS]:
            paths = [one.video] if one.video else list(one.by_shot.values())
            shown += [(one.method, path, story) for path in paths[:SHOWN_SHOTS]]
    return shown


def _drawn(
    task: ImportTask, pictures: list[tuple[str, Path, str]]
) -> list[dict[str, Any]]:
    """Draw thumbs for the page; nothing is shown as it was uploaded."""
    folder = storage.thumbs_folder(task.upload)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    groups: dict[str, dict[str, Any]] = {}
    for number, (title, path, story) in enumerate(pictures):
        target = folder / f"{number}.webp"
        try:
            _draw(path, target)
        except (OSError, media.UnreadablePictureError, UnreadableVideoError):
            continue
        group = groups.setdefault(
            title, {"title": title, "story": story, "numbers": []}
        )
        group["numbers"].append(number)
    return list(groups.values())


def _draw(path: Path, target: Path) -> None:
    if path.suffix.lower() not in VIDEOS:
        media.draw_thumb(path, target)
        return
    still = picture_at(path, 0)
    still.thumbnail((media.LONGEST_SIDE["thumb"],) * 2)
    still.save(target, "WEBP", quality=90, method=3)


def _scores(task: ImportTask) -> Preview:
    summary, names, notes = store_scores(task, check_only=True)
    counts = Counter(metric for metric, _method in names)
    return {
        "figures": {
            "scores": summary.rows,
            "new": summary.created,
            "replaced": summary.replaced,
            "metrics": len(counts),
            "methods": len({method for _metric, method in names}),
        },
        "rows": [
            [metric, number, _direction(metric, summary.guessed, summary.turned)]
            for metric, number in sorted(counts.items())[:SHOWN_ROWS]
        ],
        "notes": task.lines(notes),
    }


def _direction(metric: str, guessed: Sequence[str], turned: Sequence[str]) -> str:
    if metric in guessed:
        return _("higher is better (assumed: the file does not say)")
    if metric in turned:
        return _("lower is better (assumed from the name)")
    return ""


def _judgements(task: ImportTask) -> Preview:
    summary, table, notes = store_judgements(task, check_only=True)
    named = ("method_a", "method_b") if task.kind == "choices" else ("method",)
    methods = {method for column in named for method in table[column]}
    if task.kind == "rankings":  # a row for each method of an answer
        table = table.drop_duplicates([key for key in RANKING_ANSWER if key in table])
    questions = table["dimension" if task.kind == "ratings" else "criterion"]
    return {
        "figures": {
            "answers": summary.rows,
            "annotators": table["annotator"].nunique(),
            "ratings": summary.slots,
            "stories": table["story"].nunique(),
            "methods": len(methods),
        },
        "rows": [
            [str(key), int(number)]
            for key, number in questions.value_counts().head(SHOWN_ROWS).items()
        ],
        "notes": task.lines([*notes, *summary.notes]),
    }


def problems_of(task: ImportTask, error: InputError) -> Preview:
    """Return what a page shows of a refused import."""
    return {
        "problems": [
            task.plain(line)
            for line in error.problems.lines(SHOWN_OF_A_KIND, _("... and {n} more"))
        ],
        "problems_total": error.problems.total,
    }
