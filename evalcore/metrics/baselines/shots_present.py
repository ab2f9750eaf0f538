"""How many of the story's shots were rendered at all."""

from evalcore.metrics.base import MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.weights import needing


class ShotsPresent:
    """Share of shots with a picture."""

    info = MetricInfo(
        name="shots_present",
        title="Shots present",
        family="baseline",
        scores="output",
        source="baseline of this project",
        measures="The share of the story's shots that have a picture at all.",
        backend="counting",
    )

    missing = needing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for a story without shots."""
        yield from ()
        if not rendering.shots:
            return [Value(None, reason="the story has no shots")]
        return [Value(len(rendering.rendered) / len(rendering.shots))]


METRIC = ShotsPresent
