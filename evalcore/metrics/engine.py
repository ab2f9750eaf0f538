"""Engine that runs many metrics on many outputs at once, in large batches.

Metrics are generators that ask for features. In each round the engine collects the
requests of a window of metrics, each item once. It takes features from the store, has
the rest decoded once, in threads, and encodes them as soon as a batch is full. Each
metric gets its answer as soon as all requested features are known. An item without a
feature fails only the metrics that requested it; the next run tries again, also for
features that a metric cannot use, such as prose of a judge.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from evalcore.metrics.base import (
    Answering,
    Ask,
    Encoder,
    Feature,
    FeatureError,
    Item,
    Scoring,
    Streaming,
    Value,
)
from evalcore.metrics.decoding import MOST_BYTES, UNSCORABLE, Ahead, PreparedItem, words
from evalcore.metrics.feature_store import FeatureStore

# Further errors of a metric on one inconsistent story, whose data come from others.
ODD_STORY = (AttributeError, LookupError, TypeError)
WINDOW = 64

_Features = list[Feature | FeatureError]
# What is not stored, by encoder and item; it holds until the run ends.
_Unstored = dict[tuple[str, str], Feature | FeatureError]


@dataclass(frozen=True)
class MetricJob:
    """One metric to compute for one subject; `key` identifies it to the caller."""

    key: Any
    scoring: Scoring


@dataclass(frozen=True)
class Outcome:
    """Result of a job: values, or the error that ended it.

    `judge_versions`: the versions of judges whose answers it used, as far as known.
    """

    key: Any
    values: Sequence[Value] = ()
    error: Exception | None = None
    judge_versions: frozenset[str] = frozenset()


@dataclass
class _Active:
    job: MetricJob
    ask: Ask
    versions: frozenset[str] = frozenset()


@dataclass
class _Wanted:
    """Items of one encoder requested in this round, with the features known so far."""

    encoder: Encoder
    items: dict[str, Item] = field(default_factory=dict)
    known: dict[str, Feature | FeatureError] = field(default_factory=dict)
    ready: list[PreparedItem] = field(default_factory=list)
    asks: dict[str, list[Ask]] = field(default_factory=dict)  # those with `keep`

    @property
    def unknown(self) -> list[Item]:
        """Return the items without a feature or error yet."""
        return [item for key, item in self.items.items() if key not in self.known]

    def add(self, ask: Ask) -> None:
        self.items.update((item.key, item) for item in ask.items)
        if ask.keep is not None:
            for item in ask.items:
                self.asks.setdefault(item.key, []).append(ask)

    def kept(self, features: Mapping[str, Feature]) -> dict[str, Feature]:
        """Return the features that all who requested them can use."""
        return {
            key: feature
            for key, feature in features.items()
            if all(_keeps(ask, feature) for ask in self.asks.get(key, ()))
        }

    def knows(self, ask: Ask) -> bool:
        """Return whether a request can be answered; checks its last item first."""
        return all(item.key in self.known for item in reversed(ask.items))

    def features(self, ask: Ask) -> _Features:
        return [self.known[item.key] for item in ask.items]

    @property
    def is_full(self) -> bool:
        """Return whether prepared items make a batch, or take too much memory."""
        return (
            len(self.ready) >= self.encoder.batch
            or sum(one.size for one in self.ready) >= MOST_BYTES
        )


def stored_names(encoder: str, again: str) -> list[str]:
    """Return the names that features are stored under; the first one is read."""
    return [f"{encoder}; again {again}", encoder] if again else [encoder]


class Engine:
    """Runs jobs.

    `again`: name of a computation that uses no feature stored before it. What it
    encodes replaces the stored features, and is found again under this name.
    """

    def __init__(
        self,
        store: FeatureStore,
        *,
        threads: int | None = None,
        window: int = WINDOW,
        on_batch: Callable[[], None] = lambda: None,
        again: str = "",
    ) -> None:
        self.store = store
        self.again = again
        self.threads = threads or os.cpu_count() or 1
        self.window = window
        self.on_batch = on_batch
        self.asked: Counter[str] = Counter()  # items requested of each encoder

    def run(self, jobs: Iterable[MetricJob]) -> Iterator[Outcome]:
        """Run the jobs, and yield the outcome of each as soon as it is known."""
        waiting = iter(jobs)
        active: list[_Active] = []
        unstored: _Unstored = {}
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                for job in islice(waiting, self.window - len(active)):
                    started = _step(job, partial(next, job.scoring))
                    if isinstance(started, Outcome):
                        yield started
                    else:
                        active.append(started)
                if not active:
                    return
                going_on = []
                with closing(self._answers(active, unstored, pool)) as answers:
                    for one, features in answers:
                        resumed = _resume(one, features)
                        if isinstance(resumed, Outcome):
                            yield resumed
                        else:
                            going_on.append(resumed)
                active = going_on

    def _answers(
        self, active: Sequence[_Active], unstored: _Unstored, pool: ThreadPoolExecutor
    ) -> Generator[tuple[_Active, _Features]]:
        """Yield each job with its requested features, as soon as all are known."""
        wanted = self._wanted((one.ask for one in active), unstored)
        answered, waiting = _split_answerable(active, wanted)
        yield from answered
        unknown = [(o.encoder, item) for o in wanted.values() for item in o.unknown]
        batch = max((encoder.batch for encoder, _item in unknown), default=0)
        ahead = Ahead(pool, most_loads=2 * self.threads + batch)
        with closing(ahead.prepare(unknown)) as coming:
            for prepared in coming:
                one = wanted[prepared.encoder]
                if isinstance(prepared.input, FeatureError):
                    one.known[prepared.key] = prepared.input
                    continue
                one.ready.append(prepared)
                if one.is_full:
                    self._encode(one, unstored)
                    answered, waiting = _split_answerable(waiting, wanted)
                    yield from answered
        for one in wanted.values():
            self._encode(one, unstored)
            for key, feature in one.known.items():
                if isinstance(feature, FeatureError):
                    unstored[one.encoder.id, key] = feature
        for job in waiting:
            yield job, wanted[job.ask.encoder.id].features(job.ask)

    def _wanted(self, asks: Iterable[Ask], unstored: _Unstored) -> dict[str, _Wanted]:
        """Return the requested items by encoder, with features already known."""
        wanted: dict[str, _Wanted] = {}
        for ask in asks:
            wanted.setdefault(ask.encoder.id, _Wanted(ask.encoder)).add(ask)
        for one in wanted.values():
            name = one.encoder.id
            stored = self.store.get_many(stored_names(name, self.again)[0], one.items)
            one.known.update(one.kept(stored))
            one.known |= {
                k: unstored[name, k] for k in one.items if (name, k) in unstored
            }
            self.asked[name] += len(one.items)
        return wanted

    def _encode(self, one: _Wanted, unstored: _Unstored) -> None:
        if not one.ready:
            return
        ready, one.ready = one.ready, []
        inputs = [prepared.input for prepared in ready]
        with closing(_encoded(one.encoder, inputs)) as coming:
            for found in coming:
                new = {ready[place].key: feature for place, feature in found.items()}
                one.known.update(new)
                good = {k: f for k, f in new.items() if not isinstance(f, FeatureError)}
                kept = one.kept(good)
                for name in stored_names(one.encoder.id, self.again):
                    self.store.put_many(name, kept)
                unstored.update(
                    ((one.encoder.id, k), f) for k, f in good.items() if k not in kept
                )
                self.on_batch()


def _encoded(
    encoder: Encoder, inputs: Sequence[Any]
) -> Generator[Mapping[int, Feature | FeatureError]]:
    """Yield the features of a batch by position: all at once, or as they arrive."""
    if not isinstance(encoder, Streaming):
        yield dict(enumerate(_at_once(encoder, inputs)))
        return
    with closing(encoder.stream(inputs)) as coming:
        for place, feature in coming:
            yield {place: feature}


def _at_once(
    encoder: Encoder, inputs: Sequence[Any]
) -> Sequence[Feature | FeatureError]:
    """Encode a batch; if that fails, encode one by one, so that others succeed."""
    try:
        return encoder.encode(inputs)
    except UNSCORABLE as error:
        if len(inputs) == 1:
            return [FeatureError(words(error))]
    return [feature for one in inputs for feature in _at_once(encoder, [one])]


def _split_answerable(
    waiting: Iterable[_Active], wanted: Mapping[str, _Wanted]
) -> tuple[list[tuple[_Active, _Features]], list[_Active]]:
    """Return the jobs that can be answered, with their features, and the others."""
    answered, others = [], []
    for one in waiting:
        theirs = wanted[one.ask.encoder.id]
        if theirs.knows(one.ask):
            answered.append((one, theirs.features(one.ask)))
        else:
            others.append(one)
    return answered, others


def _resume(one: _Active, features: _Features) -> _Active | Outcome:
    """Send a job its features; return its next request, or its outcome."""
    scoring = one.job.scoring
    refused = next((f for f in features if isinstance(f, FeatureError)), None)
    if refused is None or one.ask.tolerant:
        versions = one.versions | _versions(one.ask, features)
        return _step(one.job, lambda: scoring.send(features), versions)
    return _step(one.job, lambda: scoring.throw(FeatureError(str(refused))))


def _versions(ask: Ask, features: _Features) -> frozenset[str]:
    """Return the known versions of a judge in the answers that a metric can use."""
    if not isinstance(ask.encoder, Answering):
        return frozenset()
    usable = [
        feature
        for feature in features
        if not isinstance(feature, FeatureError) and _keeps(ask, feature)
    ]
    return frozenset(map(ask.encoder.version_of, usable)) - {""}


def _keeps(ask: Ask, feature: Feature) -> bool:
    return ask.keep is None or ask.keep(feature)


def _step(
    job: MetricJob, go_on: Callable[[], Ask], versions: frozenset[str] = frozenset()
) -> _Active | Outcome:
    try:
        return _Active(job, go_on(), versions)
    except StopIteration as done:
        return Outcome(job.key, done.value, judge_versions=versions)
    except UNSCORABLE as error:
        return Outcome(job.key, error=error)
    except ODD_STORY as error:
        odd = ValueError(f"{type(error).__name__}: {error}")
        return Outcome(job.key, error=odd.with_traceback(error.__traceback__))
