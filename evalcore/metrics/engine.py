"""Running many metrics of many outputs at once, in large batches.

Metrics are generators that ask for features (`evalcore.metrics.base`). The engine keeps
a window of them going, and in each round

1. collects what all of them ask for, each item once;
2. takes what is remembered from the feature store;
3. decodes each remaining picture or video once, in threads, prepares it for every
   encoder that wants it, and encodes as soon as a batch is full, while the threads
   decode on;
4. remembers the new features and sends every metric what it asked for.

An item without a feature is the misfortune of those who asked for it: they are thrown
the reason, the others go on.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    FeatureError,
    Item,
    Picture,
    Scoring,
    Source,
    Value,
)
from evalcore.metrics.features import FeatureStore

# What a formula, a decoder or an encoder raises about one item or output. Anything
# else, such as a database that is gone or a spent budget, ends the whole run.
UNSCORABLE = (ArithmeticError, OSError, RuntimeError, ValueError)
# What a metric may raise besides over one odd story: its data are other people's.
ODD_STORY = (AttributeError, LookupError, TypeError)
WINDOW = 64


@dataclass(frozen=True)
class Job:
    """One metric at work on one subject; `key` tells the caller which."""

    key: Any
    scoring: Scoring


@dataclass(frozen=True)
class Outcome:
    """What came of a job: values, or the error that ended it."""

    key: Any
    values: Sequence[Value] = ()
    error: Exception | None = None


@dataclass
class Counts:
    """How many items were asked for, remembered, and encoded, by encoder."""

    asked: dict[str, int] = field(default_factory=dict)
    encoded: dict[str, int] = field(default_factory=dict)

    def add(self, counts: dict[str, int], encoder: Encoder, n: int) -> None:
        """Count items of one encoder."""
        counts[encoder.id] = counts.get(encoder.id, 0) + n


@dataclass
class _Active:
    """A job that waits for features."""

    job: Job
    ask: Ask


@dataclass
class _Wanted:
    """The items of one encoder in this round, by key, and what is known of them."""

    encoder: Encoder
    items: dict[str, Item] = field(default_factory=dict)
    known: dict[str, Feature | FeatureError] = field(default_factory=dict)
    ready: list[tuple[str, Any]] = field(default_factory=list)


class Engine:
    """Runs jobs.

    Parameters
    ----------
    store
        Where features are remembered.
    threads
        How many decode and prepare; by default one a processor.
    window
        How many jobs are at work at once.
    on_batch
        Called after each batch: a sign of life on long work.
    """

    def __init__(
        self,
        store: FeatureStore,
        *,
        threads: int | None = None,
        window: int = WINDOW,
        on_batch: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.threads = threads or os.cpu_count() or 1
        self.window = window
        self.on_batch = on_batch
        self.counts = Counts()

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Run the jobs, and give the outcome of each as soon as it is there.

        Raises
        ------
        evalcore.metrics.base.FatalError
            Nothing can be computed any more.
        """
        waiting = iter(jobs)
        active: list[_Active] = []
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                for job in islice(waiting, self.window - len(active)):
                    started = _start(job)
                    if isinstance(started, Outcome):
                        yield started
                    else:
                        active.append(started)
                if not active:
                    return
                wanted = self._features([one.ask for one in active], pool)
                going_on = []
                for one in active:
                    known = wanted[one.ask.encoder.id].known
                    resumed = _resume(one, [known[item.key] for item in one.ask.items])
                    if isinstance(resumed, Outcome):
                        yield resumed
                    else:
                        going_on.append(resumed)
                active = going_on

    def _features(
        self, asks: Iterable[Ask], pool: ThreadPoolExecutor
    ) -> dict[str, _Wanted]:
        """Return what is asked for, by encoder."""
        wanted: dict[str, _Wanted] = {}
        for ask in asks:
            one = wanted.setdefault(ask.encoder.id, _Wanted(ask.encoder))
            one.items.update((item.key, item) for item in ask.items)
        for one in wanted.values():
            one.known.update(self.store.get_many(one.encoder.id, one.items))
            self.counts.add(self.counts.asked, one.encoder, len(one.items))
        for prepared in _ahead(pool, _loads(wanted.values()), 2 * self.threads):
            for name, key, item in prepared:
                one = wanted[name]
                if isinstance(item, FeatureError):
                    one.known[key] = item
                    continue
                one.ready.append((key, item))
                if len(one.ready) >= one.encoder.batch:
                    self._encode(one)
        for one in wanted.values():
            self._encode(one)
        return wanted

    def _encode(self, one: _Wanted) -> None:
        """Encode what is ready, and remember it."""
        if not one.ready:
            return
        keys, prepared = zip(*one.ready, strict=True)
        one.ready.clear()
        try:
            features = one.encoder.encode(prepared)
        except UNSCORABLE as error:
            features = [FeatureError(_words(error))] * len(keys)
        new = dict(zip(keys, features, strict=True))
        one.known.update(new)
        good = {k: f for k, f in new.items() if not isinstance(f, FeatureError)}
        self.store.put_many(one.encoder.id, good)
        self.counts.add(self.counts.encoded, one.encoder, len(good))
        self.on_batch()


def _start(job: Job) -> _Active | Outcome:
    """Return what a job asks first, or its outcome."""
    return _step(job, lambda: next(job.scoring))


def _resume(one: _Active, features: list[Feature | FeatureError]) -> _Active | Outcome:
    """Send a job what it asked for; return what it asks next, or its outcome."""
    scoring = one.job.scoring
    refused = next((f for f in features if isinstance(f, FeatureError)), None)
    if refused is None or one.ask.tolerant:
        return _step(one.job, lambda: scoring.send(features))
    return _step(one.job, lambda: scoring.throw(FeatureError(str(refused))))


def _step(job: Job, go_on: Callable[[], Ask]) -> _Active | Outcome:
    try:
        return _Active(job, go_on())
    except StopIteration as done:
        return Outcome(job.key, done.value)
    except UNSCORABLE as error:
        return Outcome(job.key, error=error)
    except ODD_STORY as error:
        odd = ValueError(f"{type(error).__name__}: {error}")
        return Outcome(job.key, error=odd.with_traceback(error.__traceback__))


# What one thread does: a source, and all that is wanted of it.
_Load = tuple[Source | None, list[tuple[Encoder, Item]]]
_Prepared = list[tuple[str, str, Any]]  # encoder, item's key, input or FeatureError


def _loads(wanted: Iterable[_Wanted]) -> Iterator[_Load]:
    """Return what has to be decoded and prepared, each source once."""
    by_source: dict[str, _Load] = {}
    for one in wanted:
        for key, item in one.items.items():
            if key in one.known:
                continue
            source: Source | None = getattr(item, "source", None)
            if source is None:
                yield None, [(one.encoder, item)]
            else:
                load = by_source.setdefault(source.key, (source, []))
                load[1].append((one.encoder, item))
    yield from by_source.values()


def _prepare(load: _Load) -> _Prepared:
    source, wants = load
    if source is None:
        return [
            (encoder.id, item.key, _input(encoder, partial(_itself, item)))
            for encoder, item in wants
        ]
    try:
        pictures = _decode(source, [item for _encoder, item in wants])
    except UNSCORABLE as error:
        refused = FeatureError(_words(error))
        return [(encoder.id, item.key, refused) for encoder, item in wants]
    return [
        (encoder.id, item.key, _input(encoder, partial(_cut, item, pictures)))
        for encoder, item in wants
    ]


def _decode(source: Source, items: Sequence[Any]) -> dict[int, Picture]:
    """Return the pictures of a source that the items need."""
    needed = {index for item in items for index in item.indices}
    pictures = islice(source.pictures(), max(needed) + 1)
    return {i: picture for i, picture in enumerate(pictures) if i in needed}


def _input(encoder: Encoder, item: Callable[[], Any]) -> Any:
    """Return the encoder's input, or why there is none."""
    try:
        return encoder.prepare(item())
    except UNSCORABLE as error:
        return FeatureError(_words(error))


def _itself(item: Item) -> Item:
    return item


def _cut(item: Any, pictures: dict[int, Picture]) -> Picture:
    missing = [index for index in item.indices if index not in pictures]
    if missing:
        raise FeatureError(f"there is no frame {missing[0]}")
    cut: Picture = item.cut([pictures[index] for index in item.indices])
    return cut


def _ahead(
    pool: ThreadPoolExecutor, loads: Iterator[_Load], most: int
) -> Iterator[_Prepared]:
    """Prepare in threads, at most so many loads ahead of the one that takes them."""
    under_way: deque[Future[_Prepared]] = deque()
    for load in loads:
        under_way.append(pool.submit(_prepare, load))
        if len(under_way) >= most:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _words(error: Exception) -> str:
    """Say what went wrong, without the paths of this machine."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
