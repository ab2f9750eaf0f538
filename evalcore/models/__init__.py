"""Models of benchmarks, outputs and automatic scores, one module per topic.

Comes in: users of `settings.AUTH_USER_MODEL`, who are members of benchmarks.
Goes out: one class a table with its named constraints. Django finds them here, so this
`__init__` imports.
"""

from evalcore.models.benchmarks import Benchmark, BenchmarkMember
from evalcore.models.columns import most_letters
from evalcore.models.metric_runs import MetricChunk, MetricRun, Worker
from evalcore.models.outputs import Frame, Method, Output
from evalcore.models.scores import (
    MetricAbsence,
    MetricScore,
    ScoreIdentity,
    TwinScore,
)
from evalcore.models.stories import Character, CharacterImage, MediaFile, Shot, Story

__all__ = [
    "Benchmark",
    "BenchmarkMember",
    "Character",
    "CharacterImage",
    "Frame",
    "MediaFile",
    "Method",
    "MetricAbsence",
    "MetricChunk",
    "MetricRun",
    "MetricScore",
    "Output",
    "ScoreIdentity",
    "Shot",
    "Story",
    "TwinScore",
    "Worker",
    "most_letters",
]
