"""Whom do the rules about random answers accuse? Simulated honest people and clickers.

    python -m benchmarks.random_answers honest|random|clickers|side|skips
        [--people 900] [--seed 11] [--only TEXT]

Teams that change from item to item answer 120 items each. Honest people differ in
ability, care, severity and taste, tire, drift, and two in five use only two or three of
the five ratings, or ties. The rules look after every answer. Prints the share accused
after 30, 60 and 120 items, and an exact 95 % interval for 120;
`benchmarks/results/random-answers.md` has the results.
"""

import argparse
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.stats import beta

from annotate.quality_rules import relative_signals
from annotate.quality_rules.judged import JudgedUnit
from annotate.quality_rules.rules import DEFAULT_RULES, STAKES, evaluate
from annotate.quality_rules.signals import side_bias

ITEMS, LOOKS = 120, (30, 60, 120)
SPREAD = {"high": 1.5, "medium": 0.8, "low": 0.35, "none": 0.0}
RULES = {rule.key: rule for rule in DEFAULT_RULES}
# The ratings that somebody uses who does not use all.
RANGES = [(1, 2, 3), (2, 3), (3, 4), (2, 3, 4), (0, 4), (1, 3), (0, 1, 2)]
CHOICES = {1.0: "a", 0.5: "tie", 0.0: "b"}
METHODS = [f"method {number}" for number in range(6)]


@dataclass(frozen=True)
class Kind:
    """A kind of study; items differ by `SPREAD` standard deviations of an error."""

    pairs: bool
    agreement: str
    others: int
    questions: int
    clickers: float = 0.0
    power: bool = False

    @property
    def name(self) -> str:
        also = f", {self.clickers:.0%} clickers" if self.clickers else ""
        return (
            f"{'pairs' if self.pairs else 'Likert'}, {self.agreement}, "
            f"{self.others} others, {self.questions} q{also}"
        )

    @property
    def people(self) -> int:
        team = self.others + 1
        return team * max(2, -(-12 // team))


class Study(NamedTuple):
    """Answers by person, question and item, the items, sides, and who clicks."""

    answers: np.ndarray
    items: np.ndarray
    left: np.ndarray
    clicks: np.ndarray


def study(kind: Kind, rng: np.random.Generator) -> Study:
    """Draw a study in which everybody answers as many items, in changing teams."""
    team, people, questions = kind.others + 1, kind.people, kind.questions
    teams = people // team
    items = np.empty((people, ITEMS), int)
    for turn in range(ITEMS):
        items[rng.permutation(people), turn] = turn * teams + np.arange(people) // team
    n = ITEMS * teams
    common = rng.normal(size=(n, 1))
    truth = np.sqrt(0.5) * (common + rng.normal(size=(n, questions)))
    truth = SPREAD[kind.agreement] * (common if questions == 1 else truth)
    method = rng.integers(6, size=n)
    found = np.empty((people, questions, ITEMS))
    left, clicks = rng.random((people, ITEMS)) < 0.5, np.zeros(people, bool)
    for one in range(people):
        ability = np.clip(rng.lognormal(0, 0.3), 0.4, 2.2)
        noise = np.clip(rng.lognormal(0, 0.25), 0.5, 2)
        clicks[one] = one == 0 if kind.power else rng.random() < kind.clickers
        taste, error, drift = _feelings(questions, method[items[one]], rng)
        felt = ability * truth[items[one]].T + taste + noise * error
        if kind.pairs:
            felt += np.where(left[one], 1, -1) * rng.normal(0, 0.12)
            tie = 0.3 if rng.random() < 0.5 else 0.0
            found[one] = np.where(np.abs(felt) < tie, 0.5, felt > 0)
        else:
            found[one] = _ratings(felt + drift, rng)
        if clicks[one]:
            found[one] = _clicks(kind, felt.shape, rng)
    return Study(found, items, left, clicks)


def _feelings(questions: int, method: np.ndarray, rng) -> tuple[np.ndarray, ...]:
    """Draw a person's taste by item, errors (with a halo, more when tired), drift."""
    halo, error = rng.normal(size=(1, ITEMS)), rng.normal(size=(questions, ITEMS))
    if questions > 1:
        error = np.sqrt(0.5) * (error + halo)
    taste = 0.3 * rng.normal(size=6)[method]
    drift = rng.normal(0, 0.4) * np.linspace(-0.5, 0.5, ITEMS)
    return taste, np.linspace(1, rng.uniform(1, 1.4), ITEMS) * error, drift


def _ratings(felt: np.ndarray, rng) -> np.ndarray:
    """Turn feelings into ratings from 0 to 4; some people use few of these."""
    if rng.random() < 0.4:
        options = np.array(RANGES[rng.integers(len(RANGES))], float)
        ends = rng.normal(0, 0.4) + np.linspace(-1, 1, len(options) + 1)[1:-1]
        return options[np.searchsorted(ends, felt / max(felt.std(), 0.3))]
    return np.clip(np.round(2.3 + rng.normal(0, 0.7) + felt), 0, 4)


def _clicks(kind: Kind, shape: tuple[int, ...], rng) -> np.ndarray:
    """Draw random answers: of all options, or mostly of the middle ones."""
    if kind.pairs:
        return (rng.random(shape) < 0.5).astype(float)
    if rng.random() < 0.5:
        return rng.integers(5, size=shape).astype(float)
    return rng.choice([1.0, 2.0, 3.0, 4.0], size=shape, p=[0.1, 0.3, 0.4, 0.2])


def units(kind: Kind, made: Study, one: int) -> list[JudgedUnit]:
    """Return a person's items with the others' answers."""
    place = np.full((kind.people, made.items.max() + 1), -1)
    for who in range(kind.people):
        place[who, made.items[who]] = np.arange(ITEMS)
    place[one] = -1
    rows = []
    for turn, item in enumerate(made.items[one]):
        mine, others = {}, {}
        for q in range(kind.questions):
            value = made.answers[one, q, turn]
            mine[f"q{q}"] = CHOICES[value] if kind.pairs else int(value)
            others[f"q{q}"] = {
                int(who): float(made.answers[who, q, place[who, item]])
                for who in np.flatnonzero(place[:, item] >= 0)
            }
        side = bool(made.left[one, turn]) if kind.pairs else None
        rows.append(JudgedUnit("real", mine, others=others, a_is_left=side))
    return rows


def accused_after(rows: list[JudgedUnit]) -> float:
    """Return after how many items `random` accuses somebody, by one measurement.

    What is known after n items are the first n observations.
    """
    rule, clearly = RULES["random"], relative_signals.CLEARLY
    assert rule.below is not None
    assert rule.chance is not None
    relative_signals.CLEARLY = -np.inf  # is applied at each look below
    try:
        signal = relative_signals.relative_agreement(rows)
    except ZeroDivisionError:  # the others agree by exactly nothing
        return accused_after(rows[:-1])
    finally:
        relative_signals.CLEARLY = clearly
    own, others = np.array(signal.observations), np.array(signal.expected)
    n = np.arange(1, len(own) + 1)
    total = others.cumsum()
    spread = np.sqrt(np.maximum((others**2).cumsum() / n - (total / n) ** 2, 0))
    moved = 0.5 + (own - rule.below * others) / (2 * (1 + rule.below))
    with np.errstate(divide="ignore", invalid="ignore"):
        is_low = own.cumsum() / total < rule.below
    hits = (total > clearly * spread * np.sqrt(n)) & is_low & (n >= rule.at_least)
    hits &= p_values(moved, 0.5) <= rule.chance
    late = ITEMS - len(own)  # items that cannot be compared with earlier ones
    return float(hits.argmax()) + 1 + late if hits.any() else np.inf


def p_values(observations: np.ndarray, threshold: float) -> np.ndarray:
    """Return `always_valid_p` (below) after each observation."""
    stakes = np.array(STAKES)[:, None] / max(1 - threshold, 0.1)
    logs = np.log1p(stakes * (threshold - observations)).cumsum(1)
    return 1 / np.maximum(np.exp(np.minimum(logs, 700)).mean(0), 1)


def in_studies(kind: Kind, people: int, seed: int) -> Iterator[float]:
    """Yield after how many items each honest person, or each clicker, is accused."""
    for number in range(-(-people // (1 if kind.power else kind.people))):
        code = zlib.crc32(kind.name.encode())
        made = study(kind, np.random.default_rng([seed, number, code, kind.power]))
        for one in np.flatnonzero(made.clicks == kind.power):
            yield accused_after(units(kind, made, int(one)))


def side_accused(share: float, rng) -> float:
    """Return after how many pairs `side` accuses somebody who prefers the left."""
    left = rng.random(ITEMS) < share
    rows = [{"q": "left" if one else "right"} for one in left]
    for n in range(1, ITEMS + 1):
        if evaluate([RULES["side"]], {"side": side_bias(rows[:n])}):
            return n
    return np.inf


def stories_met(rates: np.ndarray, shown: int, rng) -> list[tuple[list[str], bool]]:
    """Draw stories of one method or two, and which are skipped for one of these."""
    met = []
    for _ in range(ITEMS):
        methods = rng.choice(len(rates), shown, replace=False)
        is_skipped = rng.random() < 1 - np.prod(1 - rates[methods])
        met.append(([METHODS[i] for i in methods], bool(is_skipped)))
    return met


def skips_accused(mine: np.ndarray, theirs: np.ndarray, shown: int, pace: float, rng):
    """Return after how many stories `skips-one` accuses somebody beside three others.

    The others met `pace` times as many stories.
    """
    met = stories_met(mine, shown, rng)
    others = [stories_met(theirs, shown, rng) for _ in range(3)]
    for n in range(1, ITEMS + 1):
        if met[n - 1][1]:
            counts: dict[str, tuple[int, int]] = {}
            for methods, skipped in (
                row for one in others for row in one[: int(pace * n)]
            ):
                for method in methods:
                    k, of = counts.get(method, (0, 0))
                    counts[method] = k + skipped, of + 1
            signal = relative_signals.skips_one_method(met[:n], counts)
            if evaluate([RULES["skips-one"]], {"skips": signal}):
                return n
    return np.inf


def skips(people: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the people whom `skips-one` accuses, by what they and others skip."""
    worlds = [(x, x, x) for x in (0.02, 0.1, 0.3)]
    worlds += [(0.05, x, x) for x in (0.2, 0.4, 0.6)]
    worlds += [(usual, x, usual) for usual, x in ((0.02, 0.5), (0.02, 0.9), (0.1, 0.9))]
    for shown in (1, 2):
        for usual, odd, of_others in worlds:
            for pace in (1.0, 0.2):
                rng = np.random.default_rng(seed)
                mine, theirs = np.full((2, len(METHODS)), usual)
                mine[0], theirs[0] = odd, of_others
                name = f"{shown} shown, skips {usual}, one {odd}; others {of_others}"
                yield (
                    f"{name}, at {pace} of the pace",
                    [
                        skips_accused(mine, theirs, shown, pace, rng)
                        for _ in range(people)
                    ],
                )


def tables(given: argparse.Namespace) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each row, and after how many items people are accused."""
    if given.table == "side":
        for share in (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.0):
            rng = np.random.default_rng(given.seed)
            found = [side_accused(share, rng) for _ in range(given.people)]
            yield f"prefers the left in {share:.0%}", found
    elif given.table == "skips":
        yield from skips(given.people, given.seed)
    else:
        power, clickers = given.table == "random", 0.3 * (given.table == "clickers")
        for questions in (1, 9):
            for pairs in (False, True):
                for others in (2, 4, 6):
                    for name in SPREAD:
                        kind = Kind(pairs, name, others, questions, clickers, power)
                        if kind.name.startswith(given.only):
                            people = (
                                given.people if questions == 1 else given.people // 5
                            )
                            yield kind.name, list(in_studies(kind, people, given.seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("honest", "random", "clickers", "side", "skips")
    parser.add_argument("table", choices=names)
    parser.add_argument("--people", type=int, default=900)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--only", default="", help="studies whose name begins so")
    for name, found in tables(parser.parse_args()):
        n, k = len(found), sum(one < np.inf for one in found)
        low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
        high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
        shares = ", ".join(f"{np.mean([x <= m for x in found]):.2%}" for m in LOOKS)
        print(f"{name}: {shares} of {n} [{low:.2%}, {high:.2%}]", flush=True)


if __name__ == "__main__":
    main()
