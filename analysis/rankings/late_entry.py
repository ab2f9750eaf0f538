"""A method that people judge after a study has ended, on the scale of that study.

Mean linking of non-equivalent groups with common items (Kolen and Brennan 2014, Test
Equating, Scaling, and Linking, section 4.1): outputs that both groups judge show how
much stricter the later people are, and the late method's mean is moved by that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from analysis.inference.resampling import holm
from analysis.rankings.choice_votes import coded
from analysis.rankings.two_waves import Waves
from analysis.results import NAN, Array, Counts, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

NO_LINK = sentence("no output was rated in both studies")
NO_PAIRS = sentence("no pair was compared in both studies")
NO_OTHERS = sentence("no other pairs say which method is stronger")
NO_SIDES = sentence("sides are not known")
ONE_METHOD = sentence("the linking outputs are of one method")
FEW_LEFT = sentence("too few ratings of linking outputs by the same people")
# A test with fewer degrees of freedom of the residual finds hardly anything.
LEAST_REST = 4


@dataclass(frozen=True)
class TwoStudies:
    """Answers to one question in the first study and the later one, coded."""

    waves: Waves
    method: Counts
    methods: tuple[str, ...]
    late: str

    @classmethod
    def of(
        cls, before: pd.DataFrame, after: pd.DataFrame, late: str, *, same_people: bool
    ) -> "TwoStudies":
        """Code two tables with columns story, method, annotator, rating."""
        rows = pd.concat([before[before["method"] != late], after], ignore_index=True)
        n = len(rows) - len(after)
        wave = (np.arange(len(rows)) >= n).astype(int)
        people = rows["annotator"].astype(str)
        if not same_people:
            people = people.where(wave == 0, "later " + people)
        method, methods = coded(rows["method"])
        story, _stories = coded(rows["story"])
        waves = Waves(
            rows["rating"].to_numpy(float),
            wave,
            coded(people)[0],
            story,
            story * len(methods) + method,
        )
        return cls(waves, method, tuple(methods), late)

    @property
    def _of_late(self) -> Mask:
        return np.asarray(self.method == self.methods.index(self.late))

    def _moved(self) -> list[tuple[float, Mask]]:
        """Return how people of the later study differ on linking outputs."""
        wave = self.waves.wave
        return [
            (1.0, self.waves.is_linking & (wave == 1)),
            (-1.0, self.waves.is_linking & (wave == 0)),
        ]

    def _estimate(self, parts: list[tuple[float, Mask]], confidence: float) -> Estimate:
        groups = [(times, self.waves.group(kept)) for times, kept in parts]
        return self.waves.estimate(groups, confidence)

    @property
    def n_linking(self) -> int:
        """The number of outputs that both studies have."""
        return len(np.unique(self.waves.output[self.waves.is_linking]))

    def drift(self, confidence: float) -> Estimate:
        """Return how much higher later people rate the same outputs, and test it."""
        if not self.waves.is_linking.any():
            return undefined(NO_LINK)
        return self._estimate(self._moved(), confidence)

    def unlinked(self, confidence: float) -> Estimate:
        """Return the late method's mean as the later people gave it."""
        return self._estimate([(1.0, self._of_late)], confidence)

    def linked(self, confidence: float) -> Estimate:
        """Return the late method's mean on the scale of the first study."""
        if not self.waves.is_linking.any():
            return undefined(NO_LINK)
        moved = [(-times, kept) for times, kept in self._moved()]
        return self._estimate([(1.0, self._of_late), *moved], confidence)

    def differences(self, confidence: float) -> Iterator[tuple[str, Estimate]]:
        """Yield each older method with the late method's mean less its own.

        An older method's mean is over the stories of the late one.
        """
        if not self.waves.is_linking.any():
            return
        moved = [(-times, kept) for times, kept in self._moved()]
        shared = np.isin(self.waves.story, self.waves.story[self._of_late])
        for code, name in enumerate(self.methods):
            own = (self.method == code) & (self.waves.wave == 0) & shared
            if own.any():
                parts = [(1.0, self._of_late), *moved, (-1.0, own)]
                yield name, self._estimate(parts, confidence)

    def uniform(self) -> tuple[float, str]:
        r"""Test that people drift alike for all methods; return p, or why not.

        Each person's mean over the linking outputs of a method, less the outputs'
        means, is explained by person and method. F compares what methods add that
        differs between the waves with what is left: two-way analysis of variance with
        people inside waves (Searle 1987, Linear Models for Unbalanced Data). Somebody
        in both waves has a mean in each.
        """
        kept = np.flatnonzero(self.waves.is_linking)
        waves, method = self.waves, self.method[kept]
        if len(np.unique(method)) < 2:
            return NAN, ONE_METHOD if len(kept) else NO_LINK
        _codes, output = np.unique(waves.output[kept], return_inverse=True)
        value = waves.value[kept]
        value = value - (np.bincount(output, value) / np.bincount(output))[output]
        M = len(self.methods)
        inside = 2 * waves.person[kept] + waves.wave[kept]
        cells, place = np.unique(inside * M + method, return_inverse=True)
        size = np.bincount(place)
        mean = np.bincount(place, value) / size
        late = np.bincount(place, waves.wave[kept]) / size
        plain = np.hstack([_columns(cells // M), _columns(cells % M)])
        whole = np.hstack([plain, _columns(cells % M) * late[:, None]])
        (rest, rank), (less, more) = (_left(x, mean) for x in (plain, whole))
        freedom = len(mean) - more
        if freedom < LEAST_REST or more == rank:
            return NAN, FEW_LEFT
        if less <= 1e-12 * max(float(mean @ mean), 1e-12):
            return NAN, FEW_LEFT
        f = (rest - less) / (more - rank) / (less / freedom)
        return float(fdtrc(more - rank, freedom, max(f, 0.0))), ""


def _columns(codes: Counts) -> Array:
    """Return a column of 0 and 1 for each code."""
    known = np.unique(codes)
    return np.asarray((codes[:, None] == known).astype(float))


def _left(design: Array, y: Array) -> tuple[float, int]:
    """Return the sum of squares that a design leaves, and its rank."""
    found, _rest, rank, _singular = np.linalg.lstsq(design, y, rcond=1e-10)
    rest = y - design @ found
    return float(rest @ rest), int(rank)


def late_rows(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    question: str,
    late: str,
    confidence: float,
    same_people: bool = False,
) -> dict[str, list[TableRow]]:
    """Return the rows of the tables of late entry for one question of ratings."""
    both = TwoStudies.of(before, after, late, same_people=same_people)
    about: TableRow = {"question": question, "source": "ratings"}
    drift, linked = both.drift(confidence), both.linked(confidence)
    alone = both.unlinked(confidence)
    p_uniform, why = both.uniform()
    n = both.n_linking
    of_late = about | {
        "method": late,
        **linked.columns(),
        "n_linking": n,
        **alone.bounds("unlinked"),
        "extra_error": (linked.high - linked.low) / (alone.high - alone.low) - 1,
    }
    return {
        "late_methods": [of_late],
        "late_drift": [
            _drift_row(about, "mean", drift, n),
            _drift_row(about, "uniform", undefined(why), n) | {"p_value": p_uniform},
        ],
        "late_differences": _adjusted(
            about | {"method": late, "other": name, **_compared(found)}
            for name, found in both.differences(confidence)
        ),
    }


def _drift_row(
    about: TableRow, statistic: str, found: Estimate, n_linking: int
) -> TableRow:
    return about | {
        "statistic": statistic,
        **found.columns(),
        "p_value": found.p_value,
        "n_linking": n_linking,
    }


def _compared(found: Estimate) -> TableRow:
    return {
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "p_value": found.p_value,
        "reason": found.reason,
    }


def _adjusted(rows: Iterator[TableRow]) -> list[TableRow]:
    listed = list(rows)
    adjusted = holm(np.array([row["p_value"] for row in listed], float))
    return [
        row | {"p_adjusted": float(p)} for row, p in zip(listed, adjusted, strict=True)
    ]


# Side by side -------------------------------------------------------------------------


def choice_drift_rows(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    question: str,
    late: str,
    confidence: float,
    same_people: bool = False,
) -> list[TableRow]:
    """Test whether people choose otherwise in pairs that both studies compared.

    Of the choices of these pairs: how often the method won that won more of all other
    pairs of the first study, how often people tied, and how often they chose the left.
    """
    about: TableRow = {"question": question, "source": "choices"}
    before = _oriented(before)
    after = _oriented(after[(after["method_a"] != late) & (after["method_b"] != late)])
    pairs = ["story", "first", "second"]
    known = before[pairs].merge(after[pairs]).drop_duplicates()
    if known.empty:
        return [_drift_row(about, "preference", undefined(NO_PAIRS), 0)]
    marked = before.merge(known, how="left", on=pairs, indicator=True)
    others = marked[marked["_merge"] == "left_only"]
    strength = _strengths(others)
    waves = [
        frame.merge(known, on=pairs).assign(method="pair") for frame in (before, after)
    ]
    rows = []
    for statistic, why in (
        ("preference", NO_OTHERS),
        ("ties", ""),
        ("left", NO_SIDES),
    ):
        first, later = (_values(frame, statistic, strength) for frame in waves)
        found, n = undefined(why or NO_PAIRS), 0
        if len(first) and len(later):
            both = TwoStudies.of(first, later, late, same_people=same_people)
            found, n = both.drift(confidence), both.n_linking
        rows.append(_drift_row(about, statistic, found, n))
    return rows


def _oriented(choices: pd.DataFrame) -> pd.DataFrame:
    """Name the methods of each pair in one order, and how much the first one won."""
    turned = choices["method_a"] > choices["method_b"]
    won = choices["choice"].map({"a": 1.0, "b": 0.0, "tie": 0.5, "both_bad": 0.5})
    return choices.assign(
        first=choices["method_a"].where(~turned, choices["method_b"]),
        second=choices["method_b"].where(~turned, choices["method_a"]),
        won=won.where(~turned, 1 - won),
    )


def _strengths(choices: pd.DataFrame) -> dict[str, float]:
    """Return the share that each method won of its comparisons."""
    sides = [
        pd.DataFrame({"method": choices["first"], "won": choices["won"]}),
        pd.DataFrame({"method": choices["second"], "won": 1 - choices["won"]}),
    ]
    shares = pd.concat(sides).groupby("method")["won"].mean()
    return {str(name): float(share) for name, share in shares.items()}


def _values(
    choices: pd.DataFrame, statistic: str, strength: dict[str, float]
) -> pd.DataFrame:
    """Return choices as numbers, in the columns of ratings."""
    value = (choices["won"] == 0.5).astype(float)
    if statistic == "preference":
        first, second = (choices[c].map(strength) for c in ("first", "second"))
        value = choices["won"].where(first > second, 1 - choices["won"])
        value = value.where((first != second) & first.notna() & second.notna())
    elif statistic == "left":
        if "left_method" not in choices:
            return choices.iloc[:0]
        left = choices["left_method"] == choices["first"]
        value = choices["won"].where(left, 1 - choices["won"])
        value = value.where((value != 0.5) & choices["left_method"].notna())
    pair = choices["first"] + " | " + choices["second"]
    found = choices.assign(method=pair, rating=value).dropna(subset=["rating"])
    keys = ["story", "method", "annotator"]
    return found.groupby(keys)["rating"].mean().reset_index()
