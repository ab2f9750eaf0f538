"""Storing scores that other people's programs computed."""

from evalcore.formats.foreign_scores import ForeignScores, FoundScore
from evalcore.importing.score_changes import FILE, LINE, RUN, ScoreRow
from evalcore.importing.scores import ScoreImport, import_rows
from evalcore.models import Benchmark


def store_found(
    found: ForeignScores,
    *,
    benchmark: Benchmark,
    create: bool = False,
    replace: bool = False,
) -> ScoreImport:
    """Store scores; a second time changes nothing.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    return import_rows(
        [_row(score) for score in found.scores],
        benchmark=benchmark,
        file="",
        create=create,
        replace=replace,
        options=found.options,
        once=True,
    )


def _row(score: FoundScore) -> ScoreRow:
    return {
        "story": score.story,
        "method": score.method,
        "shot": score.shot,
        "metric": score.metric,
        "score": score.value,
        "reason": score.reason,
        "metric_version": score.version,
        "backend": score.backend,
        "higher_is_better": score.higher,
        "details": score.details,
        LINE: score.line,
        FILE: score.file,
        RUN: score.run,
    }
