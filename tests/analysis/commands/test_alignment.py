"""Whole tables: reference data, determinism, exclusions, undefined things."""

import itertools
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.commands.alignment import agreement, align, leaderboard
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError
from analysis.rankings.composite_weights import equally
from analysis.statistics import COLUMNS
from tests.cases import slow

FAST = AlignOptions(resamples=25)
# Where correlations and intervals are not looked at.
LITTLE = {"levels": ("story",), "coefficients": ("kendall",)}
LEAST = AlignOptions(resamples=0, **LITTLE)
METHODS = ("copy", "drift", "good", "swap")


def study(seed=0, n_stories=6, dimensions=("aesthetics", "identity"), methods=METHODS):
    """Ratings, choices and scores of a small study."""
    rng = np.random.default_rng(seed)
    stories = [f"{i:02d}" for i in range(n_stories)]
    ratings = pd.DataFrame(
        itertools.product(stories, methods, dimensions, ("Ann", "Bob", "Eve")),
        columns=["story", "method", "dimension", "annotator"],
    )
    ratings["rating"] = rng.integers(0, 5, len(ratings))
    pairs = list(itertools.combinations(methods, 2))
    choices = pd.DataFrame(
        [(s, *pair, "quality", a) for s in stories for pair in pairs for a in "ABC"],
        columns=["story", "method_a", "method_b", "criterion", "annotator"],
    )
    choices["choice"] = rng.choice(["a", "b", "tie"], len(choices))
    scores = pd.DataFrame(
        itertools.product(stories, methods, ("blur", "cids")),
        columns=["story", "method", "metric"],
    )
    scores["score"] = rng.normal(size=len(scores)).round(2)
    scores["higher_is_better"] = scores["metric"] == "cids"
    return ratings, choices, scores


def run(ratings, choices, scores, options=FAST):
    return align(ratings=ratings, choices=choices, scores=scores, options=options)


@cache
def plain():
    """The tables of the small study; tests only read them."""
    return run(*study())


@cache
def rated():
    """The results of its ratings and scores."""
    ratings, _, scores = study()
    return run(ratings, None, scores)


def assert_same(first, second):
    assert first.tables.keys() == second.tables.keys()
    for name, frame in first.tables.items():
        assert frame.to_csv() == second.tables[name].to_csv(), name
    assert first.cells.to_csv() == second.cells.to_csv()
    assert first.notes == second.notes


def test_align_returns_the_tables_of_its_inputs():
    found = plain()
    planned = {"power", "needed", "subset", "best_subset", "subset_stories"}
    judged = {"stability", "judges", "score_agreement", "score_differences"}
    without_tags = {"strata", "strata_differences", "strata_win_rates"}
    without_sides = {"position_bias", "side_effect", "annotator_sides"}
    without_boxes = {"labels", "label_aggregation"}
    without_rankings = {"ranking_leaderboard"}
    without_marks = {"marked_shots", "shot_agreement"}
    without_earlier = {"late_methods", "late_drift", "late_differences"}
    undeclared = {"hypotheses", "sanity", "top_methods", "identities", "equivalence"}
    # Its columns are the questions and metrics of the input.
    tables = dict(found.tables)
    assert len(tables.pop("by_method"))
    assert set(tables) == (
        set(COLUMNS)
        - planned
        - judged
        - without_tags
        - without_sides
        - without_boxes
        - without_rankings
        - without_marks
        - without_earlier
        - undeclared
    )
    for name, frame in tables.items():
        assert tuple(frame.columns) == COLUMNS[name]
        assert len(frame), name
    assert len(found.cells) == 2 * 2 * 24


@pytest.mark.slow
def test_seed_determines_resamples_and_nothing_else():
    data, first = study(), plain()
    assert_same(first, run(*data))
    other = run(*data, AlignOptions(resamples=25, seed=1))
    changed = first.tables["correlations"].compare(other.tables["correlations"])
    assert set(changed.columns.get_level_values(0)) <= {"low", "high", "p_value"}
    assert "low" in changed


@pytest.mark.slow
@settings(max_examples=2)
@given(st.integers(0, 2**32 - 1))
def test_order_of_rows_does_not_matter(seed):
    shuffled = [frame.sample(frac=1, random_state=seed) for frame in study()]
    assert_same(plain(), run(*shuffled))


@pytest.mark.slow
def test_excluding_a_method_is_not_having_it():
    data = study()
    options = AlignOptions(resamples=25, exclude_methods=("swap",))
    found = run(*data, options)
    without = run(
        *(
            frame[
                ~frame[[c for c in frame if c.startswith("method")]]
                .isin(["swap"])
                .any(axis=1)
            ]
            for frame in data
        )
    )
    without.tables.pop("sample_flow")  # it counts what was left out
    for name, frame in without.tables.items():
        pd.testing.assert_frame_equal(frame, found.tables[name])
    assert found.notes[0] == "Left out as asked: swap."


def test_unknown_excluded_method_is_refused():
    with pytest.raises(OptionError, match="'swpa': expected one of copy, drift, good"):
        run(*study(), AlignOptions(exclude_methods=("swpa",)))


@pytest.mark.slow
def test_lower_is_better_is_turned_in_tables_but_not_in_points():
    ratings, _, scores = study()
    found = rated()
    blur = scores["metric"] == "blur"
    turned = scores.assign(
        score=scores["score"].where(~blur, -scores["score"]), higher_is_better=True
    )
    expected = run(ratings, None, turned)
    for name in ("correlations", "pairwise_accuracy", "metric_comparisons"):
        pd.testing.assert_frame_equal(found.tables[name], expected.tables[name])
    raw = scores[blur].set_index(["story", "method"])["score"]
    points = found.cells[found.cells["metric"] == "blur"]
    for point in points.itertuples():
        assert point.score == raw[point.story, point.method]
    assert found.notes[0].startswith("Lower is better for blur")


@pytest.mark.slow
def test_metric_without_common_cells_is_listed_with_a_reason():
    ratings, _, scores = study()
    stray = pd.DataFrame(
        {"story": ["99"], "method": ["good"], "metric": ["stray"], "score": [1.0]}
    )
    found = run(ratings, None, pd.concat([scores, stray]))
    rows = found.tables["correlations"].query("metric == 'stray'")
    assert len(rows) == 2 * 9
    assert rows["value"].isna().all()
    assert set(rows["reason"]) == {"no rated output has a score of this metric"}
    stray = "aesthetics, identity: metric stray has no score for any rated output."
    assert stray in found.notes


@pytest.mark.slow
def test_metrics_that_share_no_cell_are_each_judged_on_their_own():
    ratings, choices, scores = study()
    first = scores["story"] < "03"
    apart = scores[first == (scores["metric"] == "cids")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = run(ratings, choices, apart)
    for metric in sorted(set(apart["metric"])):
        own = apart[apart["metric"] == metric]
        alone = run(ratings, choices, own)
        for name in ("correlations", "pairwise_accuracy", "spa", "verdicts"):
            here, there = (
                table[table["metric"] == metric].reset_index(drop=True)
                for table in (found.tables[name], alone.tables[name])
            )
            columns = ["value", "low", "high", "n", "p_value", "ppa_half", "n_pairs"]
            shared = [column for column in columns if column in here]
            assert len(here) > 0
            pd.testing.assert_frame_equal(here[shared], there[shared])
    assert "metric_comparisons" not in found.tables
    assert any("is not compared with other metrics" in note for note in found.notes)


@pytest.mark.slow
def test_full_metric_keeps_all_outputs_beside_two_partial_ones():
    """Two partial metrics left 0 of 60 outputs for the one that has all."""
    ratings, _, scores = study()
    parts = [
        scores[(scores["metric"] == "cids") & mask].assign(metric=name)
        for name, mask in (
            ("first", scores["story"] < "03"),
            ("second", scores["story"] >= "05"),
        )
    ]
    whole = scores[scores["metric"] == "cids"]
    table = run(ratings, None, pd.concat([whole, *parts])).tables["correlations"]
    pooled = table[(table["level"] == "pooled") & (table["coefficient"] == "kendall")]
    counts = pooled.groupby("metric")["n"].max()
    assert counts["cids"] == len(whole)
    assert counts["first"] == len(parts[0])
    assert counts["second"] == len(parts[1])


@pytest.mark.shared
def test_vistorybench_published_means(shared):
    # published/README.md: 23 methods, StoryGen's variants left out.
    humans = pd.read_csv(shared / "published/vistorybench_user_study.csv")
    lite = pd.read_csv(shared / "published/vistorybench_lite_metrics.csv")
    dimensions = list(humans.columns[3:])
    ratings = humans.melt(
        id_vars="method",
        value_vars=dimensions,
        var_name="dimension",
        value_name="rating",
    ).assign(story="", annotator="mean")
    scores = lite.melt(
        id_vars="method",
        value_vars=list(lite.columns[3:]),
        var_name="metric",
        value_name="score",
    ).assign(story="")
    excluded = tuple(m for m in humans["method"] if m.startswith("StoryGen"))
    options = AlignOptions(exclude_methods=excluded, resamples=0)
    found = run(ratings, None, scores, options)
    table = found.tables["correlations"].set_index(
        ["dimension", "metric", "level", "coefficient"]
    )
    expected = {
        ("environment_consistency", "csd_self"): (0.4198, 0.5639, 0.7130),
        ("character_identification_consistency", "cids_self"): (0.3770, 0.5195, 0.5886),
        ("subjective_aesthetics", "aesthetic"): (0.3147, 0.4639, 0.6068),
    }
    for key, numbers in expected.items():
        for name, number in zip(
            ("kendall", "spearman", "pearson"), numbers, strict=True
        ):
            row = table.loc[(*key, "method", name)]
            assert row["value"] == pytest.approx(number, abs=5e-5)
            assert row["n"] == 23
        assert table.loc[(*key, "pooled", "kendall"), "reason"] == (
            "ratings are method-level values, without stories"
        )
    assert "pairwise_accuracy" not in found.tables


@pytest.mark.shared
def test_published_coefficients_of_dsg(shared):
    # statistics.md section 9, pooled Spearman / tau-b, as printed in the paper.
    folder = shared / "data/dsg"
    found = run(
        pd.read_csv(folder / "ratings.csv"),
        None,
        pd.read_csv(folder / "scores.csv"),
        AlignOptions(resamples=0, levels=("pooled",)),
    )
    table = found.tables["correlations"].set_index(["metric", "coefficient"])["value"]
    printed = {
        "mplug": ((0.212, 0.164), (0.463, 0.380), (0.464, 0.378)),
        "instructblip": ((0.426, 0.352), (0.442, 0.364), (0.436, 0.355)),
        "pali17b": ((0.207, 0.157), (0.571, 0.458), (0.570, 0.457)),
    }
    for reader, rows in printed.items():
        for question, numbers in zip(("vq2a", "dsg", "dsg_nodep"), rows, strict=True):
            for name, number in zip(("spearman", "kendall"), numbers, strict=True):
                value = table[f"{question}|{reader}", name]
                assert value == pytest.approx(number, abs=5.1e-4)


@pytest.mark.slow
@pytest.mark.shared
def test_published_coefficients_of_tifa(shared):
    # statistics.md section 9, pooled Pearson / tau-b.
    folder = shared / "data/tifa"
    found = run(
        pd.read_csv(folder / "ratings.csv"),
        None,
        pd.read_csv(folder / "scores.csv"),
        AlignOptions(resamples=0, levels=("pooled",)),
    )
    table = found.tables["correlations"].set_index(["metric", "coefficient"])["value"]
    printed = {
        "meteor": (0.339659, 0.274076),
        "bleu": (0.183340, 0.187910),
        "rouge": (0.328889, 0.244858),
        "spice": (0.328053, 0.231758),
        "clipscore": (0.331818, 0.231446),
        "tifa_vilt": (0.493225, 0.382409),
        "tifa_git": (0.544501, 0.425508),
        "tifa_ofa": (0.496147, 0.372478),
        "tifa_blip2": (0.558983, 0.435997),
        "tifa_mplug": (0.596720, 0.471716),
    }
    metrics = set(table.index.get_level_values(0))
    for start, numbers in printed.items():
        (metric,) = [m for m in metrics if m.startswith(start)]
        for name, number in zip(("pearson", "kendall"), numbers, strict=True):
            assert table[metric, name] == pytest.approx(number, abs=5.1e-7)


def test_align_refuses_tables_without_rows():
    ratings, _, scores = study()
    with pytest.raises(OptionError, match="ratings: no row is left"):
        run(ratings.assign(excluded=True), None, scores)
    with pytest.raises(OptionError, match="expected one of them, or several"):
        run(None, None, scores)


@pytest.mark.slow
def test_scores_without_a_judged_output_are_refused():
    ratings, choices, scores = study()
    elsewhere = scores.assign(story="99")
    for name, people in (
        ("ratings", (ratings, None)),
        ("choices", (None, choices)),
    ):
        with pytest.raises(InputError) as caught:
            run(*people, elsewhere)
        assert str(caught.value) == (
            f"scores: story: 99: expected a story of {name}; such as '00'"
        )
    one = ratings[ratings["method"] == "good"]
    other = scores[(scores["method"] != "good") & (scores["story"] < "03")]
    none = scores[(scores["method"] == "good") & (scores["story"] >= "03")]
    with pytest.raises(OptionError, match="no metric has a score of an output"):
        run(one[one["story"] < "03"], None, pd.concat([other, none]))
    some = run(ratings, None, pd.concat([scores, elsewhere]), LEAST)
    assert "correlations" in some.tables


@pytest.mark.slow
def test_each_table_says_what_was_drawn_for_its_intervals():
    ratings, choices, scores = study(methods="ABCDE")
    both = ("stories", "methods")
    usual = run(ratings, choices, scores)
    expected = {
        "method_means": ("stories", "annotators"),
        "correlations": both,
        "metric_comparisons": both,
        "pairwise_accuracy": both,
        "agreement": ("units",),
        "leaderboard": ("stories", "annotators"),
        "spa": ("stories",),
    }
    assert usual.resampled.items() >= expected.items()
    for name, frame in usual.tables.items():
        bounds = frame.filter(regex="low$").drop(columns="mixed_low", errors="ignore")
        known = bounds.notna().any(axis=None)
        # From the tables before them.
        copied = name in ("by_method", "clusters", "verdicts", "method_verdicts")
        assert (name in usual.resampled) == known or copied, name
    asked = AlignOptions(resamples=25, resample="annotators")
    drawn = run(ratings, choices, scores, asked).resampled
    assert drawn["correlations"] == ("annotators",)
    assert "agreement" not in drawn  # four annotators are too few to be drawn
    assert run(ratings, choices, scores, LEAST).resampled == {}


def test_means_over_raters_are_not_counted_as_one_annotator():
    ratings, _, scores = study()
    keys = ["story", "method", "dimension"]
    means = ratings.groupby(keys)["rating"].mean().reset_index()
    found = run(means.assign(annotator="mean"), None, scores, LEAST)
    table = found.tables["method_means"]
    assert table[["n_ratings", "n_annotators"]].isna().all(axis=None)
    assert (table["n_stories"] == 6).all()
    assert any(note.startswith("Ratings are means over raters") for note in found.notes)


def test_metric_without_a_coefficient_is_named():
    ratings, _, scores = study()
    flat = scores[scores["metric"] == "cids"].assign(metric="flat", score=1.0)
    options = AlignOptions(resamples=0)
    notes = run(ratings, None, pd.concat([scores, flat]), options).notes
    assert (
        "aesthetics, identity: metric flat has no coefficient (the metric's scores are "
        "all the same)." in notes
    )
    assert not any("metric cids has no coefficient" in note for note in notes)


@pytest.mark.slow
def test_components_choose_what_is_calibrated():
    ratings, choices, scores = study()
    options = AlignOptions(resamples=0, components=("cids",), **LITTLE)
    found = run(ratings, None, scores, options).tables["calibration"]
    weights = found[found["statistic"] == "weight"]
    assert set(weights["metric"]) <= {"cids"}
    assert "blur" not in set(found["metric"])
    with pytest.raises(OptionError, match="--components: 'sharp': expected blur, cids"):
        run(ratings, choices, scores, AlignOptions(components=("sharp",)))


def ranked(n_stories=12, seed=0, k=3):
    """Rankings of three of the methods, the later in the alphabet the better."""
    rng = np.random.default_rng(seed)
    rows = []
    for s, who, criterion in itertools.product(
        range(n_stories), "ABC", ("best", "fit")
    ):
        shown = rng.choice(len(METHODS), k, replace=False)
        order = shown[np.argsort(shown + 2 * rng.normal(size=k))[::-1]]
        for rank_, method in enumerate(order, start=1):
            rows.append((f"{s:02d}", METHODS[method], criterion, who, rank_))
    names = ["story", "method", "criterion", "annotator", "rank"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.slow
def test_people_alone_may_have_composites_and_tags():
    ratings, _, _ = study()
    question = ratings["dimension"].iloc[0]
    made = (equally("whole", [question], over="questions"),)
    tags = pd.DataFrame({"story": sorted(ratings["story"].unique())})
    tags["style"] = ["a", "b"] * (len(tags) // 2) + ["a"] * (len(tags) % 2)
    declared = pd.DataFrame({"question": [question], "metric": ["clip"]})
    found = align(
        ratings=ratings, tags=tags, composites=made, hypotheses=declared, options=FAST
    )
    assert set(found.tables["composites"]["composite"]) == {"whole"}
    assert set(found.tables["strata"]["stratum"]) == {"a", "b"}
    assert f"{question}: metric clip was declared for it, but has no score." in (
        found.notes
    )


@pytest.mark.parametrize("kind", ["ratings", *slow("choices", "rankings")])
def test_verdict_on_methods_is_what_comparisons_and_ranks_say(kind):
    ratings, choices, _ = study()
    answers = {"ratings": ratings, "choices": choices, "rankings": ranked(6)}[kind]
    found = align(**{kind: answers}, options=AlignOptions(resamples=25)).tables
    name = {
        "ratings": "method_means",
        "choices": "leaderboard",
        "rankings": "ranking_leaderboard",
    }[kind]
    board = found[name].rename(
        columns={"criterion": "question", "dimension": "question"}
    )
    for verdict in found["method_verdicts"].to_dict("records"):
        own = board[board["question"] == verdict["question"]].set_index("method")
        first = own.loc[verdict["method"]]
        assert first["rank"] == 1
        alone = len(own) - first["rank_high"]
        assert verdict["n_better"] == alone
        assert (verdict["verdict"] == "preferred") == (alone == len(own) - 1)
        pairs = found["method_comparisons"]
        pairs = pairs[pairs["question"] == verdict["question"]]
        assert verdict["n_pairs"] == len(pairs) == len(own) * (len(own) - 1) / 2
        assert verdict["n_apart"] == (pairs["p_adjusted"] <= 0.05).sum()
        with_first = pairs[
            (pairs[["method_a", "method_b"]] == verdict["method"]).any(axis=1)
        ]
        assert verdict["p_adjusted"] == with_first["p_adjusted"].max()


def test_rankings_beside_metrics():
    rankings, (_, _, scores) = ranked(6), study()
    found = align(
        ratings=None, choices=None, rankings=rankings, scores=scores, options=FAST
    )
    board = found.tables["ranking_leaderboard"]
    assert list(board.columns) == list(COLUMNS["ranking_leaderboard"])
    assert board.groupby("criterion")["rating"].mean().tolist() == pytest.approx(
        [1000, 1000]
    )
    assert found.resampled["ranking_leaderboard"] == ("stories", "annotators")
    pairs = found.tables["pairwise_accuracy"]
    assert set(pairs["source"]) == {"rankings"}
    assert set(pairs["question"]) == {"best", "fit"}
    people = found.tables["agreement"]
    assert people["statistic"].tolist() == ["kendall_between_annotators"] * 2
    assert found.resampled["agreement"] == ("stories",)


def test_rankings_yield_agreement_and_annotators():
    found = agreement(rankings=ranked(60), options=AlignOptions(resamples=200))
    table = found.tables["agreement"]
    assert set(found.tables) == {"agreement", "annotators", "sample_flow"}
    assert (table["low"] > 0).all()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "--choices, --rankings: expected one of them, or both"),
        ({"rankings": ranked(), "majority": True}, "--majority: expected --choices"),
        ({"rankings": ranked(), "ties": "drop"}, "--ties: expected --choices beside"),
        (
            {"rankings": ranked(), "choices": study()[1], "majority": True},
            "--majority: expected --choices without --rankings",
        ),
    ],
)
def test_rankings_refuse_options_of_choices(asked, told):
    with pytest.raises(OptionError, match=told):
        leaderboard(**asked, options=FAST)
