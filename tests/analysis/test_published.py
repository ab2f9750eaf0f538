"""Published figures that follow from published figures, and those that do not.

Tables of the papers are in ../shared/published; see its README for their sources.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

from analysis.rankings.composite_weights import (
    Composite,
    by_name,
    equally,
    rank_composite,
)
from analysis.rankings.composites import composites

pytestmark = pytest.mark.shared

PA_PARTS = ("pa_scene", "pa_shot", "pa_character_interaction", "pa_individual_action")
DOMAINS = ("physics", "chemistry", "biology", "geography", "meteorology", "culture")
ANGLES = ("TR", "LI", "CSE", "CPA", "PSC", "GC", "SF", "CUL", "MA")
EPSILON = 1e-9


@pytest.fixture(scope="module")
def table(request):
    """Read one of the published tables, indexed by method."""
    shared = request.getfixturevalue("shared") / "published"

    def read(name, index):
        return pd.read_csv(shared / f"{name}.csv").set_index(index)

    return read


def parts(frame):
    """Return a table with one column a part as the cells of composites."""
    frame = frame.rename_axis("method").reset_index()
    long = frame.melt("method", var_name="part").dropna()
    return long.assign(story="", value=long["value"].astype(float))


def found(frame, composite, **options):
    rows = composites(parts(frame), by_name([composite]), **options)
    return pd.DataFrame(rows).set_index("method")["value"].reindex(frame.index)


def off(printed, computed, tolerance):
    """Return the labels of rows that do not fit."""
    return list(printed.index[(printed - computed).abs() > tolerance + EPSILON])


def test_vistars_core_is_the_mean_of_nine_angles_and_its_drop_follows(table):
    models = table("vistar_models", "model")
    core = found(models[list(ANGLES)], equally("core", ANGLES))
    assert off(models["core"], core, 0.05) == []
    drop = found(
        models[["core", "hard"]], equally("drop", ("core", "hard"), kind="drop")
    )
    assert off(models["drop_pct"], drop, 0.05) == []


def test_vistars_two_averages(table):
    ppa = table("vistar_ppa", "metric")
    wide = ppa[["ppa_pct"]].T
    by_class = [
        equally(name, rows.index) for name, rows in ppa.groupby("class", sort=False)
    ]
    rows = composites(parts(wide), by_name(by_class))
    printed = {"deterministic": 80.8, "hwpq": 85.9}
    assert {row["composite"]: round(row["value"], 1) for row in rows} == printed


def envision(table, domain):
    rows = table("envision_dimensions", "domain").loc[domain].set_index("model")
    overall = table("envision_overall_by_domain", "model")
    return rows, overall["overall" if domain == "all" else domain].reindex(rows.index)


OVERALL = Composite("overall", {"CS": 0.4, "PS": 0.4, "AS": 0.2})


@pytest.mark.parametrize(
    ("domain", "rows"),
    [
        ("all", ["Bagel", "Janus-Pro-7B"]),
        ("physics", ["Bagel"]),
        (
            "chemistry",
            [
                "FLUX-dev",
                "FLUX-pro-1.1",
                "FLUX-pro-1.1-ultra",
                "FLUX-kontext-max",
                "SD-3.5-medium",
                "Gemini-2.5-Flash-Image",
            ],
        ),
        (
            "biology",
            [
                "FLUX-kontext-pro",
                "SD-3.5-medium",
                "Hunyuan Image 3.0",
                "Bagel",
                "Janus-Pro-7B",
            ],
        ),
        ("geography", ["FLUX-dev", "FLUX-pro-1.1", "SD-3.5-large", "GPT-4o", "Bagel"]),
        (
            "meteorology",
            [
                "FLUX-pro-1.1-ultra",
                "FLUX-kontext-pro",
                "SD-3.5-large",
                "Hunyuan Image 3.0",
            ],
        ),
        (
            "culture",
            ["FLUX-dev", "FLUX-pro-1.1", "FLUX-pro-1.1-ultra", "Qwen-Image", "Bagel"],
        ),
    ],
)
def test_envisions_overall_is_point_four_point_four_point_two(table, domain, rows):
    dimensions, printed = envision(table, domain)
    computed = found(dimensions[["CS", "PS", "AS"]], OVERALL)
    assert off(printed, computed, 0.02) == rows


# Its columns of sub-dimensions in the order of the questions of the released code.
SUBDIMENSIONS = {
    "CS": ("SC", "FC", "STC"),
    "AS": ("Exp", "AQ", "Auth"),
    "PS": ("BP", "DI", "PR"),
}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "CS",
            [
                "all FLUX-kontext-max",
                "all SD-3.5-flash",
                "all SD-3.5-large",
                "all SD-3.5-medium",
                "physics SD-3.5-flash",
                "chemistry SD-3.5-flash",
                "chemistry SD-3.5-medium",
                "chemistry SD-3.5-large",
                "geography FLUX-kontext-max",
                "culture SD-3.5-medium",
            ],
        ),
        ("AS", ["all FLUX-dev", "geography FLUX-dev"]),
        ("PS", []),
    ],
)
def test_envisions_dimensions_have_the_weights_of_its_code(table, name, rows):
    # The paper says plain means; its tables have .33, .33, .34.
    frame = table("envision_dimensions", "domain")
    frame.index = frame.index + " " + frame["model"]
    frame = frame.drop(columns="model")
    shares = dict(zip(SUBDIMENSIONS[name], (0.33, 0.33, 0.34), strict=True))
    computed = found(frame[list(shares)], Composite(name, shares))
    assert len(computed) == 105
    assert off(frame[name], computed, 0.01) == rows
    plain = found(frame[list(shares)], equally(name, SUBDIMENSIONS[name]))
    assert len(off(frame[name], plain, 0.01)) >= 95


def test_envisions_overall_is_the_mean_of_its_domains(table):
    overall = table("envision_overall_by_domain", "model")
    mean = found(overall[list(DOMAINS)], equally("mean", DOMAINS))
    assert off(overall["overall"], mean, 0.005) == []


@pytest.mark.parametrize(
    ("name", "n", "rows"),
    [
        ("full", 22, []),
        ("lite", 35, ["UNO", "OmniGen2", "QwenImageEdit-2509"]),
    ],
)
def test_vistorybenchs_alignment_is_the_mean_of_four_parts(table, name, n, rows):
    metrics = table(f"vistorybench_{name}_metrics", "method")
    mean = found(metrics[list(PA_PARTS)], equally("pa", PA_PARTS))
    assert len(metrics) == mean.notna().sum() == n
    assert off(metrics["pa_average"], mean, 0.005) == rows


@pytest.mark.parametrize(("split", "n"), [("lite", 34), ("full", 22)])
def test_qwens_alignment_is_the_mean_of_four_parts(table, split, n):
    qwen = table("vistorybench_qwen_prompt_alignment", "method")
    names = [name.replace("pa_", f"{split}_") for name in PA_PARTS]
    mean = found(qwen[names], equally("pa", names))
    assert mean.notna().sum() == n
    assert off(qwen[f"{split}_average"], mean, 0.005) == []


# Metric: Lite against full over 22 methods: change of the mean in per cent, largest
# change of one method in per cent, Kendall's tau-b, Spearman.
LITE_AGAINST_FULL = {
    "csd_cross": (11.4, 22.5, 0.905, 0.980),
    "csd_self": (7.3, 16.8, 0.894, 0.978),
    "cids_cross": (4.8, 94.8, 0.561, 0.616),
    "cids_self": (1.3, 11.8, 0.668, 0.843),
    "pa_scene": (-1.0, 12.75, 0.952, 0.989),
    "pa_shot": (-0.4, 9.3, 0.810, 0.926),
    "pa_character_interaction": (4.5, 26.9, 0.902, 0.978),
    "pa_individual_action": (5.5, 331.3, 0.709, 0.710),
    "pa_average": (1.0, 52.0, 0.869, 0.964),
    "occm": (4.2, 44.9, 0.749, 0.901),
    "inception_score": (-16.9, 25.7, 0.879, 0.973),
    "aesthetic": (-0.2, 3.2, 0.949, 0.990),
    "copy_paste": (12.7, 64.5, 0.389, 0.528),
}


def test_vistorybenchs_lite_split_against_the_full_one(table):
    full = table("vistorybench_full_metrics", "method")
    lite = table("vistorybench_lite_metrics", "method").reindex(full.index)
    assert list(full.columns[2:]) == list(LITE_AGAINST_FULL)
    for metric, expected in LITE_AGAINST_FULL.items():
        whole, part = full[metric], lite[metric]
        assert len(whole) == part.notna().sum() == 22
        change = 100 * (part / whole - 1)
        computed = (
            100 * (part.mean() / whole.mean() - 1),
            change.abs().max(),
            kendalltau(whole, part)[0],
            spearmanr(whole, part)[0],
        )
        np.testing.assert_allclose(computed[:2], expected[:2], atol=0.0501)
        np.testing.assert_allclose(computed[2:], expected[2:], atol=0.000501)


def test_vistorybenchs_average_rank_of_metrics(table):
    # Nobody printed it; pandas ranks the same table for comparison.
    full = table("vistorybench_full_metrics", "method").drop(
        columns=["family", "base_model"]
    )
    metrics = [name for name in full if name not in ("pa_average", "copy_paste")]
    assert full[metrics].notna().all(axis=None)
    average = found(full[metrics], rank_composite(metrics))
    expected = full[metrics].rank(ascending=False).mean(axis=1)
    np.testing.assert_allclose(average, expected)
