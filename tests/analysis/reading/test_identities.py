"""One identity a metric: refused, chosen, compared or mixed."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.__main__ import main
from analysis.commands.option_values import chosen_identities
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError
from analysis.reading.identities import identities, one_identity, with_every_identity
from analysis.reading.inputs import check_scores
from analysis.reading.scores import score_table

CELLS = [(f"s{s}", m) for s in range(6) for m in ("UNO", "Sora", "Wan", "Kling")]
FP32, BF16 = "1a2b3c4d5e6f", "99aa3c4d5e6f"
COMPARED = AlignOptions(compare_identities=True)


def scored(metric="cids", cells=CELLS, **made_by):
    rng = np.random.default_rng(len(cells))
    rows = pd.DataFrame(cells, columns=["story", "method"])
    return rows.assign(metric=metric, score=rng.normal(size=len(rows)), **made_by)


def both(first=CELLS, second=CELLS):
    """Scores of one metric in fp32 and bf16, and of another in fp32."""
    made = [
        scored(cells=first, precision="fp32", identity=FP32, computed_at="2026-11-01"),
        scored(cells=second, precision="bf16", identity=BF16, computed_at="2026-11-09"),
        scored("csd", precision="fp32", identity="777777777777"),
    ]
    return check_scores(pd.concat(made, ignore_index=True), file="scores.csv")


def ratings():
    return pd.DataFrame(
        [
            (*cell, "look", who, 1 + k % 5)
            for k, cell in enumerate(CELLS)
            for who in "ab"
        ],
        columns=["story", "method", "dimension", "annotator", "rating"],
    )


def names(table):
    return sorted(table["metric"].unique())


@pytest.mark.parametrize("halves", [(CELLS, CELLS), (CELLS[:12], CELLS[12:])])
def test_two_identities_are_refused_with_both_names_and_what_to_do(halves):
    with pytest.raises(OptionError) as refused:
        one_identity(both(*halves), AlignOptions())
    n = len(halves[0])
    assert str(refused.value) == (
        f"scores: metric 'cids': expected one identity, found 2. {BF16} (bf16) has {n} "
        f"scores; {FP32} (fp32) has {n} scores. They differ in precision: bf16 / fp32. "
        f"Write --identity cids={BF16} to choose one, --compare-identities to report "
        "each as a metric of its own, or --mix-identities to pool them."
    )


def test_identity_is_chosen_by_its_first_digits_or_by_what_differs():
    for key in (FP32, "1a2b", "fp32"):
        found, remarks = one_identity(both(), AlignOptions(identity={"cids": key}))
        assert set(found.loc[found["metric"] == "cids", "precision"]) == {"fp32"}
        assert len(found[found["metric"] == "csd"]) == 24
        assert remarks == [
            f"Metric cids: scores of {FP32} (fp32) are used; 24 scores of other "
            "identities left out, as asked."
        ]
    for wrong in ({"cids": "zz"}, {"cids": ""}, {"cid": FP32}):
        with pytest.raises(OptionError, match=r"^--identity: .*: expected "):
            one_identity(both(), AlignOptions(identity=wrong))


def test_compared_identities_are_called_by_what_differs():
    found, _ = one_identity(both(), COMPARED)
    assert names(found) == ["cids (bf16)", "cids (fp32)", "csd"]
    judged = pd.concat(
        [
            scored(
                judge="gpt", judge_version="gpt-1", settings="temperature=0; seed=1"
            ),
            scored(
                judge="gpt", judge_version="gpt-2", settings="temperature=0; seed=1"
            ),
            scored(
                judge="gpt", judge_version="gpt-2", settings="temperature=1; seed=1"
            ),
            scored(judge=""),
        ]
    )
    found, _ = one_identity(judged, COMPARED)
    assert names(found) == [
        "cids (gpt, gpt-1)",
        "cids (gpt, gpt-2, temperature=0)",
        "cids (gpt, gpt-2, temperature=1)",
        "cids (no judge)",
    ]


def test_versions_are_metrics_of_their_own_in_a_table_without_identities():
    old = pd.concat([scored(metric_version="1"), scored(metric_version="2")])
    found, _ = one_identity(pd.concat([old, scored("j")]), AlignOptions())
    assert names(found) == ["cids (1)", "cids (2)", "j"]
    found, _ = one_identity(old, AlignOptions(identity={"cids": "2"}))
    assert set(found["metric_version"]) == {"2"}


def test_scores_of_a_method_that_is_left_out_do_not_count():
    of_wan = [cell for cell in CELLS if cell[1] == "Wan"]
    rest = [cell for cell in CELLS if cell[1] != "Wan"]
    found, _ = one_identity(both(rest, of_wan), AlignOptions(exclude_methods=("Wan",)))
    assert names(found) == ["cids", "csd"]


@pytest.mark.slow
def test_mixed_identities_are_pooled_and_all_named():
    found = analysis.align(
        ratings=ratings(), scores=both(), mix_identities=True, resamples=0
    )
    told = found["identities"].set_index(["metric", "precision"])
    assert list(told.index) == [("cids", "bf16"), ("cids", "fp32"), ("csd", "fp32")]
    assert list(told["n"]) == [24, 24, 24]
    assert told.loc[("cids", "bf16"), "computed_at"] == "2026-11-09"
    assert any(
        "the scores of 2 identities are pooled" in note
        and "24 outputs with scores of several count by their mean" in note
        for note in found.notes
    )
    # The pooled score of an output is the mean of both.
    a, b = both()[:24]["score"], both()[24:48]["score"]
    mean = pd.DataFrame(CELLS, columns=["story", "method"]).assign(
        metric="cids", score=(a.to_numpy() + b.to_numpy()) / 2
    )
    alone = analysis.align(ratings=ratings(), scores=mean, resamples=0)
    pooled = found["correlations"].query("metric == 'cids' and level == 'story'")
    expected = alone["correlations"].query("metric == 'cids' and level == 'story'")
    assert pooled["value"].tolist() == pytest.approx(expected["value"].tolist())


def test_declared_metric_stands_for_each_of_its_identities():
    given = pd.DataFrame({"question": ["look", "plot"], "metric": ["cids", "csd"]})
    found = with_every_identity(given, one_identity(both(), COMPARED)[0])
    assert found["metric"].tolist() == ["cids (bf16)", "cids (fp32)", "csd"]
    assert found["question"].tolist() == ["look", "look", "plot"]


def test_command_refuses_mixed_scores_and_writes_what_made_them(tmp_path, capsys):
    both().to_csv(tmp_path / "scores.csv", index=False)
    ratings().to_csv(tmp_path / "ratings.csv", index=False)
    given = [f"--{name}={tmp_path / name}.csv" for name in ("ratings", "scores")]
    asked = [
        "align",
        *given,
        "--resamples=0",
        "--images=none",
        "--levels=story",
        "--coefficients=kendall",
        f"--out={tmp_path / 'r'}",
    ]
    assert main(asked) == 2
    assert "expected one identity, found 2" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
    assert main([*asked, "--compare-identities", "--mix-identities"]) == 2
    assert main([*asked, "--identity", "cids=bf16"]) == 0
    written = pd.read_csv(tmp_path / "r/tables/identities.csv", dtype=str)
    assert list(written["identity"]) == [BF16, "777777777777"]
    assert "What made the scores" in (tmp_path / "r/report.html").read_text("utf-8")


@pytest.mark.slow
def test_table_without_identities_has_no_table_of_them():
    assert identities(scored())["label"].tolist() == [""]
    found = analysis.align(ratings=ratings(), scores=scored(), resamples=0)
    assert "identities" not in found.tables


def test_refusal_proposes_an_option_that_works():
    tables = [
        # Two rows of one fingerprint, since a column is partly empty.
        [scored(precision="", identity=FP32), scored(precision="fp32", identity=FP32)],
        # Labels with commas and spaces, without any fingerprint.
        [scored(judge="gpt", judge_version=n) for n in "12"] + [scored(judge="")],
    ]
    for rows in tables:
        scores = pd.concat(rows).assign(metric="my cids, v2")
        with pytest.raises(OptionError) as refused:
            one_identity(scores, AlignOptions())
        proposed = re.search(r"Write (--identity .*) to choose one", str(refused.value))
        assert proposed is not None
        _option, value = shlex.split(proposed[1])
        chosen = AlignOptions(identity=chosen_identities(value))
        assert len(one_identity(scores, chosen)[0]) == 24


def test_prefix_of_two_fingerprints_chooses_neither():
    scores = pd.concat([scored(identity="1a2b00000000"), scored(identity=FP32)])
    with pytest.raises(OptionError, match=r"cids=1a2b: expected .* or "):
        one_identity(scores, AlignOptions(identity={"cids": "1a2b"}))


def test_compared_metric_is_declared_once_an_identity_beside_a_method_left_out():
    found = analysis.align(
        ratings=ratings(),
        scores=both(),
        compare_identities=True,
        exclude_methods="Wan",
        hypotheses={"look": "cids"},
        resamples=0,
    )
    assert names(found["hypotheses"]) == ["cids (bf16)", "cids (fp32)"]
    assert set(found["identities"]["n"]) == {18}


def test_identity_called_like_another_metric_is_refused():
    scores = pd.concat([both(), scored("cids (fp32)", precision="fp32")])
    with pytest.raises(OptionError, match="'cids \\(fp32\\)': expected another name"):
        one_identity(scores, COMPARED)


def test_pooled_identities_count_each_shot_once():
    # Shots 1 to 3 by one identity, 1 alone by another: the mean is (1 + 0 + 0) / 3.
    shots = scored(cells=[("s0", "UNO")] * 3, judge="a", shot=[1, 2, 3])
    shots["score"] = [1.0, 0, 0]
    scores = check_scores(
        pd.concat([shots, shots[:1].assign(judge="b")]), file="scores.csv"
    )
    pooled, _remarks = one_identity(scores, AlignOptions(mix_identities=True))
    assert score_table(pooled).cells["score"].tolist() == [pytest.approx(1 / 3)]


def test_composite_of_a_compared_metric_is_refused():
    made = {"all": {"over": "metrics", "weights": {"cids": 0.5, "csd": 0.5}}}
    given = {"ratings": ratings(), "scores": both(), "composites": made}
    with pytest.raises(InputError, match=r"cids: expected one of cids \(bf16\), "):
        analysis.align(**given, compare_identities=True, resamples=0)
    with pytest.raises(OptionError, match="expected one identity, found 2"):
        analysis.align(**given, resamples=0)


@pytest.mark.slow
def test_degraded_copies_follow_the_identity_of_their_originals():
    scores = both()
    copies = scores[scores["metric"] == "cids"].assign(
        twin="blur", score=lambda rows: rows["score"] + np.repeat([-1.0, 1.0], 24)
    )
    given = {"ratings": ratings(), "scores": scores, "resamples": 0}
    fp32 = {"identity": {"cids": "fp32"}}
    one = analysis.align(**given, **fp32, twins=copies)
    assert one["sanity"]["n_missed"].tolist() == [0]
    assert any("24 scores of degraded copies left out" in note for note in one.notes)
    alien = analysis.align(**given, **fp32, twins=copies[24:])
    assert "sanity" not in alien.tables
    every = analysis.align(**given, compare_identities=True, twins=copies)
    missed = every["sanity"].set_index("metric")["n_missed"].to_dict()
    assert missed == {"cids (bf16)": 24, "cids (fp32)": 0}
