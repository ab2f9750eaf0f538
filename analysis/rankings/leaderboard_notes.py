"""What remarks say of a leaderboard: which prior, which parts, why no intervals."""

from collections.abc import Mapping, Sequence

from analysis.inference.crossed_clusters import Cluster
from analysis.results import ONE, Counts
from analysis.sentences import chained, sentence

# The weight of the answer that a weak prior makes up for each method.
WEAK = 1.0


def prior_note(weight: float, lacking: str) -> str:
    """Say that ratings rest on a prior, and why."""
    if not lacking:
        return sentence(
            "ratings rest on a prior: as if each method had won and lost half of {n} "
            "answers more, against an average one.",
            n=f"{weight:g}",
        )
    return sentence(
        "no finite ratings fit best, since {lacking}; they rest on a weak prior: as if "
        "each method had won half an answer more, and lost half of one, against an "
        "average one.",
        lacking=lacking,
    )


def rated_apart(
    methods: tuple[str, ...], groups: Sequence[Counts], never: str
) -> list[str]:
    """Name the parts that are rated apart, since they `never` met."""
    if len(groups) < 2:
        return []
    told = [sentence("{names}", names=[methods[k] for k in own]) for own in groups]
    return [
        sentence(
            "these groups of methods {never}, and each has ratings and ranks of its "
            "own: {groups}.",
            never=never,
            groups=chained("{first}; {second}", told),
        )
    ]


def no_intervals(clusters: Mapping[str, Cluster], parts: tuple[str, ...]) -> str:
    """Say why ratings have no intervals, where nothing varies."""
    if any(clusters[part][1] > 1 for part in parts):
        return sentence("no intervals: all answers say the same.")
    only = chained("{first} and {second}", [ONE[part] for part in parts])
    return sentence("no intervals: only {only} to draw from.", only=only)
