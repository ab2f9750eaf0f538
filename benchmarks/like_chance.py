"""Count which annotators are marked as answering like chance: honest ones, random ones.

    python benchmarks/like_chance.py [--studies 200] [--only rankings] [--csv FILE]

Draws studies in which annotators agree little, middling or well, and in which nobody,
one annotator, or one in four answers at random with the habits of an honest one, or one
sees half as much as the others, and asks `analysis` for verdicts. Only who answers at
random should be marked. Seeds are fixed. Some forty minutes on one core.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.options import Sampling
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import CHOICE_KEYS, RANKING_KEYS, RATING_KEYS
from analysis.reliability.annotator_pairs import ranking_agreement
from analysis.reliability.annotators import choice_annotators, rating_annotators
from analysis.reliability.chance_corrected import alpha_value
from analysis.reliability.like_chance import ABOVE, ALL_QUESTIONS, MARKED
from analysis.reliability.matrices import choice_reliability, rating_reliability
from analysis.reliability.ranking_annotators import ranking_annotators
from analysis.results import Array

METHODS = 6
PEOPLE = (3, 6, 20)
ANSWERS = (20, 50, 100, 200)
# Of five questions, asked of the same units, one size is enough.
SEVERAL, OF_SEVERAL = 5, 50
# Standard deviation of people's noise, where opinions of outputs have 1.
NOISE = {"little": 1.5, "middling": 1.0, "well": 0.6}
ODD = ("nobody", "one random", "a quarter random", "one weak")
# Three of the annotators answer each unit.
EACH = 3
# So many outputs are ranked at a time.
RANKED = 4
TABLES = {
    "choices": choice_annotators,
    "ratings": rating_annotators,
    "rankings": ranking_annotators,
}


@dataclass(frozen=True)
class Design:
    """Who answers how: `answers` are those of each annotator."""

    kind: str
    agree: str
    people: int
    answers: int
    odd: str
    questions: int = 1

    @property
    def n_odd(self) -> int:
        """How many are not as the others."""
        if self.odd == "nobody":
            return 0
        return self.people // 4 if self.odd.startswith("a quarter") else 1

    @property
    def noise(self) -> Array:
        """Noise of each annotator; who answers at random hears nothing else."""
        found = np.full(self.people, NOISE[self.agree])
        # Correlates with an opinion half as much.
        weak = np.sqrt(4 * (1 + NOISE[self.agree] ** 2) - 1)
        found[: self.n_odd] = weak if self.odd == "one weak" else np.inf
        return found


def study(design: Design, rng: np.random.Generator) -> pd.DataFrame:
    """Draw answers; the first `n_odd` annotators are the odd ones."""
    n_units = design.answers * design.people // EACH
    # Every annotator in turn, so that all have equally many answers.
    seats = np.arange(n_units * EACH) % design.people
    who = seats.reshape(n_units, EACH)[rng.permutation(n_units)]
    # Everybody gives each answer equally often in the long run.
    clear = 1 / np.hypot(1, design.noise[who])[:, :, None]
    outputs = RANKED if design.kind == "rankings" else 1
    opinions, noise = (
        _alike(rng, (n_units, people, outputs), design.questions)
        for people in (1, EACH)
    )
    seen = clear * opinions + np.sqrt(1 - clear**2) * noise
    given = _answers(design.kind, seen)
    return pd.concat([_table(design.kind, who, *one) for one in enumerate(given)])


def _alike(rng: np.random.Generator, shape: tuple[int, ...], questions: int) -> Array:
    """Draw numbers of each question, which correlate by a half."""
    common, own = rng.normal(size=shape), rng.normal(size=(questions, *shape))
    return np.sqrt(0.5) * common + np.sqrt(0.5) * own


def _answers(kind: str, seen: Array) -> Array:
    if kind == "rankings":
        return np.argsort(np.argsort(-seen)).astype(float) + 1
    if kind == "ratings":
        return np.clip(np.round(2.2 + 1.1 * seen), 0, 4)
    return np.select([seen > 0.35, seen < -0.35], ["a", "b"], "tie")


def _table(kind: str, who: Array, question: int, given: Array) -> pd.DataFrame:
    unit = np.repeat(np.arange(len(who)), EACH)
    rows = pd.DataFrame(
        {
            "story": [f"s{u // METHODS}" for u in unit],
            "annotator": [f"r{a}" for a in who.ravel()],
        }
    )
    if kind == "rankings":
        story = [f"s{u}" for u in unit]
        rows = rows.assign(story=story, criterion=f"q{question}")
        rows = rows.loc[rows.index.repeat(RANKED)]
        method = [f"m{k % RANKED}" for k in range(len(rows))]
        return kept_rows(rows.assign(method=method, rank=given.ravel()), RANKING_KEYS)
    method = [f"m{u % METHODS}" for u in unit]
    if kind == "ratings":
        return kept_rows(
            rows.assign(method=method, dimension=f"q{question}", rating=given.ravel()),
            RATING_KEYS,
        )
    return kept_rows(
        rows.assign(
            method_a=method,
            method_b="z",
            criterion=f"q{question}",
            choice=given.ravel(),
        ),
        CHOICE_KEYS,
    )


def verdicts(design: Design, rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the tested rows of the annotators, of all questions together."""
    sampling = Sampling(resamples=400, confidence=0.95, seed=seed)
    found = pd.DataFrame(TABLES[design.kind](rows, **sampling))
    together = (found["question"] == ALL_QUESTIONS) | (design.questions == 1)
    return found[found["verdict"].notna() & together]


def alpha_of(design: Design, rows: pd.DataFrame) -> float:
    """Return how well people agree: alpha, ordinal or nominal, and of rankings tau."""
    if design.kind == "ratings":
        rows = rows[rows["dimension"] == "q0"]
        return float(alpha_value(rating_reliability(rows), "ordinal"))
    rows = rows[rows["criterion"] == "q0"]
    if design.kind == "rankings":
        row = ranking_agreement(rows, question="q0", resamples=0)
        return float(str(row["value"]))
    return float(alpha_value(choice_reliability(rows), "nominal"))


def counted(design: Design, studies: int) -> dict[str, object]:
    """Return shares of ordinary and of odd annotators with each verdict."""
    told: dict[str, list[str]] = {"others": [], "odd": []}
    alphas = []
    for number in range(studies):
        rng = np.random.default_rng([number, design.people, design.answers])
        rows = study(design, rng)
        alphas.append(alpha_of(design, rows))
        found = verdicts(design, rows, number)
        for name, word in zip(found["annotator"], found["verdict"], strict=True):
            told["odd" if int(name[1:]) < design.n_odd else "others"].append(word)
    shares = {
        f"{who}_{name}": float(np.mean([word in words for word in all_words]))
        if all_words
        else np.nan
        for who, all_words in told.items()
        for name, words in (("marked", MARKED), ("above", (ABOVE,)))
    }
    return {**vars(design), "alpha": float(np.mean(alphas)), **shares}


def designs(kinds: list[str]) -> Iterator[Design]:
    """Yield every design of these kinds."""
    for questions, kind, agree, people, answers, odd in product(
        (1, SEVERAL), kinds, NOISE, PEOPLE, ANSWERS, ODD
    ):
        design = Design(kind, agree, people, answers, odd, questions)
        is_one = design.people < 8 and design.odd.startswith("a quarter")
        if not is_one and (questions == 1 or design.answers == OF_SEVERAL):
            yield design


def main() -> None:
    """Print one line a design."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--studies", type=int, default=100)
    options.add_argument("--only", choices=tuple(TABLES))
    options.add_argument("--csv", type=Path)
    given = options.parse_args()
    kinds = [given.only] if given.only else list(TABLES)
    rows = []
    for design in designs(kinds):
        # Of many annotators fewer studies give as many verdicts.
        rows.append(counted(design, max(20, given.studies * 3 // design.people)))
        cells = rows[-1].values()
        texts = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in cells]
        print(*texts, sep="	", flush=True)
    if given.csv:
        pd.DataFrame(rows).to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()
