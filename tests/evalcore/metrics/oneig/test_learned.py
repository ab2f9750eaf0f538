"""Style, diversity and reasoning: formulas, and that their networks are lacking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics import registry
from evalcore.metrics.base import Image, RenderedShot, Rendering
from evalcore.metrics.oneig.diversity import Diversity, mean_pairwise_distance
from evalcore.metrics.oneig.reasoning import Reasoning, answer_similarities
from evalcore.metrics.oneig.style import Style, style_scores
from evalcore.metrics.pixels import PixelFormula
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.asking import image_of, rendering_of, score

RED, GREEN = (90, 0, 0), (0, 90, 0)
COLOURS = PixelFormula(
    "mean colour", lambda rgb: rgb.mean(axis=(0, 1)) + np.array([0, 0, 1])
)
TURNED = PixelFormula(
    "mean colour, turned", lambda rgb: rgb.mean(axis=(0, 1))[::-1] + 1
)


def pictures(*colours):
    return [np.full((8, 8, 3), c, np.uint8) if c else None for c in colours]


def cosine(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


class Words:
    """An encoder of texts whose features can be worked out by hand."""

    id, batch = "words", 8

    def prepare(self, item):
        return np.array([len(item.text), 1.0, 1.0])

    def encode(self, prepared):
        return list(prepared)


# Style -------------------------------------------------------------------------------


def test_the_nearest_reference_counts_and_is_floored():
    csd = np.array([[3.0, 4.0], [-1.0, 0.0]])
    own = np.array([[0.0, 2.0], [0.0, 1.0]])
    references = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[0.0, -5.0]])
    # First picture: largest cosine .8, and -1 counts 0. Second: 0 and 0.
    assert style_scores(csd, own, references) == pytest.approx([0.4, 0.0])


def test_each_encoder_is_floored_by_itself():
    one = np.array([[1.0, 0.0]])
    assert style_scores(one, one, (one, -one)) == pytest.approx([0.5])
    assert style_scores(one, one, (one, one)) == pytest.approx([1.0])
    assert style_scores(one, one, (-one, -one)) == pytest.approx([0.0])


@pytest.fixture
def style():
    metric = Style()
    metric.csd, metric.own = COLOURS, TURNED
    metric.references = {
        "pop_art": (np.array([[90, 0, 1.0]]), np.array([[1, 91, 1.0]]))
    }
    return metric


def test_style_of_an_output(tmp_path, style):
    subject = rendering_of(pictures(RED, None, GREEN), oneig={"style": "Pop art"})
    (value,) = score(style, subject, tmp_path)
    red = (1 + cosine([1, 1, 91], [1, 91, 1])) / 2
    green = (cosine([0, 90, 1], [90, 0, 1]) + 1) / 2
    assert value.trace["pictures"] == pytest.approx({"1": red, "3": green})
    assert value.value == pytest.approx((red + green) / 2)


@pytest.mark.parametrize(
    ("colours", "oneig"),
    [([RED], {}), ([RED], {"style": " "}), ([None], {"style": "a"})],
)
def test_style_is_undefined(tmp_path, style, colours, oneig):
    subject = rendering_of(pictures(*colours), oneig=oneig)
    (value,) = score(style, subject, tmp_path)
    assert value.value is None
    assert "asks for no style" in value.reason


def test_an_unknown_style_is_an_error(tmp_path, style):
    subject = rendering_of(pictures(RED), oneig={"style": "Op art"})
    with pytest.raises(
        ValueError, match="'Op art' is no style of OneIG; they are pop_art"
    ):
        score(style, subject, tmp_path)


def test_csd_sees_with_its_authors_preprocessing():
    assert "crop" in Style().csd.name


# Diversity ---------------------------------------------------------------------------


def test_distances_of_pairs():
    # (1, 0), (0, 2) and (-3, 0): 1, 2 and 1.
    features = np.array([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    assert mean_pairwise_distance(features) == pytest.approx(4 / 3)


@given(st.integers(2, 6), st.integers(0, 99))
def test_copies_have_no_distance_and_order_does_not_matter(count, seed):
    features = np.random.default_rng(seed).normal(size=(count, 4))
    assert mean_pairwise_distance(features[[0] * count]) == pytest.approx(0, abs=1e-12)
    turned = mean_pairwise_distance(features[::-1])
    assert turned == pytest.approx(mean_pairwise_distance(features))


def test_diversity_of_an_output(tmp_path):
    metric = Diversity()
    metric.encoder = COLOURS
    subject = rendering_of(pictures(RED, None, GREEN))
    (value,) = score(metric, subject, tmp_path)
    assert value.value == pytest.approx(1 - cosine([90, 0, 1], [0, 90, 1]))


def grid_of(*colours):
    """One picture of several, side by side, and each of them as a cell of it."""
    whole = image_of(np.hstack(pictures(*colours)))
    cells = [
        Image(whole.source, box=(8 * place, 0, 8 * place + 8, 8))
        for place in range(len(colours))
    ]
    return Rendering("anime_000", "Alder", (RenderedShot(1, tuple(cells)),))


def test_cells_of_a_grid_are_pictures(tmp_path):
    metric = Diversity()
    metric.encoder = COLOURS
    (value,) = score(metric, grid_of(RED, GREEN, RED), tmp_path)
    apart = 1 - cosine([90, 0, 1], [0, 90, 1])
    assert value.value == pytest.approx(2 * apart / 3)


def test_diversity_needs_two_pictures(tmp_path):
    with pytest.raises(ValueError, match="needs two pictures"):
        mean_pairwise_distance(np.ones((1, 3)))
    (value,) = score(Diversity(), rendering_of(pictures(RED, None)), tmp_path)
    assert value.value is None
    assert value.reason == "the prompt has fewer than two pictures"


# Reasoning ---------------------------------------------------------------------------


def test_similarities_are_cosines():
    pictures = np.array([[2.0, 0.0], [-3.0, 4.0]])
    assert answer_similarities(pictures, np.array([0.5, 0.0])) == pytest.approx(
        [1, -0.6]
    )


def test_reasoning_of_an_output(tmp_path):
    metric = Reasoning()
    metric.encoder, metric.reader = COLOURS, Words()
    subject = rendering_of(pictures(RED, GREEN), oneig={"answer": "coral"})
    (value,) = score(metric, subject, tmp_path)
    wanted = [cosine(colour, [5, 1, 1]) for colour in ([90, 0, 1], [0, 90, 1])]
    assert value.value == pytest.approx(np.mean(wanted))


@pytest.mark.parametrize(
    ("colours", "oneig"), [([RED], {}), ([None], {"answer": "coral"})]
)
def test_reasoning_is_undefined(tmp_path, colours, oneig):
    subject = rendering_of(pictures(*colours), oneig=oneig)
    (value,) = score(Reasoning(), subject, tmp_path)
    assert value.value is None
    assert "no true answer" in value.reason


# What is lacking ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("oneig_style", "OneIG-StyleEncoder"),
        ("oneig_diversity", "its package fetches weights while it runs"),
        ("oneig_reasoning", "LLM2CLIP"),
    ],
)
def test_it_is_said_what_is_lacking(tmp_path, name, what):
    metric = registry.load(name)
    assert metric.info.name == name
    assert what in str(metric.missing())
    oneig = {"style": "Pop art", "answer": "coral"}
    subject = rendering_of(pictures(RED, GREEN), oneig=oneig)
    with pytest.raises(WeightsError, match=what):
        score(metric, subject, tmp_path)
