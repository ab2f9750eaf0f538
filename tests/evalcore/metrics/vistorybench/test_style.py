"""CSD, aesthetics and the CLIP baselines: rules by hand, and end to end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evalcore.metrics import registry
from evalcore.metrics.base import RenderedCharacter
from evalcore.metrics.formulas import mean_cosine
from evalcore.metrics.vistorybench.pictures import (
    StyleConsistency,
    StyleFaithfulness,
)
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import image_of, noise, rendering_of, score
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SeeColour,
    character,
    doll,
    scene,
    story,
)


def with_colours(metric):
    metric.encoder = SeeColour("style")
    return metric


@pytest.fixture
def csd_self():
    return with_colours(StyleConsistency("vsb-paper"))


@pytest.fixture
def csd_cross():
    return with_colours(StyleFaithfulness("vsb-paper"))


class TestSelf:
    @given(arrays.arrays(np.float32, (5, 4), elements=st.floats(0.125, 1, width=32)))
    def test_value_is_mean_of_all_cosines(self, rows):
        """Against numpy's definition, pair by pair."""
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        pairs = [
            float(np.dot(unit[i], unit[j])) for i in range(5) for j in range(i + 1, 5)
        ]
        assert mean_cosine(unit) == pytest.approx(np.mean(pairs), abs=1e-6)


class TestCross:
    def test_value_uses_first_references_and_mean_over_characters(
        self, csd_cross, tmp_path
    ):
        """Orange has .8 with red and .6 with green."""
        fox = character("Fox", scene(doll(RED)), scene(doll(BLUE)))
        owl = character("Owl", scene(doll(GREEN)))
        rendering = story([scene(doll(ORANGE))], [("Fox", "Owl")], [fox, owl])
        (one,) = score(csd_cross, rendering, tmp_path)
        assert (one.shot, one.value) == (1, pytest.approx(0.7, abs=1e-6))
        assert one.trace["characters"]["Owl"] == pytest.approx(0.6, abs=1e-6)


@pytest.fixture
def tiny_weights(tmp_path, monkeypatch):
    """Use the registry's metrics as users load them, on tiny random networks."""
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    tiny.know_clip(tmp_path, monkeypatch)
    tiny.forget_loaded()
    registry.load.cache_clear()
    yield tmp_path
    tiny.forget_loaded()
    registry.load.cache_clear()


@pytest.mark.parametrize("profile", ["vsb-code-2026.02", "vsb-paper"])
@pytest.mark.parametrize("name", ["csd_self", "csd_cross", "aesthetic"])
def test_metrics_of_registry_run_end_to_end(tiny_weights, monkeypatch, name, profile):
    metric = registry.load(f"{name}@{profile}")
    assert metric.info.profile == profile
    assert metric.missing()
    monkeypatch.setattr("evalcore.metrics.encoders.clip.LARGE", tiny.CLIP)
    monkeypatch.setattr(
        "evalcore.metrics.encoders.clip.csd_encoder.__defaults__", (tiny.CLIP,)
    )
    tiny.save_csd(tiny_weights)
    tiny.save_siglip(tiny_weights)
    assert not metric.missing()
    fox = RenderedCharacter("Fox", "non_human", (image_of(noise(9)),))
    rendering = rendering_of(
        [noise(1), noise(1), noise(2)], expected=[("Fox",)] * 3, characters=[fox]
    )
    values = score(metric, rendering, tiny_weights / "features")
    assert all(v.value is not None for v in values)
    if metric.info.scores == "shot":
        assert [v.shot for v in values] == [1, 2, 3]
        assert values[0].value == pytest.approx(values[1].value)
        assert values[0].value != pytest.approx(values[2].value, abs=1e-7)


class TestClipOnly:
    @pytest.fixture
    def metrics(self, tiny_weights, monkeypatch):
        from evalcore.metrics.baselines import ClipConsistency, ClipScore
        from evalcore.metrics.encoders.clip import (
            clip_image_encoder,
            clip_text_encoder,
        )

        self.network = tiny.save_clip(tiny_weights)
        consistency, alignment = ClipConsistency(), ClipScore()
        consistency.encoder = clip_image_encoder(tiny.CLIP)
        alignment.encoders = {
            "picture": clip_image_encoder(tiny.CLIP),
            "text": clip_text_encoder(tiny.CLIP),
        }
        return consistency, alignment

    def test_copies_are_more_consistent(self, metrics, tiny_weights):
        consistency, _ = metrics
        (same,) = score(consistency, rendering_of([noise(1)] * 3), tiny_weights / "f")
        (other,) = score(
            consistency, rendering_of([noise(i) for i in range(3)]), tiny_weights / "f"
        )
        assert same.value == pytest.approx(1, abs=1e-5)
        assert other.value < same.value
