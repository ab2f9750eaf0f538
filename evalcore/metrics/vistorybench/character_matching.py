"""Matching of figures in shots with characters.

Which of the figures found in a picture is which character: identities and matches.

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
    Lacks,
    RenderedCharacter,
    RenderedShot,
    Rendering,
)
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.published import DETECTOR, clip_weights
from evalcore.metrics.weights import lacking

# What is known of who a figure is: a vector of length 1 from each encoder that saw it.
Identity = Mapping[str, npt.NDArray[np.float32]]
IMPOSSIBLE = -1e6


def similarity(a: Identity, b: Identity) -> float:
    """Return how alike two figures are.

    Source: ViStoryBench's program, `ensemble_method=average`.
    """
    cosines = [float(a[name] @ b[name]) for name in a if name in b]
    return sum(cosines) / len(cosines) if cosines else 0.0


def similarities(rows: Sequence[Identity], columns: Sequence[Identity]) -> Floats:
    """Return the similarity of each of the rows with each of the columns."""
    matrix = [[similarity(a, b) for b in columns] for a in rows]
    return np.array(matrix, dtype=float).reshape(len(rows), len(columns))


def match(
    characters: Sequence[Sequence[Identity]],
    candidates: Sequence[Sequence[Identity]],
) -> dict[int, int]:
    """Return which candidate each expected character is, by index.

    The sum over all matches of the best similarity with any of the character's
    references is the largest possible, without a threshold. `candidates`: for each
    character, each figure as the encoders of its own kind see it: one that none of them
    saw is never that character; one seen by no encoder that saw a reference has
    similarity 0 and may be.

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
    """Return a box in whole pixels; None if nothing of it lies in the picture.

    `shares`: centre x and y, width and height. As in the program, all four are cut to
    whole pixels first, then turned into corners, and those clamped. Where a side is
    odd, half a pixel is cut off here; the program has Pillow round to the even pixel.
    """
    if not np.isfinite(shares[:4]).all():
        return None
    width, height = size
    x, y = int(shares[0] * width), int(shares[1] * height)
    w, h = int(shares[2] * width), int(shares[3] * height)
    left, right = (min(max(side, 0), width) for side in (x - w / 2, x + w / 2))
    top, bottom = (min(max(side, 0), height) for side in (y - h / 2, y + h / 2))
    box = int(left), int(top), int(right), int(bottom)
    return box if box[0] < box[2] and box[1] < box[3] else None


# ViStoryBench looks for every character with this one word, whatever its kind.
PROMPT = "character"
REALISTIC = "realistic_human"
DETECTOR_PACKAGES = ("torch", "transformers")
PACKAGES = (*DETECTOR_PACKAGES, "open_clip", "onnxruntime")
WEIGHTS = (DETECTOR, clip_weights())

# Whose networks see faces: what the program feeds them, or what they were trained with.
Profile = Literal["vsb-code-2026.02", "vsb-paper"]
# A figure in a picture: its box in shares of the picture, and what is cut out.
FigureCrop = tuple[tuple[float, ...], Image]


@dataclass(frozen=True)
class Eyes:
    """What figures are found and recognised with."""

    detector: Encoder  # finds figures; see `evalcore.metrics.encoders.subjects`
    # Encoders by name for realistic humans and for all others. A face encoder returns 1
    # x n, or 0 x n where it sees no face; the others return n numbers.
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
    """What an encoder made of the figures of a story."""

    seen: int = 0  # how many it saw; those without a face do not count
    failed: int = 0  # how many it failed on
    reason: str = ""  # why it failed on the first of them


@dataclass(frozen=True)
class Cast:
    """Who was expected, who was found."""

    # Characters by shot, of the shots that have a picture and expect anybody.
    expected: dict[int, tuple[str, ...]] = field(default_factory=dict)
    # By shot, and by character.
    matches: dict[int, dict[str, Match]] = field(default_factory=dict)
    # Identities of each character's references; the first one is the anchor of the
    # copy-paste rate, `anchors` its picture.
    references: dict[str, list[Identity]] = field(default_factory=dict)
    anchors: dict[str, Image] = field(default_factory=dict)
    nameless: tuple[str, ...] = ()  # characters of the story without a usable reference
    # By encoder, what it made of the figures.
    tallies: dict[str, Tally] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, Any]:
        """Return which encoders failed on some figures, for traces; often nothing."""
        failed = {n: asdict(tally) for n, tally in self.tallies.items() if tally.failed}
        return {"errors": failed} if failed else {}

    def found(self, character: str) -> list[Match]:
        """Return where a character was found, in the order of the shots."""
        return [m[character] for m in self.matches.values() if character in m]

    def appearances(self, character: str) -> int:
        """Return in how many of the shots a character was expected."""
        return sum(character in keys for keys in self.expected.values())


Casting = Generator[Ask, list[Any], Cast]


def missing() -> Lacks:
    """Return what is lacking to find a cast; empty if nothing."""
    of_faces = faces.missing(faces.ARCFACE, faces.ADAFACE, faces.FACENET)
    return Lacks(dict.fromkeys([*lacking(PACKAGES, WEIGHTS), *of_faces]))


def missing_detector() -> Lacks:
    """Return what is lacking to find figures, whoever they are; empty if nothing."""
    return lacking(DETECTOR_PACKAGES, (DETECTOR,))


def the_detector() -> Encoder:
    """Return what ViStoryBench finds figures with."""
    from evalcore.metrics.encoders.subjects import detector

    return detector(PROMPT)


@cache
def the_eyes(profile: Profile) -> Eyes:
    """Return what ViStoryBench recognises characters with."""
    from evalcore.metrics.encoders.clip import clip_image_encoder

    return Eyes(
        the_detector(),
        {
            "arcface": faces.arcface_encoder(),
            "adaface": faces.adaface_encoder(profile),
            "facenet": faces.facenet_encoder(profile),
        },
        {"clip": clip_image_encoder()},
    )


def expecting(rendering: Rendering) -> list[RenderedShot]:
    """Return the shots that count, with the characters that they expect.

    Shots without a picture, or without expected characters, are left out everywhere.
    Expected characters that the story does not describe are left out too.
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
    found = yield Ask(detector, pictures)
    return {
        shot.number: [
            (tuple(map(float, row[:4])), replace(picture, box=box))
            for row in boxes
            if (box := pixel_box(row, picture.size))
        ]
        for shot, picture, boxes in zip(shots, pictures, found, strict=True)
    }


def find_cast(rendering: Rendering, eyes: Eyes) -> Casting:
    """Find out who appears in each shot, of those that `expecting` returns.

    Where one encoder fails on a figure, the others are kept, as in the program; one
    that fails on every figure would silently leave another ensemble: then nothing is
    returned.

    Source: ViStoryBench, appendix I.1, stages 1 to 3, and its program at 514cc31.
    """
    shots = expecting(rendering)
    characters = list(rendering.characters.values())
    cast = Cast(expected={shot.number: shot.characters for shot in shots})
    yield from _recognise_references(cast, characters, eyes)
    yield from _match_shots(cast, shots, rendering.characters, eyes)
    for name, tally in cast.tallies.items():
        if tally.failed and not tally.seen:
            raise FeatureError(
                f"{name} failed on every figure of the story that it was to see "
                f"({tally.failed}): {tally.reason}"
            )
    nameless = tuple(c.key for c in characters if not cast.references[c.key])
    return replace(cast, nameless=nameless)


def _recognise_references(
    cast: Cast, characters: Sequence[RenderedCharacter], eyes: Eyes
) -> Generator[Ask, list[Any], None]:
    """Fill in references and anchors: the best box of each, or else the whole picture.

    A reference without a box is passed over; of a character none of whose boxes can be
    recognised the whole pictures are taken.
    """
    pictures = [image for c in characters for image in c.references]
    boxes = dict(
        zip(pictures, (yield Ask(eyes.detector, pictures)), strict=True),
    )
    for character in characters:
        crops = [
            replace(image, box=box)
            for image in character.references
            if len(boxes[image]) and (box := pixel_box(boxes[image][0], image.size))
        ]
        for images in (crops, list(character.references)):
            seen = yield from identities(images, eyes.of(character), cast.tallies)
            known = [(i, who) for i, who in zip(images, seen, strict=True) if who]
            if known:
                cast.anchors[character.key] = known[0][0]
                break
        cast.references[character.key] = [who for _image, who in known]


def _match_shots(
    cast: Cast,
    shots: Sequence[RenderedShot],
    characters: Mapping[str, RenderedCharacter],
    eyes: Eyes,
) -> Generator[Ask, list[Any], None]:
    cut = yield from find_figures(shots, eyes.detector)
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
        encoders = eyes.faces if realistic else eyes.others
        images = [cut[number][i][1] for number, i in wanted]
        recognised = yield from identities(images, encoders, cast.tallies)
        for figure, identity in zip(wanted, recognised, strict=True):
            seen[figure].update(identity)
    for shot in shots:
        figures = cut[shot.number]
        who = [seen[shot.number, i] for i in range(len(figures))]
        cast.matches[shot.number] = _matched(cast, shot, figures, who, characters, eyes)


def _matched(
    cast: Cast,
    shot: RenderedShot,
    figures: Sequence[FigureCrop],
    who: Sequence[Identity],
    characters: Mapping[str, RenderedCharacter],
    eyes: Eyes,
) -> dict[str, Match]:
    references = [cast.references[key] for key in shot.characters]
    own = [
        [_own(one, eyes.of(characters[key])) for one in who] for key in shot.characters
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
    """Return what each encoder sees in each image, without those that see nothing."""
    seen: list[dict[str, Any]] = [{} for _image in images]
    for name, encoder in encoders.items() if images else ():
        tally = tallies.setdefault(name, Tally())
        features = yield Ask(encoder, images, tolerant=True)
        for identity, feature in zip(seen, features, strict=True):
            if isinstance(feature, FeatureError):
                tally.failed += 1
                tally.reason = tally.reason or str(feature)
            elif len(feature):
                tally.seen += 1
                identity[name] = feature if feature.ndim == 1 else feature[0]
    return list(seen)


def _own(identity: Identity, encoders: Mapping[str, Encoder]) -> Identity:
    return {name: vector for name, vector in identity.items() if name in encoders}


def _mean(identity: Identity, references: Sequence[Identity]) -> float:
    return sum(similarity(identity, r) for r in references) / len(references)
