"""What a metric is told, what it asks for, what it declares, and what it returns.

A metric is a pure formula on arrays and a thin class. The class reads a `Rendering`,
asks encoders for features of pictures, clips or texts by yielding an `Ask`, is sent
them in the order it asked for, and returns `Value`s::

    def score(self, rendering: Rendering) -> Scoring:
        vectors = yield Ask(self.encoder, rendering.images)
        return [Value(self_consistency(np.stack(vectors)))]

It never calls an encoder itself: `evalcore.metrics.engine` runs many outputs at once,
puts what they ask for into batches, looks each item up by its content first, and so
has each picture pass each encoder once, however many metrics want it.
"""

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from evalcore.metrics.errors import FeatureError, Lacks

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
    """A stored picture or video, decoded only where its features are not known yet.

    Parameters
    ----------
    key
        Names its content: the hash of the file, and how a video is sampled.
    pictures
        Decodes: one picture, or the sampled frames of a video in order.
    size
        Width and height of its pictures, where they are known without decoding.
    """

    key: str
    pictures: Callable[[], Iterator[Picture]] = field(compare=False, repr=False)
    size: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Image:
    """One picture of a source, or a part of it.

    Parameters
    ----------
    source
        Where it comes from.
    index
        Which of the source's pictures.
    box
        The part of it, in whole pixels; all of it where None.
    mirrored
        Whether left and right are exchanged (after cutting).
    """

    source: Source
    index: int = 0
    box: Box | None = None
    mirrored: bool = False

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
        ...


@dataclass(frozen=True)
class RenderedCharacter:
    """A recurring figure of a story.

    Parameters
    ----------
    key
        Its name in the benchmark.
    kind
        `realistic_human`, `unrealistic_human`, `non_human`, or empty.
    references
        Its reference pictures, in order.
    """

    key: str
    kind: str = ""
    references: tuple[Image, ...] = ()


@dataclass(frozen=True)
class RenderedShot:
    """One step of a story as a method rendered it.

    Parameters
    ----------
    number
        From 1.
    frames
        What was rendered: one picture, the frames of its part of a video, or nothing.
    text
        What was to be rendered, by field: setting, plot, static, camera, caption,
        prompt, explanation.
    characters
        Keys of the characters that were to appear.
    """

    number: int
    frames: tuple[Image, ...] = ()
    text: Mapping[str, str] = field(default_factory=dict)
    characters: tuple[str, ...] = ()

    @property
    def image(self) -> Image | None:
        """Return its picture, or the first frame; None where there is none."""
        return self.frames[0] if self.frames else None

    @property
    def wording(self) -> str:
        """Return the text that says what it shows; empty if none does.

        >>> RenderedShot(1, text={"plot": "A fox walks.", "camera": "close-up"}).wording
        'A fox walks.'
        """
        return next((self.text[one] for one in WORDINGS if self.text.get(one)), "")


@dataclass(frozen=True)
class Rendering:
    """One method's output for one story, with what the story asked for.

    Parameters
    ----------
    story, method
        Their keys in the three tables.
    shots
        All shots of the story in order, those without a picture too.
    characters
        All characters of the story, by key; those that never appear too.
    is_video
        Whether the frames are those of a video.
    extra
        What the benchmark's file says of the story beyond that: a questionnaire, a
        category, a true answer.
    """

    story: str
    method: str
    shots: tuple[RenderedShot, ...]
    characters: Mapping[str, RenderedCharacter] = field(default_factory=dict)
    is_video: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rendered(self) -> list[RenderedShot]:
        """Return the shots that have a picture."""
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
    """All outputs of one method in a benchmark (level `run`).

    `truths` are the true outputs of the same stories, where there are any.
    """

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
        ...

    @property
    def batch(self) -> int:
        """Return how many items go together at most."""
        ...

    def prepare(self, item: Any) -> Any:
        """Turn a decoded item into the encoder's input; called in several threads.

        The item is what `Image.cut` or `Clip.cut` returns, or the item itself if it
        has no source.
        """
        ...

    def encode(self, prepared: Sequence[Any]) -> Sequence[Feature | FeatureError]:
        """Return a feature for each prepared item, or why there is none."""
        ...


@runtime_checkable
class Streaming(Encoder, Protocol):
    """An encoder whose features come one after the other, each of them dear."""

    def stream(
        self, prepared: Sequence[Any]
    ) -> Generator[tuple[int, Feature | FeatureError]]:
        """Give places and features as they come; otherwise as `encode`."""
        ...


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
    """What a metric is, for people and for the database.

    Parameters
    ----------
    name
        Its name in tables.
    title
        Its name for readers.
    family
        The paper it belongs to, or `baseline` or `stand-in`.
    scores
        What a value belongs to: a shot, an output, an output held against the true one
        (pair), all outputs of a method (run).
    source
        Paper and section, or where a baseline comes from.
    measures
        One sentence on what it measures, and what it cannot see.
    higher_is_better
        Direction.
    low, high
        Range of values; None where there is no bound.
    version
        Changes whenever values would change.
    backend
        What computes it.
    profile
        Whose definition it follows where paper and reference program differ.
    queue
        Which workers compute it; with a judge, one at a time spends a run's budget.
    needs_truth
        Whether outputs are held against the true ones; of pairs they always are.
    """

    name: str
    title: str
    family: Family
    scores: Level
    source: str
    measures: str
    higher_is_better: bool = True
    low: float | None = 0
    high: float | None = 1
    version: str = "1"
    backend: str = "numpy"
    profile: str = ""
    queue: Queue = "cpu"
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
        ...

    def missing(self) -> Lacks:
        """Return what is lacking to compute it, and how to get it; empty if ready."""
        ...

    def score(self, subject: Any) -> Scoring:
        """Score a Rendering (levels shot and output), a Pair or a Run."""
        ...
