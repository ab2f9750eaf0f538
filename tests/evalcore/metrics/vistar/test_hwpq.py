"""HWPQ: formulas by hand, and the metric against a judge's server on this machine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.base import FeatureError
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.vistar.hwpq import Hwpq, answered, hwpq
from evalcore.metrics.vistar.questionnaire import read_questionnaire
from evalcore.metrics.vistar.votes import parse_boolean
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at
from tests.evalcore.metrics.vistar.test_questionnaire import FOUR, level, pair
from tests.evalcore.metrics.vistar.test_questionnaire import questionnaire as of

READ = read_questionnaire(FOUR)
PICTURE = noise(1)
ALL_MET = dict.fromkeys((p.id for p in READ.pairs), 1)
YES = ["Yes", "TRUE.", "Answer: True", "**True**", "yes - two", '{"answer": true}']
NO = [
    "No",
    "<answer>False</answer>",
    "False, there is no robe.",
    "**Answer:** no",
    "The answer is false.",
]
UNREADABLE = {
    "": "as the first word",
    "1": "as the first word",
    "Not true": "as the first word",
    "I see a cat. True": "as the first word",
    "No robe is visible": "as the first word",
    "True or false": "found both",
    "Yes and no": "found both",
    "True.\nFalse.": "found both",
    "Answer: True\nFinal answer: False": "found both",
}


class TestFormulas:
    @given(st.fixed_dictionaries(dict.fromkeys(ALL_MET, st.sampled_from([0, 1, None]))))
    def test_score_is_bounded_and_monotone(self, met):
        value = hwpq(READ, met)
        assert (value is None) == (answered(READ, met) == 0)
        if value is None:
            return
        assert 0 <= value <= 1
        for id, one in met.items():
            if one == 0:
                assert hwpq(READ, {**met, id: 1}) >= value


class TestReading:
    @pytest.mark.parametrize("text", [*YES, *NO])
    def test_reply_is_read_by_its_leading_word(self, text):
        assert parse_boolean(text) is (text in YES)

    @pytest.mark.parametrize(("text", "why"), UNREADABLE.items())
    def test_other_replies_are_refused(self, text, why):
        with pytest.raises(ValueError, match=why):
            parse_boolean(text)


def story(questionnaire=FOUR, pictures=(PICTURE,)):
    extra = {"role": "CA", "angle": "SF", "questionnaire": questionnaire}
    return rendering_of(list(pictures), vistar=extra)


def is_positive(text):
    return "Is there" in text


@pytest.fixture
def judge(server):
    with asking(judge_at(server)) as judge:
        yield judge


@pytest.mark.usefixtures("judge")
class TestSingly:
    def test_picture_satisfying_all_pairs_scores_1(self, server, tmp_path):
        server.by_question = lambda asked: answers(str(is_positive(asked.text)))
        (value,) = score(Hwpq(), story(), tmp_path)
        assert (value.value, value.shot, value.reason) == (1, None, "")
        # Six pairs of two questions, three times each.
        assert len(server.asked) == 36
        assert all(len(asked.pictures) == 1 for asked in server.asked)
        assert (value.trace["prompt"], value.trace["answered"]) == ("p1", 1)
        assert (value.trace["role"], value.trace["angle"]) == ("CA", "SF")
        first = value.trace["pairs"][0]
        assert first == {
            "id": "cat",
            "score": 1,
            "positive": [[True, "True"]] * 3,
            "negative": [[False, "False"]] * 3,
        }

    def test_no_two_requests_are_equal(self, server, tmp_path):
        server.then = answers("True")
        score(Hwpq(), story(), tmp_path)
        assert len({str(asked.body) for asked in server.asked}) == 36
        assert {asked.body["seed"] for asked in server.asked} == {1, 2, 3}

    def test_pairs_are_scored_separately(self, server, tmp_path):
        # "cat" and "mood": P and N both true; "red": both false; the others met.
        def reply(asked):
            if re.search("cat|mood", asked.text):
                return answers("True")
            if "red" in asked.text:
                return answers("False")
            return answers(str(is_positive(asked.text)))

        server.by_question = reply
        (value,) = score(Hwpq(), story(), tmp_path)
        # hat .2 x .5, fit and light .25
        assert value.value == pytest.approx(0.35)
        scores = {one["id"]: one["score"] for one in value.trace["pairs"]}
        assert scores == {"cat": 0, "hat": 1, "red": 0, "fit": 1, "light": 1, "mood": 0}

    def test_unreadable_reply_is_asked_for_again_and_then_abstains(
        self, server, tmp_path
    ):
        said = {1: ["What a cat", "True"], 2: ["True or false"] * 3, 3: ["True"]}

        def reply(asked):
            if not is_positive(asked.text):
                return answers("No")
            return answers(said[asked.body["seed"]].pop(0))

        server.by_question = reply
        (value,) = score(Hwpq(), story(of(level("L1", 1, pair("cat")))), tmp_path)
        assert value.value == 1
        first, second, third = value.trace["pairs"][0]["positive"]
        assert (first, third) == ([True, "True"], [True, "True"])
        assert second[0] is None
        assert "found both: 'True or false'" in second[1]
        assert said == {1: [], 2: [], 3: []}

    @pytest.mark.parametrize(("unread", "share"), [("mood", 0.75), ("cat|hat", 0.8)])
    def test_score_needs_answers_to_most_of_the_weight(
        self, server, tmp_path, unread, share
    ):
        """The weights of the unread pairs: .25, .1 + .1."""
        server.by_question = lambda asked: answers(
            "Who knows?"
            if re.search(rf"\b({unread})\b", asked.text)
            else str(is_positive(asked.text))
        )
        if share < 0.8:
            with pytest.raises(FeatureError, match=r"expected at least 80%; the judge"):
                score(Hwpq(), story(), tmp_path)
        else:
            (value,) = score(Hwpq(), story(), tmp_path)
            assert (value.value, value.trace["answered"]) == (1, pytest.approx(share))
        (value,) = score(
            Hwpq("hwpq_answered", "vistar-single-answered-50"), story(), tmp_path
        )
        assert value.value == pytest.approx(share)
        assert value.trace is None


@pytest.mark.usefixtures("judge")
class TestTogether:
    def numbered(self, asked, verdict):
        lines = re.findall(r"^(\d+)\. (.*)$", asked.text, re.MULTILINE)
        return "\n".join(f"{number}: {verdict(text)}" for number, text in lines)

    def test_batched_profile_makes_three_requests(self, server, tmp_path):
        server.by_question = lambda asked: answers(self.numbered(asked, is_positive))
        (value,) = score(Hwpq("hwpq", "vistar-batched"), story(), tmp_path)
        assert value.value == 1
        assert [asked.text.count("?") for asked in server.asked] == [12] * 3
        assert value.trace["pairs"][5]["negative"] == [[False, "False"]] * 3

    def test_questions_without_a_line_are_asked_again(self, server, tmp_path):
        def reply(asked):
            lines = self.numbered(asked, is_positive).splitlines()
            return answers("\n".join(lines[:10]))

        server.by_question = reply
        (value,) = score(Hwpq("hwpq", "vistar-batched"), story(), tmp_path)
        assert (value.value, value.trace["answered"]) == (1, 1)
        asked = sorted(asked.text.count("?") for asked in server.asked)
        assert asked == [2] * 3 + [12] * 3
