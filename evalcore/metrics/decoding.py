"""Decoding and preparation in threads, ahead of the encoders and in bounded memory.

A load is one picture or video with all items requested from it. A frame is prepared as
soon as it is decoded, and then released; only clips keep frames until their last one.
Inputs come in the order of the loads, so that the same pictures make the same batches
and numbers.
"""

import sys
from collections import defaultdict, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition
from typing import Any

from evalcore.metrics.base import Encoder, FeatureError, Item, Picture, Source

# Errors of a formula, a decoder or an encoder about one item or output. Any other
# error, such as a lost database or a spent budget, ends the whole run.
UNSCORABLE = (ArithmeticError, OSError, RuntimeError, ValueError)
# Limits on inputs that are prepared ahead, or wait for a full batch.
MOST_BYTES = 256 * 2**20

_Want = tuple[Encoder, Any]  # the item
_Load = tuple[Source | None, list[_Want]]


@dataclass(frozen=True)
class PreparedItem:
    """An item ready for its encoder: an input, or a FeatureError."""

    encoder: str
    key: str
    input: Any

    @cached_property
    def size(self) -> int:
        """Return its approximate size in bytes."""
        return _size(self.input)


@dataclass
class _Line:
    """Prepared items of one load that have not been consumed yet."""

    ready: deque[PreparedItem] = field(default_factory=deque)
    ended: bool = False
    work: Future[None] = field(init=False)


class Ahead:
    """Loads that threads prepare ahead."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        *,
        most_loads: int,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._pool = pool
        self._most_loads = most_loads
        self._most_bytes = most_bytes
        self._lines: deque[_Line] = deque()
        self._bytes = 0
        self._over = False
        self._changed = Condition()

    def prepare(
        self, wants: Iterable[tuple[Encoder, Item]]
    ) -> Generator[PreparedItem, None, None]:
        """Prepare items, decoding each source once."""
        try:
            for load in _loads(wants):
                if len(self._lines) >= self._most_loads:
                    yield from self._first()
                line = _Line()
                with self._changed:
                    self._lines.append(line)
                line.work = self._pool.submit(self._work, line, load)
            while self._lines:
                yield from self._first()
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _first(self) -> Iterator[PreparedItem]:
        line = self._lines[0]
        while (prepared := self._take(line)) is not None:
            yield prepared
        line.work.result()
        with self._changed:
            self._lines.popleft()
            self._changed.notify_all()

    def _take(self, line: _Line) -> PreparedItem | None:
        """Wait for the next item of a load; None at its end."""
        with self._changed:
            self._changed.wait_for(lambda: line.ready or line.ended)
            if not line.ready:
                return None
            prepared = line.ready.popleft()
            self._bytes -= prepared.size
            self._changed.notify_all()
            return prepared

    def _work(self, line: _Line, load: _Load) -> None:
        try:
            if not self._over:
                for prepared in _prepared(load):
                    if not self._put(line, prepared):
                        return
        finally:
            with self._changed:
                line.ended = True
                self._changed.notify_all()

    def _put(self, line: _Line, prepared: PreparedItem) -> bool:
        """Wait for room, and queue an item; return whether it is still needed."""
        size = prepared.size

        def room() -> bool:
            # The load being consumed always continues; otherwise there would be a
            # deadlock.
            awaited = line is self._lines[0] and not line.ready
            return self._over or awaited or self._bytes + size <= self._most_bytes

        with self._changed:
            self._changed.wait_for(room)
            line.ready.append(prepared)
            self._bytes += size
            self._changed.notify_all()
            return not self._over


def words(error: Exception) -> str:
    """Return the error's message, without the paths of this machine."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _loads(wants: Iterable[tuple[Encoder, Item]]) -> list[_Load]:
    """Return the work to decode and prepare, each source once."""
    alone: list[_Load] = []
    by_source: dict[str, _Load] = {}
    for encoder, item in wants:
        source: Source | None = getattr(item, "source", None)
        if source is None:
            alone.append((None, [(encoder, item)]))
        else:
            load = by_source.setdefault(source.key, (source, []))
            load[1].append((encoder, item))
    return [*alone, *by_source.values()]


def _prepared(load: _Load) -> Iterator[PreparedItem]:
    source, wants = load
    if source is None:
        for encoder, item in wants:
            yield _input(encoder, item, item)
        return
    left = {(encoder.id, item.key): (encoder, item) for encoder, item in wants}
    try:
        for prepared in _by_frame(source, wants):
            del left[prepared.encoder, prepared.key]
            yield prepared
    except UNSCORABLE as error:
        refused = FeatureError(words(error))
        for encoder, item in left.values():
            yield PreparedItem(encoder.id, item.key, refused)


def _by_frame(source: Source, wants: Sequence[_Want]) -> Iterator[PreparedItem]:
    """Prepare each item when its last frame is decoded; keep no frame longer."""
    due: dict[int, list[_Want]] = defaultdict(list)
    # position at which each frame is needed for the last time
    until: dict[int, int] = {}
    for encoder, item in wants:
        last = item.indices.stop - 1
        due[last].append((encoder, item))
        for index in item.indices:
            until[index] = max(until.get(index, last), last)
    held: dict[int, Picture] = {}
    decoded = 0
    for index, picture in enumerate(source.pictures()):
        decoded += 1
        if index in until:
            held[index] = picture
        del picture
        cuts = [(*want, _cut(want[1], held)) for want in due.pop(index, ())]
        held = {i: frame for i, frame in held.items() if until[i] > index}
        while cuts:
            yield _input(*cuts.pop(0))
        if not due:
            return
    for encoder, item in (want for late in due.values() for want in late):
        missing = max(item.indices.start, decoded)
        refused = FeatureError(f"the video has no frame {missing}")
        yield PreparedItem(encoder.id, item.key, refused)


def _cut(item: Any, frames: dict[int, Picture]) -> Any:
    """Return an item's part of the frames, or the error from cutting it."""
    try:
        return item.cut([frames[index] for index in item.indices])
    except UNSCORABLE as error:
        return FeatureError(words(error))


def _input(encoder: Encoder, item: Item, decoded: Any) -> PreparedItem:
    """Return the encoder's input, or the error."""
    if isinstance(decoded, FeatureError):
        return PreparedItem(encoder.id, item.key, decoded)
    try:
        return PreparedItem(encoder.id, item.key, encoder.prepare(decoded))
    except UNSCORABLE as error:
        return PreparedItem(encoder.id, item.key, FeatureError(words(error)))


def _size(prepared: Any) -> int:
    """Return the bytes that an input keeps; a view keeps its whole array."""
    if isinstance(prepared, (list, tuple)):
        return sum(map(_size, prepared))
    whole = getattr(prepared, "base", None)
    parts = (getattr(one, "nbytes", 0) for one in (prepared, whole))
    return max(sys.getsizeof(prepared), *parts)
