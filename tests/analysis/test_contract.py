"""The contract of the command line, recomputed from the input files by other means.

Nothing of `analysis` but its command is used: values come from pandas, scipy,
statsmodels, krippendorff and plain loops over the rows as they were written.
"""

import csv
import itertools
import json
import math
import re

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.multitest import multipletests

from analysis.__main__ import main
from analysis.report.findings_verdicts import question_claims, tie_claims
from tests.cases import slow

METHODS = ("=SUM(A1)", 'Zé "Δ"', "a, b", "Ünö", "狐")
STORIES = tuple(f"s {i}, “{c}”" for i, c in enumerate("äbçdéf"))
PEOPLE = ("Ann", "Bö", "C, D")
NONE = (False, False, False)
COLUMNS = {
    "method_means": "dimension method mean sd_annotators n_ratings n_annotators "
    "n_stories low high rank rank_low rank_high drawn",
    "agreement": "question statistic value low high n_units n_annotators n_answers "
    "reason",
    "correlations": "dimension metric level coefficient value low high n n_groups "
    "p_value drawn reason",
    "pairwise_accuracy": "question metric source ppa_strict ppa_strict_low "
    "ppa_strict_high ppa_half ppa_half_low ppa_half_high metric_tie_rate n_pairs "
    "n_all_pairs acc_eq epsilon epsilon_in_sample acc_eq_low acc_eq_high p_half "
    "p_acc_eq chance_acc_eq drawn reason",
    "metric_comparisons": "dimension level coefficient metric_a metric_b difference "
    "low high p_value p_adjusted test n_groups reason",
    "verdicts": "question metric role source level statistic value low high n n_groups "
    "chance demanded ceiling like_ceiling n_family p_value p_adjusted decided_by "
    "verdict reason in_place n_replaced n_replaceable within "
    "cluster n_better n_worse leads twins n_twins n_twins_missed twins_verdict",
    "leaderboard": "criterion method rating low high rank rank_low rank_high "
    "n_comparisons drawn part reason",
    "method_verdicts": "question source part method statistic value low high n "
    "n_methods n_better n_pairs n_apart p_adjusted drawn verdict reason",
    "win_rates": "criterion method_a method_b wins_a ties wins_b majority_wins_a "
    "majority_ties majority_wins_b n_stories rate_a low high p_value p_adjusted "
    "n_effective majority_rate_a majority_low majority_high drawn weighted",
    "strata_win_rates": "criterion tag stratum method_a method_b wins_a ties wins_b "
    "majority_wins_a majority_ties majority_wins_b n_stories rate_a low high p_value "
    "p_adjusted n_effective majority_rate_a majority_low majority_high drawn weighted",
    "method_win_rates": "criterion method rate low high p_value p_adjusted "
    "n_effective n_opponents n_votes drawn weighted",
    "run": "key value",
}


def rated_rows():
    """Ratings with shots, rounds, and rows that must not count."""
    rng = np.random.default_rng(3)
    rows = []
    for i, story in enumerate(STORIES):
        for j, method in enumerate(METHODS):
            if (i, j) == (5, 4):
                continue  # nobody rated this output
            for who in PEOPLE:
                if (i, j, who) == (4, 2, "Bö"):
                    continue
                for shot, turn in ((1, 1), (2, 1), (2, 2)):
                    value = int(np.clip(j + rng.integers(-1, 3), 0, 4))
                    key = (story, method, shot, turn, "look", who)
                    rows.append((*key, value, *NONE))
    rows.append((*rows[0][:6], 4, False, True, False))
    rows.append((*rows[0][:6], 0, False, True, False))
    rows.append((STORIES[0], METHODS[0], 3, 1, "look", "Ann", 4, True, False, False))
    rows.append((STORIES[5], METHODS[4], 1, 1, "look", "Eve", 4, False, False, True))
    names = ["story", "method", "shot", "round", "dimension", "annotator", "rating"]
    return pd.DataFrame(rows, columns=[*names, "is_gold", "is_repeat", "excluded"])


def score_rows():
    """Scores with ties, of a lower-is-better metric, and of whole methods."""
    rng = np.random.default_rng(4)
    rows = []
    for i, story in enumerate(STORIES):
        for j, method in enumerate(METHODS):
            if (i, j) != (1, 3):  # a score that is missing
                for shot in (1, 2):
                    value = float(np.round(j / 2 + rng.normal()))
                    rows.append((story, method, "coarse", shot, value, True))
            distance = round(float(3 - j + 2 * rng.normal()), 3)
            rows.append((story, method, "distance", "", distance, False))
    rows += [("", m, "printed", "", j % 3, True) for j, m in enumerate(METHODS)]
    names = ["story", "method", "metric", "shot", "score", "higher_is_better"]
    return pd.DataFrame(rows, columns=names)


def chosen_rows():
    """Answers with either output on the left, both bad, and rows that do not count."""
    rng = np.random.default_rng(5)
    rows = []
    for story in STORIES:
        for a, b in itertools.combinations(range(len(METHODS)), 2):
            for who in PEOPLE:
                first, second = (a, b) if rng.random() < 0.5 else (b, a)
                p = stats.norm.cdf((first - second) / 8)
                words = ["a", "b", "tie", "both_bad"]
                word = rng.choice(words, p=[0.7 * p, 0.7 * (1 - p), 0.2, 0.1])
                left = METHODS[first if rng.random() < 0.5 else second]
                pair = METHODS[first], METHODS[second]
                rows.append((story, *pair, "best", who, word, left, *NONE))
    rows.append((*rows[0][:5], "both_bad", "", False, True, False))
    rows.append((*rows[1][:4], "Eve", "b", "", False, False, True))
    rows.append((*rows[2][:4], "Gold", "a", "", True, False, False))
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    flags = ["is_gold", "is_repeat", "excluded"]
    return pd.DataFrame(rows, columns=[*names, "left_method", *flags])


def ranked_rows():
    """Two answers of everybody to each story, and answers that must not count."""
    rng = np.random.default_rng(6)
    rows = []
    for story, who, slot in itertools.product(STORIES, PEOPLE, (1, 2)):
        shown = rng.permutation(len(METHODS))[: 5 - slot]
        order = shown[np.argsort(-(shown + 3 * rng.gumbel(size=len(shown))))]
        rows += [
            (story, METHODS[m], "best", who, i + 1, f"{who} {slot}", *NONE)
            for i, m in enumerate(order)
        ]
    for k in range(3):
        flags = [i == k for i in range(3)]
        rows += [
            (STORIES[0], METHODS[m], "best", f"Eve {k}", 2 - m, "", *flags)
            for m in (0, 1)
        ]
    names = ["story", "method", "criterion", "annotator", "rank", "slot"]
    return pd.DataFrame(rows, columns=[*names, "is_gold", "is_repeat", "excluded"])


def tag_rows():
    """A task of every story but one, and two data sets that cross the tasks."""
    tasks = ["action", "continuation", "action", "", "action", "continuation"]
    sets = ["oops", "oops", "uvo", "uvo", "oops", "uvo"]
    return pd.DataFrame({"story": STORIES, "task": tasks, "data": sets})


def written(folder, name, frame):
    """Write a table as a spreadsheet does: with a mark of its bytes, CRLF, shuffled."""
    path = folder / name
    shuffled = frame.sample(frac=1, random_state=0)
    text = shuffled.to_csv(index=False, lineterminator="\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    return str(path)


def read(folder):
    """Read all tables as text, apostrophes before formulas taken away."""
    found = {}
    for path in sorted((folder / "tables").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        cells = [[re.sub("^'(?=[=+@-])", "", cell) for cell in row] for row in rows[1:]]
        frame = pd.DataFrame(cells, columns=rows[0])
        for column in frame:
            # A column of numbers, with gaps, is numbers.
            numbers = pd.to_numeric(frame[column].replace("", "nan"), errors="coerce")
            if (numbers.notna() == (frame[column] != "")).all():
                frame[column] = numbers
        found[path.stem] = frame
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    tables = {
        "ratings": rated_rows(),
        "scores": score_rows(),
        "choices": chosen_rows(),
        "rankings": ranked_rows(),
        "tags": tag_rows(),
    }
    return {name: written(folder, f"{name}.csv", t) for name, t in tables.items()}


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    """Return a function that runs a command on some of the tables."""

    def run(command, *arguments, resamples="0", images="none", out=None):
        out = out or tmp_path_factory.mktemp("out") / "report"
        given = [str(files.get(text, text)) for text in arguments]
        given += ["--resamples", resamples, "--images", images]
        status = main([command, *given, "--out", str(out)])
        assert status == 0
        return out

    return run


ALL = ("--ratings", "ratings", "--scores", "scores", "--choices", "choices")


@pytest.fixture(scope="module")
def aligned(run):
    return read(run("align", *ALL, "--epsilon", "0", "--scale", "0:4"))


@pytest.fixture(scope="module")
def by_tags(run):
    return read(run("align", "--choices", "choices", "--stories", "tags"))


@pytest.fixture(scope="module")
def resampled(run):
    """Return the folder of a report with intervals."""
    return run("align", *ALL, resamples="60")


@pytest.fixture(scope="module")
def drawn(resampled):
    return read(resampled)


def kept(frame):
    return frame[~frame[["is_gold", "is_repeat", "excluded"]].any(axis=1)]


def human():
    """Mean over shots and rounds within an annotator, then over annotators."""
    own = kept(rated_rows()).groupby(["story", "method", "annotator"])["rating"].mean()
    return own.groupby(["story", "method"]).mean().round(9)


def judged(*metrics):
    """One row a cell that people and these metrics cover; more is better."""
    scores = score_rows()
    sign = scores["higher_is_better"].map({True: 1, False: -1})
    scores["score"] *= sign
    by_story = scores[scores["story"] != ""]
    wide = by_story.pivot_table(
        index=["story", "method"], columns="metric", values="score"
    )
    whole = scores[scores["story"] == ""].set_index("method")["score"]
    cells = human().rename("human").to_frame().join(wide)
    cells["printed"] = cells.index.get_level_values("method").map(whole)
    return cells[["human", *metrics]].dropna()


COEFFICIENTS = {
    "kendall": stats.kendalltau,
    "spearman": stats.spearmanr,
    "pearson": stats.pearsonr,
}


def coefficient(name, x, y):
    """Return a coefficient of two columns, NaN where one of them is constant."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return COEFFICIENTS[name](x, y)[0]


def at_level(cells, metric, level, name):
    """Return value, n, n_groups of a metric."""
    if level == "pooled":
        return coefficient(name, cells["human"], cells[metric]), len(cells), 1
    if level == "method":
        means = cells.groupby("method")[["human", metric]].mean()
        return coefficient(name, means["human"], means[metric]), len(means), 1
    found = [
        (coefficient(name, rows["human"], rows[metric]), len(rows))
        for _, rows in cells.groupby("story")
    ]
    found = [(value, n) for value, n in found if not np.isnan(value)]
    return np.mean([v for v, _ in found]), sum(n for _, n in found), len(found)


def test_tables_have_the_columns_of_the_contract(aligned, by_tags):
    tables = by_tags | aligned
    for name, columns in COLUMNS.items():
        assert list(tables[name].columns) == columns.split(), name


@pytest.mark.slow
def test_value_that_is_missing_has_a_reason(aligned, drawn):
    for tables in (aligned, drawn):
        for name, frame in tables.items():
            if {"value", "reason"} <= set(frame):
                gone = frame[frame["value"].isna()]
                assert (gone["reason"].fillna("") != "").all(), name


def test_method_means_are_means_of_cells(aligned):
    cells, rows = human(), kept(rated_rows())
    table = aligned["method_means"].set_index("method")
    assert list(table.index) == sorted(METHODS)
    for method, row in table.iterrows():
        own = rows[rows["method"] == method]
        cell = own.groupby(["annotator", "story"])["rating"].mean()
        assert row["mean"] == pytest.approx(cells.xs(method, level="method").mean())
        assert row["sd_annotators"] == pytest.approx(
            cell.groupby("annotator").mean().std()
        )
        counts = len(own), own["annotator"].nunique(), own["story"].nunique()
        assert tuple(row[["n_ratings", "n_annotators", "n_stories"]]) == counts


@pytest.mark.parametrize("level", ["method", "story", "pooled"])
@pytest.mark.parametrize("metric", ["coarse", "distance", "printed"])
def test_correlations_are_scipys(aligned, level, metric):
    cells = judged(metric)
    table = aligned["correlations"].set_index(["metric", "level", "coefficient"])
    for name in COEFFICIENTS:
        row = table.loc[metric, level, name]
        if metric == "printed" and level != "method":
            assert math.isnan(row["value"])
            assert "method-level" in row["reason"]
            continue
        value, n, groups = at_level(cells, metric, level, name)
        assert row["value"] == pytest.approx(value, abs=1e-9)
        assert (row["n"], row["n_groups"]) == (n, groups)


@pytest.mark.slow
def test_few_methods_have_the_exact_p_value(aligned):
    table = aligned["correlations"].set_index(["level", "metric", "coefficient"])
    for (metric, name), row in table.loc["method"].iterrows():
        means = judged(metric).groupby("method").mean()
        x, y = means["human"].to_numpy(), means[metric].to_numpy()
        found = coefficient(name, x, y)
        moved = [
            coefficient(name, x, y[list(p)]) for p in itertools.permutations(range(5))
        ]
        p = np.mean(np.abs(moved) >= abs(found) - 1e-9)
        assert row["p_value"] == pytest.approx(p)
    rest = table.loc[["story", "pooled"]]
    assert rest["p_value"].isna().all()


def pair_kinds(cells, metric):
    """Count pairs inside stories: concordant, discordant, and tied in three ways."""
    found = dict.fromkeys(("C", "D", "Th", "Tm", "Thm"), 0)
    for _, rows in cells.groupby("story"):
        for (h, m), (k, n) in itertools.combinations(
            rows[["human", metric]].to_numpy(), 2
        ):
            people, machine = np.sign(h - k), np.sign(m - n)
            if people == 0:
                found["Thm" if machine == 0 else "Th"] += 1
            elif machine == 0:
                found["Tm"] += 1
            else:
                found["C" if people == machine else "D"] += 1
    return found


def check_accuracy(row, pairs):
    met = pairs["C"] + pairs["D"] + pairs["Tm"]
    assert row["n_pairs"] == met
    assert row["metric_tie_rate"] == pytest.approx(pairs["Tm"] / met)
    assert row["ppa_strict"] == pytest.approx(pairs["C"] / met)
    assert row["ppa_half"] == pytest.approx((pairs["C"] + pairs["Tm"] / 2) / met)
    share = (pairs["C"] + pairs["Thm"]) / sum(pairs.values())
    assert row["acc_eq"] == pytest.approx(share)


def test_pairs_of_ratings_are_those_inside_stories(aligned):
    every = judged("coarse", "distance", "printed").assign(constant=0.0)
    table = aligned["pairwise_accuracy"]
    table = table[table["source"] == "ratings"].set_index("metric")
    # A value of a whole method prefers no output of a story.
    assert set(table.index) == {"coarse", "distance", "constant", "random (expected)"}
    for metric in ("coarse", "distance", "constant"):
        cells = every if metric == "constant" else judged(metric)
        check_accuracy(table.loc[metric], pair_kinds(cells, metric))
    assert table.loc["constant", "ppa_half"] == 0.5
    assert table.loc["constant", "ppa_strict"] == 0


def verdicts():
    """Return 1, -1 or 0 of each story and pair in alphabetical order, by majority."""
    found = {}
    for (story, *pair), votes in ordered().groupby(["story", "method_a", "method_b"]):
        counts = votes["choice"].value_counts()
        most = counts[counts > len(votes) / 2]
        word = most.index[0] if len(most) else "tie"
        found[story, *pair] = {"a": 1, "b": -1}.get(word, 0)
    return found


def ordered():
    """Return the answers that count, the two methods in alphabetical order."""
    rows = kept(chosen_rows()).to_dict("records")
    for row in rows:
        if row["method_a"] > row["method_b"]:
            row["method_a"], row["method_b"] = row["method_b"], row["method_a"]
            row["choice"] = {"a": "b", "b": "a"}.get(row["choice"], row["choice"])
    return pd.DataFrame(rows)


def test_pairs_of_choices_are_majorities(aligned):
    scores = score_rows().pivot_table(
        index=["story", "method"], columns="metric", values="score"
    )
    scores["distance"] *= -1
    every = scores[["coarse", "distance"]].dropna().assign(constant=0.0)
    table = aligned["pairwise_accuracy"]
    table = table[table["source"] == "choices"].set_index("metric")
    for metric, row in table.loc[["coarse", "distance", "constant"]].iterrows():
        own = every if metric == "constant" else scores
        own = own[[metric]].dropna()
        pairs = dict.fromkeys(("C", "D", "Th", "Tm", "Thm"), 0)
        for (story, a, b), people in verdicts().items():
            if (story, a) not in own.index or (story, b) not in own.index:
                continue
            machine = np.sign(own.loc[(story, a), metric] - own.loc[(story, b), metric])
            if people == 0:
                pairs["Thm" if machine == 0 else "Th"] += 1
            elif machine == 0:
                pairs["Tm"] += 1
            else:
                pairs["C" if people == machine else "D"] += 1
        check_accuracy(row, pairs)


def test_win_rates_are_counted(aligned):
    table = aligned["win_rates"]
    assert len(table) == 10
    check_win_rates(table, STORIES)


@pytest.mark.parametrize(
    ("tag", "strata"), [("task", ("action", "continuation")), ("data", ("oops", "uvo"))]
)
def test_win_rates_are_counted_in_each_stratum_and_add_up(by_tags, tag, strata):
    tags, table = tag_rows(), by_tags["strata_win_rates"]
    table = table[table["tag"] == tag]
    assert sorted(table["stratum"].unique()) == [*strata]
    for stratum, rows in table.groupby("stratum"):
        assert len(rows) == 10
        check_win_rates(rows, [*tags["story"][tags[tag] == stratum]])
    counts = table.filter(regex="wins|ties|n_stories").columns
    whole = by_tags["win_rates"].set_index(["method_a", "method_b"])[counts]
    summed = table.groupby(["method_a", "method_b"])[[*counts]].sum()
    # One story has no task.
    lacking = 1 if tag == "task" else 0
    assert (whole["n_stories"] - summed["n_stories"] == lacking).all()
    if not lacking:
        pd.testing.assert_frame_equal(summed, whole, check_dtype=False)


def check_win_rates(table, stories):
    """Hold each pair of methods against its answers about some stories."""
    votes, majority = ordered(), verdicts()
    votes = votes[votes["story"].isin(stories)]
    majority = {key: v for key, v in majority.items() if key[0] in stories}
    for _, row in table.iterrows():
        pair = row["method_a"], row["method_b"]
        assert pair[0] < pair[1]
        own = votes[(votes["method_a"] == pair[0]) & (votes["method_b"] == pair[1])]
        counts = [(own["choice"] == word).sum() for word in ("a", "tie", "b")]
        assert row[["wins_a", "ties", "wins_b"]].tolist() == counts
        found = [v for (_, *key), v in majority.items() if tuple(key) == pair]
        counts = [found.count(1), found.count(0), found.count(-1), len(found)]
        names = [f"majority_{name}" for name in ("wins_a", "ties", "wins_b")]
        assert row[[*names, "n_stories"]].tolist() == counts
        votes_won = row["wins_a"] + row["ties"] / 2
        assert row["rate_a"] == pytest.approx(
            votes_won / row[["wins_a", "ties", "wins_b"]].sum()
        )
        stories_won = counts[0] + counts[1] / 2
        assert row["majority_rate_a"] == pytest.approx(stories_won / counts[3])


def strengths(votes, ties):
    """Maximise the likelihood of single answers with a general optimiser."""
    place = {name: i for i, name in enumerate(sorted(METHODS))}
    first = votes["method_a"].map(place).to_numpy()
    second = votes["method_b"].map(place).to_numpy()
    word = votes["choice"].to_numpy()
    tie = ~np.isin(word, ["a", "b"])
    won = np.where(tie, 0.5, word == "a")
    if ties == "drop":
        first, second, won, tie = (x[~tie] for x in (first, second, won, tie))

    def loss(x):
        theta, nu = x[:-1], math.exp(x[-1]) if ties == "davidson" else 0.0
        d = theta[first] - theta[second]
        mass = np.log(np.exp(d / 2) + np.exp(-d / 2) + nu)
        gain = (won - 0.5) * d - mass
        return -gain.sum() - (tie.sum() * x[-1] if nu else 0) + 1e-9 * (theta**2).sum()

    found = optimize.minimize(loss, np.zeros(len(place) + 1), tol=1e-12).x[:-1]
    n = np.bincount(np.concatenate([first, second]), minlength=len(place))
    ratings = 1000 + 400 / math.log(10) * (found - found.mean())
    return {name: (ratings[i], n[i]) for name, i in place.items()}


@pytest.mark.parametrize("ties", ["davidson", *slow("half", "drop")])
@pytest.mark.parametrize("majority", [False, *slow(True)])
def test_leaderboards_are_maximum_likelihood(run, ties, majority):
    arguments = ["--choices", "choices", "--ties", ties]
    table = read(run("leaderboard", *arguments, *["--majority"] * majority))
    table = table["leaderboard"]
    votes = ordered()
    if majority:
        votes = pd.DataFrame(
            [
                (*key[1:], {1: "a", 0: "tie", -1: "b"}[v])
                for key, v in verdicts().items()
            ],
            columns=["method_a", "method_b", "choice"],
        )
    expected = strengths(votes, ties)
    assert table["rating"].mean() == pytest.approx(1000)
    for row in table.itertuples():
        rating, n = expected[row.method]
        assert row.rating == pytest.approx(rating, abs=0.01)
        assert row.n_comparisons == n
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]
    assert table["rating"].is_monotonic_decreasing
    assert table[["low", "high", "rank_low", "rank_high"]].isna().all(axis=None)


def test_leaderboards_of_rankings_are_maximum_likelihood(run):
    table = read(run("leaderboard", "--rankings", "rankings"))["ranking_leaderboard"]
    place = {name: i for i, name in enumerate(METHODS)}
    orders = [
        rows.sort_values("rank")["method"].map(place).tolist()
        for _, rows in kept(ranked_rows()).groupby(["story", "annotator", "slot"])
    ]

    def loss(theta):
        return 1e-9 * (theta**2).sum() + sum(
            np.log(np.exp(theta[order[stage:]]).sum()) - theta[order[stage]]
            for order in orders
            for stage in range(len(order) - 1)
        )

    found = optimize.minimize(loss, np.zeros(len(METHODS)), tol=1e-12).x
    found -= found.mean()
    assert " ".join(table) == (
        "criterion method rating low high rank rank_low rank_high log_worth n_rankings "
        "n_stories drawn part reason"
    )
    assert len(table) == len(METHODS)
    for row in table.itertuples():
        worth = found[place[row.method]]
        assert row.log_worth == pytest.approx(worth, abs=1e-4)
        assert row.rating == pytest.approx(1000 + 400 / math.log(10) * worth, abs=0.02)
        assert row.n_rankings == sum(place[row.method] in order for order in orders)
        assert row.n_stories == len(STORIES)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]
    assert table["rating"].is_monotonic_decreasing
    assert table[["low", "high", "rank_low", "rank_high"]].isna().all(axis=None)


def gwet(units, q, weights):
    """Gwet's coefficient from lists of codes, by its definition."""
    several = [u for u in units if len(u) > 1]
    pairs = [[weights[a, b] for a, b in itertools.permutations(u, 2)] for u in several]
    pa = np.mean([np.mean(p) for p in pairs])
    pi = np.mean([np.bincount(u, minlength=q) / len(u) for u in units], axis=0)
    pe = weights.sum() / (q * (q - 1)) * (pi * (1 - pi)).sum()
    return (pa - pe) / (1 - pe)


def two_way(x):
    """Mean squares of a two-way layout, by statsmodels' least squares."""
    n, k = x.shape
    mean, rows, columns = x.mean(), x.mean(axis=1), x.mean(axis=0)
    between = k * ((rows - mean) ** 2).sum() / (n - 1)
    raters = n * ((columns - mean) ** 2).sum() / (k - 1)
    rest = x - rows[:, None] - columns + mean
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    single = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
    return single, (between - error) / (between + (raters - error) / n)


def test_agreement_of_ratings(aligned):
    rows = kept(rated_rows())
    keys = ["story", "method", "shot", "round"]
    wide = rows.pivot_table(index=keys, columns="annotator", values="rating")
    x = wide.to_numpy()
    units = [row[~np.isnan(row)].astype(int) for row in x]
    whole = x[~np.isnan(x).any(axis=1)]
    spread = np.subtract.outer(np.arange(5), np.arange(5)) ** 2
    rest = [np.delete(whole, a, axis=1).mean(axis=1) for a in range(3)]
    expected = {
        **{
            f"alpha_{kind}": krippendorff.alpha(x.T, level_of_measurement=kind)
            for kind in ("nominal", "ordinal", "interval")
        },
        "ac1": gwet(units, 5, np.eye(5)),
        "ac2_quadratic": gwet(units, 5, 1 - spread / 16),
        **dict(zip(("icc_2_1", "icc_2_k"), two_way(whole), strict=True)),
        **{
            f"rater_vs_rest_{name}": np.mean(
                [COEFFICIENTS[name](whole[:, a], rest[a])[0] for a in range(3)]
            )
            for name in ("spearman", "kendall")
        },
    }
    table = aligned["agreement"]
    table = table[table["question"] == "look"].set_index("statistic")
    assert list(table.index) == list(expected)
    for name, value in expected.items():
        row = table.loc[name]
        assert row["value"] == pytest.approx(value, abs=1e-9), name
        used = whole if name.startswith(("icc", "rater")) else x
        assert row["n_units"] == len(used)
        assert row["n_answers"] == np.isfinite(used).sum()
        assert row["n_annotators"] == 3


def test_agreement_of_choices(run):
    table = read(run("agreement", "--choices", "choices"))["agreement"]
    keys = ["story", "method_a", "method_b"]
    units = ordered().groupby(keys)["choice"].value_counts().unstack(fill_value=0)
    counts = units.to_numpy()
    codes = [np.repeat(np.arange(len(row)), row) for row in counts]
    q = counts.shape[1]
    expected = {
        "alpha_nominal": krippendorff.alpha(
            value_counts=counts, level_of_measurement="nominal"
        ),
        "fleiss_kappa": fleiss_kappa(counts),
        "ac1": gwet(codes, q, np.eye(q)),
        "majority_share": (counts.max(axis=1) / counts.sum(axis=1)).mean(),
    }
    assert dict(zip(table["statistic"], table["value"], strict=True)) == pytest.approx(
        expected
    )


def test_without_resamples_there_are_no_intervals(aligned, by_tags):
    for name, frame in [*aligned.items(), *by_tags.items()]:
        columns = [c for c in frame if re.search("(^|_)(low|high)$", c)]
        assert frame[columns].isna().all(axis=None), name


@pytest.mark.slow
def test_comparisons_are_differences_adjusted_by_holm(drawn):
    table = drawn["metric_comparisons"]
    cells = judged("coarse", "distance", "printed")
    assert len(table)
    for (level, name), rows in table.groupby(["level", "coefficient"]):
        for row in rows.itertuples():
            assert row.metric_a < row.metric_b
            a, b = (at_level(cells, m, level, name)[0] for m in row[4:6])
            assert row.difference == pytest.approx(a - b, abs=1e-9)
            assert row.low <= row.high
        known = rows["p_value"].notna()
        adjusted = multipletests(rows.loc[known, "p_value"], method="holm")[1]
        np.testing.assert_allclose(rows.loc[known, "p_adjusted"], adjusted)


def test_sentences_on_metrics_follow_from_verdict_rows(resampled):
    """The sentences of a report come again from its table alone."""
    told = json.loads((resampled / "report.json").read_text(encoding="utf-8"))
    table = pd.DataFrame(told["tables"]["verdicts"])
    assert not table.empty
    every = itertools.chain.from_iterable(question_claims(table))
    words = list(itertools.chain.from_iterable(every))
    assert {table.loc[i, "verdict"] for i in table.index} >= {"cannot be told", ""}
    for shown, text in words:
        assert text in told["claims" if shown else "limits"]
    for text in tie_claims(table):
        assert text in told["limits"]
    # No other sentence is about a metric's agreement.
    agreeing = [x for x in told["claims"] if "better than chance" in x]
    assert set(agreeing) <= {text for shown, text in words if shown}


def test_p_values_are_never_zero(drawn):
    for frame in drawn.values():
        for column in frame.filter(regex="^p_"):
            p = frame[column].dropna()
            assert ((p > 0) & (p <= 1)).all()


def test_intervals_hold_their_value(drawn):
    for name in ("method_means", "correlations", "agreement", "leaderboard"):
        frame = drawn[name]
        value = next(c for c in ("value", "mean", "rating") if c in frame)
        drawn_here = frame["low"].notna()
        assert drawn_here.any(), name
        assert (frame["low"] <= frame["high"])[drawn_here].all()
        inside = frame[value].between(frame["low"], frame["high"])[drawn_here]
        assert inside.mean() > 0.9


def test_run_says_how_it_was_made(aligned):
    rows = aligned["run"].set_index("key")["value"]
    wanted = {"plumbline", "numpy", "scipy", "seed", "resamples", "resample", "date"}
    assert wanted <= set(rows.index)
    assert rows.index.str.startswith("sha256 of ").sum() == 3
