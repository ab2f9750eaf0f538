"""The folder for papers: its numbers, hostile names, missing values, and documents."""

import io
import re
import shutil
import subprocess
import zipfile
from itertools import combinations
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.options import KNOWN_LEVELS
from analysis.report.paper.docx import as_docx
from analysis.report.paper.latex import ONE, as_latex, main, width_of
from analysis.report.paper.layout import (
    Cell,
    Column,
    Line,
    PaperTable,
    as_frame,
    numeral,
    printed,
)
from analysis.report.paper.letters import letters
from analysis.report.paper.metrics import MOST_METRICS, agreement_tables, judge_table
from analysis.report.paper.results import LAYOUTS, result_tables
from analysis.report.paper.sample import FAMILIES, family_tables, paragraph
from analysis.report.paper.subgroups import heat_tables, win_tables
from analysis.statistics import COLUMNS
from tests.analysis.report.test_writing import HOSTILE, align, reported, write_study

NAN = float("nan")
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
NAMES = [
    "a_b & 50%",
    "文生图模型",
    "a_name_of_sixty_characters_in_snake_case_as_metrics_have_it_",
    '~^\\{$#} <é|"[*]',
    "\\input{x}",
    "α ≥ 0.5 🦊",
]


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """Return the folder of a study with hostile names, tags and excluded answers."""
    study = write_study(tmp_path_factory.mktemp("study"))
    rows = pd.read_csv(study / "ratings.csv")
    rows["excluded"] = rows["annotator"].eq("R2") & rows["story"].eq("s0")
    rows.to_csv(study / "ratings.csv", index=False)
    (study / "tags.csv").write_text(
        "story,role & 50%\n"
        + "".join(f"s{i},{'角' if i < 2 else 'b_1'}\n" for i in range(4))
    )
    (study / "meant.csv").write_text("question,metric\nd,two\nq,one\n")
    extra = ("--paper", "--stories", study / "tags.csv", "--baseline", "=cmd()")
    more = ("--hypotheses", study / "meant.csv", "--title", "A & B_1 方法")
    assert align(study, study / "out", *extra, *more) == 0
    return study / "out/paper"


def test_numbers_equal_those_of_the_result_tables(kit):
    tables = kit.parent / "tables"
    known = pd.read_csv(tables / "correlations.csv").query("level == 'story'")
    own = pd.read_csv(kit / "metrics_story.csv").set_index("Metric")
    for row in known.to_dict("records"):
        symbol = {"kendall": "τ", "spearman": "ρ", "pearson": "r"}[row["coefficient"]]
        for name, column in (("value", symbol), ("low", f"{symbol} low")):
            assert own.loc[row["metric"], column] == pytest.approx(row[name])
    rates = pd.read_csv(tables / "strata_win_rates.csv")
    bars = pd.read_csv(kit / "wins.csv")
    against = rates[rates["method_b"].str.endswith("=cmd()")]
    for names in (("wins_a", "wins"), ("ties", "ties"), ("wins_b", "losses")):
        grouped = bars[~bars["section"].str.endswith("all stories")]
        assert list(grouped[names[1]]) == list(against[names[0]])
    latex = (kit / "metrics_story.tex").read_text()
    value = numeral(own.iloc[0]["τ"], 2, in_unit=True)
    assert value.replace("−", "$-$") in latex


def test_sample_counts_excluded_answers_once_with_their_reason(kit):
    flow = pd.read_csv(kit.parent / "tables/sample_flow.csv").query(
        "source == 'ratings'"
    )
    steps = flow.set_index("step")["n_answers"]
    assert dict(steps) == {"given": 72, "left out": 6, "analysed": 66}
    assert list(flow["reason"].dropna()) == ["excluded answers"]
    text = (kit / "paragraph.tex").read_text()
    assert "66 ratings by 3 annotators on outputs of 6 methods, by" in text
    assert "with 4 stories each" in text
    assert "Left out were 6 ratings (excluded answers)" in text
    answers = pd.read_csv(kit / "sample.csv", dtype=str)["Answers"]
    assert [*answers][:3] == ["72", "6", "66"]


def test_declared_metrics_are_bold_and_no_cell_is_empty(kit):
    frame = pd.read_csv(kit / "metrics_story.csv").set_index("Metric")
    assert dict(frame["τ declared"]) == {"one": False, "two": True}
    for path in kit.glob("*.tex"):
        rows = re.findall(r"^[^%\n]* & [^\n]*\\\\", path.read_text(), re.M)
        body = [row for row in rows if "[" not in row and "multicolumn" not in row]
        assert not [row for row in body if re.search(r"& +(&|\\\\)", row)]


def test_later_report_without_the_kit_removes_it_but_keeps_other_files(tmp_path):
    study = write_study(tmp_path)
    command = "leaderboard --choices choices.csv --resamples 0"
    assert reported(command, study, "--paper") == 0
    paper = study / "out/paper"
    assert {"main.tex", "leaderboard.csv", "paper.docx"} <= {
        x.name for x in paper.iterdir()
    }
    assert "No intervals were computed" in (paper / "leaderboard.tex").read_text()
    (paper / "mine.tex").write_text("kept")
    assert reported(command, study) == 0
    assert [path.name for path in paper.iterdir()] == ["mine.tex"]


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="apt-get install texlive-latex-base texlive-latex-recommended",
)
def test_documents_with_hostile_names_compile_within_their_margins(kit, tmp_path):
    shutil.copytree(kit, tmp_path / "paper")
    cells = tuple(Cell(x / 10, x / 20, x / 5) for x in range(9))
    columns = tuple(Column(NAMES[i % 6], NAMES[i // 2]) for i in range(9))
    lines = tuple(Line(name, cells, NAMES[0]) for name in NAMES * 9)
    table = PaperTable("hostile", NAMES[3], NAMES[1], columns, lines, tuple(NAMES))
    (tmp_path / "other").mkdir()
    text = as_latex(table)
    files = {
        "hostile": text,
        "paragraph": "",
        "main": main("x", [text], ["hostile"], ""),
    }
    for name, content in files.items():
        (tmp_path / f"other/{name}.tex").write_text(content)
    for folder in ("paper", "other"):
        done = subprocess.run(
            ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "main.tex"],
            cwd=tmp_path / folder,
            capture_output=True,
            check=False,
        )
        said = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, said[-2000:]
        wide = re.findall(r"Overfull \\hbox \((\d+)\.", said)
        assert max(map(int, wide), default=0) < 5


def test_word_document_is_well_formed_and_has_every_number(kit):
    content = (kit / "paper.docx").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        parts = {
            name: ElementTree.fromstring(archive.read(name))
            for name in archive.namelist()
        }
    assert {"[Content_Types].xml", "_rels/.rels", "word/document.xml"} == parts.keys()
    document = parts["word/document.xml"]
    tables = document.findall(f".//{WORD}tbl")
    assert len(tables) == len(list(kit.glob("*.csv")))
    for table in tables:
        columns = len(table.findall(f"{WORD}tblGrid/{WORD}gridCol"))
        assert {
            len(row.findall(f"{WORD}tc")) for row in table.findall(f"{WORD}tr")
        } == {columns}
    texts = {one.text for one in document.iter(f"{WORD}t")}
    assert {*HOSTILE, "A & B_1 方法"} <= texts
    assert as_docx("x", ["\x00 <"], []) == as_docx("x", ["\x00 <"], [])


# Parts --------------------------------------------------------------------------------


def test_numbers_have_at_most_three_digits_and_no_leading_zero():
    values = (0.451, -0.0501, 1.0, NAN)
    cells = [Cell(x, x, x, reason="No scores.") for x in values]
    means = [Cell(x) for x in (3.149, 22.5, 101.2, 0.0)]
    lines = tuple(Line("a", pair) for pair in zip(cells, means, strict=True))
    table = PaperTable("t", "", "m", (Column("r"), Column("mean", "", False)), lines)
    rows, notes = printed(table)
    assert [row[0].text for row in rows] == [".45", "−.05", "1.00", "–"]
    assert [row[1].text for row in rows] == ["3", "22", "101", "0"]
    assert rows[0][0].below == "[.45, .45]"
    assert (rows[3][0].above, notes) == ("1", ("1 No scores.",))
    assert as_frame(table)["r reason"].iloc[3] == "No scores."


def test_wide_tables_are_split_between_groups_and_narrow_ones_take_one_column():
    def table(n):
        columns = tuple(Column("x", f"g{i // 3}") for i in range(n))
        lines = tuple(
            Line("m", tuple(Cell(0.5, 0.4, 0.6) for _ in columns)) for _ in range(3)
        )
        return PaperTable("t", "c", "s", columns, lines)

    assert as_latex(table(3)).count(r"\begin{table}") == 1
    wide = as_latex(table(18))
    assert wide.count(r"\begin{table*}") + wide.count(r"\begin{table}") == 2
    assert all(wide.count(f"{{g{i}}}") == 1 for i in range(6))
    assert width_of("0" * 80) > ONE


def test_long_list_of_metrics_keeps_declared_ones_and_the_best():
    n = MOST_METRICS + 10
    rows = pd.DataFrame(
        {
            "metric": [f"m{i:02}" for i in range(n)],
            "value": [1 - i / n for i in range(n)],
        }
    ).assign(dimension="d", level="pooled", coefficient="kendall", low=NAN, high=NAN)
    rows = rows.assign(n=9, n_groups=1, drawn="", reason="")
    declared = pd.DataFrame({"question": ["d"], "metric": [f"m{n - 1}"]})
    (table,) = agreement_tables({"correlations": rows, "hypotheses": declared}, "95 %")
    names = [line.name for line in table.lines]
    assert names == [*(f"m{i:02}" for i in range(MOST_METRICS - 1)), f"m{n - 1}"]
    assert table.notes[0].startswith(f"{MOST_METRICS} of {n} metrics")


@pytest.mark.parametrize("level", KNOWN_LEVELS)
def test_every_level_has_a_caption_with_its_count(level):
    rows = pd.DataFrame({"metric": ["a", "b"], "value": [0.4, 0.2], "n": 9})
    rows = rows.assign(dimension="d", level=level, coefficient="kendall", n_groups=9)
    rows = rows.assign(low=NAN, high=NAN, drawn="", reason="")
    (table,) = agreement_tables({"correlations": rows}, "95 %")
    assert re.search(r"\b9 (methods|stories|outputs)\b", table.caption)


def test_every_table_with_adjusted_p_values_has_a_null_hypothesis():
    adjusted = {name for name, own in COLUMNS.items() if "p_adjusted" in own}
    assert adjusted - {"verdicts", "method_verdicts"} <= {*FAMILIES}
    for name, (_title, columns) in FAMILIES.items():
        assert {*columns} <= {*COLUMNS[name]}


def beside_annotators(epsilon, wins, drawn):
    """Return tests of one metric beside five annotators, and the row of all."""
    rows = pd.DataFrame({"annotator": ["", *"abcde"], "p_adjusted": [NAN, *[0.2] * 5]})
    keys = {"question": "q", "metric": "m", "statistic": "rating"}
    rows = rows.assign(**keys, value=-0.16, low=NAN, high=NAN, n=9, reason="")
    return rows.assign(epsilon=epsilon, wins=wins, n_annotators=5, drawn=drawn)


def test_layouts_name_columns_of_their_tables():
    for layout in LAYOUTS.values():
        names = re.findall(r"{(\w+)}", layout.line + layout.section)
        names += " ".join(layout.columns.values()).split()
        assert {*names} - {"trained"} <= {*COLUMNS[layout.table]}


def test_deviations_of_the_declared_metric_mark_trained_methods():
    rows = pd.DataFrame({"metric": ["m", "m", "other"], "method": ["a", "b", "a"]})
    rows = rows.assign(question="q", human=3.0, predicted=[2.5, 3.5, 1.0])
    rows = rows.assign(value=[-0.5, 0.5, -2], low=-1.0, high=1.0, reason="")
    rows = rows.assign(p_adjusted=0.04, trained_on=[False, True, False], drawn="")
    accuracy = pd.DataFrame({"question": "q", "metric": ["m", "other"]})
    tables = {
        "method_deviation": rows,
        "pairwise_accuracy": accuracy.assign(ppa_half=[0.6, 0.9]),
        "hypotheses": pd.DataFrame({"question": ["q"], "metric": ["m"]}),
    }
    (table,) = result_tables(tables, "95 %")
    assert [(line.section, line.name) for line in table.lines] == [
        ("q: m", "a"),
        ("q: m", "b †"),
    ]
    assert table.lines[1].cells[2] == Cell(0.5, -1.0, 1.0)
    assert table.notes[0].startswith("†")


def test_equivalence_is_captioned_with_the_coverage_of_two_one_sided_tests():
    rows = pd.DataFrame({"metric_a": ["a"], "metric_b": ["b"], "statistic": "ppa_half"})
    rows = rows.assign(question="q", level="pairs", difference=0.0, low=-0.1, high=0.1)
    rows = rows.assign(margin=0.1, p_adjusted=0.01, verdict="equivalent")
    (table,) = result_tables({"equivalence": rows.assign(test="stories")}, "95 %")
    assert "90 % confidence" in table.caption
    assert table.lines[0].name == "a − b"


def test_tables_of_labels_leave_refused_questions_out():
    rows = pd.DataFrame({"question": ["box", "scale", "all questions"]})
    rows["annotator"], rows["majority"] = ["", "", "Ann"], [0.5, NAN, NAN]
    rows = rows.reindex(columns=COLUMNS["label_aggregation"], fill_value=0.5)
    found = result_tables({"label_aggregation": rows.assign(reason="")}, "95 %")
    labels, people = (table.lines for table in found)
    assert [line.name for line in labels] == ["box"]
    assert [(line.section, line.name) for line in people] == [("all questions", "Ann")]


def test_paragraph_says_which_people_and_ratings_were_left_out():
    flow = [
        ("people", "invited", "", 9, NAN),
        ("people", "left out", "consent refused", 2, NAN),
        ("people", "consented", "", 7, NAN),
        ("people", "left out", "no rating submitted", 1, NAN),
        ("people", "answered", "", 6, NAN),
        ("ratings", "left out", "too fast", 1, 10),
        ("ratings", "analysed", "", 5, 50),
    ]
    columns = ["source", "step", "reason", "n_annotators", "n_answers"]
    rows = pd.DataFrame(flow, columns=columns)
    counts = {name: rows[name].astype("Int64") for name in columns[3:]}
    run = {"confidence": "0.95", "resamples": "0", "plumbline": "1"}
    text = paragraph({"sample_flow": rows.assign(**counts)}, run, {})
    assert text.startswith(
        "Of 9 people invited, 7 consented and 6 submitted ratings; left out were 2 "
        "people (consent refused); 1 person (no rating submitted). 50 ratings by 5 "
        "annotators"
    )
    assert "Left out were 10 ratings (too fast)." in text


def test_annotators_of_one_test_are_one_family():
    tests = [
        beside_annotators(0.1, 0, drawn).assign(source=source)
        for drawn in ("stories", "units")
        for source in ("ratings", "choices")
    ]
    (table,) = family_tables({"alternative_annotator": pd.concat(tests)})
    families, each, tested, significant = (
        cell.text or cell.value for cell in table.lines[0].cells
    )
    assert (families, each, tested, significant) == (4, "5", 20, 0)


def test_replaced_annotators_are_those_of_new_stories_with_their_epsilon():
    tests = [beside_annotators(0.1, 4, "units"), beside_annotators(0.1, 2, "stories")]
    pairs = pd.DataFrame({"metric": ["one annotator", "m"], "value": [0.8, 0.7]})
    pairs = pairs.assign(question="q", source="ratings", low=NAN, high=NAN, drawn="")
    accuracy = pd.DataFrame({"question": ["q"], "metric": ["m"], "ppa_half": [0.7]})
    tables = {"alternative_annotator": pd.concat(tests).assign(source="ratings")}
    tables["pairwise_accuracy"] = accuracy
    (table,) = judge_table(tables | {"human_pairs": pairs.assign(reason="")}, "95 %")
    (line,) = table.lines
    assert line.cells[-1].text == "2 of 5 (ε = .1)"


@given(st.sets(st.sampled_from(list(combinations("abcdef", 2)))))
def test_names_share_a_letter_unless_they_differ(pairs):
    apart = {frozenset(pair) for pair in pairs}
    found = letters("abcdef", apart)
    for pair in combinations("abcdef", 2):
        if found:
            assert (not set(found[pair[0]]) & set(found[pair[1]])) == (
                frozenset(pair) in apart
            )
    assert bool(found) == bool(apart)


def test_heat_map_has_the_declared_metric_and_says_where_nothing_was_compared():
    rows = pd.DataFrame(
        {
            "question": ["TR", "TR", "LI"],
            "metric": ["ocr", "ocr", "ocr"],
            "stratum": ["GD", "SA", "GD"],
            "value": [0.9, 0.4, 0.6],
        }
    ).assign(tag="role", statistic="ppa_half", low=NAN, high=NAN, reason="", drawn="")
    whole = pd.DataFrame({"question": ["TR"], "metric": ["ocr"], "ppa_half": [0.7]})
    whole = whole.assign(ppa_half_low=NAN, ppa_half_high=NAN, n_pairs=9, reason="")
    meant = pd.DataFrame({"question": ["TR"], "metric": ["ocr"]})
    tables = {"strata": rows, "pairwise_accuracy": whole, "hypotheses": meant}
    (table,) = heat_tables(tables, "95 %")
    assert [line.name for line in table.lines] == ["TR: ocr"]
    assert [cell.shade for cell in table.lines[0].cells] == pytest.approx([0.4, 0.8, 0])


def test_wins_without_a_baseline_are_left_out_for_many_pairs():
    pairs = list(combinations("abcdef", 2))
    rates = pd.DataFrame(pairs, columns=["method_a", "method_b"]).assign(criterion="q")
    run = pd.DataFrame({"key": ["baseline"], "value": [""]})
    assert not list(win_tables({"win_rates": rates, "run": run}, "95 %"))
