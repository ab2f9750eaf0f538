"""TR: the formula by hand, and the metric with the real reader on drawn pictures."""

import logging
import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from evalcore.metrics.base import RenderedShot
from evalcore.metrics.edit_distance import edit_distance
from evalcore.metrics.encoders.ocr import Ocr
from evalcore.metrics.registry import load
from evalcore.metrics.vistar.text_rendering import (
    TextRendering,
    normalised_text,
    quoted,
    text_rendering,
    tokens,
    wanted_text,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score

SHORT = st.text(max_size=12)


class TestLevenshtein:
    @pytest.mark.parametrize(
        ("a", "b", "distance"),
        [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("abc", "abc", 0),
            ("abc", "xyz", 3),
            ("a😀b", "ab", 1),
            ("\ud800a", "a", 1),
        ],
    )
    def test_by_hand(self, a, b, distance):
        assert edit_distance(a, b) == distance

    @given(SHORT, SHORT)
    def test_against_the_recursive_definition(self, a, b):
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
    @pytest.mark.parametrize(
        ("read", "wanted", "value"),
        [
            ("SALE", "sale", 1.0),
            ("Grand\nOpening  ", "grand opening", 1.0),
            ("", "", 1.0),
            (" \n", "\t", 1.0),
            ("", "SALE", 0.0),
            ("SALE", "", 0.0),
            # 1 of 4 letters wrong, no word shared: .5 x .75
            ("SALT", "SALE", 0.375),
            # "now" and a space too much: 4 of 8; one word of two: .5 x .5 + .5 x .5
            ("SALE now", "SALE", 0.5),
            # Both words, in the other order: all tokens; "b a" to "a b" takes 2 of 3.
            ("b a", "a b", 0.5 / 3 + 0.5),
            # 12 letters of 13, and 2 tokens of 3: the comma.
            ("hello world!", "hello, world!", 0.5 * 12 / 13 + 0.5 * 3 / 4),
            ("ﬁne", "fine", 1.0),
            ("你好 世界", "你好世界", 1.0),
        ],
    )
    def test_by_hand(self, read, wanted, value):
        assert text_rendering(read, wanted) == pytest.approx(value)

    @given(SHORT, SHORT)
    def test_laws(self, a, b):
        value = text_rendering(a, b)
        assert 0 <= value <= 1
        assert value == pytest.approx(text_rendering(b, a))
        assert (value == 1) == (normalised_text(a) == normalised_text(b))

    def test_tokens(self):
        assert tokens(normalised_text("Café №5, 東京!")) == {
            "café",
            "no5",
            ",",
            "東",
            "京",
            "!",
        }


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
    def test_quotations(self, text, found):
        assert quoted(text) == found

    def test_the_parameter_comes_before_quotations(self):
        told = {"parameters": {"text": " SALE "}}
        rendering = rendering_of([None], vistar=told)
        assert (
            wanted_text(rendering, RenderedShot(1, text={"prompt": 'a "sign"'}))
            == "SALE"
        )

    def test_quotations_of_the_text_that_is_most_like_a_prompt(self):
        text = {"plot": 'They read "EXIT".', "caption": 'signs "IN" and "OUT"'}
        assert wanted_text(rendering_of([None]), RenderedShot(1, text=text)) == "IN OUT"


def drawn(*lines, size=(480, 320)):
    """A white picture with black lines of text: text, x, y."""
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

    def test_lines_from_top_to_bottom_and_from_left_to_right(self):
        picture = drawn(
            ("below", 40, 220),
            ("right", 300, 44),
            ("left", 40, 40),
            ("middle", 40, 130),
        )
        (lines,) = self.read(picture)
        assert lines == ["left", "right", "middle", "below"]

    def test_nothing_to_read(self):
        blank, small = (
            np.full((*size, 3), 255, np.uint8) for size in ((80, 60), (5, 7))
        )
        assert self.read(blank, small) == [[], []]

    def test_networks_see_blue_first(self):
        assert Ocr().prepare(np.array([[[1, 2, 3]]], np.uint8)).tolist() == [
            [[3, 2, 1]]
        ]

    def test_it_is_quiet(self, capfd):
        self.read(np.full((80, 60, 3), 255, np.uint8), SIGN)
        assert capfd.readouterr() == ("", "")
        assert logging.getLogger("RapidOCR").level == logging.ERROR

    def test_its_id_names_version_and_weights(self):
        assert Ocr().id.startswith("RapidOCR 3.")
        assert Ocr().id.count(".onnx ") == 3


@pytest.mark.usefixtures("no_network")
class TestMetric:
    def scored(self, tmp_path, pictures, texts=None, **told):
        rendering = rendering_of(
            pictures, texts=texts, vistar={"parameters": told} if told else {}
        )
        return score(TextRendering(), rendering, tmp_path)

    def test_ready_here(self):
        assert not load("text_rendering").missing()

    def test_one_picture(self, tmp_path):
        (value,) = self.scored(tmp_path, [SIGN], text="Grand Opening TODAY")
        assert (value.value, value.shot) == (1, 1)
        assert value.trace == {
            "read": "GRAND OPENING today",
            "wanted": "Grand Opening TODAY",
        }

    def test_too_much_writing_costs(self, tmp_path):
        (value,) = self.scored(tmp_path, [SIGN], text="Grand Opening")
        # 13 of 19 characters, 2 of 3 words.
        assert value.value == pytest.approx(0.5 * 13 / 19 + 0.5 * 2 / 3)

    def test_nothing_to_read_where_something_was_wanted(self, tmp_path):
        blank = np.full((80, 60, 3), 255, np.uint8)
        (value,) = self.scored(tmp_path, [blank], text="SALE")
        assert value.value == 0

    def test_shots_that_want_no_text_have_no_value(self, tmp_path):
        texts = [{"prompt": 'A sign "grand opening today"'}, {"prompt": "A cat"}, {}]
        values = self.scored(tmp_path, [SIGN, noise(2), None], texts)
        assert [(v.shot, v.value) for v in values] == [(1, 1), (2, None)]
        assert values[1].reason == "no text is wanted in this picture"

    def test_the_store_remembers_texts(self, tmp_path):
        first = self.scored(tmp_path, [SIGN], text="today")
        assert self.scored(tmp_path, [SIGN], text="today") == first
