"""Rows on the annotators that a metric may replace."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.cluster_variance import LEAST
from analysis.reliability.alternative_annotators import (
    LEAST_ANNOTATORS,
    LEAST_ITEMS,
    Advantages,
    adjusted,
)
from analysis.results import NAN, Array, Mask, TableRow
from analysis.sentences import counted, sentence

REPLACES, DOES_NOT, OPEN = "replaces", "does not", "cannot be told"
# The share of annotators whose place a metric has to take.
HALF = 0.5
# The paper's test draws items, ours draws stories.
STORIES, ITEMS = "stories", "units"
# Forecasts look at studies of up to so many times the stories.
MOST_TIMES = 20
STEPS = 60
# Halvings in the search for the smallest epsilon.
HALVINGS = 30


def replacement_rows(
    found: Advantages,
    metrics: Sequence[str],
    epsilon: Array,
    constant: Mask,
    *,
    confidence: float | None,
    by_items: bool = False,
    chance: float = NAN,
) -> list[TableRow]:
    """Return of each metric a row for all annotators, and one for each of them.

    Parameters
    ----------
    found
        The advantages of K metrics over A annotators.
    epsilon
        Declared for each metric; NaN where none is, (K,).
    constant
        True of metrics whose scores are all the same, (K,).
    confidence
        Of the intervals; None without intervals and tests.
    by_items
        Whether to give the paper's own test in place of that over stories.
    chance
        The agreement of guesses with the others; an epsilon that reaches it from the
        mean of annotators is refused. NaN where unknown.
    """
    test = _Tests(found, epsilon, constant, confidence, by_items, chance)
    rows: list[TableRow] = []
    for k, metric in enumerate(metrics):
        rows += [{"metric": metric} | row for row in test.rows(k)]
    return rows


class _Tests:
    """Tests of K metrics against A annotators."""

    def __init__(
        self,
        found: Advantages,
        epsilon: Array,
        constant: Mask,
        confidence: float | None,
        by_items: bool,
        chance: float,
    ) -> None:
        self._found, self._epsilon, self._by_items = found, epsilon, by_items
        self._confidence = confidence
        A, K = found.value.shape
        self._tested = found.tested if confidence else np.zeros(A, bool)
        self._m = int(self._tested.sum())
        self._few = self._why_not()
        self._constant = constant
        self._usable = ~constant & (self._m >= LEAST_ANNOTATORS)
        room = np.full(K, NAN)
        if self._m:
            room = found.rho_annotator[self._tested].mean(axis=0) - chance
        self._room, self._refused = room, epsilon >= room
        p_value, p_worse = found.p_values(epsilon)
        if by_items:
            p_value, p_worse = found.of_items, np.full((A, K), NAN)
        out = ~self._tested[:, None] | ~self._usable | self._refused
        self._p, worse = (np.where(out, NAN, p) for p in (p_value, p_worse))
        self._adjusted, self._worse = np.full((2, A, K), NAN)
        if self._m:
            rows = self._tested
            self._adjusted[rows] = adjusted(self._p[rows])
            self._worse[rows] = adjusted(worse[rows])
        self._wins = self._adjusted <= SIGNIFICANT
        self._losses = self._worse <= SIGNIFICANT
        self._bounds = self._intervals()
        self._needed = self._smallest_epsilon()
        self._more = self._more_stories()

    def _why_not(self) -> str:
        found = self._found
        if self._confidence is None:
            return sentence("no interval was asked for")
        if len(found.annotators) < LEAST_ANNOTATORS:
            return sentence(
                "{n}; at least three are needed",
                n=counted(len(found.annotators), "annotator"),
            )
        if self._m < LEAST_ANNOTATORS:
            return sentence(
                "{n} of {annotators} have {items} items of {stories} stories; three "
                "are needed",
                n=self._m,
                annotators=counted(len(found.annotators), "annotator"),
                items=LEAST_ITEMS,
                stories=LEAST,
            )
        return ""

    def _intervals(self) -> Array:
        """Return the bounds of the mean over annotators of each metric, (2, K)."""
        if self._by_items or self._m < LEAST:
            return np.full((2, len(self._epsilon)), NAN)
        error, freedom = self._found.over_annotators(self._tested)
        value = self._found.value[self._tested].mean(axis=0)
        far = stdtrit(freedom, (1 + (self._confidence or NAN)) / 2) * error
        far[self._constant] = NAN
        return np.asarray(np.clip([value - far, value + far], -1.0, 1.0))

    def _decided(self, p_value: Array, p_worse: Array) -> tuple[Mask, Mask]:
        """Return which metrics replace annotators, and which do not, (K,)."""
        share = (adjusted(p_value) <= SIGNIFICANT).mean(axis=0)
        lost = (adjusted(p_worse) <= SIGNIFICANT).mean(axis=0)
        return share >= HALF, lost > HALF

    def _part(self, chosen: Mask) -> Advantages:
        """Return the tested annotators and some of the metrics."""
        found, rows = self._found, np.ix_(self._tested, chosen)
        return Advantages(
            (),
            found.n[self._tested],
            found.n_stories[self._tested],
            found.rho_metric[rows],
            found.rho_annotator[rows],
            found.error[rows],
            found.freedom[rows],
            found.of_items[rows],
            found.counts[self._tested],
            found.sums[rows],
        )

    def _smallest_epsilon(self) -> Array:
        """Return the smallest epsilon with which each metric passes, (K,)."""
        needed = np.full(len(self._epsilon), NAN)
        if self._by_items or not self._usable.any():
            return needed
        part = self._part(self._usable)
        low = np.zeros(part.value.shape[1])
        high = np.ones(len(low))
        passes = self._decided(*part.p_values(high))[0]
        at_once = self._decided(*part.p_values(low))[0]
        for _step in range(HALVINGS):
            middle = (low + high) / 2
            reached = self._decided(*part.p_values(middle))[0]
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        needed[self._usable] = np.where(at_once, 0.0, np.where(passes, high, NAN))
        return np.where(needed >= self._room, NAN, needed)

    def _more_stories(self) -> Array:
        """Return about how many more stories decide on each metric, (K,)."""
        more = np.full(len(self._epsilon), NAN)
        share, lost = self.winning_rate, np.full(len(more), NAN)
        if self._m:
            lost = self._losses[self._tested].mean(axis=0)
        undecided = self._usable & np.isfinite(self._epsilon) & ~self._refused
        undecided &= ~(share >= HALF) & ~(lost > HALF)
        if self._by_items or not undecided.any():
            return more
        part, epsilon = self._part(undecided), self._epsilon[undecided]
        stories = float(part.n_stories.mean())
        found = np.full(undecided.sum(), NAN)
        for times in np.geomspace(1.0, MOST_TIMES, STEPS)[1:]:
            decided = np.logical_or(*self._decided(*part.p_values(epsilon, times)))
            new = decided & np.isnan(found)
            found[new] = np.ceil(stories * (times - 1))
            if not np.isnan(found).any():
                break
        more[undecided] = found
        return more

    @property
    def winning_rate(self) -> Array:
        if not self._m:
            return np.full(len(self._epsilon), NAN)
        rate = self._wins[self._tested].mean(axis=0)
        return np.where(np.isfinite(self._epsilon) & self._usable, rate, NAN)

    def rows(self, k: int) -> list[TableRow]:
        """Return the row of metric k for all annotators, and those of each."""
        return [self._of_all(k), *(self._of_one(j, k) for j in range(len(self._wins)))]

    def _reason(self, k: int) -> str:
        if self._constant[k]:
            return sentence("every score is the same")
        if self._few:
            return self._few
        if np.isnan(self._epsilon[k]):
            return sentence("no epsilon was declared")
        if self._refused[k]:
            return sentence(
                "one annotator agrees in {share} of pairs: epsilon {epsilon} reaches "
                "chance",
                share=f"{self._found.rho_annotator[self._tested, k].mean():.0%}",
                epsilon=f"{self._epsilon[k]:g}",
            )
        return ""

    def _of_all(self, k: int) -> TableRow:
        found, reason = self._found, self._reason(k)
        rows = self._tested if self._m else np.isfinite(found.value[:, k])
        wins = int(self._wins[:, k].sum())
        verdict = OPEN
        if not reason and wins >= HALF * self._m:
            verdict = REPLACES
        elif not reason and self._losses[:, k].sum() > HALF * self._m:
            verdict = DOES_NOT
        value, metric, person = (
            float(x[rows, k].mean()) if rows.any() else NAN
            for x in (found.value, found.rho_metric, found.rho_annotator)
        )
        return {
            "annotator": "",
            "value": value,
            "low": float(self._bounds[0, k]),
            "high": float(self._bounds[1, k]),
            "n": int(found.n[rows].sum()),
            "n_stories": int(found.n_stories.max(initial=0)),
            "n_annotators": self._m,
            "rho_metric": metric,
            "rho_annotator": person,
            "epsilon": float(self._epsilon[k]),
            "epsilon_needed": float(self._needed[k]),
            "p_value": NAN,
            "p_adjusted": NAN,
            "p_worse": NAN,
            "wins": None if reason else wins,
            "winning_rate": NAN if reason else wins / self._m,
            "n_more_stories": _whole(self._more[k]),
            "drawn": ITEMS if self._by_items else STORIES,
            "verdict": verdict,
            "reason": reason,
        }

    def _of_one(self, j: int, k: int) -> TableRow:
        found, reason = self._found, self._reason(k)
        value, error = float(found.value[j, k]), float(found.error[j, k])
        low = high = NAN
        if self._tested[j] and not self._constant[k] and not self._by_items:
            freedom, confidence = found.freedom[j, k], self._confidence or NAN
            far = float(stdtrit(freedom, (1 + confidence) / 2)) * error
            low, high = max(value - far, -1.0), min(value + far, 1.0)
        elif not self._tested[j] and not reason:
            reason = sentence(
                "{n} of {stories} are too few",
                n=counted(int(found.n[j]), "item"),
                stories=counted(int(found.n_stories[j]), "story", "stories"),
            )
        wins, loses = bool(self._wins[j, k]), bool(self._losses[j, k])
        return {
            "annotator": found.annotators[j],
            "value": value,
            "low": low,
            "high": high,
            "n": int(found.n[j]),
            "n_stories": int(found.n_stories[j]),
            "n_annotators": None,
            "rho_metric": float(found.rho_metric[j, k]),
            "rho_annotator": float(found.rho_annotator[j, k]),
            "epsilon": float(self._epsilon[k]),
            "epsilon_needed": NAN,
            "p_value": float(self._p[j, k]),
            "p_adjusted": float(self._adjusted[j, k]),
            "p_worse": float(self._worse[j, k]),
            "wins": None if np.isnan(self._p[j, k]) else int(wins),
            "winning_rate": NAN,
            "n_more_stories": None,
            "drawn": ITEMS if self._by_items else STORIES,
            "verdict": REPLACES if wins else DOES_NOT if loses else OPEN,
            "reason": reason,
        }


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
