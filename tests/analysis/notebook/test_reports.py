"""A report in a notebook: text, table, frames, figures."""

import re
from itertools import chain

import pytest

import analysis
from analysis.options import OptionError
from analysis.report.findings_verdicts import question_claims
from analysis.report.verdict_grid import verdict_grids
from tests.analysis.commands.test_alignment import study

RATINGS, CHOICES, SCORES = study()


@pytest.fixture(scope="module")
def report():
    return analysis.align(
        ratings=RATINGS, scores=SCORES, hypotheses={"identity": "cids"}, resamples=9
    )


@pytest.fixture(scope="module")
def people():
    return analysis.agreement(ratings=RATINGS, resamples=9)


def test_analyses_of_people_have_no_verdicts(people):
    with pytest.raises(
        KeyError, match="no table 'verdicts': expected one of agreement"
    ):
        _ = people.verdicts


def claims(report):
    every = chain.from_iterable(question_claims(report.verdicts))
    return list(chain.from_iterable(every))


@pytest.mark.slow
def test_text_says_what_the_verdicts_say_and_names_the_tables(report):
    title, *said, tables = repr(report).splitlines()
    assert title == "Report: how well metrics agree with people"
    assert said == [text for _shown, text in claims(report)]
    assert tables == f"Tables: {', '.join(report)}"


def test_html_has_every_sentence_and_every_cell(report):
    html = report._repr_html_()
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", html))
    for _shown, text in claims(report):
        assert text in words
    grids = verdict_grids(report.tables)
    assert html.count("<table>") == len(grids) == 2
    for grid in grids:
        for line in (*grid.lines, *grid.references):
            told = [f"{line.name} (declared)" if line.role == "declared" else line.name]
            for cell in line.cells:
                told += [cell.text, cell.letters, cell.interval]
            assert " ".join(filter(None, told)) in words


def test_html_runs_nothing_and_loads_nothing():
    rude = {"cids": "<script>alert(1)</script>", "blur": '"><img src=x>'}
    report = analysis.align(
        ratings=RATINGS.replace({"dimension": {"identity": "<i>who</i>"}}),
        scores=SCORES.replace({"metric": rude}),
        levels=("story",),
        coefficients=("kendall",),
        resamples=0,
    )
    html = report._repr_html_()
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {
        *("div", "p", "strong", "ul", "li", "details", "summary", "small", "br"),
        *("table", "thead", "tbody", "tr", "th", "td", "sup"),
    }
    assert not re.search(r"http|src=|href=|style", re.sub("&[^;]*;[^<]*", "", html))


@pytest.mark.slow
def test_forest_has_a_panel_a_question_and_each_can_be_had_alone(report):
    whole = report.figure()
    assert len(whole.data) == 2
    alone = report.figure("forest", "identity")
    assert alone.layout.annotations[0].text == "identity"
    assert len(alone.data) == 1
    assert alone.data[0].x == whole.data[1].x


def test_unknown_figure_or_panel_names_the_nearest(report):
    with pytest.raises(KeyError, match=r"no figure 'forrest'.*\(nearest: forest\)"):
        report.figure("forrest")
    with pytest.raises(KeyError, match=r"no panel 'identiti'.*\(nearest: identity\)"):
        report.figure("forest", "identiti")


def test_save_refuses_unusable_folders_and_formats(report, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(OptionError, match=r"^out: '.*taken': expected a folder"):
        report.save(taken)
    with pytest.raises(OptionError, match=r"^images: 'gif': expected svg, png, none"):
        report.save(tmp_path / "out", images="gif")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
