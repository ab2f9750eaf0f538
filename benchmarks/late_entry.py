"""Is a late method placed where it belongs? Simulated studies, each with a later wave.

    python -m benchmarks.late_entry ratings|uniform|choices
        [--studies 500] [--seed 1] [--people 5,5]

Eight methods make 20 stories; people of a first study rate every output three times,
from 0 to 4. Other people rate a ninth method and some linking outputs again. People
differ in severity, in taste for methods, in how far they spread ratings, and in care.
Prints shares of intervals with the truth and of tests that reject at .05;
`benchmarks/results/late-entry.md` has the results.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import pandas as pd

from analysis.planning.linking import Spread, Wave, choose_linking, extra_error
from analysis.rankings.late_entry import TwoStudies, choice_drift_rows

METHODS, STORIES, EACH = 8, 20, 3
LEVELS = np.append(np.linspace(-0.8, 0.8, METHODS), 0.6)
LATE, NEAR, FAR = METHODS, 5, 0
STORY, OUTPUT, SEVERITY, TASTE, CARE = 0.4, 0.4, 0.4, 0.25, 0.8
PEOPLE = ((3, 3), (5, 5), (10, 5), (20, 3), (20, 20))
# Linking outputs, and ratings of each.
LINKS = ((6, 2), (8, 3), (16, 3))
DRIFTS = (0.0, 0.3, 0.6)
CONFIDENCE = 0.95


@dataclass
class People:
    """Severity, spread, care and taste of people."""

    severity: np.ndarray
    spread: np.ndarray
    care: np.ndarray
    taste: np.ndarray

    @classmethod
    def drawn(cls, n: int, drift: float | np.ndarray, rng) -> "People":
        taste = TASTE * rng.normal(size=(n, METHODS + 1)) + drift
        return cls(
            SEVERITY * rng.normal(size=n),
            rng.lognormal(0, 0.15, n),
            CARE * rng.lognormal(0, 0.3, n),
            taste,
        )

    def rate(self, opinion: np.ndarray, who: np.ndarray, method: np.ndarray, rng):
        felt = self.spread[who] * opinion + self.taste[who, method]
        felt += self.severity[who] + self.care[who] * rng.normal(size=len(who))
        return np.clip(np.round(2 + felt), 0, 4)


def truths(rng, n: int = 1_000_000) -> np.ndarray:
    """Return the mean of each method for endless people and stories."""
    people, means = People.drawn(n, 0.0, rng), []
    for method, level in enumerate(LEVELS):
        opinion = level + np.hypot(STORY, OUTPUT) * rng.normal(size=n)
        shown = np.full(n, method)
        means.append(people.rate(opinion, np.arange(n), shown, rng).mean())
    return np.array(means)


def dealt(items: int, each: int, people: int, rng) -> np.ndarray:
    """Deal items to people in turn, each to as many different ones."""
    order, ids = rng.permutation(items), rng.permutation(people)
    who = np.empty((items, each), int)
    who[order] = ids[(np.arange(items)[:, None] * each + np.arange(each)) % people]
    return who


def wave(outputs: np.ndarray, each: int, people: People, opinions, prefix: str, rng):
    """Return the ratings of outputs, given as rows of story and method."""
    who = dealt(len(outputs), each, len(people.severity), rng)
    story, method = np.repeat(outputs, each, axis=0).T
    rating = people.rate(opinions[story, method], who.ravel(), method, rng)
    names = pd.Series(who.ravel()).astype(str).radd(prefix)
    columns = {"story": story, "method": method, "annotator": names, "rating": rating}
    frame = pd.DataFrame(columns)
    for name in ("story", "method"):
        frame[name] = frame[name].map("{:02}".format)
    return frame


def studies(n: tuple[int, int], link: tuple[int, int], drift, rng) -> TwoStudies:
    """Draw a study and its later wave; `drift` is one number or one for each method."""
    story = STORY * rng.normal(size=(STORIES, 1))
    opinions = LEVELS + story + OUTPUT * rng.normal(size=(STORIES, METHODS + 1))
    first, later = People.drawn(n[0], 0.0, rng), People.drawn(n[1], drift, rng)
    old = np.array([(s, m) for s in range(STORIES) for m in range(METHODS)])
    before = wave(old, EACH, first, opinions, "first ", rng)
    means = before.groupby(["story", "method"])["rating"].mean()
    known = {(str(s), str(m)): float(v) for (s, m), v in means.items()}
    chosen = choose_linking(known, link[0], int(rng.integers(1 << 30)))
    late = np.array([(s, LATE) for s in range(STORIES)])
    again = np.array([(int(s), int(m)) for s, m in chosen])
    after = pd.concat(
        [
            wave(late, EACH, later, opinions, "later ", rng),
            wave(again, link[1], later, opinions, "later ", rng),
        ]
    )
    return TwoStudies.of(before, after, f"{LATE:02}", same_people=True)


def expected(n: tuple[int, int], link: tuple[int, int]) -> float:
    """Return the extra error that the page of a closed study would name."""
    spread = Spread(SEVERITY**2 + TASTE**2, STORY**2 + OUTPUT**2, CARE**2, n[0])
    return extra_error(spread, Wave(STORIES, link[1], n[1]), link[0])


def ratings(given: argparse.Namespace) -> Iterator[str]:
    """Yield coverage, bias and rejections of linked means."""
    truth = truths(np.random.default_rng(given.seed))
    aims = (truth[LATE], truth[LATE] - truth[NEAR], truth[LATE] - truth[FAR])
    yield (
        "people | outputs x ratings | drift | mean | against near | against far | "
        "without link | drift found | bias | bias without link | half-width | extra"
    )
    for n in given.people:
        for link in LINKS:
            for drift in DRIFTS:
                rng = np.random.default_rng([given.seed, *n, *link, int(drift * 10)])
                rows = []
                for _ in range(given.studies):
                    one = studies(n, link, drift, rng)
                    gaps = dict(one.differences(CONFIDENCE))
                    near, far = gaps[f"{NEAR:02}"], gaps[f"{FAR:02}"]
                    mean, alone = one.linked(CONFIDENCE), one.unlinked(CONFIDENCE)
                    held = [
                        found.low <= aim <= found.high
                        for found, aim in zip((mean, near, far), aims, strict=True)
                    ]
                    rows.append(
                        [
                            *held,
                            alone.low <= truth[LATE] <= alone.high,
                            one.drift(CONFIDENCE).p_value < 1 - CONFIDENCE,
                            mean.value - truth[LATE],
                            alone.value - truth[LATE],
                            (mean.high - mean.low) / 2,
                            (mean.high - mean.low) / (alone.high - alone.low) - 1,
                        ]
                    )
                table = np.array(rows, float)
                shares, (bias, raw, half) = table[:, :5].mean(0), table[:, 5:8].mean(0)
                texts = [f"{share:.3f}" for share in shares]
                texts += [f"{bias:+.3f}", f"{raw:+.3f}", f"{half:.2f}"]
                # A handful of studies have no interval without the link.
                texts.append(
                    f"{np.nanmedian(table[:, 8]):.0%} ({expected(n, link):.0%})"
                )
                place = f"{n[0]}, {n[1]} | {link[0]} x {link[1]} | {drift}"
                yield " | ".join([place, *texts])


def uniform(given: argparse.Namespace) -> Iterator[str]:
    """Yield how often drift that is alike, or not, for all methods is called unlike."""
    half = np.append(np.where(np.arange(METHODS) < METHODS // 2, 0.8, 0.0), 0.0)
    yield "people | outputs x ratings | no drift | .6 for all | .8 for half | untested"
    for n in given.people:
        for link in LINKS[1:]:
            texts, untested = [], 0.0
            for number, drift in enumerate((0.0, 0.6, half)):
                rng = np.random.default_rng([given.seed, *n, *link, number])
                p = np.array(
                    [
                        studies(n, link, drift, rng).uniform()[0]
                        for _ in range(given.studies)
                    ]
                )
                untested = float(np.isnan(p).mean())
                texts.append(f"{(p[~np.isnan(p)] < 1 - CONFIDENCE).mean():.3f}")
            place = f"{n[0]}, {n[1]} | {link[0]} x {link[1]}"
            yield " | ".join([place, *texts, f"{untested:.2f}"])


def compared(pairs: np.ndarray, each: int, n: int, shift: float, opinions, prefix, rng):
    """Return the choices of people who tie more, by `shift`, and agree less."""
    who = dealt(len(pairs), each, n, rng).ravel()
    story, first, second = np.repeat(pairs, each, axis=0).T
    taste = TASTE * rng.normal(size=(n, METHODS + 1))
    gap = opinions[story, first] - opinions[story, second]
    gap = (1 - shift) * (gap + taste[who, first] - taste[who, second])
    gap += np.sqrt(2) * CARE * rng.normal(size=len(who))
    tie = np.abs(gap) < 0.3
    frame = pd.DataFrame({"story": story, "method_a": first, "method_b": second})
    left = rng.random(len(who)) < 0.5
    frame["left_method"] = np.where(left, first, second)
    for name in frame.columns:
        frame[name] = frame[name].map("{:02}".format)
    frame["annotator"] = pd.Series(who).astype(str).radd(prefix)
    frame["choice"] = np.where(tie, "tie", np.where(gap > 0, "a", "b"))
    return frame


def choices(given: argparse.Namespace) -> Iterator[str]:
    """Yield how often tests of drift of choices reject, without and with drift."""
    yield "people | pairs x answers | shift | preference | ties | left"
    for n in given.people:
        for number in (12, 24):
            for shift in (0.0, 0.8):
                rng = np.random.default_rng([given.seed, *n, number, int(shift * 10)])
                found = []
                for _ in range(given.studies):
                    story = STORY * rng.normal(size=(STORIES, 1))
                    opinions = LEVELS + story
                    opinions = opinions + OUTPUT * rng.normal(size=opinions.shape)
                    every = np.array(
                        [
                            (s, a, (a + 1 + s % 3) % METHODS)
                            for s in range(STORIES)
                            for a in range(METHODS)
                        ]
                    )
                    before = compared(every, EACH, n[0], 0.0, opinions, "first ", rng)
                    again = every[rng.permutation(len(every))[:number]]
                    after = compared(again, EACH, n[1], shift, opinions, "later ", rng)
                    rows = choice_drift_rows(
                        before,
                        after,
                        question="q",
                        late="09",
                        confidence=CONFIDENCE,
                        same_people=True,
                    )
                    found.append([row["p_value"] < 1 - CONFIDENCE for row in rows])
                texts = [f"{share:.3f}" for share in np.mean(found, axis=0)]
                place = f"{n[0]}, {n[1]} | {number} x {EACH} | {shift}"
                yield " | ".join([place, *texts])


def _pair(text: str) -> tuple[int, int]:
    first, later = map(int, text.split(","))
    return first, later


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = {"ratings": ratings, "uniform": uniform, "choices": choices}
    parser.add_argument("table", choices=tables)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--people", type=_pair, help="of both studies, as in 5,5")
    given = parser.parse_args()
    given.people = [given.people] if given.people else PEOPLE
    for line in tables[given.table](given):
        print(line, flush=True)


if __name__ == "__main__":
    main()
