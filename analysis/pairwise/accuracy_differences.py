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

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    epsilon
        Tie threshold of acc_eq, as of `accuracy.pair_agreement`.
    parts
        What is thought of as drawn. Where annotators are, there is no test.
    sampling
        Number of resamples (0 for neither interval nor test), coverage.

    Returns
    -------
    list of dict
        Rows of ``accuracy_comparisons``: for each statistic of `STATISTICS` one a pair
        of metrics. `n` counts the pairs of outputs; `p_adjusted` is Holm's over the
        pairs of metrics of the question, source and statistic.

    Notes
    -----
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
