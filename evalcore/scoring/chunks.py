"""One worker's computation of one chunk: from outputs to stored values."""

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

from evalcore.metrics import registry
from evalcore.metrics.base import Pair, Rendering, Run, Value
from evalcore.metrics.encoders.precision import DeviceError
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.identity import check_unchanged
from evalcore.models import MetricChunk, MetricRun, Output
from evalcore.scoring import asked_again, judged_outputs, score_rows
from evalcore.scoring.judged_outputs import InconsistentOutputError
from evalcore.scoring.score_rows import ScoredOutput, WantedMetric
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

# Outcomes stored together, and the longest time between two stores in seconds.
STORED_TOGETHER, STORE_SECONDS = 64, 2.0
# Reason stored when a metric yields neither a value nor an absence.
NOTHING = Value(None, reason="no output or shot to score")
ChunkProgress = Callable[[int, int], None]
LoadedRendering = Rendering | InconsistentOutputError


class ScoringError(ValueError):
    """Some scores cannot be computed; the message says which and why."""


class ChunkLostError(Exception):
    """Another worker has taken the chunk, or its run was deleted."""


def feature_store() -> FeatureStore:
    return FeatureStore(settings.FEATURES_ROOT)


def report(run: MetricRun, progress: ChunkProgress | None) -> None:
    """Report a run's progress."""
    if progress is not None:
        total, done = MetricRun.objects.values_list("total", "done").get(pk=run.pk)
        progress(done, total)


def lock_run(chunk: MetricChunk) -> None:
    """Lock the run of a chunk, within a transaction.

    Code that changes both must lock the run first, to avoid deadlocks.
    """
    runs = MetricRun.objects.select_for_update(no_key=True)
    runs.filter(pk=chunk.run_id).first()


def sign(chunk: MetricChunk, **also: object) -> bool:
    """Record the worker's heartbeat; return whether it still has the chunk."""
    own = MetricChunk.objects.filter(
        pk=chunk.pk, worker=chunk.worker, state=MetricRun.State.RUNNING
    )
    return bool(own.update(heartbeat_at=timezone.now(), **also))


@dataclass
class _Piece:
    """One metric to compute for one output, or for all outputs of a method."""

    wanted: WantedMetric
    method: int
    story: int | None
    name: str


class ChunkWork:
    """Computation of one chunk."""

    def __init__(
        self, chunk: MetricChunk, end: float | None, progress: ChunkProgress | None
    ) -> None:
        self.chunk = chunk
        self.end = end
        self.progress = progress
        self.failures: list[list[str]] = []
        self.replaced: list[list[object]] = []
        self.environment: dict[str, object] = {}
        self._complete = True
        self._unstored: list[ScoredOutput] = []
        self._uncounted = 0
        self._stored_at = time.monotonic()

    def compute(self, signs: Heartbeat) -> bool:
        """Compute and store; return whether the chunk is complete."""
        run = self.chunk.run
        metrics = score_rows.metrics_of(self.chunk.metrics, run.options)
        if lacking := registry.lacking(self.chunk.metrics):
            raise ScoringError(f"not ready on this machine: {'; '.join(lacking)}")

        def on_batch() -> None:
            if signs.lost:
                raise ChunkLostError

        engine = Engine(
            feature_store(),
            on_batch=on_batch,
            again=asked_again.cache_name(self.chunk.run),
        )
        try:
            with self._judge():
                self._run(engine, _unchanged(score_rows.identified(metrics)))
            self._put_down()
        finally:
            self.environment |= _environment(engine.asked)
        return self._complete

    def jobs_to_preview(self) -> Iterator[MetricJob]:
        """Yield the missing work; nothing stores its results."""
        metrics = score_rows.metrics_of(self.chunk.metrics, self.chunk.run.options)
        yield from self._jobs(score_rows.identified(metrics, strict=False))

    def _run(self, engine: Engine, metrics: Sequence[WantedMetric]) -> None:
        for outcome in engine.run(self._jobs(metrics)):
            piece: _Piece = outcome.key
            error = outcome.error
            try:
                results = [(one.value, one.trace) for one in outcome.values]
                json.dumps(results, allow_nan=False)
            except ValueError:  # no database can hold it
                error = error or ValueError("the value is not finite")
            if error is None:
                scored = ScoredOutput(
                    piece.wanted,
                    piece.method,
                    piece.story,
                    outcome.values or [NOTHING],
                    outcome.judge_versions,
                )
                self._unstored.append(scored)
                self._uncounted += 1
            else:
                reason = str(error) or type(error).__name__
                self._fail(piece.name, piece.wanted, reason)
            waited = time.monotonic() - self._stored_at
            if len(self._unstored) >= STORED_TOGETHER or waited > STORE_SECONDS:
                self._put_down()

    def _fail(self, name: str, wanted: WantedMetric, reason: str) -> None:
        """Record a failed piece of work; this run does not retry it."""
        logger.warning("%s: %s: %s", name, wanted.name, reason)
        self.failures.append([name, wanted.name, reason])
        self._uncounted += 1

    @contextmanager
    def _judge(self) -> Iterator[None]:
        """Charge the judge's costs to the run's account, if the chunk asks one."""
        if self.chunk.queue != MetricChunk.Queue.JUDGE:
            yield
            return
        from evalcore.scoring.judge_budget import asking_for_run

        with asking_for_run(self.chunk.run_id) as judge:
            try:
                yield
            finally:
                self.environment["system_fingerprints"] = judge.fingerprints

    def _put_down(self) -> None:
        """Store and count values and failures, in one transaction."""
        failures = [*self.chunk.failures, *self.failures]
        with transaction.atomic():
            lock_run(self.chunk)
            self.replaced += asked_again.remove_old(self.chunk.run, self._unstored)
            replaced = [*self.chunk.replaced, *self.replaced]
            if not sign(self.chunk, failures=failures, replaced=replaced):
                raise ChunkLostError
            score_rows.store(self.chunk.run, self._unstored)
            MetricRun.objects.filter(pk=self.chunk.run_id).update(
                done=F("done") + self._uncounted
            )
        self._unstored, self._uncounted = [], 0
        self._stored_at = time.monotonic()
        report(self.chunk.run, self.progress)

    def _count(self, pieces: int) -> None:
        """Correct the run's total where planning could only guess the pieces."""
        if self.chunk.guessed is None:
            return
        with transaction.atomic():
            lock_run(self.chunk)
            if not sign(self.chunk, guessed=None):
                raise ChunkLostError
            MetricRun.objects.filter(pk=self.chunk.run_id).update(
                total=F("total") + pieces - self.chunk.guessed
            )
        self.chunk.guessed = None

    def _jobs(self, metrics: Sequence[WantedMetric]) -> Iterator[MetricJob]:
        """Yield the chunk's missing work, piece by piece."""
        chosen = judged_outputs.outputs(self.chunk.run.benchmark)
        if self.chunk.method_id is None:
            chosen = chosen.filter(pk__in=self.chunk.outputs)
        else:
            chosen = chosen.filter(method=self.chunk.method_id)
        outputs = list(chosen)
        already = asked_again.existing_rows(self.chunk.run, metrics, outputs)
        renderings = judged_outputs.load_renderings(outputs)
        truths = self._truths(outputs)
        if self.chunk.method is None:
            self._count(
                sum(
                    len(score_rows.missing_metrics(output, metrics, already))
                    for output in outputs
                )
            )
            yield from self._of_outputs(metrics, outputs, already, renderings, truths)
            return
        name = self.chunk.method.name
        left = [
            m for m in metrics if (None, self.chunk.method_id, m.key) not in already
        ]
        self._count(len(left))
        whole = _whole(name, outputs, renderings, truths)
        for one in self._untried(name, left):
            if isinstance(whole, InconsistentOutputError):
                self._fail(name, one, str(whole))
                continue
            piece = _Piece(one, self.chunk.method.pk, None, name)
            yield MetricJob(piece, one.metric.score(whole))

    def _of_outputs(
        self,
        metrics: Sequence[WantedMetric],
        outputs: Iterable[Output],
        already: score_rows.KnownRows,
        renderings: Mapping[int, LoadedRendering],
        truths: Mapping[int, LoadedRendering],
    ) -> Iterator[MetricJob]:
        """Yield the missing work of single outputs until the time is up."""
        for output in outputs:
            name = judged_outputs.output_name(output)
            left = self._untried(
                name, score_rows.missing_metrics(output, metrics, already)
            )
            if left and self.end is not None and time.monotonic() > self.end:
                self._complete = False
                return
            for one in left:
                try:
                    subject = _subject(
                        one, renderings[output.pk], truths.get(output.story_id)
                    )
                except InconsistentOutputError as error:
                    self._fail(name, one, str(error))
                    continue
                piece = _Piece(one, output.method_id, output.story_id, name)
                yield MetricJob(piece, one.metric.score(subject))

    def _untried(
        self, name: str, metrics: Iterable[WantedMetric]
    ) -> list[WantedMetric]:
        failed = {metric for what, metric, _why in self.chunk.failures if what == name}
        return [one for one in metrics if one.name not in failed]

    def _truths(self, outputs: Iterable[Output]) -> dict[int, LoadedRendering]:
        method = self.chunk.run.options.get("truth")
        if not method:
            return {}
        stories = {output.story_id for output in outputs}
        true = list(
            judged_outputs.outputs(self.chunk.run.benchmark).filter(
                method__name=method, story__in=stories
            )
        )
        renderings = judged_outputs.load_renderings(true)
        return {output.story_id: renderings[output.pk] for output in true}


def _unchanged(metrics: Sequence[WantedMetric]) -> Sequence[WantedMetric]:
    """Return the metrics; raise if weights changed since this process read them."""
    for one in metrics:
        if one.identity is not None:
            check_unchanged(one.identity)
    return metrics


def _subject(
    wanted: WantedMetric, output: LoadedRendering, truth: LoadedRendering | None
) -> Rendering | Pair:
    if isinstance(output, InconsistentOutputError):
        raise output
    if wanted.metric.info.scores != "pair":
        return output
    if truth is None:
        raise InconsistentOutputError("there is no true output of this story")
    if isinstance(truth, InconsistentOutputError):
        raise InconsistentOutputError(f"the true output: {truth}")
    return Pair(output, truth)


def _whole(
    name: str,
    outputs: Sequence[Output],
    renderings: Mapping[int, LoadedRendering],
    truths: Mapping[int, LoadedRendering],
) -> Run | InconsistentOutputError:
    """Return all outputs of a method, or an error if one cannot be scored."""
    if not outputs:
        return InconsistentOutputError("the method has no outputs any more")
    loaded: list[Rendering] = []
    true: list[Rendering] = []
    for output in outputs:
        story = output.story.key
        for one, what, side in (
            (renderings[output.pk], f"story {story}", loaded),
            (truths.get(output.story_id), f"the true output of story {story}", true),
        ):
            if isinstance(one, InconsistentOutputError):
                return InconsistentOutputError(f"{what}: {one}")
            if one is not None:
                side.append(one)
    return Run(name, tuple(loaded), tuple(true))


def _environment(encoders: Mapping[str, int]) -> dict[str, object]:
    """Return the environment a chunk was computed in; torch only if it was used."""
    environment: dict[str, object] = {
        "python": platform.python_version(),
        "encoders": dict(encoders),
    }
    if "torch" in sys.modules:
        from evalcore.metrics.encoders.runtime import describe

        try:
            environment |= describe()
        except DeviceError as error:
            environment["device"] = str(error)
    return environment
