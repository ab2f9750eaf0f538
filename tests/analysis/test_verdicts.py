"""Verdicts on metrics: each rule, and the sentences of their rows."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from analysis.report.findings_metrics import candidate_claims, selection_limits
from analysis.report.findings_verdicts import question_claims, tie_claims
from analysis.statistics import COLUMNS
from analysis.verdicts import verdict_rows

NAN = float("nan")
JUST_BELOW = {"ppa_half": 0.47, "ppa_half_low": 0.45, "ppa_half_high": 0.49}
BELOW = {"ppa_half": 0.3, "ppa_half_low": 0.2, "ppa_half_high": 0.4}


def pairwise(*changes):
    """Accuracies in pairs of one question, and the two baselines."""
    row = {
        "question": "look",
        "metric": "csd",
        "source": "ratings",
        "ppa_half": 0.7,
        "ppa_half_low": 0.6,
        "ppa_half_high": 0.8,
        "metric_tie_rate": 0.2,
        "n_pairs": 90,
        "n_all_pairs": 120,
        "acc_eq": 0.5,
        "acc_eq_low": 0.44,
        "acc_eq_high": 0.6,
        "p_half": 0.001,
        "p_acc_eq": 0.004,
        "chance_acc_eq": 0.42,
        "epsilon_in_sample": False,
        "drawn": "stories+methods",
        "reason": "",
    }
    chance = {"p_half": NAN, "p_acc_eq": NAN, "drawn": ""}
    guess = {"metric": "random (expected)", "ppa_half": 0.5, "acc_eq": 0.42} | chance
    constant = {"metric": "constant", "ppa_half": 0.5, "acc_eq": 0.2} | chance
    return pd.DataFrame([row | change for change in (*changes, constant, guess)])


def correlations(*changes):
    row = {
        "dimension": "look",
        "metric": "csd",
        "level": "method",
        "coefficient": "kendall",
        "value": 0.5,
        "low": 0.2,
        "high": 0.7,
        "n": 23,
        "n_groups": 1,
        "p_value": 0.004,
        "drawn": "stories+methods",
        "reason": "",
    }
    return pd.DataFrame([row | change for change in changes])


def meant(*metrics, question="look"):
    return pd.DataFrame({"question": question, "metric": metrics})


def verdicts(demanded=0.0, **tables):
    rows = verdict_rows(tables, demanded)
    return pd.DataFrame(rows, columns=list(COLUMNS["verdicts"]))


def found(table, statistic="ppa_half", level="pairs"):
    own = table[(table["statistic"] == statistic) & (table["level"] == level)]
    return own.set_index("metric").to_dict("index")


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        ({}, "above chance", ""),
        ({"p_half": 0.05}, "above chance", ""),
        ({"p_half": 0.0501}, "cannot be told", "not_apart"),
        (BELOW, "below chance", ""),
        (BELOW | {"p_half": 0.2}, "cannot be told", "not_apart"),
        (JUST_BELOW, "below chance", ""),
        ({"p_half": NAN, "drawn": ""}, "cannot be told", "untested"),
        ({"ppa_half": NAN, "p_half": NAN}, "cannot be told", "undefined"),
    ],
)
def test_metric_is_above_chance_when_its_test_says_so(change, verdict, reason):
    row = found(verdicts(pairwise_accuracy=pairwise(change)))["csd"]
    assert (row["verdict"], row["reason"]) == (verdict, reason)
    assert row["chance"] == 0.5


def test_acc_eq_is_judged_against_the_chance_of_the_metric():
    """A metric of many ties has a lower chance than one of none, here .34 and .42."""
    ties = {"metric": "fid", "acc_eq": 0.3, "chance_acc_eq": 0.34, "p_acc_eq": 0.02}
    bounds = {"acc_eq_low": 0.2, "acc_eq_high": 0.335, "n_all_pairs": 60}
    table = verdicts(pairwise_accuracy=pairwise({}, ties | bounds))
    rows = found(table, "acc_eq")
    assert (rows["csd"]["chance"], rows["csd"]["verdict"]) == (0.42, "above chance")
    assert (rows["fid"]["chance"], rows["fid"]["verdict"]) == (0.34, "below chance")
    assert (rows["csd"]["n"], rows["fid"]["n"]) == (120, 60)
    assert list(tie_claims(table)) == [
        "look: if people's ties count too (acc_eq, ratings), these metrics do worse "
        "than chance: fid 30 % [20, 34] of 60 pairs (chance is 34 %; p = 0.02 after "
        "Holm adjustment over 2 metrics of this question)."
    ]


def test_declared_hypotheses_of_all_questions_are_one_family():
    """Two questions of two declared metrics each: Holm over four, explored apart."""
    p_values = {"look": (0.011, 0.02), "mood": (0.013, 0.2)}
    rows = [
        pairwise(
            *(
                {"metric": metric, "p_half": p}
                for metric, p in zip(("csd", "fid"), own, strict=True)
            ),
            {"metric": "new", "p_half": 0.03},
        ).assign(question=question)
        for question, own in p_values.items()
    ]
    hypotheses = pd.concat([meant("csd", "fid", question=name) for name in p_values])
    table = verdicts(pairwise_accuracy=pd.concat(rows), hypotheses=hypotheses)
    own = table[(table["role"] == "declared") & (table["statistic"] == "ppa_half")]
    expected = multipletests(own["p_value"], method="holm")[1]
    np.testing.assert_allclose(own["p_adjusted"], expected)
    assert set(own["n_family"]) == {4}
    new = table[(table["metric"] == "new") & (table["statistic"] == "ppa_half")]
    assert set(new["n_family"]) == {1}
    assert set(new["p_adjusted"]) == {0.03}
    told = said(pairwise_accuracy=pd.concat(rows), hypotheses=hypotheses)
    assert "p = 0.04 after Holm adjustment over the 4 hypotheses of all" in told[0][1]


def test_declared_metrics_are_a_family_and_the_others_another():
    names = ["csd", "cids", "a", "b", "c"]
    p_values = [0.02, 0.03, 0.02, 0.03, 0.5]
    changes = [
        {"metric": name, "p_half": p} for name, p in zip(names, p_values, strict=True)
    ]
    rows = found(
        verdicts(pairwise_accuracy=pairwise(*changes), hypotheses=meant("csd", "cids"))
    )
    for family in (names[:2], names[2:]):
        plain = [rows[name]["p_value"] for name in family]
        expected = multipletests(plain, method="holm")[1]
        adjusted = [rows[name]["p_adjusted"] for name in family]
        np.testing.assert_allclose(adjusted, expected)
        assert {rows[name]["n_family"] for name in family} == {len(family)}
    assert rows["csd"]["role"] == "declared"
    assert rows["a"]["role"] == "exploratory"
    # .02 is enough among two that were declared, not among three that were explored.
    assert rows["csd"]["verdict"] == "above chance"
    told = rows["a"]["verdict"], rows["a"]["reason"]
    assert told == ("cannot be told", "not_adjusted")


@pytest.mark.parametrize(
    ("n", "p_value", "verdict", "reason"),
    [
        (4, 2 / 24, "cannot be told", "few_methods"),
        (5, 2 / 120, "above chance", ""),
        (5, 10 / 120, "cannot be told", "not_apart"),
        (9, 6e-6, "above chance", ""),
        (23, 0.02, "above chance", ""),
    ],
)
def test_method_means_are_judged_by_their_test(n, p_value, verdict, reason):
    """Of four methods a perfect order has p = 2 / 4!, of five 2 / 5!."""
    table = correlations({"n": n, "p_value": p_value})
    row = found(verdicts(correlations=table), "kendall", "method")["csd"]
    assert (row["verdict"], row["reason"]) == (verdict, reason)
    exact = "permuted methods" if n < 10 else "stories+methods"
    assert row["decided_by"] == exact


def test_residuals_are_judged_by_pearson_and_other_levels_are_not():
    residual = {"level": "residual", "n": 200}
    none = {"p_value": np.nan, "low": np.nan, "high": np.nan}
    pearson = {"coefficient": "pearson", "value": 0.4}
    rows = {}, pearson, residual | none, residual | pearson
    table = verdicts(correlations=correlations(*rows)).set_index("level")
    assert table["statistic"].to_dict() == {"method": "kendall", "residual": "pearson"}
    assert table.loc["residual", "verdict"] == "above chance"


def test_exact_test_of_method_means_is_named():
    ((shown, text),) = said(correlations=correlations({"n": 9, "p_value": 6e-6}))
    assert shown
    assert text.endswith(
        "over the means of 9 methods; p < 0.01. The test is exact, over all orders of "
        "the methods."
    )


def test_pairs_lead_and_method_means_where_there_are_none():
    both = verdicts(
        pairwise_accuracy=pairwise({}),
        correlations=correlations({}, {"level": "story", "dimension": "mood"}),
    )
    leads = both[both["leads"]].groupby("question")[["statistic", "level"]].first()
    assert leads.loc["look"].tolist() == ["ppa_half", "pairs"]
    assert leads.loc["mood"].tolist() == ["kendall", "story"]
    alone = verdicts(correlations=correlations({}, {"level": "pooled"}))
    assert alone.loc[alone["leads"], "level"].unique().tolist() == ["method"]


def compared(values, p_values, n_groups=40, **keys):
    """Compare all metrics: of each two the difference and its p-value."""
    return pd.DataFrame(
        [
            keys
            | {
                "metric_a": a,
                "metric_b": b,
                "difference": values[a] - values[b],
                "p_value": p_values.get((a, b), 1.0),
                "p_adjusted": p_values.get((a, b), 1.0),
                "n_groups": n_groups,
            }
            for a, b in itertools.combinations(values, 2)
        ]
    )


def test_others_of_the_highest_explored_metric_are_all_that_it_is_tested_with():
    """A declared metric that beats it is one of them."""
    values = {"csd": 0.8, "a": 0.7, "b": 0.6, "c": 0.55}
    rows = [
        {"metric": name, "ppa_half": x, "ppa_half_low": x - 0.02, "ppa_half_high": 0.9}
        for name, x in values.items()
    ]
    pairs = [("csd", "a"), ("csd", "b"), ("csd", "c"), ("a", "b"), ("a", "c")]
    table = verdicts(
        pairwise_accuracy=pairwise(*rows),
        accuracy_comparisons=compared(
            values,
            dict.fromkeys(pairs, 0.01),
            question="look",
            source="ratings",
            statistic="ppa_half",
        ),
        hypotheses=meant("csd"),
    )
    told = flat(question_claims(table))
    (text,) = [text for _, text in told if "explored" in text]
    assert (
        " It is significantly better than 2 of the 3 others. It is significantly worse "
        "than 1 of the 3 others."
    ) in text


def test_only_compared_metrics_are_counted_where_there_are_many():
    """Of 22 metrics, the best one is compared with all others, and a declared one."""
    names = [f"m{k:02}" for k in range(22)]
    values = {name: 0.8 - k / 100 for k, name in enumerate(names)}
    rows = [{"metric": name, "ppa_half": x} for name, x in values.items()]
    keys = {"question": "look", "source": "ratings", "statistic": "ppa_half"}
    tests = compared(values, {("m00", "m01"): 0.001}, **keys)
    tests = tests[(tests["metric_a"] == "m00") | (tests["metric_b"] == "m00")]
    table = verdicts(
        pairwise_accuracy=pairwise(*rows),
        accuracy_comparisons=tests,
        hypotheses=meant("m00"),
    )
    told = flat(question_claims(table, tests))
    (text,) = [text for _, text in told if "explored" in text]
    assert (
        " It was compared with 1 metric only. Significantly worse: 0; significantly "
        "better: 1." in text
    )
    ((shown, text),) = candidate_claims(table)
    assert shown
    assert "the best of 22 metrics on pairs of outputs may be any of these" in text
    assert "m00, m02, m03, m04, m05, 16 more" in text


def test_clusters_are_of_the_statistic_that_is_quoted():
    """Tests of strict accuracy set clipscore apart, those of half accuracy do not."""
    values = {"clip": 0.695, "git": 0.691, "bleu": 0.6}
    rows = [{"metric": name, "ppa_half": x} for name, x in values.items()]
    keys = {"question": "look", "source": "ratings"}
    half = compared(values, {("clip", "bleu"): 0.01, ("git", "bleu"): 0.02}, **keys)
    strict = compared(values, dict.fromkeys([("clip", "git")], 0.001), **keys)
    table = verdicts(
        pairwise_accuracy=pairwise(*rows),
        accuracy_comparisons=pd.concat(
            [half.assign(statistic="ppa_half"), strict.assign(statistic="ppa_strict")]
        ),
    )
    clusters = {name: row["cluster"] for name, row in found(table).items()}
    assert [clusters[name] for name in values] == [1, 1, 2]
    (_shown, text), *_ = flat(question_claims(table))
    assert " clip has the highest pairwise accuracy." in text
    assert text.endswith(" It is significantly better than 1 of the 2 others.")


def test_best_metric_is_tested_on_common_stories():
    values = {"a": 0.5, "b": 0.3}
    changes = [
        {"metric": name, "value": x, "level": "story", "n_groups": 40}
        for name, x in values.items()
    ]
    tests = compared(
        values,
        {("a", "b"): 0.01},
        dimension="look",
        level="story",
        coefficient="kendall",
    )
    same = verdicts(correlations=correlations(*changes), metric_comparisons=tests)
    assert same["cluster"].tolist() == [1, 2]
    changes[1]["n_groups"] = 12
    other = verdicts(correlations=correlations(*changes), metric_comparisons=tests)
    assert other["cluster"].isna().all()
    # As many stories as the other, and not the same ones.
    changes[1]["n_groups"] = 40
    shared = tests.assign(n_groups=25)
    other = verdicts(correlations=correlations(*changes), metric_comparisons=shared)
    assert other["cluster"].isna().all()


def test_baselines_are_not_judged():
    rows = found(verdicts(pairwise_accuracy=pairwise({})))
    for name in ("constant", "random (expected)"):
        assert (rows[name]["role"], rows[name]["verdict"]) == ("baseline", "")


def soft(*names):
    row = {"question": "look", "value": 0.9, "low": 0.8, "high": 0.95, "reason": ""}
    row |= {"n": 10, "n_stories": 40}
    return pd.DataFrame(
        [row | {"metric": m, "value": 0.9 - i / 10} for i, m in enumerate(names)]
    )


def test_soft_accuracy_has_no_test_of_its_own_nor_a_chance():
    values = {"csd": 0.9, "fid": 0.8}
    keys = {"question": "look", "source": "ratings"}
    tests = compared(values, {("csd", "fid"): 0.01}, **keys).assign(statistic="spa")
    other = compared(values, {}, **keys).assign(statistic="ppa_half")
    tables = {"spa": soft(*values), "accuracy_comparisons": pd.concat([other, tests])}
    rows = found(verdicts(**tables), "spa", "method")
    row = rows["csd"]
    assert (row["verdict"], row["reason"]) == ("cannot be told", "untested")
    assert np.isnan(row["chance"])
    assert (row["n"], row["n_groups"]) == (10, 40)
    assert [rows[name]["cluster"] for name in values] == [1, 2]


def test_threshold_that_was_tuned_on_the_same_pairs_shows_nothing():
    rows = verdicts(pairwise_accuracy=pairwise({"epsilon_in_sample": True}))
    told = found(rows, "acc_eq")["csd"]
    assert (told["verdict"], told["reason"]) == ("cannot be told", "in_sample")
    assert found(rows)["csd"]["verdict"] == "above chance"


# Words --------------------------------------------------------------------------------


def said(demanded=0.0, **tables):
    return flat(question_claims(verdicts(demanded, **tables)))


def flat(claims):
    """Return the claims of all questions, on declared and on explored metrics."""
    return list(itertools.chain.from_iterable(itertools.chain.from_iterable(claims)))


def test_words_of_pairs():
    (claim,) = said(pairwise_accuracy=pairwise({}), hypotheses=meant("csd"))
    assert claim == (
        True,
        "look: csd (declared) is better than chance. It prefers the same output as the "
        "mean ratings in 70 % [60, 80] of 90 pairs that people do not tie (metric ties "
        "count half). Chance is 50 %; p < 0.01.",
    )


@pytest.mark.parametrize(
    ("low", "high", "line"),
    [
        (0.76, 0.9, "Its accuracy lies above the 75 % threshold."),
        (0.6, 0.74, "Its accuracy lies below the 75 % threshold."),
        (
            0.7,
            0.8,
            "The data do not settle whether its accuracy reaches the 75 % threshold.",
        ),
    ],
)
def test_demanded_accuracy_is_compared_with_the_interval(low, high, line):
    bounds = {"ppa_half_low": low, "ppa_half_high": high}
    ((_, text),) = said(0.75, pairwise_accuracy=pairwise(bounds))
    assert text.endswith(f" {line}")
    ((_, text),) = said(pairwise_accuracy=pairwise(bounds))
    assert "demanded" not in text


def test_highest_of_several_is_said_to_be_chosen():
    """Not where it was declared, nor where it is alone."""
    chosen = [{"metric": "a"}, {"metric": "b"}]
    for table, is_told in (
        (verdicts(pairwise_accuracy=pairwise(*chosen)), True),
        (verdicts(pairwise_accuracy=pairwise({})), False),
        (
            verdicts(pairwise_accuracy=pairwise(*chosen), hypotheses=meant("a", "b")),
            False,
        ),
    ):
        told = list(selection_limits(table))
        assert bool(told) == is_told


@pytest.mark.parametrize(
    ("p_value", "in_place", "text"),
    [
        (
            0.001,
            "replaces",
            "it replaces 3 of 5 annotators (margin ε = .1), for new stories",
        ),
        (0.4, "cannot be told", "it is not shown to be better than chance (3 of 5"),
    ],
)
def test_annotators_are_replaced_only_by_metrics_above_chance(p_value, in_place, text):
    alternative = {"question": "look", "metric": "csd", "source": "ratings"}
    alternative |= {"annotator": "", "drawn": "stories", "epsilon": 0.1, "wins": 3}
    table = pd.DataFrame([alternative | {"n_annotators": 5, "verdict": "replaces"}])
    tables = {
        "pairwise_accuracy": pairwise({"p_half": p_value}),
        "alternative_annotator": table,
    }
    rows = pd.DataFrame(verdict_rows(tables))
    own = rows[(rows["metric"] == "csd") & rows["leads"]]
    assert own["in_place"].tolist() == [in_place]
    ((_shown, sentence),) = flat(question_claims(rows))
    assert text in sentence


def test_declared_metric_without_a_value_is_named():
    nothing = {"metric": "far", "value": NAN, "low": NAN, "high": NAN, "p_value": NAN}
    tables = {
        "pairwise_accuracy": pairwise({}),
        "correlations": correlations({}, nothing),
        "hypotheses": meant("far"),
    }
    text = "look: no value could be computed for far."
    assert (False, text) in said(**tables)


def test_soft_accuracy_never_leads_nor_does_that_of_ties():
    equal = {"ppa_half": NAN, "ppa_half_low": NAN, "ppa_half_high": NAN, "p_half": NAN}
    told = said(pairwise_accuracy=pairwise(equal))
    assert told[0][1].startswith("look: no metric could be compared")
    assert said(spa=soft("csd")) == [
        (False, "look: no metric could be compared with people.")
    ]
