"""Envision-Score by a judge: questions, replies, averages."""

import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import FeatureError
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.envision import (
    CODE,
    NAMES,
    PAPER,
    PARTS,
    SUB_SCORES,
    EnvisionScore,
    read_trial,
)
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.llm_judge.questions import prompts
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at
from tests.evalcore.metrics.llm_judge.small_checkouts import write_checkouts


def texts(count=4):
    return [
        {
            "prompt": f"A candle, part {step}.",
            "explanation": f"It has burnt {step} hours.",
        }
        for step in range(1, count + 1)
    ]


EVENT = {"index": 7, "category": "Science", "process_type": "Physics"}
# In the order of SUB_SCORES: consistency 4, physicality 3, aesthetic 2.
SAID = dict(zip(SUB_SCORES, (5, 4, 3, 3, 3, 3, 1, 2, 3), strict=True))


def reply(said: dict[str, object]) -> str:
    lines = [f"{NAMES[name][0]}: {value}" for name, value in said.items()]
    return "\n".join(["The candle grows shorter.", *lines])


@pytest.fixture
def server(server):
    server.then = answers(reply(SAID))
    return server


def sequence(count=4, missing=(), **extra):
    pictures = [None if i in missing else noise(i) for i in range(1, count + 1)]
    return rendering_of(pictures, texts=texts(count), **extra)


def judged(server, metric, rendering, folder):
    with asking(judge_at(server)):
        (value,) = score(metric, rendering, folder)
    return value


class TestReading:
    @pytest.mark.parametrize(
        "form",
        [
            "{name}: {value}",
            "**{name}:** {value}",
            "**{name} (0-5):** {value}",  # the reference program would not recognise it
            "- **{name}**: {value}/5",
            "1. {name}: {value}",
            "{name} (0-5): {value}",
            "| {name} | {value} |",
            "{name} = {value} - as it should be",
        ],
    )
    @pytest.mark.parametrize("profile", [PAPER, CODE])
    def test_decorated_lines_are_read(self, form, profile):
        text = "\n".join(
            form.format(name=NAMES[n][0], value=v) for n, v in SAID.items()
        )
        trial = read_trial(text, profile)
        assert trial.scores == SAID
        assert trial.lacking == {}

    @pytest.mark.parametrize(
        ("value", "reason", "in_code"),
        [
            ("4.5", "4.5 is no whole number", 4),
            ("6", "6 is not from 0 to 5", None),
            ("10", "10 is not from 0 to 5", 1),
            ("-1", "-1 is not from 0 to 5", None),
            ("3-4", "3-4 is a range", 3),
            ("8/10", "8 is out of 10, not of 5", None),
            ("3/4", "3 is out of 4, not of 5", 3),
            ("good", "is missing", None),
            ("NaN", "is missing", None),
            ("", "is missing", None),
            ("4 images show it", "4 images show it is no score", 4),
            ("4\nExpressiveness: 2", "is given as 4 and 2", 2),
            ("4\nExpressiveness: 7", "7 is not from 0 to 5", 4),
            ("4\nExpressiveness: poor", None, 4),
        ],
    )
    def test_unclear_score_is_refused_or_read_as_by_the_program(
        self, value, reason, in_code
    ):
        """The program takes the first digit of the last mention from 0 to 5, or 0."""
        text = reply({**SAID, "expressiveness": value})
        if reason is None:
            assert read_trial(text, PAPER).scores["expressiveness"] == in_code
        else:
            with pytest.raises(ValueError, match=reason) as caught:
                read_trial(text, PAPER)
            assert str(caught.value).startswith("Expressiveness")
        trial = read_trial(text, CODE)
        assert trial.scores == {**SAID, "expressiveness": in_code or 0}
        missing = {"expressiveness": "Expressiveness is missing"}
        assert trial.lacking == (missing if in_code is None else {})


class TestAsking:
    @pytest.mark.parametrize(("count", "word"), [(4, "four"), (6, "6")])
    def test_request_holds_all_pictures_and_texts(self, server, tmp_path, count, word):
        judged(
            server,
            EnvisionScore("overall", f"{PAPER}-k1"),
            sequence(count, envision=EVENT),
            tmp_path,
        )
        (asked,) = server.asked
        assert len(asked.pictures) == count
        assert len({place["url"] for place in asked.pictures}) == count
        assert asked.body["temperature"] == 0.3
        assert asked.body["max_tokens"] == 2000
        (message,) = asked.body["messages"]
        kinds = [part["type"] for part in message["content"]]
        assert kinds == ["text"] + ["text", "image_url"] * count
        first, *steps = [p["text"] for p in message["content"] if p["type"] == "text"]
        rubric = prompts("envision")["rubric"].replace("{count}", word)
        assert first.startswith(rubric)
        assert first.endswith(
            "The event:\nindex: 7\ncategory: Science\nprocess_type: Physics"
        )
        assert steps[1] == (
            "Step 2\nText: A candle, part 2.\nExplanation: It has burnt 2 hours."
        )

    @pytest.mark.parametrize(("profile", "trials"), [(PAPER, 5), (CODE, 1)])
    def test_thirteen_metrics_cost_one_request_per_trial(
        self, server, tmp_path, monkeypatch, profile, trials
    ):
        write_checkouts(tmp_path, monkeypatch)
        subject = sequence(envision=EVENT)
        with asking(judge_at(server)):
            jobs = [
                MetricJob(part, EnvisionScore(part, profile).score(subject))
                for part in PARTS
            ]
            outcomes = list(Engine(FeatureStore(tmp_path)).run(jobs))
        values = {one.key: one.values[0].value for one in outcomes}
        assert len(server.asked) == trials
        assert {name: values[name] for name in SUB_SCORES} == SAID
        if profile == PAPER:
            assert values["consistency"] == pytest.approx(4)
            assert values["overall"] == pytest.approx(0.4 * 4 + 0.4 * 3 + 0.2 * 2)
        else:
            # .33 x 5 + .33 x 4 + .34 x 3 and .33 x 1 + .33 x 2 + .34 x 3
            assert values["consistency"] == 3.99
            assert values["aesthetic"] == 2.01
            assert values["overall"] == 3.2  # 1.596 + 1.2 + .402 = 3.198

    def test_missing_picture_leaves_sequence_unjudged(self, server, tmp_path):
        value = judged(server, EnvisionScore("overall"), sequence(6, [3]), tmp_path)
        assert (value.value, value.reason) == (None, "step 3 has no picture")
        assert not server.asked

    @pytest.mark.parametrize("count", [1, 17])
    def test_other_numbers_of_steps_are_undefined(self, server, tmp_path, count):
        value = judged(server, EnvisionScore("overall"), sequence(count), tmp_path)
        assert value.reason == f"Envision judges 2 to 16 steps, not {count}"

    def test_unusable_trial_is_left_out_of_the_mean(self, server, tmp_path):
        server.script += [answers("I would rather not say.")]
        metric = EnvisionScore("consistency", f"{PAPER}-k3")
        value = judged(server, metric, sequence(6), tmp_path)
        assert value.value == pytest.approx(4)
        assert value.trace["usable"] == 2
        assert [*filter(None, (t.get("refused") for t in value.trace["trials"]))]

    def test_metric_fails_without_a_usable_trial(self, server, tmp_path):
        server.then = answers("I would rather not say.")
        with pytest.raises(FeatureError, match="none of the nine scores"):
            judged(server, EnvisionScore("overall"), sequence(), tmp_path)

    @pytest.mark.parametrize("ending", ["k0", "k100", "k", "k-3", "k3-k3", "K3"])
    def test_other_numbers_of_trials_are_refused(self, ending):
        with pytest.raises(registry.UnknownMetricError, match="plumbline-1-k3"):
            registry.load(f"envision_overall@plumbline-1-{ending}")
