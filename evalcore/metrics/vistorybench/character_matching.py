"""Matching of figures in shots with characters.

Identities of the figures found in a picture, and their assignment to characters.

ViStoryBench, section 3.3 and appendix I, and its program at 514cc31.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from evalcore.metrics.base import (
    Ask,
    Box,
    Encoder,
    FeatureError,
    Floats,
    Image,
    MissingRequirements,
    RenderedCharacter,
    RenderedShot,
    Rendering,
)
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.published import (
    ADAFACE,
    ARCFACE,
    DETECTOR,
    FACENET,
    SCRFD,
    clip_weights,
)
from evalcore.metrics.weights import missing_requirements

# Identity of a figure: a vector of length 1 from each encoder that recognised it.
Identity = Mapping[str, npt.NDArray[np.float32]]
IMPOSSIBLE = -1e6


def similarity(a: Identity, b: Identity) -> float:
    """Return the similarity of two figures.

    Source: ViStoryBench's program, `ensemble_method=average`.
    """
    cosines = [float(a[name] @ b[name]) for name in a if name in b]
    return sum(cosines) / len(cosines) if cosines else 0.0


def similarities(rows: Sequence[Identity], columns: Sequence[Identity]) -> Floats:
    """Return the similarity of each row with each column."""
    matrix = [[similarity(a, b) for b in columns] for a in rows]
    return np.array(matrix, dtype=float).reshape(len(rows), len(columns))


def match(
    characters: Sequence[Sequence[Identity]],
    candidates: Sequence[Sequence[Identity]],
) -> dict[int, int]:
    """Return the assignment of expected characters to candidates, by index.

    It maximises the sum over all matches of the best similarity with any of the
    character's references, without a threshold. `candidates`: for each character, the
    identity of each figure by the encoders for its kind. A figure that none of them
    recognised never matches; one without an encoder in common with the references has
    similarity 0 and may match.

    Source: ViStoryBench, appendix I.1, stage 3; Hungarian algorithm.
    """
    count = len(candidates[0]) if candidates else 0
    best = np.full((len(characters), count), IMPOSSIBLE)
    for row, (references, own) in enumerate(zip(characters, candidates, strict=True)):
        for column, candidate in enumerate(own):
            if references and candidate:
                best[row, column] = max(similarity(r, candidate) for r in references)
    rows, columns = linear_sum_assignment(-best)
    return {
        int(row): int(column)
        for row, column in zip(rows, columns, strict=True)
        if best[row, column] > IMPOSSIBLE
    }


def pixel_box(shares: Sequence[float], size: tuple[int, int]) -> Box | None:
    """Return a box in whole pixels; None if it lies outside the picture.

    `shares`: centre x and y, width and height. As in the program, all four are first
    truncated to whole pixels (in single precision), then converted to corners, which
    are clamped; half a pixel is rounded to the even one, as Pillow does when it cuts.
    """
    if not np.isfinite(shares[:4]).all():
        return None
    width, height = size
    scale = np.array([width, height, width, height], np.float32)
    x, y, w, h = (np.array(shares[:4], np.float32) * scale).astype(int).tolist()
    left, right = (min(max(side, 0), width) for side in (x - w / 2, x + w / 2))
    top, bottom = (min(max(side, 0), height) for side in (y - h / 2, y + h / 2))
    box = round(left), round(top), round(right), round(bottom)
    return box if box[0] < box[2] and box[1] < box[3] else None


# ViStoryBench's search word for every character, whatever its kind.
PROMPT = "character"
REALISTIC = "realistic_human"
DETECTOR_PACKAGES = ("torch", "transformers")
PACKAGES = (*DETECTOR_PACKAGES, "open_clip", "onnxruntime")
WEIGHTS = (DETECTOR, clip_weights(), SCRFD, ARCFACE, ADAFACE, FACENET)

# Input of the face networks: as in the program, or as in their training.
Profile = Literal["vsb-code-2026.02", "vsb-paper"]
# A figure in a picture: its box in shares of the picture, and its crop.
FigureCrop = tuple[tuple[float, ...], Image]


@dataclass(frozen=True)
class FigureEncoders:
    """Detector and encoders for finding and recognising figures."""

    detector: Encoder  # finds figures; see `evalcore.metrics.encoders.subjects`
    # Encoders by name for realistic humans and for all others. A face encoder returns 1
    # x n, or 0 x n without a face; the others return n numbers.
    faces: Mapping[str, Encoder]
    others: Mapping[str, Encoder]

    def of(self, character: RenderedCharacter) -> Mapping[str, Encoder]:
        return self.faces if character.kind == REALISTIC else self.others


@dataclass(frozen=True)
class Match:
    """A character found in a shot.

    `box` is centre x, centre y, width, height as shares of the picture; `cross` the
    mean similarity with the character's references.
    """

    box: tuple[float, ...]
    image: Image
    identity: Identity
    cross: float


@dataclass
class Tally:
    """Counts of one encoder over the figures of a story."""

    seen: int = 0  # figures recognised; those without a face do not count
    failed: int = 0  # figures on which it failed
    reason: str = ""  # its first error


@dataclass(frozen=True)
class Cast:
    """Expected and found characters of a story."""

    # Expected characters by shot, for shots with a picture and an expected character.
    expected: dict[int, tuple[str, ...]] = field(default_factory=dict)
    # By shot, and by character.
    matches: dict[int, dict[str, Match]] = field(default_factory=dict)
    # Identities of each character's references; the first one is the anchor of the
    # copy-paste rate, and `anchors` has its picture.
    references: dict[str, list[Identity]] = field(default_factory=dict)
    anchors: dict[str, Image] = field(default_factory=dict)
    nameless: tuple[str, ...] = ()  # characters of the story without a usable reference
    # Counts by encoder.
    tallies: dict[str, Tally] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, Any]:
        """Return the encoders that failed on some figures, for traces; often empty."""
        failed = {n: asdict(tally) for n, tally in self.tallies.items() if tally.failed}
        return {"errors": failed} if failed else {}

    def found(self, character: str) -> list[Match]:
        """Return the matches of a character, in the order of the shots."""
        return [m[character] for m in self.matches.values() if character in m]

    def appearances(self, character: str) -> int:
        """Return in how many of the shots a character was expected."""
        return sum(character in keys for keys in self.expected.values())


Casting = Generator[Ask, list[Any], Cast]


def missing() -> MissingRequirements:
    """Return the missing requirements for finding a cast; empty if ready."""
    return missing_requirements(PACKAGES, WEIGHTS)


def missing_detector() -> MissingRequirements:
    """Return the missing requirements of the detector; empty if ready."""
    return missing_requirements(DETECTOR_PACKAGES, (DETECTOR,))


def load_figure_detector() -> Encoder:
    """Return ViStoryBench's detector of figures."""
    from evalcore.metrics.encoders.subjects import detector

    return detector(PROMPT)


@cache
def load_figure_encoders(profile: Profile) -> FigureEncoders:
    """Return ViStoryBench's detector and encoders of characters."""
    from evalcore.metrics.encoders.clip import clip_image_encoder

    return FigureEncoders(
        load_figure_detector(),
        {
            "arcface": faces.arcface_encoder(),
            "adaface": faces.adaface_encoder(profile),
            "facenet": faces.facenet_encoder(profile),
        },
        {"clip": clip_image_encoder()},
    )


def expecting(rendering: Rendering) -> list[RenderedShot]:
    """Return the relevant shots, with their expected characters.

    Shots without a picture or without expected characters are left out, and so are
    expected characters that the story does not describe.
    """
    return [
        replace(shot, characters=known)
        for shot in rendering.rendered
        if (known := tuple(k for k in shot.characters if k in rendering.characters))
    ]


def find_figures(
    shots: Sequence[RenderedShot], detector: Encoder
) -> Generator[Ask, list[Any], dict[int, list[FigureCrop]]]:
    """Return the figures in the picture of each shot, the best box first."""
    pictures = [shot.frames[0] for shot in shots]
    features = yield Ask(detector, pictures)
    return {
        shot.number: [
            (tuple(map(float, row[:4])), replace(picture, box=box))
            for row in boxes
            if (box := pixel_box(row, picture.size))
        ]
        for shot, picture, boxes in zip(shots, pictures, features, strict=True)
    }


def find_cast(rendering: Rendering, figure_encoders: FigureEncoders) -> Casting:
    """Find the characters in each shot that `expecting` returns.

    If one encoder fails on a figure, the others are kept, as in the program. An encoder
    that fails on every figure would silently change the ensemble, so an error is raised
    then.

    Source: ViStoryBench, appendix I.1, stages 1 to 3, and its program at 514cc31.
    """
    shots = expecting(rendering)
    characters = list(rendering.characters.values())
    cast = Cast(expected={shot.number: shot.characters for shot in shots})
    yield from _recognise_references(cast, characters, figure_encoders)
    yield from _match_shots(cast, shots, rendering.characters, figure_encoders)
    for name, tally in cast.tallies.items():
        if tally.failed and not tally.seen:
            raise FeatureError(
                f"{name} failed on every figure of the story that it was given "
                f"({tally.failed}): {tally.reason}"
            )
    nameless = tuple(c.key for c in characters if not cast.references[c.key])
    return replace(cast, nameless=nameless)


def _recognise_references(
    cast: Cast, characters: Sequence[RenderedCharacter], figure_encoders: FigureEncoders
) -> Generator[Ask, list[Any], None]:
    """Fill in references and anchors: the best box of each, or the whole picture.

    A reference without a box is skipped. If no box of a character's references is
    recognised, the whole pictures are used.
    """
    pictures = [image for c in characters for image in c.references]
    boxes = dict(
        zip(pictures, (yield Ask(figure_encoders.detector, pictures)), strict=True),
    )
    for character in characters:
        crops = [
            replace(image, box=box)
            for image in character.references
            if len(boxes[image]) and (box := pixel_box(boxes[image][0], image.size))
        ]
        for images in (crops, list(character.references)):
            identities_of_boxes = yield from identities(
                images, figure_encoders.of(character), cast.tallies
            )
            recognised = [
                (i, who)
                for i, who in zip(images, identities_of_boxes, strict=True)
                if who
            ]
            if recognised:
                cast.anchors[character.key] = recognised[0][0]
                break
        cast.references[character.key] = [who for _image, who in recognised]


def _match_shots(
    cast: Cast,
    shots: Sequence[RenderedShot],
    characters: Mapping[str, RenderedCharacter],
    figure_encoders: FigureEncoders,
) -> Generator[Ask, list[Any], None]:
    cut = yield from find_figures(shots, figure_encoders.detector)
    seen: dict[tuple[int, int], dict[str, Any]] = {
        (number, i): {} for number, figures in cut.items() for i in range(len(figures))
    }
    for realistic in (True, False):
        wanted = [
            (shot.number, i)
            for shot in shots
            if realistic in {characters[k].kind == REALISTIC for k in shot.characters}
            for i in range(len(cut[shot.number]))
        ]
        encoders = figure_encoders.faces if realistic else figure_encoders.others
        images = [cut[number][i][1] for number, i in wanted]
        recognised = yield from identities(images, encoders, cast.tallies)
        for figure, identity in zip(wanted, recognised, strict=True):
            seen[figure].update(identity)
    for shot in shots:
        figures = cut[shot.number]
        who = [seen[shot.number, i] for i in range(len(figures))]
        cast.matches[shot.number] = _matched(
            cast, shot, figures, who, characters, figure_encoders
        )


def _matched(
    cast: Cast,
    shot: RenderedShot,
    figures: Sequence[FigureCrop],
    who: Sequence[Identity],
    characters: Mapping[str, RenderedCharacter],
    figure_encoders: FigureEncoders,
) -> dict[str, Match]:
    references = [cast.references[key] for key in shot.characters]
    own = [
        [_own(one, figure_encoders.of(characters[key])) for one in who]
        for key in shot.characters
    ]
    return {
        shot.characters[row]: Match(
            *figures[column],
            own[row][column],
            _mean(own[row][column], references[row]),
        )
        for row, column in match(references, own).items()
    }


def identities(
    images: Sequence[Image],
    encoders: Mapping[str, Encoder],
    tallies: dict[str, Tally],
) -> Generator[Ask, list[Any], list[Identity]]:
    """Return each encoder's result for each image, without empty results."""
    results: list[dict[str, Any]] = [{} for _image in images]
    for name, encoder in encoders.items() if images else ():
        tally = tallies.setdefault(name, Tally())
        features = yield Ask(encoder, images, tolerant=True)
        for identity, feature in zip(results, features, strict=True):
            if isinstance(feature, FeatureError):
                tally.failed += 1
                tally.reason = tally.reason or str(feature)
            elif len(feature):
                tally.seen += 1
                identity[name] = feature if feature.ndim == 1 else feature[0]
    return list(results)


def _own(identity: Identity, encoders: Mapping[str, Encoder]) -> Identity:
    return {name: vector for name, vector in identity.items() if name in encoders}


def _mean(identity: Identity, references: Sequence[Identity]) -> float:
    return sum(similarity(identity, r) for r in references) / len(references)
