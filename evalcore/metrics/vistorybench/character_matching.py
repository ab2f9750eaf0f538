"""Who appears in which shot: figures found, recognised, and matched with characters."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Literal

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Image,
    RenderedCharacter,
    RenderedShot,
    Rendering,
)
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.published import DETECTOR, clip_weights
from evalcore.metrics.errors import FeatureError, Lacks
from evalcore.metrics.vistorybench.identity_matching import (
    Identity,
    match,
    pixel_box,
    similarity,
)
from evalcore.metrics.weights import lacking

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

    detector: Encoder  # finds figures; see `evalcore.metrics.encoders.detector`
    # Encoders by name for realistic humans and for all others. A face encoder returns 1
    # x n, or 0 x n where it sees no face; the others return n numbers.
    faces: Mapping[str, Encoder]
    others: Mapping[str, Encoder]

    def of(self, character: RenderedCharacter) -> Mapping[str, Encoder]:
        """Return what recognises that character."""
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
    from evalcore.metrics.encoders.detector import detector

    return detector(PROMPT)


@cache
def the_eyes(profile: Profile) -> Eyes:
    """Return what ViStoryBench recognises characters with.

    Profiles differ in how faces are placed and fed to AdaFace and FaceNet; see
    `evalcore.metrics.encoders.faces`.
    """
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

    Where one encoder fails on a figure, those that do not are kept, as in the program.
    One that fails on every figure it was to see would silently leave another ensemble
    behind: then nothing is returned. `Cast.errors` tells of the others.

    Source: ViStoryBench, appendix I.1, stages 1 to 3, and its program at 514cc31.
    """
    shots = expecting(rendering)
    characters = list(rendering.characters.values())
    cast = Cast(expected={shot.number: shot.characters for shot in shots})
    yield from _recognise_references(cast, characters, eyes)
    yield from _match_shots(cast, shots, rendering.characters, eyes)
    _refuse_failing(cast)
    nameless = tuple(c.key for c in characters if not cast.references[c.key])
    return replace(cast, nameless=nameless)


def _refuse_failing(cast: Cast) -> None:
    for name, tally in cast.tallies.items():
        if tally.failed and not tally.seen:
            raise FeatureError(
                f"{name} failed on every figure of the story that it was to see "
                f"({tally.failed}): {tally.reason}"
            )


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
            crop for image in character.references if (crop := _best(image, boxes))
        ]
        for images in (crops, list(character.references)):
            seen = yield from identities(images, eyes.of(character), cast.tallies)
            known = [(i, who) for i, who in zip(images, seen, strict=True) if who]
            if known:
                cast.anchors[character.key] = known[0][0]
                break
        cast.references[character.key] = [who for _image, who in known]


def _best(image: Image, boxes: Mapping[Image, Feature]) -> Image | None:
    found = boxes[image]
    box = pixel_box(found[0], image.size) if len(found) else None
    return replace(image, box=box) if box else None


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
    """Return which figure is which of a shot's characters."""
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
    """Return what each encoder sees in each image, without those that see nothing.

    An encoder that fails on an image is left out of it, and counted in `tallies`.
    """
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
    """Return what the encoders of the character's own kind see."""
    return {name: vector for name, vector in identity.items() if name in encoders}


def _mean(identity: Identity, references: Sequence[Identity]) -> float:
    return sum(similarity(identity, r) for r in references) / len(references)
