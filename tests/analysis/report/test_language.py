"""Reports in Chinese: complete, with the numbers of the English ones."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest

from analysis import sentences
from analysis.__main__ import main
from analysis.options import LANGUAGES, AlignOptions, OptionError
from analysis.report import language
from analysis.report.language import (
    SEMICOLON,
    SPACE,
    counted,
    gettext,
    listed,
    remark,
    retold,
)
from analysis.sentences import sentence

OTHERS = LANGUAGES[1:]
METHODS = ("UNO", "GPT-4o", "A & B", "the old one")
LEFT_OUT = "a bad one"
METRICS = ("csd", "a_long_name_of_a_metric", "fid")
QUESTIONS = ("environment consistency", "the plot as told", "side")
WORDS = re.compile(r"[A-Za-z][a-z'’-]*(?:[ \n]+[A-Za-z][a-z'’-]*){2,}")


@pytest.mark.parametrize("name", OTHERS)
def test_methods_have_the_formulas_and_conditions_of_the_english_ones(name):
    templates = language.LOCALE.parent / "templates"
    there, here = (
        (templates / f"methods{ending}.html").read_text("utf-8")
        for ending in ("", f".{name}")
    )
    for pattern in (
        r"(?:math|display)\('.*?'\)",
        r"\{%-?\s*(.*?)\s*-?%\}",
        r"run\[.*?\]",
        r"<dt>",
    ):
        wanted, found = (re.findall(pattern, text, re.S) for text in (there, here))
        if "math" in pattern:  # in a sentence of another order
            wanted, found = sorted(wanted), sorted(found)
        assert found == wanted


def test_unknown_text_stays_english():
    with language.language("zh-Hans"):
        assert gettext("Never said, {a}.", a=1) == "Never said, 1."


def test_counts_and_lists_in_chinese():
    with language.language("zh-Hans"):
        assert counted(1, "pair of methods") == "1 对方法"
        assert listed(["a", "b"]) + listed(["c", "d"], SEMICOLON) == "a、bc；d"


@pytest.mark.parametrize(
    ("who", "what", "text"),
    [
        ("fid", "Kendall tau-b", "fid 的 Kendall tau-b"),
        ("fid", "平均评分", "fid 的平均评分"),
        ("色调一致性", "ICC(2,1)", "色调一致性的 ICC(2,1)"),
        ("方法A", "平均评分", "方法A 的平均评分"),
    ],
)
def test_space_separates_chinese_letters_from_latin_ones(who, what, text):
    with language.language("zh-Hans"):
        assert gettext("{statistic} of {who}", statistic=what, who=who) == text


def test_unknown_notes_are_marked_and_escaped_on_pages_of_another_language():
    assert remark("a < b") == "a < b"
    with language.language("zh-Hans"):
        marked = listed([remark("a < b"), "<i>"], SPACE)
        assert remark("没有单元") == "没有单元"
        assert 'lang="en"' in remark("No score of 狐狸 was kept.")
    assert marked == '<span lang="en">a &lt; b</span>&lt;i&gt;'


def test_sentence_is_translated_with_its_values():
    lacking = sentence("{names} lack {n}", names=["fid", "csd"], n=3)
    rated = sentences.counted(5, "rated output")
    text = "{n} of {rated} used, those with a score ({lacking})."
    note = sentence(text, n=2, rated=rated, lacking=lacking)
    assert note == ("2 of 5 rated outputs used, those with a score (fid, csd lack 3).")
    assert retold(note) == note
    with language.language("zh-Hans"):
        assert retold(note) == (
            "5 个已评分的输出中使用了 2 个，即有分数的（fid、csd 各缺 3 个）。"
        )


def test_names_stay_though_the_catalogue_has_such_a_word():
    note = sentence("Left out as asked: {methods}.", methods=["rest", "none"])
    by = sentence("{question} by {metric}", question="people", metric="rank")
    with language.language("zh-Hans"):
        assert retold(note) == "按要求排除：rest、none。"
        assert retold(by) == "people（rank）"


def test_text_from_a_frame_is_translated_by_the_sentences_of_the_analysis():
    reason = sentence("no unit was rated by all {n} annotators", n=4)
    with language.language("zh-Hans", {reason: reason}):
        assert retold(str(reason)) == "没有单元由全部 4 位标注者评分"
        assert retold("no unit has two answers") == "没有单元有两个回答"
    with language.language("zh-Hans"):
        assert retold(str(reason)) == reason


def test_language_without_a_catalogue_is_refused():
    with pytest.raises(OptionError, match="--language: 'de': expected en, zh-Hans"):
        AlignOptions(language="de")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """One study of ratings, choices and tags, reported in both languages."""
    folder = tmp_path_factory.mktemp("study")
    ratings = [("story", "method", "dimension", "annotator", "rating")]
    sides = ("method_a", "method_b", "criterion", "annotator", "choice", "left_method")
    choices = [("story", *sides)]
    scores = [("story", "method", "metric", "score")]
    for s in range(6):
        for m, method in enumerate((*METHODS, LEFT_OUT)):
            for k, metric in enumerate(METRICS):
                scores.append((f"s{s}", method, metric, (m * (k + 1) + s) % 5))
            for r in range(3):
                for q, question in enumerate(QUESTIONS[:2]):
                    rating = min(4, (m + s * q + r) % 6)
                    ratings.append((f"s{s}", method, question, f"R{r}", rating))
                for other in METHODS[m + 1 :]:
                    word = ("a", "b", "tie")[(m + r + s) % 3]
                    asked = QUESTIONS[2], f"R{r}"
                    choices.append((f"s{s}", method, other, *asked, word, method))
    stories = [("story", "genre"), *((f"s{s}", "ab"[s % 2]) for s in range(6))]
    meant = [("question", "metric"), (QUESTIONS[0], "fid")]
    tables = {"ratings": ratings, "choices": choices, "scores": scores}
    tables |= {"stories": stories, "hypotheses": meant}
    given = []
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
        given += [f"--{name}", folder / f"{name}.csv"]
    given += ["--exclude-methods", LEFT_OUT]
    given += ["--resamples", "20", "--figures", "all", "--images", "none"]
    for name in LANGUAGES:
        out = ["--out", folder / name, "--language", name]
        assert main(["align", *map(str, [*given, *out])]) == 0
    return folder


def page(reports, name):
    return (reports / name / "report.html").read_text("utf-8")


def content(reports, name):
    return json.loads((reports / name / "report.json").read_text("utf-8"))


class Visible(HTMLParser):
    """A parser of the texts of a page that readers see or hear, without data."""

    silent = ("script", "style", "pre", "code", "svg")
    alone = ("meta", "input", "br", "line", "circle")

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        is_data = tag == "td" and ("table", "grid") not in self.open
        is_data &= ("table", "asked") not in self.open
        hidden = tag in self.silent or given.get("lang") == "en" or is_data
        if not self.hidden:
            spoken = ("aria-label", "placeholder", "title")
            self.texts += [given[name] for name in spoken if name in given]
        if tag not in self.alone:
            kind = "hidden" if hidden else given.get("class", "")
            self.open.append((tag, kind))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    @property
    def hidden(self):
        return any(kind == "hidden" for _tag, kind in self.open)

    def handle_data(self, data):
        if not self.hidden:
            self.texts.append(data)


@pytest.mark.slow
def test_page_in_chinese_has_no_sentence_in_english(reports):
    html = page(reports, "zh-Hans")
    assert '<html lang="zh-Hans">' in html
    shown = Visible()
    shown.feed(html)
    drawn = html.rpartition("const all = {")[2].partition("function start()")[0]
    texts = [*shown.texts, *re.findall(r'"((?:[^"\\]|\\.)*)"', drawn)]
    assert len(texts) > 800
    names = "|".join(map(re.escape, (*METHODS, "A &amp; B", LEFT_OUT, *QUESTIONS)))
    plain = [re.sub(names, "·", text.replace(r"\u003c", "<")) for text in texts]
    assert [text for text in plain if WORDS.search(text)] == []
    # The page in English has them, so that the search can find any.
    assert WORDS.search("Where metrics and people disagree")


@pytest.mark.slow
def test_remarks_are_in_the_language_of_the_report(reports):
    there, here = (content(reports, name)["notes"] for name in LANGUAGES)
    assert [text.partition(" fid")[0] for text in there] == [
        "Lower is taken to be better for",
        "Higher is assumed to be better for a_long_name_of_a_metric, csd: nothing says "
        "so. A column higher_is_better tells, and so does --lower-is-better of align.",
        f"Left out as asked: {LEFT_OUT}.",
        "Lower is better for",
    ]
    assert here[0].startswith("fid 仅凭名称被视为越低越好。")
    assert here[1].startswith("a_long_name_of_a_metric、csd 被假定为越高越好")
    assert here[2] == f"按要求排除：{LEFT_OUT}。"
    assert all(text in page(reports, "zh-Hans") for text in here)
    assert '<span lang="en">' not in page(reports, "zh-Hans")


@pytest.mark.slow
def test_sentences_have_the_same_numbers_in_both_languages(reports):
    there, here = (content(reports, name) for name in LANGUAGES)
    for key, least in (("claims", 2), ("limits", 2), ("notes", 0)):
        assert len(there[key]) == len(here[key]) > least
        for one, other in zip(there[key], here[key], strict=True):
            assert one != other
            assert sorted(re.findall(r"\d", one)) == sorted(re.findall(r"\d", other))


@pytest.mark.slow
def test_tables_are_the_same_in_both_languages(reports):
    there, here = (content(reports, name) for name in LANGUAGES)
    runs = [{x["key"]: x["value"] for x in r["tables"]["run"]} for r in (there, here)]
    differing = {key for key in runs[0] if runs[0][key] != runs[1][key]}
    assert differing == {"language", "command"}
    for one in (there, here):
        del one["title"], one["claims"], one["limits"], one["notes"]
        del one["tables"]["run"]
    assert there == here
    for path in (reports / "en/tables").iterdir():
        if path.stem != "run":
            other = reports / "zh-Hans/tables" / path.name
            assert path.read_bytes() == other.read_bytes()
