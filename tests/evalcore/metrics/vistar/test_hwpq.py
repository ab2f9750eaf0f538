"""HWPQ: formulas by hand, and the metric against a judge's server on this machine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.vistar.hwpq import Hwpq, hwpq, parse_boolean
from evalcore.metrics.vistar.questionnaire import read_questionnaire
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at
from tests.evalcore.metrics.vistar.test_questionnaire import FOUR, level, pair
from tests.evalcore.metrics.vistar.test_questionnaire import questionnaire as of

READ = read_questionnaire(FOUR)
PICTURE = noise(1)
ALL_MET = dict.fromkeys((p.id for p in READ.pairs), 1)


class TestFormulas:
    @given(st.fixed_dictionaries(dict.fromkeys(ALL_MET, st.sampled_from([0, 1, None]))))
    def test_score_is_bounded_and_monotone(self, met):
        value = hwpq(READ, met)
        if value is None:
            assert set(met.values()) == {None}
            return
        assert 0 <= value <= 1
        for id, one in met.items():
            if one == 0:
                assert hwpq(READ, {**met, id: 1}) >= value


class TestParsing:
    @pytest.mark.parametrize(
        "text", ["", "yes", "1", "True, there is", "true false", "Not true", "t r u e"]
    )
    def test_other_replies_are_refused(self, text):
        with pytest.raises(ValueError, match="the one word True or False"):
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
        assert value.trace["prompt"] == "p1"
        assert (value.trace["role"], value.trace["angle"]) == ("CA", "SF")
        first = value.trace["pairs"][0]
        assert first == {
            "id": "cat",
            "score": 1,
            "positive": [[True, "True"]] * 3,
            "negative": [[False, "False"]] * 3,
        }

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

    def test_unparsable_replies_abstain_without_retry(self, server, tmp_path):
        said = iter(["Yes!", "I see a cat", "True"])

        def reply(asked):
            return answers(next(said) if is_positive(asked.text) else "False")

        server.by_question = reply
        one = of(level("L1", 1, pair("cat")))
        (value,) = score(Hwpq(), story(one), tmp_path)
        assert value.value == 1
        assert len(server.asked) == 6
        votes = value.trace["pairs"][0]["positive"]
        assert sorted(str(vote) for vote, _text in votes) == ["None", "None", "True"]
        (why,) = {text for vote, text in votes if vote is None and "Yes!" in text}
        assert why.startswith("expected the one word True or False")


@pytest.mark.usefixtures("judge")
class TestTogether:
    def numbered(self, asked, verdict):
        lines = re.findall(r"^(\d+)\. (.*)$", asked.text, re.MULTILINE)
        assert len(lines) == 12
        return "\n".join(f"{number}: {verdict(text)}" for number, text in lines)

    def test_batched_profile_makes_three_requests(self, server, tmp_path):
        server.by_question = lambda asked: answers(self.numbered(asked, is_positive))
        (value,) = score(Hwpq("vistar-batched"), story(), tmp_path)
        assert value.value == 1
        assert len(server.asked) == 3
        assert value.trace["pairs"][5]["negative"] == [[False, "False"]] * 3
