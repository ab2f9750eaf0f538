"""Whether one metric predicts people's preferences better than another.

For new stories and new methods: see `analysis.inference.cluster_variance`.
"""

from analysis.inference.differences import compared
from analysis.options import Sampling
from analysis.pairwise.accuracy_variance import STATISTICS, accuracy_variances
from analysis.pairwise.output_pairs import Pairs
from analysis.results import TableRow


def accuracy_differences(
    pairs: Pairs, *, epsilon: str, parts: tuple[str, ...], sampling: Sampling
) -> list[TableRow]:
    """Compare every two metrics by how often they predict people's preferences.

    The test is that of `correlation.metric_differences`. Thresholds of acc_eq are kept
    as they are.
    """
    found: list[TableRow] = []
    for statistic in STATISTICS:
        known = accuracy_variances(pairs, statistic, epsilon=epsilon, parts=parts)
        rows = compared(known.values, pairs.metrics, known.of, sampling)
        keys = {
            "question": pairs.question,
            "source": pairs.source,
            "statistic": statistic,
            "n": known.n_pairs,
        }
        found += [keys | row for row in rows]
    return found
