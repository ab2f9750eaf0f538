"""Prompt alignment: what is asked, how answers are read, how they are averaged."""

import base64
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.llm_judge.questions import prompts
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.prompt_alignment import (
    CODE,
    PAPER,
    IndividualAction,
    PromptAlignment,
    individual_action,
    parse_score,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    fails,
    judge_at,
)
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    EYES,
    GREEN,
    RED,
    character,
    doll,
    scene,
)

RUBRICS = prompts("vistorybench")
SCRIPT = {
    "setting": "A wood at night.",
    "camera": "Close-up from below.",
    "static": "The fox hands the owl a letter.",
    "plot": "They meet.",
}


def judged(server, metric, rendering, folder):
    with asking(judge_at(server)):
        return score(metric, rendering, folder)


def opened(place: dict) -> Pillow.Image:
    data = base64.b64decode(place["url"].partition(",")[2])
    return Pillow.open(io.BytesIO(data))


def size_of(place: dict) -> tuple[int, int]:
    return opened(place).size


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("A lovely picture.", "no line `Score: 0 to 4`"),
            ("Score: three", "no line"),
            ("Score: 7/10", "out of 10"),
            ("Score: 2-3", "range"),
            ("", "no line"),
        ],
    )
    def test_what_is_no_score_has_a_reason(self, text, words):
        with pytest.raises(ValueError, match=words):
            parse_score(text, whole=True)


class TestShots:
    @pytest.mark.parametrize(
        ("aspect", "rubric", "said"),
        [
            ("scene", RUBRICS["scene"], "A wood at night."),
            ("camera", RUBRICS["camera"], "Close-up from below."),
            ("interaction", RUBRICS["interaction"], "The fox hands the owl a letter."),
        ],
    )
    def test_rubric_script_and_picture_are_one_message(
        self, server, tmp_path, aspect, rubric, said
    ):
        rendering = rendering_of([noise(1, (90, 40))], texts=[SCRIPT])
        (value,) = judged(server, PromptAlignment(aspect), rendering, tmp_path)
        assert (value.value, value.shot) == (3, 1)
        assert value.trace == {"score": 3.0, "answer": "Score: 3", "attempt": 1}
        (asked,) = server.asked
        (message,) = asked.body["messages"]
        assert message["role"] == "user"
        assert asked.text == f"{rubric}\n\nThe script says:\n{said}"
        (place,) = asked.pictures
        assert size_of(place) == (512, 512)
        assert "detail" not in place
        assert (asked.body["temperature"], asked.body["seed"]) == (0.0, 123)
        assert asked.body["max_tokens"] == 512

    @pytest.mark.parametrize(("profile", "quality"), [(CODE, None), (PAPER, 90)])
    def test_the_program_sends_pillow_s_default_quality(
        self, server, tmp_path, profile, quality
    ):
        rendering = rendering_of([noise(1)], texts=[SCRIPT])
        judged(server, PromptAlignment("scene", profile), rendering, tmp_path)
        (place,) = server.asked[0].pictures
        stream = io.BytesIO()
        told = {} if quality is None else {"quality": quality}
        Pillow.fromarray(noise(1)).save(stream, "JPEG", **told)
        same = Pillow.open(io.BytesIO(stream.getvalue())).quantization
        assert opened(place).quantization == same

    def test_the_paper_keeps_proportions(self, server, tmp_path):
        rendering = rendering_of([noise(1, (90, 40))], texts=[SCRIPT])
        judged(server, PromptAlignment("scene", PAPER), rendering, tmp_path)
        (asked,) = server.asked
        assert size_of(asked.pictures[0]) == (90, 40)
        assert asked.body["seed"] == 42

    def test_each_shot_has_a_value_or_a_reason(self, server, tmp_path):
        """Shot 2 has no picture, shot 3 no text, shot 4 is refused."""
        server.by_question = lambda asked: (
            fails(400, "not this one") if "stall" in asked.text else answers("Score: 2")
        )
        texts = [SCRIPT, SCRIPT, {"plot": "They meet."}, {"setting": "A stall."}]
        rendering = rendering_of([noise(1), None, noise(3), noise(4)], texts=texts)
        first, third, fourth = judged(
            server, PromptAlignment("scene"), rendering, tmp_path
        )
        assert (first.value, first.shot) == (2, 1)
        assert (third.value, third.shot) == (None, 3)
        assert third.reason == "the script has no setting for this shot"
        assert (fourth.value, fourth.shot) == (None, 4)
        assert "not this one" in fourth.reason
        assert len(fourth.trace["refused"]) == 1

    @pytest.mark.parametrize(("profile", "attempts"), [(CODE, 10), (PAPER, 3)])
    def test_prose_is_asked_again_and_then_undefined(
        self, server, tmp_path, profile, attempts
    ):
        """Where the reference program counts 0."""
        server.then = answers("It is a lovely wood.")
        rendering = rendering_of([noise(1)], texts=[SCRIPT])
        (value,) = judged(
            server, PromptAlignment("scene", profile), rendering, tmp_path
        )
        assert value.value is None
        assert f"in {attempts} attempts" in value.reason
        temperatures = [asked.body["temperature"] for asked in server.asked]
        assert temperatures == [round(0.1 * i, 6) for i in range(attempts)]

    def test_the_same_question_is_asked_once(self, server, tmp_path):
        rendering = rendering_of([noise(1), noise(1)], texts=[SCRIPT, SCRIPT])
        values = judged(server, PromptAlignment("scene"), rendering, tmp_path)
        assert [value.value for value in values] == [3, 3]
        judged(server, PromptAlignment("scene"), rendering, tmp_path)
        assert len(server.asked) == 1


class TestAveraging:
    def test_halves_go_to_the_even_number(self):
        assert individual_action([[2, 3]], rounded=True) == 2
        assert individual_action([[3, 4]], rounded=True) == 4
        assert individual_action([[0], [1]], rounded=True) == 0

    @given(st.lists(st.lists(st.integers(0, 4), min_size=1), min_size=1))
    def test_it_stays_among_the_scores(self, shots):
        every = [score for scores in shots for score in scores]
        for rounded in (True, False):
            value = individual_action(shots, rounded=rounded)
            assert min(every) - 1e-9 <= value <= max(every) + 1e-9
            assert not rounded or value == int(value)


class TestIndividualAction:
    FOX = character("Fox", scene(doll(RED)))
    OWL = character("Owl", scene(doll(GREEN)))

    @pytest.fixture(autouse=True)
    def eyes(self, monkeypatch):
        monkeypatch.setattr(character_matching, "the_eyes", lambda profile: EYES)

    def story(self, shots, expected, texts=None):
        return rendering_of(
            list(shots),
            expected=list(expected),
            characters=[self.FOX, self.OWL],
            texts=texts or [SCRIPT] * len(shots),
        )

    def test_each_found_character_is_asked_about_alone(self, server, tmp_path):
        server.by_question = lambda asked: answers(
            "Score: 4" if "Character: Fox" in asked.text else "Score: 1"
        )
        both = scene(doll(RED, 5), doll(GREEN, 45))
        rendering = self.story([both], [("Fox", "Owl")])
        (value,) = judged(server, IndividualAction(PAPER), rendering, tmp_path)
        assert value.value == 2.5
        assert value.trace["shots"]["1"]["Fox"]["score"] == 4
        assert value.trace["shots"]["1"]["Owl"]["score"] == 1
        (value,) = judged(server, IndividualAction(CODE), rendering, tmp_path)
        assert value.value == 2  # 2.5 goes to the even number
        assert len(server.asked) == 4

    def test_the_rubric_is_the_system_message_and_the_crop_low_in_detail(
        self, server, tmp_path
    ):
        rendering = self.story([scene(doll(RED, 5), doll(GREEN, 45))], [("Fox",)])
        judged(server, IndividualAction(CODE), rendering, tmp_path)
        (asked,) = server.asked
        system, user = asked.body["messages"]
        assert (system["role"], system["content"]) == ("system", RUBRICS["action"])
        assert [part.get("text") for part in user["content"][:2]] == [
            "The script says:\nThe fox hands the owl a letter.",
            "Character: Fox",
        ]
        (place,) = asked.pictures
        assert place["detail"] == "low"
        picture = Pillow.open(io.BytesIO(base64.b64decode(place["url"][23:])))
        assert picture.size == (512, 512)
        red, green, _blue = picture.resize((1, 1), Pillow.Resampling.BOX).getpixel(
            (0, 0)
        )
        assert red > 180 > 30 > green  # the fox alone

    def test_the_paper_sends_the_crop_as_it_is(self, server, tmp_path):
        rendering = self.story([scene(doll(RED, 5))], [("Fox",)])
        judged(server, IndividualAction(PAPER), rendering, tmp_path)
        (place,) = server.asked[0].pictures
        assert (size_of(place), place.get("detail")) == ((20, 30), None)

    @pytest.mark.parametrize("profile", [CODE, PAPER])
    def test_characters_are_recognised_as_in_the_same_profile_of_cids(
        self, server, tmp_path, monkeypatch, profile
    ):
        asked = []
        monkeypatch.setattr(
            character_matching, "the_eyes", lambda p: asked.append(p) or EYES
        )
        rendering = self.story([scene(doll(RED))], [("Fox",)])
        judged(server, IndividualAction(profile), rendering, tmp_path)
        assert asked == [profile]

    def test_who_is_not_found_does_not_count(self, server, tmp_path):
        """Shot 1: two expected, one figure. Shot 2: nobody there. Shot 3: no text."""
        fox = scene(doll(RED))
        rendering = self.story(
            [fox, scene(), fox],
            [("Fox", "Owl"), ("Fox",), ("Fox",)],
            [SCRIPT, SCRIPT, {"plot": "They meet."}],
        )
        (value,) = judged(server, IndividualAction(CODE), rendering, tmp_path)
        assert value.value == 3
        assert set(value.trace["shots"]) == {"1"}
        assert len(server.asked) == 1

    def test_a_refusal_does_not_count_as_0(self, server, tmp_path):
        server.by_question = lambda asked: (
            fails(400, "no") if "Character: Owl" in asked.text else answers("Score: 4")
        )
        both = scene(doll(RED, 5), doll(GREEN, 45))
        rendering = self.story([both], [("Fox", "Owl")])
        (value,) = judged(server, IndividualAction(CODE), rendering, tmp_path)
        assert value.value == 4
        assert "status 400" in value.trace["shots"]["1"]["Owl"]["refused"][0]

    def test_an_unknown_reference_drops_the_story_as_in_the_program(
        self, server, tmp_path
    ):
        rendering = rendering_of(
            [scene(doll(RED))],
            expected=[("Fox",)],
            characters=[self.FOX, character("Ghost")],
            texts=[SCRIPT],
        )
        (value,) = judged(server, IndividualAction(CODE), rendering, tmp_path)
        assert (value.value, value.reason) == (
            None,
            "no reference of Ghost is recognised",
        )
        (value,) = judged(server, IndividualAction(PAPER), rendering, tmp_path)
        assert value.value == 3
