"""Which metrics there are; a module is imported when its metric is asked for.

Adding a metric: write a module with a class that has `info`, `missing` and `score`
(see `evalcore.metrics.base.Metric`), and add a line here.
"""

import difflib
from importlib import import_module

from evalcore.metrics.base import Metric

METRICS = {
    "colourfulness": "evalcore.metrics.colourfulness:Colourfulness",
    "palette_consistency": "evalcore.metrics.palette:PaletteConsistency",
    "sharpness": "evalcore.metrics.sharpness:Sharpness",
    "shots_present": "evalcore.metrics.presence:ShotsPresent",
}


class UnknownMetricError(KeyError):
    """No metric of that name; the message names the nearest and all others."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """Return the names of all metrics."""
    return sorted(METRICS)


def load(name: str) -> Metric:
    """Return the metric of that name.

    Raises
    ------
    UnknownMetricError
        There is none.

    Examples
    --------
    >>> load("sharpness").info.scores
    'shot'
    """
    if name not in METRICS:
        close = difflib.get_close_matches(name, METRICS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownMetricError(
            f"Unknown metric {name!r}.{hint} Available: {', '.join(names())}."
        )
    module, _colon, attribute = METRICS[name].partition(":")
    metric: Metric = getattr(import_module(module), attribute)()
    return metric
