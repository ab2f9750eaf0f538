"""TR: the formula by hand, and the metric with the real OCR on drawn pictures."""

import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from evalcore.metrics.encoders.ocr import Ocr
from evalcore.metrics.formulas import edit_distance
from evalcore.metrics.vistar.text_rendering import (
    TextRendering,
    normalised_text,
    quoted,
    text_rendering,
)
from tests.evalcore.metrics.asking import rendering_of, score

SHORT = st.text(max_size=12)


class TestLevenshtein:
    @given(SHORT, SHORT)
    def test_distance_matches_recursive_definition(self, a, b):
        def slow(i, j, known):
            if i == 0 or j == 0:
                return i + j
            if (i, j) not in known:
                known[i, j] = min(
                    slow(i - 1, j, known) + 1,
                    slow(i, j - 1, known) + 1,
                    slow(i - 1, j - 1, known) + (a[i - 1] != b[j - 1]),
                )
            return known[i, j]

        assert edit_distance(a, b) == slow(len(a), len(b), {})


class TestFormula:
    @given(SHORT, SHORT)
    def test_distance_obeys_laws(self, a, b):
        value = text_rendering(a, b)
        assert 0 <= value <= 1
        assert value == pytest.approx(text_rendering(b, a))
        assert (value == 1) == (normalised_text(a) == normalised_text(b))


class TestWanted:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ('A sign "OPEN"', ["OPEN"]),
            ("Two: “one”, “two”", ["one", "two"]),
            ("„Eis“, «oui»", ["Eis", "oui"]),
            ("招牌「营业中」", ["营业中"]),
            ("Mia's dog's bowl", []),
            ('an unclosed "sign', []),
            ('an empty ""', []),
        ],
    )
    def test_quotations_are_found(self, text, found):
        assert quoted(text) == found


def drawn(*lines, size=(480, 320)):
    """Return a white picture with black lines of text: text, x, y."""
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for text, x, y in lines:
        pen.text((x, y), text, fill="black", font=ImageFont.load_default(40))
    return np.asarray(picture)


SIGN = drawn(("GRAND OPENING", 40, 60), ("today", 40, 180))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
class TestReader:
    def read(self, *pictures):
        reader = Ocr()
        return [
            lines.tolist()
            for lines in reader.encode([reader.prepare(one) for one in pictures])
        ]

    @pytest.mark.slow
    def test_lines_are_read_from_top_to_bottom(self):
        picture = drawn(
            ("below", 40, 220),
            ("right", 300, 44),
            ("left", 40, 40),
            ("middle", 40, 130),
        )
        (lines,) = self.read(picture)
        assert lines == ["left", "right", "middle", "below"]


@pytest.mark.usefixtures("no_network")
class TestMetric:
    def scored(self, tmp_path, pictures, texts=None, **parameters):
        rendering = rendering_of(
            pictures,
            texts=texts,
            vistar={"parameters": parameters} if parameters else {},
        )
        return score(TextRendering(), rendering, tmp_path)

    @pytest.mark.slow
    def test_picture_is_scored(self, tmp_path):
        (value,) = self.scored(tmp_path, [SIGN], text="Grand Opening TODAY")
        assert (value.value, value.shot) == (1, 1)
        assert value.trace == {
            "read": "GRAND OPENING today",
            "wanted": "Grand Opening TODAY",
        }

    @pytest.mark.slow
    def test_additional_text_lowers_score(self, tmp_path):
        (value,) = self.scored(tmp_path, [SIGN], text="Grand Opening")
        # 13 of 19 characters, 2 of 3 words.
        assert value.value == pytest.approx(0.5 * 13 / 19 + 0.5 * 2 / 3)
