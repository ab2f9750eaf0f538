"""Who appears in which shot: figures found, recognised, and matched with characters."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from evalcore.metrics.base import (
    Ask,
    Character,
    Encoder,
    Feature,
    Image,
    Rendering,
    Shot,
)
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.published import DETECTOR, clip_weights
from evalcore.metrics.vistorybench.matching import (
    Identity,
    match,
    pixel_box,
    similarity,
)
from evalcore.metrics.weights import Lacks, lacking

# ViStoryBench looks for every character with this one word, whatever its kind.
PROMPT = "character"
REALISTIC = "realistic_human"
PACKAGES = ("torch", "transformers", "open_clip", "onnxruntime")
WEIGHTS = (DETECTOR, clip_weights())


@dataclass(frozen=True)
class Eyes:
    """What figures are found and recognised with.

    Parameters
    ----------
    detector
        Finds figures; see `evalcore.metrics.encoders.detector`.
    faces, others
        Encoders by name for realistic humans and for all others. A face encoder
        returns 1 x n, or 0 x n where it sees no face; the others return n numbers.
    """

    detector: Encoder
    faces: Mapping[str, Encoder]
    others: Mapping[str, Encoder]

    def of(self, character: Character) -> Mapping[str, Encoder]:
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


@dataclass(frozen=True)
class Cast:
    """Who was expected, who was found.

    Parameters
    ----------
    expected
        Characters by shot, of the shots that have a picture and expect anybody.
    boxes
        How many figures were found in each of those shots.
    matches
        By shot, and by character.
    references
        Identities of each character's references; the first one is the anchor of the
        copy-paste rate, `anchors` its picture.
    nameless
        Characters of the story without a usable reference.
    """

    expected: dict[int, tuple[str, ...]] = field(default_factory=dict)
    boxes: dict[int, int] = field(default_factory=dict)
    matches: dict[int, dict[str, Match]] = field(default_factory=dict)
    references: dict[str, list[Identity]] = field(default_factory=dict)
    anchors: dict[str, Image] = field(default_factory=dict)
    nameless: tuple[str, ...] = ()

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


@cache
def the_eyes() -> Eyes:
    """Return what ViStoryBench recognises characters with."""
    from evalcore.metrics.encoders.clip import clip_image_encoder
    from evalcore.metrics.encoders.detector import detector

    return Eyes(
        detector(PROMPT),
        {
            "arcface": faces.arcface_encoder(),
            "adaface": faces.adaface_encoder(),
            "facenet": faces.facenet_encoder(),
        },
        {"clip": clip_image_encoder()},
    )


def find_cast(rendering: Rendering, eyes: Eyes | None = None) -> Casting:
    """Find out who appears in each shot.

    Shots without a picture, or without expected characters, are left out everywhere.
    Expected characters that the story does not describe are left out too.

    References
    ----------
    ViStoryBench, appendix I.1, stages 1 to 3, and its program at 514cc31.
    """
    eyes = eyes or the_eyes()
    shots = [
        replace(shot, characters=known)
        for shot in rendering.rendered
        if (known := tuple(k for k in shot.characters if k in rendering.characters))
    ]
    characters = list(rendering.characters.values())
    cast = Cast(expected={shot.number: shot.characters for shot in shots})
    yield from _recognise_references(cast, characters, eyes)
    yield from _match_shots(cast, shots, rendering.characters, eyes)
    nameless = tuple(c.key for c in characters if not cast.references[c.key])
    return replace(cast, nameless=nameless)


def _recognise_references(
    cast: Cast, characters: Sequence[Character], eyes: Eyes
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
            seen = yield from identities(images, eyes.of(character))
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
    cast: Cast, shots: Sequence[Shot], characters: Mapping[str, Character], eyes: Eyes
) -> Generator[Ask, list[Any], None]:
    """Fill in boxes and matches of all shots."""
    pictures = [shot.frames[0] for shot in shots]
    found = yield Ask(eyes.detector, pictures)
    cut = {
        shot.number: [
            (tuple(map(float, row[:4])), replace(picture, box=box))
            for row in boxes
            if (box := pixel_box(row, picture.size))
        ]
        for shot, picture, boxes in zip(shots, pictures, found, strict=True)
    }
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
        recognised = yield from identities(images, encoders)
        for figure, identity in zip(wanted, recognised, strict=True):
            seen[figure].update(identity)
    for shot in shots:
        figures = cut[shot.number]
        who = [seen[shot.number, i] for i in range(len(figures))]
        cast.boxes[shot.number] = len(figures)
        cast.matches[shot.number] = {
            shot.characters[row]: Match(
                figures[column][0],
                figures[column][1],
                own := _own(who[column], eyes.of(characters[shot.characters[row]])),
                _mean(own, cast.references[shot.characters[row]]),
            )
            for row, column in match(
                [cast.references[key] for key in shot.characters], who
            ).items()
        }


def identities(
    images: Sequence[Image], encoders: Mapping[str, Encoder]
) -> Generator[Ask, list[Any], list[Identity]]:
    """Return what each encoder sees in each image, without those that see nothing."""
    seen: list[dict[str, Any]] = [{} for _image in images]
    for name, encoder in encoders.items() if images else ():
        features = yield Ask(encoder, images)
        for identity, feature in zip(seen, features, strict=True):
            if feature.ndim == 1:
                identity[name] = feature
            elif len(feature):
                identity[name] = feature[0]
    return list(seen)


def _own(identity: Identity, encoders: Mapping[str, Encoder]) -> Identity:
    """Return what the encoders of the character's own kind see."""
    return {name: vector for name, vector in identity.items() if name in encoders}


def _mean(identity: Identity, references: Sequence[Identity]) -> float:
    return sum(similarity(identity, r) for r in references) / len(references)
