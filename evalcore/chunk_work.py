"""One worker at work on one chunk of a run: from outputs to stored values."""

import json
import logging
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils import timezone

from evalcore import score_rows, subjects
from evalcore.metrics.base import Pair, Rendering, Run, Value
from evalcore.metrics.engine import Engine, Job
from evalcore.metrics.features import FeatureStore
from evalcore.metrics.judging.client import Judge, asking
from evalcore.metrics.judging.costs import CostMeter
from evalcore.metrics.judging.settings import read_settings
from evalcore.models import MetricChunk, MetricRun, Output
from evalcore.score_rows import Scored, Wanted

logger = logging.getLogger(__name__)

# How often a sign of life is given.
SIGN_SECONDS = 20.0
# How many outcomes are stored together, and after how many seconds at the latest.
STORED_TOGETHER, STORE_SECONDS = 64, 5.0
Progress = Callable[[int, int], None]


class ScoringError(ValueError):
    """Some scores cannot be computed; the message says which, and why."""


class ChunkLostError(Exception):
    """Another worker has taken the chunk, or its run is gone."""


def feature_store() -> FeatureStore:
    """Return where features are remembered."""
    return FeatureStore(settings.FEATURES_ROOT)


def report(run: MetricRun, progress: Progress | None) -> None:
    """Tell how far a run is."""
    if progress is not None:
        total, done = MetricRun.objects.values_list("total", "done").get(pk=run.pk)
        progress(done, total)


class Signs(threading.Thread):
    """Signs of life of a worker, given in a thread of their own.

    A single picture may take long, and a judge longer. `lost` is set when somebody
    else has taken the chunk.
    """

    def __init__(self, chunk: MetricChunk) -> None:
        super().__init__(daemon=True)
        self._chunk = chunk
        self._over = threading.Event()
        self.lost = False

    def __enter__(self) -> "Signs":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Give a sign every so often until the work is over."""
        try:
            while not self._over.wait(SIGN_SECONDS):
                try:
                    self.lost = not _sign(self._chunk)
                except DatabaseError:
                    logger.warning("metric chunk %s: no sign given", self._chunk.pk)
                    connection.close()
        finally:
            connection.close()  # this thread's own


def _sign(chunk: MetricChunk) -> bool:
    """Sign that its worker lives; return whether the chunk is still its own."""
    own = MetricChunk.objects.filter(pk=chunk.pk, worker=chunk.worker)
    return bool(own.update(heartbeat_at=timezone.now()))


@dataclass
class _Piece:
    """One metric at work on one output, or on all outputs of a method."""

    wanted: Wanted
    method: int
    story: int | None
    name: str


class ChunkWork:
    """Computing one chunk.

    Parameters
    ----------
    chunk
        Marked as this worker's own.
    end
        When no further output is begun.
    progress
        Is told how far the whole run is.
    """

    def __init__(
        self, chunk: MetricChunk, end: float | None, progress: Progress | None
    ) -> None:
        self.chunk = chunk
        self.end = end
        self.progress = progress
        self.failures: list[list[str]] = []
        self.environment: dict[str, object] = {}
        self._complete = True
        self._unstored: list[Scored] = []
        self._uncounted = 0
        self._stored_at = time.monotonic()

    def compute(self, signs: Signs) -> bool:
        """Compute and store; return whether the chunk is complete.

        Raises
        ------
        ScoringError
            A metric is not ready on this machine.
        evalcore.metrics.base.FatalError
            Nothing can be computed any more.
        ChunkLostError
            Another worker has the chunk.
        """
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

    def _run(self, engine: Engine, metrics: Sequence[Wanted]) -> None:
        """Compute the values, and store them as they come."""
        for outcome in engine.run(self._jobs(metrics)):
            piece: _Piece = outcome.key
            error = outcome.error or _unstorable(outcome.values)
            if error is None:
                scored = Scored(piece.wanted, piece.method, piece.story, outcome.values)
                self._unstored.append(scored)
            else:
                reason = str(error) or type(error).__name__
                logger.warning("%s: %s: %s", piece.name, piece.wanted.name, reason)
                self.failures.append([piece.name, piece.wanted.name, reason])
            self._uncounted += 1
            waited = time.monotonic() - self._stored_at
            if len(self._unstored) >= STORED_TOGETHER or waited > STORE_SECONDS:
                self._put_down()

    @contextmanager
    def _judge(self) -> Iterator[None]:
        """Have what is paid to a judge counted on the run's account, if it asks one."""
        if self.chunk.queue != MetricChunk.Queue.JUDGE:
            yield
            return
        run = MetricRun.objects.filter(pk=self.chunk.run_id)

        def note(dollars: Decimal) -> None:
            run.update(dollars=F("dollars") + float(dollars))

        settings = read_settings()
        spent = Decimal(str(run.values_list("dollars", flat=True).get()))
        meter = CostMeter.of(settings, spent=spent, on_spending=note)
        with asking(Judge(settings, meter)):
            yield

    def _put_down(self) -> None:
        """Store what is there and count it, both or neither."""
        with transaction.atomic():
            if not _sign(self.chunk):
                raise ChunkLostError
            score_rows.store(self.chunk.run, self._unstored)
            MetricRun.objects.filter(pk=self.chunk.run_id).update(
                done=F("done") + self._uncounted
            )
        self._unstored, self._uncounted = [], 0
        self._stored_at = time.monotonic()
        report(self.chunk.run, self.progress)

    def _jobs(self, metrics: Sequence[Wanted]) -> Iterator[Job]:
        """Return what the chunk still lacks, begun one by one."""
        chosen = subjects.outputs(self.chunk.run.benchmark)
        if self.chunk.method_id is None:
            chosen = chosen.filter(pk__in=self.chunk.outputs)
        else:
            chosen = chosen.filter(method=self.chunk.method_id)
        outputs = list(chosen)
        already = score_rows.known(self.chunk.run.benchmark_id, metrics, outputs)
        looked_at = subjects.renderings(outputs)
        truths = self._truths(outputs)
        failed = {(what, name) for what, name, _why in self.chunk.failures}
        if self.chunk.method_id is not None:
            whole = _whole(outputs, looked_at, truths)
            for one in metrics:
                if (None, self.chunk.method_id, one.key) in already:
                    continue
                if (whole.method, one.name) in failed:
                    continue
                piece = _Piece(one, self.chunk.method_id, None, whole.method)
                yield Job(piece, one.metric.score(whole))
            return
        for output in outputs:
            name = f"{output.method.name} / {output.story.key}"
            lacking = score_rows.lacking(output, metrics, already)
            left = [one for one in lacking if (name, one.name) not in failed]
            if left and self.end is not None and time.monotonic() > self.end:
                self._complete = False
                return
            for one in left:
                subject: Rendering | Pair = looked_at[output.pk]
                if one.metric.info.scores == "pair":
                    truth = truths.get(output.story_id)
                    if truth is None:
                        self.failures.append(
                            [name, one.name, "there is no true output of this story"]
                        )
                        self._uncounted += 1
                        continue
                    subject = Pair(looked_at[output.pk], truth)
                piece = _Piece(one, output.method_id, output.story_id, name)
                yield Job(piece, one.metric.score(subject))

    def _truths(self, outputs: Iterable[Output]) -> dict[int, Rendering]:
        """Return the true outputs of the same stories, by story."""
        method = self.chunk.run.options.get("truth")
        if not method:
            return {}
        stories = {output.story_id for output in outputs}
        true = list(
            subjects.outputs(self.chunk.run.benchmark).filter(
                method__name=method, story__in=stories
            )
        )
        looked_at = subjects.renderings(true)
        return {output.story_id: looked_at[output.pk] for output in true}


def _whole(
    outputs: Sequence[Output],
    looked_at: Mapping[int, Rendering],
    truths: Mapping[int, Rendering],
) -> Run:
    return Run(
        outputs[0].method.name,
        tuple(looked_at[output.pk] for output in outputs),
        tuple(truths[o.story_id] for o in outputs if o.story_id in truths),
    )


def _unstorable(values: Sequence[Value]) -> ValueError | None:
    """Say what no database can hold: a value or a trace that is not finite."""
    try:
        json.dumps([(one.value, one.trace) for one in values], allow_nan=False)
    except ValueError:
        return ValueError("the value is not finite")
    return None


def _environment(asked: Mapping[str, int]) -> dict[str, object]:
    """Return with what a chunk was computed; torch only if it was used.

    Encoders are named with the hash of their weights, and how many features were asked
    of each.
    """
    found: dict[str, object] = {
        "python": platform.python_version(),
        "encoders": dict(asked),
    }
    if "torch" in sys.modules:
        from evalcore.metrics.encoders.runtime import describe

        found |= describe()
    return found
