"""Degraded copies of outputs, which people must rate lower than the originals.

Files are written before the database is touched, and a copy is stored whole or not at
all. The same output, degradation and seed give the same copy on any machine.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from django.db import transaction
from django.db.models import ProtectedError
from PIL import Image
from tqdm import tqdm

from analysis.problems import InputError, Problem
from evalcore import media
from evalcore.database.postgresql import analyze
from evalcore.models import Benchmark, Frame, MediaFile, Output, TwinScore
from evalcore.perturbations import arranging, degrading
from evalcore.perturbations.arranging import (
    Pictures,
    arranged_pictures,
    arranged_segments,
    pictures_of,
    segments_of,
)
from evalcore.perturbations.degrading import ImpossibleDegradationError
from evalcore.video.decoding import UnreadableVideoError

Degradation = Output.Degradation
SHOWN_OUTPUTS = 10
# Follows the seed of a copy that stays although its original is another one now.
OUTDATED = ", of an earlier picture"
Alteration = Callable[[Image.Image], Image.Image]


@dataclass(frozen=True)
class PreparedPerturbation:
    """A degraded copy whose files are written but whose rows may not be stored yet."""

    output: Output
    degradation: str
    seed: int
    pictures: Mapping[int, str]
    drawn: tuple[MediaFile, ...]
    video: MediaFile | None = None
    parts: list[tuple[int, int, int, int]] = field(default_factory=list)


@dataclass
class PerturbationSummary:
    """Counts of new, existing and impossible degraded copies, with reasons."""

    made: Counter[str] = field(default_factory=Counter)
    here: int = 0
    impossible: dict[tuple[str, str], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def line(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in sorted(self.made.items()))
        made = f"Made {self.made.total()} degraded copies" + f" ({counts})" * bool(
            counts
        )
        without = sum(map(len, self.impossible.values()))
        return f"{made}; {self.here} already existed; {without} are impossible."

    def reasons(self) -> list[str]:
        """Return why copies are impossible, one line per reason."""
        return [
            f"{degradation} is impossible for {len(outputs)} outputs: {reason} "
            f"({', '.join(outputs[:SHOWN_OUTPUTS])}"
            f"{', ...' * (len(outputs) > SHOWN_OUTPUTS)})"
            for (degradation, reason), outputs in sorted(self.impossible.items())
        ]


def possible(
    output: Output, wanted: Iterable[str] = tuple(Degradation.values)
) -> list[str]:
    """Return which of the wanted degradations can be applied to an output."""
    names = dict.fromkeys(wanted)
    return [name for name in names if why_impossible(output, name) is None]


def why_impossible(output: Output, degradation: str) -> str | None:
    """Return what the output lacks for a degradation; None if it is possible."""
    try:
        if output.video_id is None:
            arranged_pictures(output, Degradation(degradation), seed=0)
        else:
            arranged_segments(output, Degradation(degradation), seed=0)
    except ImpossibleDegradationError as error:
        return str(error)
    return None


def make_perturbation(output: Output, degradation: str, seed: int) -> Output:
    """Return the degraded copy of an output, creating it if necessary."""
    existing = find_perturbation(output, Degradation(degradation))
    if existing is not None and existing.source.endswith(OUTDATED):
        raise ImpossibleDegradationError("studies show its copy of an earlier picture")
    return existing or store_perturbation(
        prepare_perturbation(output, degradation, seed)
    )


def make_perturbations(
    outputs: Iterable[Output], degradations: Iterable[str], seed: int
) -> PerturbationSummary:
    """Create the degraded copies that are possible and missing; all or none."""
    names = list(dict.fromkeys(degradations))
    wanted = [(output, name) for output in outputs for name in names]
    summary, ready = PerturbationSummary(), []
    problems: list[Problem] = []
    for output, degradation in tqdm(wanted, desc="degraded copies", disable=None):
        if find_perturbation(output, degradation):
            summary.here += 1
            continue
        try:
            ready.append(prepare_perturbation(output, degradation, seed))
        except ImpossibleDegradationError as error:
            summary.impossible[degradation, str(error)].append(_name(output))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    with transaction.atomic():
        for perturbation in ready:
            store_perturbation(perturbation)
            summary.made[perturbation.degradation] += 1
        analyze(Output, Frame)
    return summary


def find_perturbation(output: Output, degradation: str) -> Output | None:
    return Output.twins.filter(twin_of=output, degradation=degradation).first()


def prepare_perturbation(
    output: Output, degradation: str, seed: int
) -> PreparedPerturbation:
    """Write the pictures or the video of a degraded copy; only read the database."""
    if output.video_id is not None:
        return _prepare_video(output, Degradation(degradation), seed)
    before = pictures_of(output)
    after = arranged_pictures(output, Degradation(degradation), seed)
    drawn = _draw(output, after, _alterations(degradation, before, after))
    hashes = {number: picture.sha256 for number, picture in after.items()}
    hashes |= {number: picture.sha256 for number, picture in drawn.items()}
    if hashes == {number: picture.sha256 for number, picture in before.items()}:
        raise ImpossibleDegradationError("it would look exactly like the original")
    return PreparedPerturbation(
        output, degradation, seed, hashes, tuple(drawn.values())
    )


def _prepare_video(
    output: Output, degradation: Degradation, seed: int
) -> PreparedPerturbation:
    before, after = segments_of(output), arranged_segments(output, degradation, seed)
    is_blurred = degradation == Degradation.BLURRED
    try:
        video = arranging.film(output, before, after, is_blurred=is_blurred)
    except (OSError, UnreadableVideoError) as error:
        expected = f"readable videos of this and other stories ({error})"
        raise InputError([Problem(_name(output), expected)]) from error
    sharp = {} if is_blurred else before
    made_for = {segment: number for number, segment in sharp.items()}
    parts = [
        (number, one.frames.start, one.frames.stop, made_for.get(after[number], 0))
        for number, one in before.items()
    ]
    return PreparedPerturbation(output, degradation, seed, {}, (), video, parts)


def store_perturbation(perturbation: PreparedPerturbation) -> Output:
    """Store a prepared degraded copy and return it; an existing one stays."""
    original = perturbation.output
    with transaction.atomic():
        video = [perturbation.video] if perturbation.video else []
        media.store_prepared([*perturbation.drawn, *video])
        row, created = Output.twins.get_or_create(
            twin_of=original,
            degradation=perturbation.degradation,
            defaults={
                "story_id": original.story_id,
                "method_id": original.method_id,
                "mode": original.mode,
                "language": original.language,
                "timestamp": original.timestamp,
                "index_shift": original.index_shift,
                "source": f"seed {perturbation.seed}",
                "video_id": perturbation.video.pk if perturbation.video else None,
                "parts": perturbation.parts,
            },
        )
        if created:
            Frame.objects.bulk_create(
                Frame(
                    output=row,
                    shot_id=frame.shot_id,
                    number=frame.number,
                    media_id=perturbation.pictures.get(frame.number),
                )
                for frame in original.frames.all()
            )
    return row


def forget_perturbations(output: Output) -> None:
    """Delete the degraded copies of an output whose shots or pictures changed.

    A copy used in a study stays as its annotators see it, but loses its scores, which
    were paired with those of the old original; `current_perturbations` leaves it out.
    """
    TwinScore.objects.filter(twin__twin_of=output).delete()
    for perturbation in Output.twins.filter(twin_of=output):
        try:
            perturbation.delete()
        except ProtectedError:
            perturbation.source = perturbation.source.removesuffix(OUTDATED) + OUTDATED
            perturbation.save(update_fields=["source"])


def current_perturbations(benchmark: Benchmark) -> list[Output]:
    """Return the degraded copies whose originals have not changed since.

    An output changes when pictures, shots or shot times arrive or are replaced. A copy
    has a frame for each shot that its original had, with a picture where that had one;
    for a video it stores the parts of its original.
    """
    perturbations = (
        Output.twins.filter(story__benchmark=benchmark)
        .exclude(source__endswith=OUTDATED)
        .select_related("story", "method", "video", "twin_of__story", "twin_of__video")
        .prefetch_related("frames", "twin_of__frames")
        .order_by("pk")
    )
    return [
        perturbation
        for perturbation in perturbations
        if perturbation.twin_of
        and _layout(perturbation) == _layout(perturbation.twin_of)
        and segments_of(perturbation.twin_of)
        == {
            number: arranging.Segment(perturbation.twin_of.video, range(start, stop))
            for number, start, stop, _shown in perturbation.parts
            if perturbation.twin_of.video is not None
        }
    ]


def _layout(output: Output) -> dict[int, bool]:
    return {frame.number: frame.media_id is not None for frame in output.frames.all()}


def _alterations(
    degradation: str, before: Pictures, after: Pictures
) -> dict[int, Alteration]:
    if degradation == Degradation.BLURRED:
        return dict.fromkeys(after, degrading.blurred)
    own = set(before.values())
    return {
        number: partial(degrading.fitted, size=_size(before[number]))
        for number, picture in after.items()
        if picture not in own and _size(picture) != _size(before[number])
    }


def _size(picture: MediaFile) -> tuple[int, int]:
    return picture.width, picture.height


def _draw(
    output: Output, pictures: Pictures, alterations: Mapping[int, Alteration]
) -> dict[int, MediaFile]:

    def draw(number: int) -> MediaFile | Problem:
        picture_row = pictures[number]
        try:
            with media.stored_picture(picture_row) as picture:
                altered = alterations[number](picture)
        except media.UnreadablePictureError as error:
            expected = str(error)
        except OSError as error:
            expected = f"a readable file ({error.strerror})"
        else:
            return media.keep_picture(altered)
        path = media.place_of_original(picture_row.sha256, picture_row.extension)
        return Problem(f"{_name(output)} / shot {number}", expected, value=str(path))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(draw, alterations))
    problems = [result for result in done if isinstance(result, Problem)]
    if problems:
        raise InputError(problems)
    drawn = [result for result in done if not isinstance(result, Problem)]
    return dict(zip(alterations, drawn, strict=True))


def _name(output: Output) -> str:
    return f"{output.method.name} / {output.story.key}"
