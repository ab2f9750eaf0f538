"""Requirements on agreement: `align --require`."""

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.commands import alignment
from analysis.commands.requirements import MET, NOT_MET, OPEN, outcomes, parsed
from analysis.options import OptionError
from tests.analysis.commands.test_doctor import study


def tables(low, high):
    """Verdicts of one metric, chance being a half."""
    row = {
        "question": "look",
        "metric": "a:b",
        "statistic": "ppa_half",
        "level": "pairs",
        "source": "ratings",
        "role": "exploratory",
        "value": (low + high) / 2,
        "low": low,
        "high": high,
        "chance": 0.5,
        "leads": True,
    }
    kendall = row | {"statistic": "kendall", "leads": False, "chance": 0.0}
    rows = [row, kendall | {"level": "pooled"}, kendall | {"level": "story"}]
    return {"verdicts": pd.DataFrame(rows)}


@pytest.mark.parametrize(
    ("least", "low", "high", "state"),
    [
        (0.6, 0.6, 0.8, MET),
        (0.6, 0.59, 0.8, OPEN),
        (0.6, 0.4, 0.59, NOT_MET),
        (0.3, 0.4, 0.7, OPEN),  # above 0.3, and perhaps not above chance
        (0.3, 0.51, 0.7, MET),
        (0.3, 0.35, 0.49, NOT_MET),
    ],
)
def test_interval_decides(least, low, high, state):
    (outcome,) = outcomes(parsed([f"look:a:b>={least}"]), tables(low, high))
    assert outcome.state == state


def test_interval_that_is_missing_settles_nothing():
    known = tables(0.7, 0.9)
    known["verdicts"][["low", "high"]] = float("nan")
    (outcome,) = outcomes(parsed(["look:a:b>=0.6"]), known)
    assert outcome.state == OPEN
    assert "0.800, without an interval" in str(outcome)


def test_statistic_and_level_can_be_named():
    wanted = ["look:a:b:kendall@story>=0.6", "look:a:b:ppa_half>=0.6"]
    found = outcomes(parsed(wanted), tables(0.7, 0.8))
    assert [one.why.split(" ")[0] for one in found] == [
        "kendall@story",
        "ppa_half@pairs",
    ]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("lok:a:b", "look:a:b"),
        ("look:a:b:kendall", "look:a:b:kendall@pooled, look:a:b:kendall@story"),
        ("look:a:b:kendal@story", "look:a:b:kendall@story"),
    ],
)
def test_unknown_name_is_refused_with_known_ones(name, nearest):
    with pytest.raises(OptionError, match=f"expected one of .*{nearest}"):
        outcomes(parsed([f"{name}>=0.6"]), tables(0.7, 0.8))


@pytest.mark.parametrize("text", ["look:good", "look>=1", "look:good>=x", "a:b>=nan"])
def test_malformed_requirement_is_refused(text):
    with pytest.raises(OptionError, match="expected QUESTION:METRIC>=NUMBER"):
        parsed([text])


@pytest.fixture
def align(tmp_path):
    """Return a function that aligns a study with requirements."""
    for name, table in zip(("ratings", "scores"), study(), strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)

    def align(*requirements, scores="scores.csv"):
        options = [part for one in requirements for part in ("--require", one)]
        tables = ["--ratings", str(tmp_path / "ratings.csv")]
        tables += ["--scores", str(tmp_path / scores)] if scores else []
        out = ["--out", str(tmp_path / "out"), "--images", "none", "--resamples", "9"]
        few = ["--levels", "story", "--coefficients", "kendall"]
        return main(["align", *tables, *out, *few, *options])

    return align


def test_gate_of_a_report(align, tmp_path, capsys):
    names = ("look:good>=0.6", "look:good>=0.999")
    assert align(*names) == 2
    page, first, second = capsys.readouterr().out.splitlines()
    assert page == str(tmp_path / "out" / "report.html")
    assert first.startswith("met: look:good>=0.6: ppa_half@pairs of ratings is 1.0")
    assert second.startswith("not settled: look:good>=0.999: ")


@pytest.mark.slow
def test_met_requirement_ends_with_0(align):
    assert align("look:good>=0.6") == 0


@pytest.mark.parametrize("name", ["look:goodish", "lok:good", "look:god:kendall"])
def test_unknown_name_is_refused_before_the_analysis(align, monkeypatch, capsys, name):
    monkeypatch.setattr(alignment, "align", lambda **_tables: pytest.fail("analysed"))
    assert align(f"{name}>=0.6") == 1
    assert f"--require: '{name}': expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("require", "given"),
    [
        (["look:goood>=0.6"], {}),
        (["nonsense"], {}),
        (["look:good>=0.6"], {"scores": ""}),
        (["look:good>=0.6"], {"scores": "absent.csv"}),
    ],
)
def test_bad_input_ends_with_1_beside_requirements(align, tmp_path, require, given):
    assert align(*require, **given) == 1
    assert not (tmp_path / "out").exists()


def test_bad_input_ends_with_2_without_requirements(align):
    assert align(scores="absent.csv") == 2
