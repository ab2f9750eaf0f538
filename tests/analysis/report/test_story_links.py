"""Links from a page to outputs, if an address is given."""

import html
import re
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.__main__ import main
from analysis.options import OptionError
from analysis.report.page import address, check_story_link

LINK = "https://host/stories/{story}?as={method}"
METHODS = ("UNO", 'A & "B"', "<b>x</b>", "{story}")
GROUPS = re.compile(r"<li>\s+([^<]*?)\s+<a\s+href")
LINKS = re.compile(r'<a\s+href="([^"]*)"\s+target="_blank"\s+rel="noopener"\s*>(.*?)<')


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Four methods with hostile names on six stories; people differ from the metric."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [(f"s/{s}", m, s, i) for s in range(6) for i, m in enumerate(METHODS)]
    ratings = [
        (story, method, "q", rater, (s + i + rater) % 5)
        for story, method, s, i in rows
        for rater in range(3)
    ]
    scores = [(story, m, "k", (3 * s + 2 * i) % 7) for story, m, s, i in rows]
    for name, columns, lines in (
        ("ratings", "story method dimension annotator rating", ratings),
        ("scores", "story method metric score", scores),
    ):
        frame = pd.DataFrame(lines, columns=columns.split())
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


def align(tables, out, *extra):
    given = ["--ratings", tables / "ratings.csv", "--scores", tables / "scores.csv"]
    given += ["--resamples", "0", "--images", "none", "--out", out, *extra]
    return main(["align", *map(str, given)])


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("javascript:alert('{story}')", "an address that begins with https://"),
        (" https://host/{story}", "an address that begins with https://"),
        ("data:text/html,{story}", "an address that begins with https://"),
        ("https://host/{method}", "{story} in place of"),
        ("https://host/{story}/{shot}", "{story} or {method}, not {shot}"),
    ],
)
def test_story_link_is_refused_when_it_is_no_address_of_a_story(
    link, said, tmp_path, capsys
):
    status = align(tmp_path / "absent", tmp_path / "out", "--story-link", link)
    assert status == 2
    told = capsys.readouterr().err
    assert told.startswith(f"--story-link: {link!r}: expected {said}")
    assert not (tmp_path / "out").exists()
    with pytest.raises(OptionError):
        check_story_link(link)


@pytest.mark.slow
@given(st.text(), st.text())
def test_names_are_encoded_as_one_part_of_the_address(story, method):
    story = story.encode("utf-8", "replace").decode()
    method = method.encode("utf-8", "replace").decode()
    parts = urlsplit(address("https://host/s/{story}?m={method}#x", story, method))
    assert (parts.netloc, parts.fragment) == ("host", "x")
    assert unquote(parts.path) == f"/s/{story}"
    assert parts.path.count("/") == 2
    assert unquote(parts.query) == f"m={method}"


def test_page_links_to_the_outputs_with_the_largest_differences(tables, tmp_path):
    assert align(tables, tmp_path, "--story-link", LINK) == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f'data-stories="{html.escape(LINK)}"' in page
    rows = pd.read_csv(tmp_path / "tables/disagreement.csv")
    cells = rows[rows["kind"] == "cell"]
    farthest = cells.loc[cells["value"].abs().nlargest(3).index]
    links = [(html.unescape(a), html.unescape(b)) for a, b in LINKS.findall(page)]
    assert links == [
        (address(LINK, row.story, row.method), f"{row.story} · {row.method}")
        for row in farthest.itertuples()
    ]
    assert len(links) == 3
    assert all("/stories/s%2F" in url for url, _name in links)
    assert GROUPS.findall(page) == ["k:"]


@pytest.mark.slow
def test_page_has_no_links_without_an_address(tables, tmp_path):
    assert align(tables, tmp_path) == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "data-stories" not in page
    assert LINKS.findall(page) == []
