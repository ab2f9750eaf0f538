"""The report: complete, reproducible, self-contained, safe with hostile names."""

import base64
import csv
import hashlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.options import AlignOptions
from analysis.report.page import STYLE_TEXT, content_security_policy, plotly_source
from analysis.report.sections import sections_of
from analysis.report.tables import (
    LEAST_ROWS,
    MOST_CELLS,
    as_csv,
    as_latex,
    escaped,
    listed_tables,
)
from analysis.report.writing import run_table, write_report
from analysis.result_tables.contract import Analysis
from analysis.statistics import COLUMNS, TABLE_GROUPS
from analysis.tables import restored
from tests.analysis.test_verdicts import pairwise, verdicts
from tests.cases import slow

ROOT = Path(__file__).parents[3]
HOSTILE = ["=cmd()", "<b>x</b>", "A & B_1 50%", "+方法", "<!--<script>", "</script>"]


def write_study(folder):
    """Write ratings, choices and scores of six methods with hostile names."""
    ratings = ["story,method,dimension,annotator,rating"]
    choices = ["story,method_a,method_b,criterion,annotator,choice"]
    scores = ["story,method,metric,score"]
    quoted = [f'"{name}"' for name in HOSTILE]
    for s in range(4):
        for m, name in enumerate(quoted):
            scores += [
                f"s{s},{name},one,{m + s * 0.1}",
                f"s{s},{name},two,{(m * 7) % 5}",
            ]
            for r in range(3):
                ratings.append(f"s{s},{name},d,R{r},{min(4, (m + s + r) % 6)}")
                for other in quoted[m + 1 :]:
                    word = ("a", "b", "tie")[(m + r + s) % 3]
                    choices.append(f"s{s},{name},{other},q,R{r},{word}")
    for name, lines in (("ratings", ratings), ("choices", choices), ("scores", scores)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def study(tmp_path):
    return write_study(tmp_path)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the study's report, for tests that only read it."""
    study = write_study(tmp_path_factory.mktemp("study"))
    assert align(study, study / "out") == 0
    return study / "out"


def align(study, out, *extra):
    given = [
        "--ratings",
        study / "ratings.csv",
        "--choices",
        study / "choices.csv",
        "--scores",
        study / "scores.csv",
        "--resamples",
        "20",
        "--scale",
        "0:4",
        "--out",
        out,
        *extra,
    ]
    return main(["align", *map(str, given), "--images", "none"])


def reported(command, folder, *extra):
    """Run a command on the files of a folder, and write its report there."""
    words = command.split()
    given = [str(folder / word) if word.endswith(".csv") else word for word in words]
    return main([*given, *extra, "--images", "none", "--out", str(folder / "out")])


def run_of(**options):
    given = {"date": "2026", "command": "", "resample_default": "stories"}
    return run_table(AlignOptions(**options), hashes={}, **given)


@pytest.mark.slow
def test_hypotheses_of_a_file_are_in_the_report_and_its_hashes(study, capsys):
    file = study / "meant.csv"
    file.write_text("question,metric\nd,two\n")
    assert align(study, study / "out", "--hypotheses", file) == 0
    tables = study / "out/tables"
    assert (tables / "hypotheses.csv").read_text().splitlines()[1:] == ["d,two,"]
    assert "hypotheses (meant.csv)" in (tables / "run.csv").read_text()
    file.write_text("question,metric\nd,three\nq,one\nr,one\n")
    assert align(study, study / "other", "--hypotheses", file) == 2
    assert capsys.readouterr().err.splitlines() == [
        "meant.csv:2: metric: three: expected one of one, two",
        "meant.csv:4: question: r: expected one of d, q",
    ]
    assert not (study / "other").exists()


@pytest.mark.slow
def test_two_runs_are_identical_and_another_seed_is_not(study):
    for out, seed in (("qqq1", 3), ("qqq2", 3), ("qqq3", 4)):
        align(study, study / out, "--seed", seed)

    def files(name):
        return {
            path.name: path.read_bytes().replace(name.encode(), b"OUT")
            for path in (study / name).rglob("*.*")
        }

    assert files("qqq1") == files("qqq2")
    assert files("qqq1")["correlations.csv"] != files("qqq3")["correlations.csv"]


@pytest.mark.slow
def test_inputs_in_the_folder_of_the_report_are_kept(study):
    tables = study / "out" / "tables"
    tables.mkdir(parents=True)
    for name in ("ratings", "choices", "scores"):
        (study / f"{name}.csv").rename(tables / f"{name}.csv")
    before = (tables / "ratings.csv").read_bytes()
    assert align(tables, study / "out") == 0
    assert (tables / "ratings.csv").read_bytes() == before
    assert (tables / "correlations.csv").is_file()


@pytest.mark.slow
def test_inputs_with_equal_names_have_separate_hashes(study):
    (study / "other").mkdir()
    (study / "scores.csv").rename(study / "other" / "ratings.csv")
    assert (
        reported(
            "align --ratings ratings.csv --resamples 0 --scores other/ratings.csv",
            study,
        )
        == 0
    )
    rows = dict(csv.reader((study / "out/tables/run.csv").open()))
    hashes = [rows[f"sha256 of {part} (ratings.csv)"] for part in ("ratings", "scores")]
    assert len(set(hashes)) == 2


@pytest.mark.slow
def test_run_table_describes_the_report(report):
    rows = dict(csv.reader((report / "tables/run.csv").open()))
    assert rows["seed"] == "0"
    assert rows["resamples"] == "20"
    assert "sha256 of ratings (ratings.csv)" in rows
    assert rows["command"].startswith("plumbline align")


@pytest.mark.slow
def test_date_follows_source_date_epoch(study, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    align(study, study / "out")
    assert "1970-01-02T00:00:00+00:00" in (study / "out/tables/run.csv").read_text()


def test_csv_has_no_formulas(report):
    for path in (report / "tables").glob("*.csv"):
        for row in csv.reader(path.open()):
            for cell in row:
                is_number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
                assert is_number or not cell.startswith(("=", "+", "-", "@")), cell


def test_page_needs_nothing_and_shows_names_as_text(report):
    html = (report / "report.html").read_text()
    body = html.split("<script>")[0]
    assert "<b>x</b>" not in body
    assert "&lt;b&gt;x&lt;/b&gt;" in body
    assert not re.search(r'(?:src|href)="https?:', body)
    policy = content_security_policy(html)
    assert "script-src 'sha256-" in policy
    assert "unsafe" not in policy.split("style-src-attr")[0]


def test_bad_input_writes_nothing_and_ends_with_status_2(study, capsys):
    with (study / "ratings.csv").open("a") as stream:
        stream.write("s0,x,d,R9,33\n")
    assert align(study, study / "out") == 2
    assert (
        "ratings.csv:74: rating: 33: expected a value from 0 to 4"
        in capsys.readouterr().err
    )
    assert not (study / "out").exists()
    assert not list(study.glob(".report-*"))


@pytest.mark.parametrize("out", ["ratings.csv", "ratings.csv/below"])
def test_output_folder_is_refused_when_it_is_a_file(study, out, capsys):
    (study / "scores.csv").unlink()
    assert align(study, study / out) == 2
    told = capsys.readouterr().err
    assert "ratings.csv': expected a folder, not a file" in told
    assert "scores.csv" not in told


@pytest.mark.slow
def test_output_folder_is_refused_when_it_cannot_be_made(study, capsys):
    assert align(study, Path("/proc/nope/x")) == 2
    assert "--out: '/proc/nope/x': expected a writable folder" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["1e9", *slow("yesterday", "", "9" * 30)])
def test_invalid_date_is_refused_before_scipy_is_imported(study, text):
    """The process is fresh, since scipy reads the variable on import."""
    given = [
        sys.executable,
        "-m",
        "analysis",
        "agreement",
        "--out",
        "out",
        "--ratings",
        "ratings.csv",
    ]
    done = subprocess.run(
        given,
        cwd=study,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": text},
    )
    assert (done.returncode, done.stderr) == (
        2,
        f"SOURCE_DATE_EPOCH: {text!r}: expected whole seconds since 1970\n",
    )
    assert not (study / "out").exists()


@pytest.mark.slow
def test_temporary_files_are_removed(study):
    before = set(study.iterdir())
    align(study, study / "out")
    assert set(study.iterdir()) - before == {study / "out"}
    assert {path.name for path in (study / "out").iterdir()} == {
        "report.html",
        "report.json",
        "tables",
    }


@pytest.mark.slow
def test_page_names_the_resampled_units(study):
    align(study, study / "out", "--confidence", "0.8", "--resample", "stories+methods")
    html = (study / "out/report.html").read_text()
    assert (
        "Percentile intervals at 0.8 come from 20 resamples of whole clusters" in html
    )
    assert "calibration; items for annotators; stories for composites" in html
    assert "(stories for leaderboard, method_comparisons" in html
    run = dict(csv.reader((study / "out/tables/run.csv").open()))
    assert run["resample"] == "stories+methods"
    assert run["resample leaderboard"] == "stories"
    assert run["resample correlations"] == "stories+methods"


def test_policy_admits_every_style_that_plotly_adds():
    html = "<style>a{}</style><script>e.textContent='.map{font:1px}'</script>"
    policy = content_security_policy(html)
    for text in ("a{}", ".map{font:1px}", ""):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert STYLE_TEXT.search(plotly_source())


@pytest.mark.slow
def test_new_report_replaces_the_tables_and_keeps_other_files(study):
    align(study, study / "out")
    (study / "out/notes.txt").write_text("mine")
    reported("agreement --ratings ratings.csv --resamples 0", study)
    names = {path.name for path in (study / "out/tables").glob("*.csv")}
    assert {"agreement.csv", "run.csv"} <= names
    assert not {"correlations.csv", "leaderboard.csv"} & names
    assert (study / "out/notes.txt").read_text() == "mine"


# Small parts --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 40, 41, 1000])
def test_latex_is_balanced_and_every_row_has_its_columns(n):
    """A strict parser stands in for TeX, which is not installed."""
    name = 'a_b & {c} \\ 50 % $x$ #1 ~ ^ < > | " '
    frame = pd.DataFrame(
        {"x & y": [name] * n, "p_value": [1e-9] * n, "v": [-2e-9] * n, "e": [None] * n}
    )
    text = as_latex(frame)
    kind = "longtable" if n > 40 else "tabular"
    assert text.startswith(rf"\begin{{{kind}}}{{lrrl}}")
    assert text.endswith(f"\\end{{{kind}}}\n")
    plain = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert plain.count("{") == plain.count("}")
    depths = itertools.accumulate((c == "{") - (c == "}") for c in plain)
    assert min(depths) == 0
    assert plain.count("$") % 2 == 0
    assert not re.search(r"[#%~]|(?<!\\)_", re.sub(r"\\text\w+", "", plain))
    commands = set(re.findall(r"\\([a-z]+)", text))
    rules = "begin end toprule midrule bottomrule endhead endfirsthead endfoot times"
    marks = "backslash asciitilde asciicircum less greater bar quotedbl"
    known = {*rules.split(), *(f"text{mark}" for mark in marks.split())}
    assert commands <= known
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert len(rows) == n + (2 if n > 40 else 1)
    assert {re.sub(r"\\&", "", row).count("&") for row in rows} == {3}


def test_tables_are_in_one_group_each():
    placed = [name for names in TABLE_GROUPS.values() for name in names]
    assert sorted(placed) == sorted([*COLUMNS, "by_method", "run"])


def test_defused_formula_can_be_restored():
    texts = ["=1+2", "'=1", "'tis", "UNO"]
    read = as_csv(pd.DataFrame({"t": texts})).splitlines()[1:]
    assert [restored(text) for text in read] == texts


def test_csv_keeps_full_precision_and_leaves_undefined_empty():
    frame = pd.DataFrame({"v": [1 / 3, float("nan")], "t": ["-x", "y"]})
    assert as_csv(frame) == "v,t\n0.3333333333333333,'-x\n,y\n"


def test_page_cuts_its_longest_tables():
    frames = {
        "correlations": pd.DataFrame({"a": range(17_000), "b": 1.5}),
        "spa": pd.DataFrame({"a": range(100)}),
    }
    found = {t["name"]: t for _, group in listed_tables(frames) for t in group}
    assert len(found["spa"]["rows"]) == 100
    cut = len(found["correlations"]["rows"])
    assert 0.75 * MOST_CELLS < 2 * cut + 100 <= MOST_CELLS
    assert found["correlations"]["total"] == 17_000
    assert found["correlations"]["count"] == "17000 rows"
    small = {"spa": frames["spa"]}
    ((_, (whole,)),) = listed_tables(small, cells_above=MOST_CELLS - 100)
    ((_, (least,)),) = listed_tables(small, cells_above=MOST_CELLS)
    assert (len(whole["rows"]), len(least["rows"])) == (100, LEAST_ROWS)


def test_missed_degradation_is_marked_as_a_warning(tmp_path):
    row = {
        **{"metric": "csd", "twin": "blurred", "verdict": "does not see", "n": 9},
        **{"value": 1.0, "low": 0.66, "high": 1.0},
        **{"n_stories": 9, "n_missed": 9, "n_alike": 0},
    }
    run = run_of(resamples=0)
    sanity = pd.DataFrame([row, row | {"metric": "clip", "verdict": "sees"}])
    accuracies = pairwise({}, {"metric": "clip"})
    tables = {
        "sanity": sanity,
        "verdicts": verdicts(pairwise_accuracy=accuracies, sanity=sanity),
    }
    found = Analysis(tables, pd.DataFrame(), (), {})
    write_report(found, out=tmp_path, title="T", run=run)
    page = (tmp_path / "report.html").read_text("utf-8")
    (marked,) = re.findall(r'<li class="beware">(.*?)</li>', page, re.S)
    words = " ".join(re.sub("<[^>]*>", "", marked).split())
    assert words.startswith(
        "Warning: csd scores copies with blurred pictures better than"
    )
    # No line ends between a number and its sign, in warnings as in verdicts.
    shown = re.search(r'<ul class="said">(.*?)</ul>', page, re.S)[1]
    for text in (marked, shown):
        assert re.search(r"\d\u00a0%", text)
        assert not re.search(r"\d %", text)
    rows = [
        re.sub("<[^>]*>", " ", row).split()
        for row in re.findall('<th scope="row">(.*?)</th>', page, re.S)
    ]
    assert ["csd", "misses", "blurred", "pictures"] in rows
    assert ["clip"] in rows


TWO, FOUR = [(True, "a1"), (False, "a2")], [(False, f"b{k}") for k in range(4)]


def test_section_on_disagreement_is_about_groups_without_metrics():
    said = {"disagreement": ((True, "core is harder."),), "people": ((True, "alike."),)}
    headings = [
        [section.heading for section in sections_of(said, (), has_metrics=has_metrics)]
        for has_metrics in (True, False)
    ]
    first = "Do people agree with each other?"
    assert headings == [
        [first, "Where do metrics and people disagree?"],
        [first, "Do groups of stories differ?"],
    ]


def test_latex_escapes_everything_special():
    text = escaped(r"\ & % $ # _ { } ~ ^ < > |")
    assert re.sub(r"\\(text\w+\{\}|[&%$#_{}])", "", text).strip(" ") == ""


@pytest.mark.parametrize("name", ["[a] b", "*b"])
def test_latex_row_is_no_option_of_the_line_before(name):
    """After a line break or a rule, TeX reads [ and * as options."""
    text = as_latex(pd.DataFrame({name: [name, name]}))
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)
    assert text.count(name[0]) == 3
