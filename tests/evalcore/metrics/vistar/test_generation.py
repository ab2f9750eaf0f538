import json

import pytest

from evalcore.metrics.base import Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.asking import Refusal
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.vistar.questionnaire import (
    PromptForJudge,
    generate,
    parse_reply,
)
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at, serving
from tests.evalcore.metrics.vistar.test_questionnaire import FOUR

LEVELS = {"levels": FOUR["levels"]}
HANFU = PromptForJudge(
    "A girl in Hanfu in a neon street", "CA", "SF", {"mood": "poetic"}
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a JSON object with levels, found none"),
        ("} {", "expected a JSON object with levels, found none"),
        ("[1, 2]", "expected a JSON object with levels, found none"),
        ('{"levels": [}', r"\$: not JSON \(line 1"),
        ("{}", r"\$.levels: missing"),
        ('{"levels": [], "title": 1}', r"2 problems: \$.title: unknown key"),
        ('{"levels": [], "levels": []}', "has the key 'levels' twice"),
        (
            '{"levels": [{"level": "L1", "weight": NaN, "questions": []}]}',
            r"\$.levels\[0\].weight: expected a number from 0 to 1, found NaN",
        ),
    ],
)
def test_wrong_reply_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_reply(text)


def run(prompts, folder):
    """Return generated questionnaires, using the engine as for metrics."""
    made = {}

    def job():
        made.update((yield from generate(prompts, {"name": "owl"})))
        return [Value(None, reason="nothing is scored")]

    (outcome,) = Engine(FeatureStore(folder)).run([MetricJob("it", job())])
    assert outcome.error is None
    return made


def test_questionnaire_is_requested_again_only_when_refused(tmp_path):
    street, poster = HANFU, PromptForJudge("A poster", "GD", "TR", {"text": "SALE"})
    with serving() as server, asking(judge_at(server, concurrency=1)):
        thought_over = f"<think>{{So be it}}</think>{json.dumps(LEVELS)}"
        broken = {"levels": FOUR["levels"][:1]}  # weights sum to .2
        tries = {"Hanfu": [json.dumps(broken), thought_over], "poster": []}
        server.by_question = lambda asked: answers(
            tries["Hanfu"].pop(0) if "Hanfu" in asked.text else "I would rather not."
        )
        made = run({"s": street, "p": poster}, tmp_path)
        first = made["s"]
        assert (first.prompt_id, first.prompt) == ("s", street.text)
        assert first.author == {"name": "owl"}
        assert first.as_json()["levels"] == FOUR["levels"]
        assert isinstance(made["p"], Refusal)
        assert len(made["p"].reasons) == 3
        assert "expected a JSON object" in made["p"].reasons[0]
        assert len(server.asked) == 2 + 3
        # A second run asks only for what is lacking.
        tries["Hanfu"] = [thought_over]
        assert run({"s": street, "p": poster}, tmp_path)["p"] == made["p"]
        assert len(server.asked) == 5 + 1 + 3
