"""Prompt alignment: questions, reading of answers, averages."""

import base64
import io

import pytest
from PIL import Image as Pillow

from evalcore.metrics.llm_judge.asking import NoUsableAnswerError
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.llm_judge.questions import prompts
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.prompt_alignment import (
    OWN,
    PLAIN,
    IndividualAction,
    PromptAlignment,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    judge_at,
)
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    FIGURE_ENCODERS,
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

    @pytest.mark.parametrize(("profile", "attempts"), [(OWN, 10), (PLAIN, 3)])
    def test_answer_without_score_fails_after_retries(
        self, server, tmp_path, profile, attempts
    ):
        """The reference program counts 0 here."""
        server.then = answers("It is a lovely wood.")
        rendering = rendering_of([noise(1)], texts=[SCRIPT])
        with pytest.raises(NoUsableAnswerError, match=f"in {attempts} attempts"):
            judged(server, PromptAlignment("scene", profile), rendering, tmp_path)
        temperatures = [asked.body["temperature"] for asked in server.asked]
        assert temperatures == [round(0.1 * i, 6) for i in range(attempts)]


class TestIndividualAction:
    FOX = character("Fox", scene(doll(RED)))
    OWL = character("Owl", scene(doll(GREEN)))

    @pytest.fixture(autouse=True)
    def figure_encoders(self, monkeypatch):
        monkeypatch.setattr(
            character_matching, "load_figure_encoders", lambda profile: FIGURE_ENCODERS
        )

    def story(self, shots, expected, texts=None):
        return rendering_of(
            list(shots),
            expected=list(expected),
            characters=[self.FOX, self.OWL],
            texts=texts or [SCRIPT] * len(shots),
        )

    def test_question_is_asked_per_found_character(self, server, tmp_path):
        server.by_question = lambda asked: answers(
            "Score: 4" if "Character: Fox" in asked.text else "Score: 1"
        )
        both = scene(doll(RED, 5), doll(GREEN, 45))
        rendering = self.story([both], [("Fox", "Owl")])
        (value,) = judged(server, IndividualAction(PLAIN), rendering, tmp_path)
        assert value.value == 2.5
        assert value.trace["shots"]["1"]["Fox"]["score"] == 4
        assert value.trace["shots"]["1"]["Owl"]["score"] == 1
        (value,) = judged(server, IndividualAction(OWN), rendering, tmp_path)
        assert value.value == 2  # 2.5 is rounded to the even number
        assert len(server.asked) == 4

    def test_rubric_is_the_system_message_and_the_crop_low_in_detail(
        self, server, tmp_path
    ):
        rendering = self.story([scene(doll(RED, 5), doll(GREEN, 45))], [("Fox",)])
        judged(server, IndividualAction(OWN), rendering, tmp_path)
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

    def test_story_with_unknown_reference_is_undefined(self, server, tmp_path):
        rendering = rendering_of(
            [scene(doll(RED))],
            expected=[("Fox",)],
            characters=[self.FOX, character("Ghost")],
            texts=[SCRIPT],
        )
        (value,) = judged(server, IndividualAction(OWN), rendering, tmp_path)
        assert (value.value, value.reason) == (
            None,
            "no reference of Ghost is recognised",
        )
        (value,) = judged(server, IndividualAction(PLAIN), rendering, tmp_path)
        assert value.value == 3
