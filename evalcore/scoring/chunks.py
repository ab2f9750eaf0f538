"""One worker at work on one chunk of a run: from outputs to stored values."""

import json
import logging
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from evalcore.metrics.base import Pair, Rendering, Run, Value
from evalcore.metrics.engine import Engine, FeatureStore, MetricJob
from evalcore.models import MetricChunk, MetricRun, Output
from evalcore.scoring import judged_outputs, score_rows
from evalcore.scoring.judged_outputs import OddOutputError
from evalcore.scoring.score_rows import ScoredOutput, WantedMetric
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

# How many outcomes are stored together, and after how many seconds at the latest.
STORED_TOGETHER, STORE_SECONDS = 64, 2.0
# What is put down where a metric has no value to give, not even an absent one.
NOTHING = Value(None, reason="there was nothing to look at")
ChunkProgress = Callable[[int, int], None]
LookedAt = Rendering | OddOutputError


class ScoringError(ValueError):
    """Some scores cannot be computed; the message says which, and why."""


class ChunkLostError(Exception):
    """Another worker has taken the chunk, or its run is gone."""


def feature_store() -> FeatureStore:
    return FeatureStore(settings.FEATURES_ROOT)


def report(run: MetricRun, progress: ChunkProgress | None) -> None:
    """Tell how far a run is."""
    if progress is not None:
        total, done = MetricRun.objects.values_list("total", "done").get(pk=run.pk)
        progress(done, total)


def lock_run(chunk: MetricChunk) -> None:
    """Lock the run of a chunk, within a transaction.

    Whoever changes both locks the run first, or two would wait for each other.
    """
    runs = MetricRun.objects.select_for_update(no_key=True)
    runs.filter(pk=chunk.run_id).first()


def sign(chunk: MetricChunk, **also: object) -> bool:
    """Sign that its worker lives; return whether the chunk is still its own."""
    own = MetricChunk.objects.filter(
        pk=chunk.pk, worker=chunk.worker, state=MetricRun.State.RUNNING
    )
    return bool(own.update(heartbeat_at=timezone.now(), **also))


@dataclass
class _Piece:
    """One metric at work on one output, or on all outputs of a method."""

    wanted: WantedMetric
    method: int
    story: int | None
    name: str


class ChunkWork:
    """Computing one chunk."""

    def __init__(
        self, chunk: MetricChunk, end: float | None, progress: ChunkProgress | None
    ) -> None:
        self.chunk = chunk
        self.end = end
        self.progress = progress
        self.failures: list[list[str]] = []
        self.environment: dict[str, object] = {}
        self._complete = True
        self._unstored: list[ScoredOutput] = []
        self._uncounted = 0
        self._stored_at = time.monotonic()

    def compute(self, signs: Heartbeat) -> bool:
        """Compute and store; return whether the chunk is complete."""
        run = self.chunk.run
        metrics = score_rows.wanted(self.chunk.metrics, run.options)
        lacking = [f"{m.name} ({why})" for m in metrics if (why := m.metric.missing())]
        if lacking:
            raise ScoringError(f"not ready here: {'; '.join(lacking)}")

        def on_batch() -> None:
            if signs.lost:
                raise ChunkLostError

        engine = Engine(feature_store(), on_batch=on_batch)
        try:
            with self._judge():
                self._run(engine, metrics)
            self._put_down()
        finally:
            self.environment = _environment(engine.counts.asked)
        return self._complete

    def _run(self, engine: Engine, metrics: Sequence[WantedMetric]) -> None:
        for outcome in engine.run(self._jobs(metrics)):
            piece: _Piece = outcome.key
            error = outcome.error
            try:
                said = [(one.value, one.trace) for one in outcome.values]
                json.dumps(said, allow_nan=False)
            except ValueError:  # no database could hold it
                error = error or ValueError("the value is not finite")
            if error is None:
                values = outcome.values or [NOTHING]
                scored = ScoredOutput(piece.wanted, piece.method, piece.story, values)
                self._unstored.append(scored)
                self._uncounted += 1
            else:
                reason = str(error) or type(error).__name__
                self._fail(piece.name, piece.wanted, reason)
            waited = time.monotonic() - self._stored_at
            if len(self._unstored) >= STORED_TOGETHER or waited > STORE_SECONDS:
                self._put_down()

    def _fail(self, name: str, wanted: WantedMetric, reason: str) -> None:
        """Note that a piece of work failed; it is not tried again in this run."""
        logger.warning("%s: %s: %s", name, wanted.name, reason)
        self.failures.append([name, wanted.name, reason])
        self._uncounted += 1

    @contextmanager
    def _judge(self) -> Iterator[None]:
        """Have what is paid to a judge counted on the run's account, if it asks one."""
        if self.chunk.queue != MetricChunk.Queue.JUDGE:
            yield
            return
        from evalcore.scoring.judge_budget import asking_for_run

        with asking_for_run(self.chunk.run_id):
            yield

    def _put_down(self) -> None:
        """Store what is there and what failed, and count it: all of it or nothing."""
        failures = [*self.chunk.failures, *self.failures]
        with transaction.atomic():
            lock_run(self.chunk)
            if not sign(self.chunk, failures=failures):
                raise ChunkLostError
            score_rows.store(self.chunk.run, self._unstored)
            MetricRun.objects.filter(pk=self.chunk.run_id).update(
                done=F("done") + self._uncounted
            )
        self._unstored, self._uncounted = [], 0
        self._stored_at = time.monotonic()
        report(self.chunk.run, self.progress)

    def _jobs(self, metrics: Sequence[WantedMetric]) -> Iterator[MetricJob]:
        """Return what the chunk still lacks, begun one by one."""
        chosen = judged_outputs.outputs(self.chunk.run.benchmark)
        if self.chunk.method_id is None:
            chosen = chosen.filter(pk__in=self.chunk.outputs)
        else:
            chosen = chosen.filter(method=self.chunk.method_id)
        outputs = list(chosen)
        already = score_rows.known(self.chunk.run.benchmark_id, metrics, outputs)
        looked_at = judged_outputs.looked_at(outputs)
        truths = self._truths(outputs)
        if self.chunk.method is None:
            yield from self._of_outputs(metrics, outputs, already, looked_at, truths)
            return
        name = self.chunk.method.name
        left = [
            m for m in metrics if (None, self.chunk.method_id, m.key) not in already
        ]
        whole = _whole(name, outputs, looked_at, truths)
        for one in self._untried(name, left):
            if isinstance(whole, OddOutputError):
                self._fail(name, one, str(whole))
                continue
            piece = _Piece(one, self.chunk.method.pk, None, name)
            yield MetricJob(piece, one.metric.score(whole))

    def _of_outputs(
        self,
        metrics: Sequence[WantedMetric],
        outputs: Iterable[Output],
        already: score_rows.KnownRows,
        looked_at: Mapping[int, LookedAt],
        truths: Mapping[int, LookedAt],
    ) -> Iterator[MetricJob]:
        """Return what single outputs lack, until the time is over."""
        for output in outputs:
            name = f"{output.method.name} / {output.story.key}"
            left = self._untried(name, score_rows.lacking(output, metrics, already))
            if left and self.end is not None and time.monotonic() > self.end:
                self._complete = False
                return
            for one in left:
                try:
                    subject = _subject(
                        one, looked_at[output.pk], truths.get(output.story_id)
                    )
                except OddOutputError as error:
                    self._fail(name, one, str(error))
                    continue
                piece = _Piece(one, output.method_id, output.story_id, name)
                yield MetricJob(piece, one.metric.score(subject))

    def _untried(
        self, name: str, metrics: Iterable[WantedMetric]
    ) -> list[WantedMetric]:
        failed = {metric for what, metric, _why in self.chunk.failures if what == name}
        return [one for one in metrics if one.name not in failed]

    def _truths(self, outputs: Iterable[Output]) -> dict[int, LookedAt]:
        method = self.chunk.run.options.get("truth")
        if not method:
            return {}
        stories = {output.story_id for output in outputs}
        true = list(
            judged_outputs.outputs(self.chunk.run.benchmark).filter(
                method__name=method, story__in=stories
            )
        )
        looked_at = judged_outputs.looked_at(true)
        return {output.story_id: looked_at[output.pk] for output in true}


def _subject(
    wanted: WantedMetric, output: LookedAt, truth: LookedAt | None
) -> Rendering | Pair:
    if isinstance(output, OddOutputError):
        raise output
    if wanted.metric.info.scores != "pair":
        return output
    if truth is None:
        raise OddOutputError("there is no true output of this story")
    if isinstance(truth, OddOutputError):
        raise OddOutputError(f"the true output: {truth}")
    return Pair(output, truth)


def _whole(
    name: str,
    outputs: Sequence[Output],
    looked_at: Mapping[int, LookedAt],
    truths: Mapping[int, LookedAt],
) -> Run | OddOutputError:
    """Return all outputs of a method, or why they are not fit to be looked at."""
    if not outputs:
        return OddOutputError("none of its outputs is left")
    shown: list[Rendering] = []
    true: list[Rendering] = []
    for output in outputs:
        story = output.story.key
        for one, what, side in (
            (looked_at[output.pk], f"story {story}", shown),
            (truths.get(output.story_id), f"the true output of story {story}", true),
        ):
            if isinstance(one, OddOutputError):
                return OddOutputError(f"{what}: {one}")
            if one is not None:
                side.append(one)
    return Run(name, tuple(shown), tuple(true))


def _environment(asked: Mapping[str, int]) -> dict[str, object]:
    """Return with what a chunk was computed; torch only if it was used."""
    found: dict[str, object] = {
        "python": platform.python_version(),
        "encoders": dict(asked),
    }
    if "torch" in sys.modules:
        from evalcore.metrics.encoders.runtime import DeviceError, describe

        try:
            found |= describe()
        except DeviceError as error:
            found["device"] = str(error)
    return found
