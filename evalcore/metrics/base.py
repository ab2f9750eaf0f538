"""What a metric is told, what it asks for, what it declares, and what it returns.

A metric is a pure formula on arrays and a thin class, whose `score` yields an `Ask` for
features of pictures, clips or texts, is sent them in that order, and returns `Value`s.
It never calls an encoder itself: `evalcore.metrics.engine` runs many outputs at once,
so that each picture passes each encoder once, however many metrics want it.
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
    """An item has no feature: it cannot be read, or a judge gave no usable answer."""


class FatalError(Exception):
    """Nothing can be computed any more: wrong weights, or the budget is spent."""


@dataclass(frozen=True)
class Lack:
    """Something that a metric needs and that is not here."""

    what: str
    how: str  # how to get it, or why nobody can
    licence: str = ""  # under which its authors give it away, where that matters

    @property
    def slug(self) -> str:
        """Return its name as part of an address."""
        return re.sub(r"\W+", "-", self.what.lower()).strip("-")

    def __str__(self) -> str:
        licence = f"; licence: {self.licence}" if self.licence else ""
        return f"{self.what} ({self.how}{licence})"


class Lacks(tuple[Lack, ...]):
    """All that a metric lacks; empty if it is ready."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self))


Picture = npt.NDArray[np.uint8]  # height x width x 3, RGB
Floats = npt.NDArray[np.float64]
# What an encoder makes of one item: numbers, or one text.
Feature = npt.NDArray[Any]
Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels

Level = Literal["shot", "output", "pair", "run"]
Family = Literal[
    "ViStoryBench", "VISTAR", "StoryBench", "Envision", "OneIG", "baseline", "stand-in"
]
Queue = Literal["cpu", "gpu", "judge"]
# Which field of a shot says what is to be seen, the best one first.
WORDINGS = ("static", "caption", "prompt", "plot", "setting")


# What is looked at -------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A stored picture or video, decoded only where its features are not known yet."""

    key: str  # names its content: the hash of the file, and how a video is sampled
    # Decodes: one picture, or the sampled frames of a video in order.
    pictures: Callable[[], Iterator[Picture]] = field(compare=False, repr=False)
    # Width and height, where they are known without decoding.
    size: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Image:
    """One picture of a source, or a part of it."""

    source: Source
    index: int = 0  # which of the source's pictures
    box: Box | None = None  # the part of it, in whole pixels; all of it where None
    mirrored: bool = False  # whether left and right are exchanged (after cutting)

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
        """Return what is looked at, of the pictures that `indices` names."""
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
    """What an encoder can be asked about: an image, a clip, a text, a question."""

    @property
    def key(self) -> str:
        """Name its content; equal keys have equal features."""


@dataclass(frozen=True)
class RenderedCharacter:
    """A recurring figure of a story."""

    key: str  # its name in the benchmark
    kind: str = ""  # `realistic_human`, `unrealistic_human`, `non_human`, or empty
    references: tuple[Image, ...] = ()


@dataclass(frozen=True)
class RenderedShot:
    """One step of a story as a method rendered it."""

    number: int  # from 1
    # One picture, the frames of its part of a video, or nothing.
    frames: tuple[Image, ...] = ()
    # What was to be rendered, by field: setting, plot, static, camera, caption, prompt,
    # explanation.
    text: Mapping[str, str] = field(default_factory=dict)
    characters: tuple[str, ...] = ()  # keys of those that were to appear

    @property
    def image(self) -> Image | None:
        """Return its picture, or the first frame; None where there is none."""
        return self.frames[0] if self.frames else None

    @property
    def wording(self) -> str:
        """Return the text that says what it shows; empty if none does."""
        return next((self.text[one] for one in WORDINGS if self.text.get(one)), "")


@dataclass(frozen=True)
class Rendering:
    """One method's output for one story, with what the story asked for."""

    story: str
    method: str
    shots: tuple[RenderedShot, ...]  # those without a picture too
    # All characters of the story, by key; those that never appear too.
    characters: Mapping[str, RenderedCharacter] = field(default_factory=dict)
    is_video: bool = False
    # What the benchmark's file says beyond that: a questionnaire, a category.
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rendered(self) -> list[RenderedShot]:
        return [shot for shot in self.shots if shot.frames]

    @property
    def images(self) -> list[Image]:
        """Return one picture a rendered shot, in order."""
        return [shot.frames[0] for shot in self.rendered]

    @property
    def frames(self) -> list[Image]:
        """Return every frame of every shot, in order."""
        return [frame for shot in self.shots for frame in shot.frames]


@dataclass(frozen=True)
class Pair:
    """An output held against the true one of the same story (level `pair`)."""

    output: Rendering
    truth: Rendering


@dataclass(frozen=True)
class Run:
    """All outputs of one method in a benchmark (level `run`)."""

    method: str
    outputs: tuple[Rendering, ...]
    truths: tuple[Rendering, ...] = ()


# What looks --------------------------------------------------------------------------


class Encoder(Protocol):
    """Something that makes a feature of an item.

    `id` names all that decides the feature: architecture, weights, preprocessing and
    precision; features are remembered under it. At most `batch` items are encoded
    together.
    """

    @property
    def id(self) -> str:
        """Name what decides the feature."""

    @property
    def batch(self) -> int:
        """Return how many items go together at most."""

    def prepare(self, item: Any) -> Any:
        """Turn a decoded item into the encoder's input; called in several threads.

        The item is what `Image.cut` or `Clip.cut` returns, or the item itself if it
        has no source.
        """

    def encode(self, prepared: Sequence[Any]) -> Sequence[Feature | FeatureError]:
        """Return a feature for each prepared item, or why there is none."""


@runtime_checkable
class Streaming(Encoder, Protocol):
    """An encoder whose features come one after the other, each of them dear."""

    def stream(
        self, prepared: Sequence[Any]
    ) -> Generator[tuple[int, Feature | FeatureError]]:
        """Give places and features as they come; otherwise as `encode`."""


@dataclass(frozen=True)
class Ask:
    """What a metric yields to be sent the features of the items, in their order.

    An item without a feature is thrown as a FeatureError; if `tolerant`, the error
    stands in the place of the feature and the others arrive.
    """

    encoder: Encoder
    items: Sequence[Item]
    tolerant: bool = False


@dataclass(frozen=True)
class Value:
    """One value; `shot` is None for a whole output, pair or run.

    A metric that is undefined gives no value but a reason. `trace` holds what led to
    the value, as JSON: answers of a judge, boxes, matches.
    """

    value: float | None
    shot: int | None = None
    reason: str = ""
    trace: Mapping[str, Any] | None = None


# Is sent arrays, and FeatureErrors among them if it asked tolerantly.
Scoring = Generator[Ask, list[Any], list[Value]]


# What it declares --------------------------------------------------------------------


@dataclass(frozen=True)
class MetricInfo:
    """Description of a metric, for people and for the database."""

    name: str
    title: str  # its name for readers
    family: Family  # the paper it belongs to, or `baseline` or `stand-in`
    # What a value belongs to: a shot, an output, an output held against the true one
    # (pair), all outputs of a method (run).
    scores: Level
    source: str  # paper and section, or where a baseline comes from
    measures: str  # one sentence on what it measures, and what it cannot see
    higher_is_better: bool = True
    low: float | None = 0  # None where there is no bound
    high: float | None = 1
    version: str = "1"  # changes whenever values would change
    backend: str = "numpy"  # what computes it
    profile: str = ""  # whose definition it follows where paper and program differ
    # Which workers compute it; with a judge, one at a time spends a run's budget.
    queue: Queue = "cpu"
    # Whether outputs are held against the true ones; of pairs they always are.
    needs_truth: bool = False

    @property
    def against_truth(self) -> bool:
        """Say whether outputs are held against the true ones."""
        return self.needs_truth or self.scores == "pair"

    @property
    def full_version(self) -> str:
        """Return version and profile, as rows carry them."""
        return f"{self.version} {self.profile}".strip()


class Metric(Protocol):
    """A metric: what it declares, what it lacks here, and how it scores."""

    @property
    def info(self) -> MetricInfo:
        """Return what it declares."""

    def missing(self) -> Lacks:
        """Return what is lacking to compute it, and how to get it; empty if ready."""

    def score(self, subject: Any) -> Scoring:
        """Score a Rendering (levels shot and output), a Pair or a Run."""
