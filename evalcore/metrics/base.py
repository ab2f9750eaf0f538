"""Interface of metrics: subjects, requests for features, values, declarations.

A metric is a pure formula on arrays and a thin class. Its `score` yields an `Ask` for
features of pictures, clips or texts, receives them in the same order, and returns
`Value`s. It never calls an encoder itself: `evalcore.metrics.engine` runs many outputs
at once, so that each picture passes each encoder only once.
"""

import hashlib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt


class FeatureError(ValueError):
    """An item has no feature: it is unreadable, or a judge gave no usable answer."""


class FatalError(Exception):
    """Scoring cannot continue: wrong weights, or the budget is spent."""


@dataclass(frozen=True)
class MissingRequirement:
    """A missing requirement of a metric."""

    what: str
    how: str  # how to obtain it, or why that is impossible
    licence: str = ""  # licence of its authors, where it matters

    @property
    def slug(self) -> str:
        """Return its name as part of an address."""
        return re.sub(r"\W+", "-", self.what.lower()).strip("-")

    def __str__(self) -> str:
        return f"{self.what} ({self.how})"


class MissingRequirements(tuple[MissingRequirement, ...]):
    """All missing requirements of a metric; empty if it is ready."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return what is missing, with the ways to obtain it once each."""
        ways: dict[str, list[str]] = {}
        for lack in self:
            ways.setdefault(lack.how, []).append(lack.what)
        return "; ".join(f"{', '.join(whats)} ({how})" for how, whats in ways.items())


Picture = npt.NDArray[np.uint8]  # height x width x 3, RGB
Floats = npt.NDArray[np.float64]
# An encoder's result for one item: numbers, or one text.
Feature = npt.NDArray[Any]
Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels

Level = Literal["shot", "output", "pair", "run"]
Family = Literal[
    "ViStoryBench", "VISTAR", "StoryBench", "Envision", "OneIG", "baseline", "stand-in"
]
Queue = Literal["cpu", "gpu", "judge"]
# Fields of a shot that describe the picture, in order of preference.
WORDINGS = ("static", "caption", "prompt", "plot", "setting")


# Items -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A stored picture or video, decoded only if its features are not stored yet."""

    key: str  # identifies the content: the file's hash, and the sampling of a video
    # Decodes one picture, or the sampled frames of a video in order.
    pictures: Callable[[], Iterator[Picture]] = field(compare=False, repr=False)
    # Width and height, if known without decoding.
    size: tuple[int, int] | None = field(default=None, compare=False)
    # The bytes of its file, if that is a PNG with exactly these pixels.
    png: Callable[[], bytes] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Image:
    """One picture of a source, or a part of it."""

    source: Source
    index: int = 0  # index of the picture in the source
    box: Box | None = None  # the part of it, in whole pixels; None for all of it
    mirrored: bool = False  # whether it is mirrored left to right, after cutting

    @cached_property
    def key(self) -> str:
        index = f"#{self.index}" if self.index else ""
        box = "[{},{},{},{}]".format(*self.box) if self.box else ""
        return f"{self.source.key}{index}{box}{'~' if self.mirrored else ''}"

    @property
    def size(self) -> tuple[int, int]:
        if self.box is not None:
            left, top, right, bottom = self.box
            return right - left, bottom - top
        if self.source.size is not None:
            return self.source.size
        height, width = self.read().shape[:2]
        return width, height

    @property
    def indices(self) -> range:
        return range(self.index, self.index + 1)

    def read(self) -> Picture:
        """Decode its source for it alone; `cut` serves several at once."""
        pictures = islice(self.source.pictures(), self.index, self.index + 1)
        return self.cut(list(pictures))

    def cut(self, pictures: Sequence[Picture]) -> Picture:
        """Return its part of the pictures that `indices` names."""
        (picture,) = pictures
        if self.box is not None:
            left, top, right, bottom = self.box
            picture = picture[top:bottom, left:right]
        return picture[:, ::-1] if self.mirrored else picture


@dataclass(frozen=True)
class Clip:
    """Successive pictures of a video, from `start` up to but without `stop`."""

    source: Source
    start: int
    stop: int

    @cached_property
    def key(self) -> str:
        return f"{self.source.key}#{self.start}:{self.stop}"

    @property
    def indices(self) -> range:
        return range(self.start, self.stop)

    def cut(self, pictures: Sequence[Picture]) -> Picture:
        """Return frames x height x width x 3."""
        return np.stack(pictures)


@dataclass(frozen=True)
class Text:
    """A text."""

    text: str

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Item(Protocol):
    """An item that an encoder can encode: an image, a clip, a text, a question."""

    @property
    def key(self) -> str:
        """Return the identity of its content; equal keys have equal features."""


@dataclass(frozen=True)
class RenderedCharacter:
    """A recurring character of a story."""

    key: str  # its name in the benchmark
    kind: str = ""  # `realistic_human`, `unrealistic_human`, `non_human`, or empty
    references: tuple[Image, ...] = ()
    name: str = ""  # its English name in the benchmark; empty if that is the key


@dataclass(frozen=True)
class RenderedShot:
    """One step of a story as a method rendered it."""

    number: int  # from 1
    # One picture, the frames of its part of a video, or nothing.
    frames: tuple[Image, ...] = ()
    # The description, by field: setting, plot, static, camera, caption, prompt,
    # explanation.
    text: Mapping[str, str] = field(default_factory=dict)
    characters: tuple[str, ...] = ()  # keys of the characters that should appear

    @property
    def image(self) -> Image | None:
        """Return its picture, or the first frame; None if it has neither."""
        return self.frames[0] if self.frames else None

    @property
    def wording(self) -> str:
        """Return the text that describes the picture; empty if none does."""
        return next((self.text[one] for one in WORDINGS if self.text.get(one)), "")


@dataclass(frozen=True)
class Rendering:
    """One method's output for one story, with the story's description."""

    story: str
    method: str
    shots: tuple[RenderedShot, ...]  # includes shots without a picture
    # All characters of the story, by key, even those that never appear.
    characters: Mapping[str, RenderedCharacter] = field(default_factory=dict)
    is_video: bool = False
    # Further fields of the benchmark's file: a questionnaire, a category.
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rendered(self) -> list[RenderedShot]:
        return [shot for shot in self.shots if shot.frames]

    @property
    def images(self) -> list[Image]:
        """Return one picture per rendered shot, in order."""
        return [shot.frames[0] for shot in self.rendered]

    @property
    def frames(self) -> list[Image]:
        """Return every frame of every shot, in order."""
        return [frame for shot in self.shots for frame in shot.frames]


@dataclass(frozen=True)
class Pair:
    """An output and the true output of the same story (level `pair`)."""

    output: Rendering
    truth: Rendering


@dataclass(frozen=True)
class Run:
    """All outputs of one method in a benchmark (level `run`)."""

    method: str
    outputs: tuple[Rendering, ...]
    truths: tuple[Rendering, ...] = ()


# Encoders ----------------------------------------------------------------------------


class Encoder(Protocol):
    """An object that computes features of items.

    `id` names everything that decides the feature: architecture, weights, preprocessing
    and precision; features are stored under it. At most `batch` items are encoded
    together.
    """

    @property
    def id(self) -> str:
        """Return everything that decides the feature."""

    @property
    def batch(self) -> int:
        """Return how many items are encoded together at most."""

    def prepare(self, item: Any) -> Any:
        """Turn a decoded item into the encoder's input; called in several threads.

        The item is the result of `Image.cut` or `Clip.cut`, or the item itself if it
        has no source.
        """

    def encode(self, prepared: Sequence[Any]) -> Sequence[Feature | FeatureError]:
        """Return a feature, or an error, for each prepared item."""


@runtime_checkable
class Streaming(Encoder, Protocol):
    """An encoder whose features arrive one by one, each of them expensive."""

    def stream(
        self, prepared: Sequence[Any]
    ) -> Generator[tuple[int, Feature | FeatureError]]:
        """Yield positions and features as they arrive; otherwise as `encode`."""


@runtime_checkable
class Answering(Encoder, Protocol):
    """An encoder whose features name the version that gave them: a judge."""

    def version_of(self, feature: Feature) -> str:
        """Return the version that gave a feature; empty if it is unknown."""


@dataclass(frozen=True)
class Ask:
    """Request of a metric for the features of items, in the same order.

    An item without a feature is thrown as a FeatureError. With `tolerant`, the error
    takes the place of the feature and the others arrive. Features for which `keep` is
    false serve this run only: they are not stored, and stored ones are not used.
    """

    encoder: Encoder
    items: Sequence[Item]
    tolerant: bool = False
    keep: Callable[[Feature], bool] | None = None


@dataclass(frozen=True)
class Value:
    """One value; `shot` is None for a whole output, pair or run.

    An undefined metric gives a reason in place of the value. `trace` holds the basis of
    the value, as JSON: answers of a judge, boxes, matches.
    """

    value: float | None
    shot: int | None = None
    reason: str = ""
    trace: Mapping[str, Any] | None = None


# Receives arrays, with FeatureErrors among them after a tolerant request.
Scoring = Generator[Ask, list[Any], list[Value]]


# Declaration
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricInfo:
    """Description of a metric, for people and for the database."""

    name: str
    title: str  # its title for readers
    family: Family  # the paper it belongs to, or `baseline` or `stand-in`
    # Level of its values: a shot, an output, an output compared with the true one
    # (pair), all outputs of a method (run).
    scores: Level
    source: str  # paper and section, or the origin of a baseline
    measures: str  # one sentence on its subject and its limits
    higher_is_better: bool = True
    low: float | None = 0  # None if unbounded
    high: float | None = 1
    version: str = "1"  # changes whenever values would change
    backend: str = "numpy"  # name of the network or judge that computes it
    profile: str = ""  # the definition it follows where paper and program differ
    # Workers that compute it. Only one worker at a time spends a run's budget for
    # judges.
    queue: Queue = "cpu"
    # Whether it compares outputs with the true ones; metrics of pairs always do.
    needs_truth: bool = False
    # Angles of VISTAR's prompts that ask for it; empty if every story does.
    angles: tuple[str, ...] = ()

    @property
    def against_truth(self) -> bool:
        """Return whether it compares outputs with the true ones."""
        return self.needs_truth or self.scores == "pair"

    @property
    def full_version(self) -> str:
        """Return version and profile, as stored in rows."""
        return f"{self.version} {self.profile}".strip()


class Metric(Protocol):
    """A metric: its declaration, its missing requirements, and its scoring."""

    @property
    def info(self) -> MetricInfo:
        """Return its declaration."""

    def missing(self) -> MissingRequirements:
        """Return missing requirements and how to obtain them; empty if ready."""

    def score(self, subject: Any) -> Scoring:
        """Score a Rendering (levels shot and output), a Pair or a Run."""
