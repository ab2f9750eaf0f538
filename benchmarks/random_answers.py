"""Whom do the rules about random answers accuse? Simulated honest people and clickers.

    python -m benchmarks.random_answers [--people 250] [--seed 1] [--processes 2]
                                        [--only TEXT]

Each person answers 120 items that others answered, too; the rules look after every
fifth item. Honest people differ in ability (their answers follow the items by half to
one and a half times as much as the average) and severity. Prints the share accused
after 30, 60 and 120 items; `benchmarks/results/random-answers.md` has the results.
"""

import argparse
import functools
import multiprocessing
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotate.quality_rules.judged import JudgedUnit
from annotate.quality_rules.rules import DEFAULT_RULES, evaluate
from annotate.quality_rules.signals import measure

ITEMS, EVERY, LOOKS = 120, 5, (30, 60, 120)
KEYS = ("random", "side", "same-answer", "straight-line", "skips-one")
METHODS = [f"method {number}" for number in range(6)]


@dataclass(frozen=True)
class Scenario:
    """A study: how far items differ, in standard deviations of a person's error."""

    spread: float
    others: int
    questions: int
    pairs: bool
    clickers: float = 0.0

    @property
    def name(self) -> str:
        kind = "pairs" if self.pairs else "0 to 4"
        also = f", {self.clickers:.0%} of them at random" if self.clickers else ""
        return f"{kind}, {self.questions} q., {self.others} others{also}"


def answers(scenario: Scenario, who: str, truth: np.ndarray, rng) -> np.ndarray:
    """Return answers by question and item: 0 to 4, or 1 for a and 0 for b."""
    shape, pairs = truth.shape, scenario.pairs
    if who == "random":
        return rng.integers(2 if pairs else 5, size=shape)
    if who == "always one":
        return np.full(shape, 1 if pairs else 3)  # on the side; see `people`
    ability, severity = rng.uniform(0.5, 1.5), rng.normal(0, 0.5)
    felt = ability * truth + rng.normal(size=shape)
    if pairs:
        return (felt > 0).astype(int)
    return np.clip(np.round(2.4 + severity + felt), 0, 4).astype(int)


def units(scenario: Scenario, who: str, rng: np.random.Generator) -> list[JudgedUnit]:
    """Draw a person's items with the others' answers."""
    truth = scenario.spread * rng.normal(size=(scenario.questions, ITEMS))
    everybody = [
        answers(
            scenario,
            "random" if rng.random() < scenario.clickers else "honest",
            truth,
            rng,
        )
        for _ in range(scenario.others)
    ]
    own, is_left = answers(scenario, who, truth, rng), rng.random(ITEMS) < 0.5
    if scenario.pairs and who == "always one":
        own = np.tile(is_left, (scenario.questions, 1)).astype(int)
    rows = []
    for at in range(ITEMS):
        mine, others = {}, {}
        for q in range(scenario.questions):
            value = int(own[q, at])
            mine[f"q{q}"] = "ba"[value] if scenario.pairs else value
            others[f"q{q}"] = {i: float(one[q, at]) for i, one in enumerate(everybody)}
        side = bool(is_left[at]) if scenario.pairs else None
        rows.append(JudgedUnit("real", mine, others=others, a_is_left=side))
    return rows


def accused(number: int, scenario: Scenario, who: str, seed: int) -> dict[str, float]:
    """Return after how many items each rule accuses a person."""
    rng = np.random.default_rng([seed, number])
    if who.startswith("skips"):
        return {"skips-one": after_skips(who, rng)}
    rows, found = units(scenario, who, rng), dict.fromkeys(KEYS[:-1], np.inf)
    rules = [rule for rule in DEFAULT_RULES if rule.key in found]
    for n in range(EVERY, ITEMS + 1, EVERY):
        for breach in evaluate(rules, measure(rows[:n])):
            found[breach.rule.key] = min(found[breach.rule.key], n)
        if found["random"] < np.inf:
            break
    return found


def after_skips(who: str, rng: np.random.Generator) -> float:
    """Return after how many items somebody is accused of skipping one method."""
    (rule,) = (rule for rule in DEFAULT_RULES if rule.key == "skips-one")
    shown = [(METHODS[i],) for i in rng.integers(len(METHODS), size=ITEMS)]
    usual = rng.uniform(0.0, 0.15)
    chance = {METHODS[0]: float(who.split()[1])} if who != "skips evenly" else {}
    met = [(one, rng.random() < chance.get(one[0], usual)) for one in shown]
    for n in range(1, ITEMS + 1):
        if met[n - 1][1]:
            signals = measure([], met=met[:n])
            if evaluate([rule], {"x": signals["skips_one_method"]}):
                return n
    return np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="studies that begin so")
    given = parser.parse_args()
    print("| study | agreement | person | rule | 30 | 60 | 120 items |")
    print("|---|---|---|---|---|---|---|")
    with multiprocessing.Pool(given.processes) as pool:
        rows_of = [row for row in table() if row[0].name.startswith(given.only)]
        for scenario, agreement, who in rows_of:
            job = functools.partial(
                accused, scenario=scenario, who=who, seed=given.seed
            )
            people = given.people if who in HONEST else given.people // 5
            rows = pool.map(job, range(people), 20)
            for key in rows[0]:
                shares = [np.mean([row[key] <= n for row in rows]) for n in LOOKS]
                if max(shares) > 0 or key == "random":
                    told = " | ".join(f"{share:.1%}" for share in shares)
                    print(
                        f"| {scenario.name} | {agreement} | {who} | {key} | {told} |",
                        flush=True,
                    )


HONEST = ("honest", "skips evenly")
SPREADS = {"high": 1.5, "medium": 0.8, "low": 0.35, "none": 0.0}


def table():
    """Yield each scenario with the name of its agreement, and the person."""
    studies = [
        (pairs, questions, others, 0.0)
        for pairs in (True, False)
        for questions, others in ((1, 2), (1, 6), (3, 4))
    ]
    studies += [(True, 1, 6, 0.3), (False, 1, 6, 0.3)]
    for pairs, questions, others, clickers in studies:
        for name, spread in SPREADS.items():
            scenario = Scenario(spread, others, questions, pairs, clickers)
            for who in ("honest", "random", "always one"):
                if who == "honest" or (name != "none" and not clickers):
                    yield scenario, name, who
    for who in ("skips evenly", "skips 0.5", "skips 0.9"):
        yield Scenario(0, 2, 1, False), "any", who


if __name__ == "__main__":
    main()
