"""Text rendering: formulas by hand, a judge's server, and the installed OCR."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from evalcore.metrics.base import Run
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.oneig.text import (
    Comparison,
    OneigText,
    compare,
    plain,
    text_score,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"Open": all\n day!', "Open all day"),
        ("Caffè — naïve, 5%", "Caffè naïve 5"),
        ("rock'n'roll", "rocknroll"),
        ("Straße, Привет", "Straße Привет"),
        ("हिन्दी", "हिन्दी"),  # vowel signs are marks
        ("营业 时间：\n9:00", "营业时间900"),
        ("...", ""),
    ],
)
def test_punctuation_is_removed(text, wanted):
    assert plain(text) == wanted


def test_score_by_hand():
    # ED = (0 + 12) / 2 = 6, CR = 1/2, WAC = (2 + 1) / (2 + 4) = 1/2:
    # 1 - 6 * 1/2 * 1/2 / 100.
    scored = text_score([Comparison(0, 2, 2), Comparison(12, 1, 4)], "en")
    assert scored.edit_distance == 6
    assert scored.completion_rate == 0.5
    assert scored.word_accuracy == 0.5
    assert scored.score == pytest.approx(1 - 1.5 / 100)
    # In Chinese each edit weighs twice as much.
    scored = text_score([Comparison(0, 2, 2), Comparison(12, 1, 4)], "zh")
    assert scored.score == pytest.approx(1 - 1.5 / 50)


@given(
    st.lists(
        st.builds(
            lambda d, m, w: Comparison(d, min(m, w), w),
            st.integers(0, 300),
            st.integers(0, 20),
            st.integers(1, 20),
        ),
        min_size=1,
    ),
    st.sampled_from(["en", "zh"]),
)
def test_score_lies_between_0_and_1(comparisons, language):
    scored = text_score(comparisons, language)
    assert 0 <= scored.score <= 1
    perfect = [Comparison(0, one.words, one.words) for one in comparisons]
    assert text_score(perfect, language).score == 1


# Read by a judge ---------------------------------------------------------------------


def read_by(server, metric, subject, folder):
    with asking(judge_at(server)):
        (value,) = score(metric, subject, folder)
    return value


def poster(seed, text, **oneig):
    return rendering_of([noise(seed)], story=str(seed), oneig={"text": text, **oneig})


def test_judge_reads_texts(server, tmp_path):
    server.then = answers("Open late")
    subject = poster(1, "Open all day")
    value = read_by(server, OneigText("output", "plumbline-1"), subject, tmp_path)
    wanted = text_score([compare("Open late", "Open all day")], "en")
    assert value.value == wanted.score
    assert value.trace == {
        "score": wanted.score,
        "edit_distance": 6.0,
        "completion_rate": 0.0,
        "word_accuracy": 1 / 3,
        "pictures": 1,
    }
    (asked,) = server.asked
    # The expected text is not in the question, or the judge would repeat it.
    assert "day" not in asked.text
    assert len(asked.pictures) == 1


def test_method_score_pools_all_pictures(server, tmp_path):
    def behave(asked):
        return answers("Open late")

    server.by_question = behave
    outputs = (
        poster(1, "Open late"),
        poster(2, "Open all day and all night"),
        rendering_of([noise(3)], story="3"),
    )
    run = Run("Alder", outputs)
    value = read_by(server, OneigText("run", "plumbline-1"), run, tmp_path)
    pooled = [
        compare("Open late", text)
        for text in ("Open late", "Open all day and all night")
    ]
    assert value.value == text_score(pooled, "en").score
    single = [text_score([one], "en").score for one in pooled]
    assert value.value != pytest.approx(np.mean(single), abs=1e-6)
    assert value.trace["pictures"] == 2


# Read by installed OCR ----------------------------------------------------------------


def sign(text, size=(640, 200)):
    """Return a picture of a text that fills its width."""
    picture = PillowImage.new("RGB", size, "white")
    font = ImageFont.load_default(64)
    ImageDraw.Draw(picture).text((40, 60), text, "black", font)
    return np.asarray(picture)


@pytest.mark.slow
def test_rapidocr_reads_texts(tmp_path):
    metric = OneigText("output", "rapidocr")
    assert not metric.missing()
    assert metric.info.backend == "RapidOCR"
    assert metric.info.profile == "rapidocr"
    pictures = [sign("OPEN LATE"), sign("")]
    subject = rendering_of(pictures, oneig={"text": "“OPEN” late"})
    (value,) = score(metric, subject, tmp_path)
    # Of OPEN LATE, three lower-case letters and the last letter of "late" differ: four.
    read = [compare("OPEN LATE", "OPEN late"), compare("", "OPEN late")]
    assert value.value == pytest.approx(text_score(read, "en").score)
    assert value.trace["word_accuracy"] == 1 / 4
