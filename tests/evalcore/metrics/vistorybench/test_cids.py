"""CIDS, OCCM and copy-paste: the rules of the reference program, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.base import Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.vistorybench import character_matching, cids
from evalcore.metrics.vistorybench import cids as copy_paste
from evalcore.metrics.vistorybench.cids import (
    CharacterConsistency,
    CopyPaste,
)
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    FIGURE_ENCODERS,
    GREEN,
    ORANGE,
    RED,
    character,
    doll,
    scene,
    story,
)

FOX = character("Fox", scene(doll(RED)))
OWL = character("Owl", scene(doll(GREEN)))


@pytest.fixture(autouse=True)
def figure_encoders(monkeypatch):
    monkeypatch.setattr(
        character_matching, "load_figure_encoders", lambda profile: FIGURE_ENCODERS
    )
    monkeypatch.setattr(
        character_matching, "load_figure_detector", lambda: FIGURE_ENCODERS.detector
    )


def cast_of(rendering, tmp_path):
    def scoring():
        cast = yield from character_matching.find_cast(rendering, FIGURE_ENCODERS)
        return [Value(None, trace={"cast": cast})]

    (outcome,) = Engine(FeatureStore(tmp_path)).run([MetricJob(0, scoring())])
    assert outcome.error is None, outcome.error
    return outcome.values[0].trace["cast"]


def value(variant, rendering, tmp_path):
    metric = CharacterConsistency(variant, "vsb-code-2026.02")
    (one,) = score(metric, rendering, tmp_path)
    return one.value if one.value is not None else one.reason


class TestMatching:
    def test_matching_maximises_the_sum(self, tmp_path):
        """Orange has .8 with the fox and .6 with the owl; red matches only the fox."""
        shot = scene(doll(ORANGE, 5), doll(RED, 45))
        cast = cast_of(story([shot], [("Fox", "Owl")], [FOX, OWL]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(1)
        assert cast.matches[1]["Owl"].cross == pytest.approx(0.6, abs=0.01)

    def test_match_uses_best_reference_and_reports_mean(self, tmp_path):
        """The best of two references decides; the similarity is the mean over both."""
        fox = character("Fox", scene(doll(BLUE)), scene(doll(RED)))
        cast = cast_of(story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(0.5)


class TestCids:
    def test_value_matches_hand_calculation(self, tmp_path):
        """Fox: red, red, orange: cross (1 + 1 + .8)/3, self (1 + .8 + .8)/3."""
        shots = [scene(doll(c)) for c in (RED, RED, ORANGE)]
        rendering = story(shots, [("Fox",)] * 3, [FOX])
        assert value("cross", rendering, tmp_path) == pytest.approx(2.8 / 3, abs=2e-4)
        assert value("self", rendering, tmp_path) == pytest.approx(2.6 / 3, abs=2e-4)

    @given(
        st.lists(st.floats(-1, 1), min_size=3, max_size=3),
        st.integers(0, 3),
    )
    def test_strict_is_never_higher_for_positive_similarities(self, cosines, missed):
        among = np.eye(3)
        among[np.triu_indices(3, 1)] = np.abs(cosines)
        strict = cids.strict_self_consistency(among, 3 + missed)
        assert strict <= cids.self_consistency(among) + 1e-12
        if not missed:
            assert strict == pytest.approx(cids.self_consistency(among))


class TestCopyPaste:
    def test_other_references_are_the_alternatives(self, tmp_path):
        """Figure and anchor are red; orange is the alternative, .2 away."""
        fox = character("Fox", scene(doll(RED)), scene(doll(ORANGE)))
        rendering = story([scene(doll(RED))], [("Fox",)], [fox])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value == pytest.approx(1, abs=1e-6)
        rendering = story([scene(doll(ORANGE))], [("Fox",)], [fox])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value == pytest.approx(0, abs=1e-6)

    def test_mirrored_anchor_is_encoded(self, tmp_path):
        """The encoders receive the anchor's crop, mirrored left to right."""
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX])
        seen = []

        def scoring():
            cast = yield from character_matching.find_cast(rendering, FIGURE_ENCODERS)
            asked = copy_paste.mirrored_anchors(cast, rendering, FIGURE_ENCODERS)
            ask = next(asked)
            seen.extend(ask.items)
            return []

        list(Engine(FeatureStore(tmp_path)).run([MetricJob(0, scoring())]))
        assert [(image.box, image.mirrored) for image in seen] == [
            ((10, 5, 30, 35), True)
        ]
