"""CIDS, OCCM and copy-paste: every rule of the reference program, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.base import Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.vistorybench import character_matching, cids
from evalcore.metrics.vistorybench import cids as copy_paste
from evalcore.metrics.vistorybench.cids import (
    CharacterConsistency,
    CopyPaste,
    copy_paste_rate,
)
from evalcore.metrics.vistorybench.occm import CharacterCount
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    EYES,
    FACELESS,
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
def eyes(monkeypatch):
    monkeypatch.setattr(character_matching, "the_eyes", lambda profile: EYES)
    monkeypatch.setattr(character_matching, "the_detector", lambda: EYES.detector)


def cast_of(rendering, tmp_path):
    def scoring():
        cast = yield from character_matching.find_cast(rendering, EYES)
        return [Value(None, trace={"cast": cast})]

    (outcome,) = Engine(FeatureStore(tmp_path)).run([MetricJob(0, scoring())])
    assert outcome.error is None, outcome.error
    return outcome.values[0].trace["cast"]


def value(variant, rendering, tmp_path):
    metric = CharacterConsistency(variant, "vsb-code-2026.02")
    (one,) = score(metric, rendering, tmp_path)
    return one.value if one.value is not None else one.reason


class TestMatching:
    def test_the_sum_counts_not_who_comes_first(self, tmp_path):
        """Orange is .8 like the fox and .6 like the owl; red only like the fox."""
        shot = scene(doll(ORANGE, 5), doll(RED, 45))
        cast = cast_of(story([shot], [("Fox", "Owl")], [FOX, OWL]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(1)
        assert cast.matches[1]["Owl"].cross == pytest.approx(0.6, abs=0.01)

    def test_the_best_reference_decides_the_mean_is_told(self, tmp_path):
        """Matched by the best of two references; similarity is the mean over both."""
        fox = character("Fox", scene(doll(BLUE)), scene(doll(RED)))
        cast = cast_of(story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(0.5)

    def test_kinds_are_recognised_by_their_own_encoders(self, tmp_path):
        ann = character("Ann", scene(doll(RED)), kind="realistic_human")
        shot = scene(doll(RED, 5), doll(GREEN, 45))
        cast = cast_of(story([shot], [("Ann", "Owl")], [ann, OWL]), tmp_path)
        assert set(cast.matches[1]["Ann"].identity) == {"one", "two"}
        assert set(cast.matches[1]["Owl"].identity) == {"clip"}

    def test_shots_that_do_not_count(self, tmp_path):
        """No picture, nobody expected, or somebody the story does not describe."""
        red = scene(doll(RED))
        rendering = story(
            [None, red, red, red], [("Fox",), (), ("Nobody",), ("Fox", "Nobody")], [FOX]
        )
        cast = cast_of(rendering, tmp_path)
        assert cast.expected == {4: ("Fox",)}


class TestReferences:
    def test_the_best_box_is_cut_out(self, tmp_path):
        """Green is the larger figure of the reference, so the owl is green."""
        owl = character("Owl", scene((RED, 2, 2, 5, 5), (GREEN, 30, 2, 30, 30)))
        cast = cast_of(story([scene(doll(GREEN))], [("Owl",)], [owl]), tmp_path)
        assert cast.anchors["Owl"].box == (30, 2, 60, 32)
        assert cast.matches[1]["Owl"].cross == pytest.approx(1)

    def test_a_reference_without_a_box_is_passed_over(self, tmp_path):
        fox = character("Fox", scene(), scene(doll(RED)))
        cast = cast_of(story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
        assert len(cast.references["Fox"]) == 1

    def test_figures_are_counted_whoever_is_recognised(self, tmp_path):
        """Fox and Ann are expected, two figures are there; nobody asks who they are."""
        ann = character("Ann", scene(doll(FACELESS)), kind="realistic_human")
        shot = scene(doll(RED, 5), doll(FACELESS, 45))
        rendering = story([shot], [("Fox", "Ann")], [FOX, ann])
        (one,) = score(CharacterCount("vsb-code-2026.02"), rendering, tmp_path)
        assert (one.shot, one.value) == (1, 100)


class TestCids:
    def test_by_hand(self, tmp_path):
        """Fox: red, red, orange: cross (1 + 1 + .8)/3, self (1 + .8 + .8)/3."""
        shots = [scene(doll(c)) for c in (RED, RED, ORANGE)]
        rendering = story(shots, [("Fox",)] * 3, [FOX])
        assert value("cross", rendering, tmp_path) == pytest.approx(2.8 / 3, abs=2e-4)
        assert value("self", rendering, tmp_path) == pytest.approx(2.6 / 3, abs=2e-4)

    def test_missing_a_character_costs_only_strictly(self, tmp_path):
        """Found in 2 of 4 shots: cross 1 against 2/4, self 1 against 1/6."""
        shots = [scene(doll(RED)), scene(), scene(doll(RED)), scene()]
        rendering = story(shots, [("Fox",)] * 4, [FOX])
        assert value("cross", rendering, tmp_path) == 1
        assert value("cross_strict", rendering, tmp_path) == pytest.approx(1 / 2)
        assert value("self", rendering, tmp_path) == 1
        assert value("self_strict", rendering, tmp_path) == pytest.approx(1 / 6)
        assert value("matched", rendering, tmp_path) == 1 / 2

    def test_four_places_as_in_the_results_files(self, tmp_path):
        shots = [scene(doll(c)) for c in (RED, ORANGE)]
        found = value("cross", story(shots, [("Fox",)] * 2, [FOX]), tmp_path)
        assert found == round(found, 4)

    def test_the_trace_tells_who_was_found_where(self, tmp_path):
        shots = [scene(doll(RED)), scene()]
        rendering = story(shots, [("Fox",)] * 2, [FOX])
        metric = CharacterConsistency("cross", "vsb-paper")
        (one,) = score(metric, rendering, tmp_path)
        assert "errors" not in one.trace
        assert one.trace["characters"]["Fox"] == {
            "value": pytest.approx(1),
            "found": 1,
            "expected": 2,
        }
        assert one.trace["shots"]["1"]["Fox"]["box"] == [0.25, 0.5, 0.25, 0.75]
        assert one.trace["shots"]["2"] == {}

    @given(
        st.lists(st.floats(-1, 1), min_size=3, max_size=3),
        st.integers(0, 3),
    )
    def test_strict_is_never_above_for_positive_similarities(self, cosines, missed):
        among = np.eye(3)
        among[np.triu_indices(3, 1)] = np.abs(cosines)
        strict = cids.strict_self_consistency(among, 3 + missed)
        assert strict <= cids.self_consistency(among) + 1e-12
        if not missed:
            assert strict == pytest.approx(cids.self_consistency(among))


class TestOccm:
    def test_a_face_that_is_not_seen_receives_no_box(self, tmp_path):
        """One figure of one expected; but not she, as far as faces tell."""
        ann = character("Ann", scene(doll(RED)), kind="realistic_human")
        rendering = story([scene(doll(FACELESS))], [("Ann",)], [ann])
        (boxes,) = score(CharacterCount("vsb-code-2026.02"), rendering, tmp_path)
        (matched,) = score(CharacterCount("vsb-code-2025.11"), rendering, tmp_path)
        assert (boxes.value, round(matched.value, 2)) == (100, 36.79)


class TestCopyPaste:
    @given(
        st.floats(-1, 1),
        st.lists(st.floats(-1, 1), min_size=1, max_size=4),
        st.floats(0, 0.05),
    )
    def test_nearer_to_the_anchor_is_more(self, anchor, others, nearer):
        rate = copy_paste_rate(anchor, others)
        assert 0 <= rate <= 1
        assert copy_paste_rate(min(1, anchor + nearer), others) >= rate - 1e-12

    def test_other_references_are_the_alternatives(self, tmp_path):
        """Red drawn, red given: the anchor; orange is the alternative, .2 away."""
        fox = character("Fox", scene(doll(RED)), scene(doll(ORANGE)))
        rendering = story([scene(doll(RED))], [("Fox",)], [fox])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value == pytest.approx(1, abs=1e-6)
        rendering = story([scene(doll(ORANGE))], [("Fox",)], [fox])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value == pytest.approx(0, abs=1e-6)

    def test_the_mirror_image_is_really_looked_at(self, tmp_path):
        """The anchor's crop, left and right exchanged, is what encoders are asked."""
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX])
        seen = []

        def scoring():
            cast = yield from character_matching.find_cast(rendering, EYES)
            asked = copy_paste.mirrored_anchors(cast, rendering, EYES)
            ask = next(asked)
            seen.extend(ask.items)
            return []

        list(Engine(FeatureStore(tmp_path)).run([MetricJob(0, scoring())]))
        assert [(image.box, image.mirrored) for image in seen] == [
            ((10, 5, 30, 35), True)
        ]

    def test_crops_then_characters(self, tmp_path):
        """Fox copied in one shot of two (1, 0), the owl in its only one: (.5 + 1)/2."""
        fox = character("Fox", scene(doll(RED)), scene(doll(BLUE)))
        owl = character("Owl", scene(doll(GREEN)), scene(doll(BLUE)))
        shots = [scene(doll(RED)), scene(doll(BLUE)), scene(doll(GREEN))]
        rendering = story(shots, [("Fox",), ("Fox",), ("Owl",)], [fox, owl])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value == pytest.approx(0.75, abs=1e-6)
        assert one.trace["characters"] == {
            "Fox": pytest.approx(0.5, abs=1e-6),
            "Owl": pytest.approx(1, abs=1e-6),
        }
