"""HWPQ: formulas by hand, and the metric against a judge's server on this machine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.errors import FatalError
from evalcore.metrics.judging.client import asking
from evalcore.metrics.registry import load
from evalcore.metrics.vistar.answering import Vote, parse_boolean, parse_lines
from evalcore.metrics.vistar.hwpq import Hwpq, hwpq, majority, pair_score
from evalcore.metrics.vistar.questionnaire import read_questionnaire
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.judging.serving import answers, fails, judge_at, serving
from tests.evalcore.metrics.vistar.test_questionnaire import FOUR, level, pair
from tests.evalcore.metrics.vistar.test_questionnaire import questionnaire as of

READ = read_questionnaire(FOUR)
PICTURE = noise(1)
ALL_MET = dict.fromkeys((p.id for p in READ.pairs), 1)


class TestFormulas:
    @pytest.mark.parametrize(
        ("votes", "said"),
        [
            ((True, True, False), True),
            ((False, True, False), False),
            ((True, True, True), True),
            ((None, True, True), True),
            ((None, None, False), False),
            ((None, True, False), None),  # as many as many: no majority
            ((None, None, None), None),
            ((), None),
        ],
    )
    def test_majority(self, votes, said):
        assert majority(votes) is said

    @pytest.mark.parametrize(
        ("positive", "negative", "value"),
        [
            (True, False, 1),
            (True, True, 0),
            (False, False, 0),
            (False, True, 0),
            (None, False, None),
            (True, None, None),
            (False, None, None),  # though it could only be 0
            (None, None, None),
        ],
    )
    def test_pair(self, positive, negative, value):
        assert pair_score(positive, negative) == value

    def test_all_and_nothing(self):
        assert hwpq(READ, ALL_MET) == 1
        assert hwpq(READ, dict.fromkeys(ALL_MET, 0)) == 0

    def test_the_doubly_weighted_sum(self):
        # L1 .2 x .5 (hat), L3 .25 x .75 (light), L4 .25 x 1: .1 + .1875 + .25
        met = {"cat": 0, "hat": 1, "red": 0, "fit": 0, "light": 1, "mood": 1}
        assert hwpq(READ, met) == pytest.approx(0.5375)

    def test_a_null_pair_leaves_its_weight_to_its_level(self):
        # L3 without "light" is "fit" alone: .25 x 1, all else 0.
        met = {**dict.fromkeys(ALL_MET, 0), "light": None, "fit": 1}
        assert hwpq(READ, met) == pytest.approx(0.25)

    def test_a_null_level_leaves_its_weight_to_the_others(self):
        # Without L2 (.3): L1 met, .2 of the .7 that is left.
        met = {**dict.fromkeys(ALL_MET, 0), "red": None, "cat": 1, "hat": 1}
        assert hwpq(READ, met) == pytest.approx(0.2 / 0.7)

    def test_all_null(self):
        assert hwpq(READ, dict.fromkeys(ALL_MET)) is None

    def test_only_weightless_pairs_are_left(self):
        weightless = of(level("L1", 1, pair("a", 1), pair("b", 0)))
        assert hwpq(read_questionnaire(weightless), {"a": None, "b": 1}) is None

    @given(st.fixed_dictionaries(dict.fromkeys(ALL_MET, st.sampled_from([0, 1, None]))))
    def test_between_0_and_1_and_meeting_more_never_costs(self, met):
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
        "text", ["True", "true", " TRUE.\n", "**True**", '"True"', "`true`"]
    )
    def test_true(self, text):
        assert parse_boolean(text) is True

    @pytest.mark.parametrize(
        "text", ["", "yes", "1", "True, there is", "true false", "Not true", "t r u e"]
    )
    def test_everything_else_is_refused(self, text):
        with pytest.raises(ValueError, match="the one word True or False"):
            parse_boolean(text)

    def test_lines(self):
        votes = parse_lines("Here:\n1: True\n 2) false\n3. **True**\n5: False", 4)
        assert [vote.value for vote in votes] == [True, False, True, None]
        assert votes[3].text == "no line with this number"

    def test_an_unclear_line_abstains(self):
        votes = parse_lines("1: True\n2: perhaps", 2)
        assert votes[1] == Vote(None, "expected the one word True or False: perhaps")

    def test_twice_the_same_counts_and_twice_otherwise_abstains(self):
        same, other = parse_lines("1: True\n1: True\n2: True\n2: False", 2)
        assert same.value is True
        assert other == Vote(None, "answered twice: 'True', 'False'")

    def test_a_contradiction_stays_one_whatever_follows(self):
        (vote, _) = parse_lines("1: True\n1: False\n1: True\n2: True", 2)
        assert vote.value is None

    def test_numbers_may_be_bold_or_in_a_list(self):
        votes = parse_lines("**1:** True\n**2: False**\n- 3: True\n* **4**: False", 4)
        assert [vote.value for vote in votes] == [True, False, True, False]

    @pytest.mark.parametrize("text", ["", "True", "0: True", "3: False", "1: maybe"])
    def test_without_any_answer_the_reply_is_refused(self, text):
        with pytest.raises(ValueError, match="expected 2 lines"):
            parse_lines(text, 2)


def story(questionnaire=FOUR, pictures=(PICTURE,)):
    told = {"role": "CA", "angle": "SF", "questionnaire": questionnaire}
    return rendering_of(list(pictures), vistar=told)


def is_positive(text):
    return "Is there" in text


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture
def judge(server):
    with asking(judge_at(server)) as judge:
        yield judge


@pytest.mark.usefixtures("judge")
class TestSingly:
    def test_a_picture_that_meets_everything(self, server, tmp_path):
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

    def test_each_pair_by_itself(self, server, tmp_path):
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

    def test_trials_are_independent_and_the_majority_decides(self, server, tmp_path):
        given = {}

        def reply(asked):
            # True, False, True of each positive question.
            times = given[asked.text] = given.get(asked.text, 0) + 1
            return answers(str(is_positive(asked.text) and times != 2))

        server.by_question = reply
        one = of(level("L1", 1, pair("cat")))
        with asking(judge_at(server, concurrency=1)):
            (value,) = score(Hwpq(), story(one), tmp_path)
        votes = value.trace["pairs"][0]["positive"]
        assert sorted(said for said, _text in votes) == [False, True, True]
        assert value.value == 1

    def test_unparsable_replies_abstain_and_are_not_asked_again(self, server, tmp_path):
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

    def test_a_judge_may_think_aloud(self, server, tmp_path):
        def reply(asked):
            thoughts = "<think>\n1: False\nTrue? {No}.\n</think>\n"
            return answers(f"{thoughts}{is_positive(asked.text)}")

        server.by_question = reply
        (value,) = score(Hwpq(), story(), tmp_path)
        assert value.value == 1
        (said, text), *_others = value.trace["pairs"][0]["positive"]
        assert (said, text[:7]) == (True, "<think>")

    def test_three_abstentions_leave_the_pair_out(self, server, tmp_path):
        def reply(asked):
            if " hat" in asked.text:
                return answers("Hard to say.")
            return answers(str("there cat?" in asked.text))

        server.by_question = reply
        (value,) = score(Hwpq(), story(), tmp_path)
        # L1 is "cat" alone and met: .2; of the other levels nothing is.
        assert value.value == pytest.approx(0.2)
        assert value.trace["pairs"][1]["score"] is None

    def test_no_value_where_nobody_answers(self, server, tmp_path):
        server.then = answers("It depends.")
        (value,) = score(Hwpq(), story(), tmp_path)
        assert value.value is None
        assert value.reason == "no pair of questions has two answers"
        assert value.trace["pairs"][0]["positive"][0][0] is None

    def test_several_shots_are_judged_together(self, server, tmp_path):
        server.then = answers("True")
        pictures = (PICTURE, None, noise(2))
        (value,) = score(Hwpq(), story(pictures=pictures), tmp_path)
        assert value.value == 0  # N is true of all
        assert value.trace["pictures"] == 2
        assert {len(asked.pictures) for asked in server.asked} == {2}

    def test_a_judge_that_cannot_be_asked_ends_the_run(self, server, tmp_path):
        server.then = fails(401)
        with pytest.raises(FatalError):
            score(Hwpq(), story(), tmp_path)


@pytest.mark.usefixtures("judge")
class TestTogether:
    def numbered(self, asked, verdict):
        lines = re.findall(r"^(\d+)\. (.*)$", asked.text, re.MULTILINE)
        assert len(lines) == 12
        return "\n".join(f"{number}: {verdict(text)}" for number, text in lines)

    def test_three_requests_for_all_questions(self, server, tmp_path):
        server.by_question = lambda asked: answers(self.numbered(asked, is_positive))
        (value,) = score(Hwpq("vistar-batched"), story(), tmp_path)
        assert value.value == 1
        assert len(server.asked) == 3
        assert value.trace["pairs"][5]["negative"] == [[False, "False"]] * 3

    def test_numbered_thoughts_are_no_answers(self, server, tmp_path):
        def reply(asked):
            thoughts = self.numbered(asked, lambda text: not is_positive(text))
            told = self.numbered(asked, is_positive)
            return answers(f"<think>{thoughts}</think>\n{told}")

        server.by_question = reply
        (value,) = score(Hwpq("vistar-batched"), story(), tmp_path)
        assert value.value == 1

    def test_what_a_reply_leaves_out_abstains(self, server, tmp_path):
        # Only the first pair is ever answered, and one trial is no answer at all.
        server.script = [answers("Sorry.")]
        server.then = answers("1: True\n2: False")
        (value,) = score(Hwpq("vistar-batched"), story(), tmp_path)
        assert value.value == 1  # of what was answered, all is met
        scores = [one["score"] for one in value.trace["pairs"]]
        assert scores == [1, None, None, None, None, None]
        votes = value.trace["pairs"][0]["positive"]
        assert [vote for vote, _text in votes].count(None) == 1


class TestUndefined:
    def undefined(self, rendering, tmp_path):
        (value,) = score(Hwpq(), rendering, tmp_path)
        assert value.value is None
        return value.reason

    def test_without_a_questionnaire(self, tmp_path):
        assert "no questionnaire" in self.undefined(rendering_of([PICTURE]), tmp_path)
        told = rendering_of([PICTURE], vistar={"role": "CA"})
        assert "no questionnaire" in self.undefined(told, tmp_path)

    def test_with_one_that_is_not_valid(self, tmp_path):
        broken = {**FOUR, "levels": [level("L1", 0.5, pair("a"))]}
        reason = self.undefined(story(broken), tmp_path)
        assert "$.levels: the weights sum to 0.5" in reason

    def test_without_a_picture(self, tmp_path):
        reason = self.undefined(story(pictures=(None,)), tmp_path)
        assert reason == "no shot has a picture"


def test_registry_and_profiles():
    assert load("hwpq").info.profile == "vistar-single"
    batched = load("hwpq@vistar-batched").info
    assert (batched.name, batched.full_version) == ("hwpq", "1 vistar-batched")
    assert batched.scores == "output"


def test_what_is_missing(server, monkeypatch):
    for name in ("JUDGE_BASE_URL", "JUDGE_NAME", "JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert "JUDGE_BASE_URL" in str(Hwpq().missing())
    with asking(judge_at(server)):
        assert not Hwpq().missing()
        assert Hwpq().info.backend == "owl"
