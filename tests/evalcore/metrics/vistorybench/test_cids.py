"""CIDS, OCCM and copy-paste: every rule of the reference program, one by one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.base import Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.vistorybench import character_matching, cids, copy_paste
from evalcore.metrics.vistorybench.cids import CharacterConsistency
from evalcore.metrics.vistorybench.copy_paste import CopyPaste, copy_paste_rate
from evalcore.metrics.vistorybench.occm import CharacterCount, occm
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
    def test_each_character_gets_the_figure_most_like_it(self, tmp_path):
        shot = scene(doll(GREEN, 5), doll(RED, 45))
        cast = cast_of(story([shot], [("Fox", "Owl")], [FOX, OWL]), tmp_path)
        assert cast.matches[1]["Fox"].image.box == (45, 5, 65, 35)
        assert cast.matches[1]["Owl"].image.box == (5, 5, 25, 35)
        assert cast.matches[1]["Fox"].cross == pytest.approx(1)

    def test_the_sum_counts_not_who_comes_first(self, tmp_path):
        """Orange is .8 like the fox and .6 like the owl; red only like the fox."""
        shot = scene(doll(ORANGE, 5), doll(RED, 45))
        cast = cast_of(story([shot], [("Fox", "Owl")], [FOX, OWL]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(1)
        assert cast.matches[1]["Owl"].cross == pytest.approx(0.6, abs=0.01)

    def test_there_is_no_threshold(self, tmp_path):
        shot = scene(doll(BLUE))
        cast = cast_of(story([shot], [("Fox",)], [FOX]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(0, abs=1e-6)

    def test_the_best_reference_decides_the_mean_is_told(self, tmp_path):
        """Matched by the best of two references; similarity is the mean over both."""
        fox = character("Fox", scene(doll(BLUE)), scene(doll(RED)))
        cast = cast_of(story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
        assert cast.matches[1]["Fox"].cross == pytest.approx(0.5)

    def test_more_characters_than_figures(self, tmp_path):
        shot = scene(doll(GREEN))
        cast = cast_of(story([shot], [("Fox", "Owl")], [FOX, OWL]), tmp_path)
        assert list(cast.matches[1]) == ["Owl"]

    def test_a_face_that_is_not_seen_is_nobody(self, tmp_path):
        ann = character("Ann", scene(doll(RED)), kind="realistic_human")
        shots = [scene(doll(FACELESS)), scene(doll(RED))]
        cast = cast_of(story(shots, [("Ann",)] * 2, [ann]), tmp_path)
        assert cast.matches == {1: {}, 2: cast.matches[2]}
        assert set(cast.matches[2]["Ann"].identity) == {"one", "two"}

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

    def test_without_any_box_the_whole_pictures_are_taken(self, tmp_path):
        fox = character("Fox", scene())
        cast = cast_of(story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
        assert cast.anchors["Fox"].box is None

    def test_a_story_with_an_unrecognisable_character_has_no_value(self, tmp_path):
        """The reference program fails there, and the story drops out of the mean."""
        ann = character("Ann", scene(doll(FACELESS)), kind="realistic_human")
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX, ann])
        reason = "no reference of Ann is recognised"
        assert value("cross", rendering, tmp_path) == reason
        for metric in (
            CharacterCount("vsb-code-2025.11"),
            CopyPaste("vsb-code-2026.02"),
            CopyPaste("vsb-paper"),
        ):
            (one,) = score(metric, rendering, tmp_path)
            assert (one.value, one.reason) == (None, reason)

    def test_figures_are_counted_whoever_is_recognised(self, tmp_path):
        """Fox and Ann are expected, two figures are there; nobody asks who they are."""
        ann = character("Ann", scene(doll(FACELESS)), kind="realistic_human")
        shot = scene(doll(RED, 5), doll(FACELESS, 45))
        rendering = story([shot], [("Fox", "Ann")], [FOX, ann])
        (one,) = score(CharacterCount("vsb-code-2026.02"), rendering, tmp_path)
        assert (one.shot, one.value) == (1, 100)

    def test_a_character_without_reference_is_named(self, tmp_path):
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX, character("Ann")])
        metrics = (
            CharacterCount("vsb-code-2026.02"),
            CharacterCount("vsb-code-2025.11"),
            CopyPaste("vsb-paper"),
        )
        for metric in metrics:
            (one,) = score(metric, rendering, tmp_path)
            assert (one.value, one.reason) == (None, "no reference picture of Ann")
        assert value("self", rendering, tmp_path) == "no reference picture of Ann"

    def test_a_story_without_characters(self, tmp_path):
        rendering = story([scene(doll(RED))], [()], [])
        assert value("self", rendering, tmp_path) == "the story names no characters"

    def test_no_shot_that_expects_anybody(self, tmp_path):
        rendering = story([scene(doll(RED))], [()], [FOX])
        reason = "no shot with a picture expects a character"
        assert value("cross", rendering, tmp_path) == reason
        for profile in ("vsb-code-2026.02", "vsb-code-2025.11"):
            (one,) = score(CharacterCount(profile), rendering, tmp_path)
            assert (one.value, one.reason) == (None, reason)


class TestCids:
    def test_by_hand(self, tmp_path):
        """Fox: red, red, orange: cross (1 + 1 + .8)/3, self (1 + .8 + .8)/3."""
        shots = [scene(doll(c)) for c in (RED, RED, ORANGE)]
        rendering = story(shots, [("Fox",)] * 3, [FOX])
        assert value("cross", rendering, tmp_path) == pytest.approx(2.8 / 3, abs=2e-4)
        assert value("self", rendering, tmp_path) == pytest.approx(2.6 / 3, abs=2e-4)

    def test_a_character_found_once_is_like_itself(self, tmp_path):
        rendering = story([scene(doll(BLUE)), scene()], [("Fox",)] * 2, [FOX])
        assert value("self", rendering, tmp_path) == 1
        assert value("self_strict", rendering, tmp_path) == 0

    def test_a_character_never_found_counts_0(self, tmp_path):
        rendering = story([scene(), scene()], [("Fox",)] * 2, [FOX])
        for variant in ("cross", "self", "cross_strict", "self_strict", "matched"):
            assert value(variant, rendering, tmp_path) == 0, variant

    def test_a_character_that_no_shot_expects_counts_0_but_not_strictly(self, tmp_path):
        shots = [scene(doll(RED))] * 2
        rendering = story(shots, [("Fox",)] * 2, [FOX, OWL])
        assert value("cross", rendering, tmp_path) == pytest.approx(0.5, abs=1e-4)
        assert value("self", rendering, tmp_path) == pytest.approx(0.5, abs=1e-4)
        assert value("cross_strict", rendering, tmp_path) == pytest.approx(1)
        assert value("self_strict", rendering, tmp_path) == pytest.approx(1)
        assert value("matched", rendering, tmp_path) == 1

    def test_missing_a_character_costs_only_strictly(self, tmp_path):
        """Found in 2 of 4 shots: cross 1 against 2/4, self 1 against 1/6."""
        shots = [scene(doll(RED)), scene(), scene(doll(RED)), scene()]
        rendering = story(shots, [("Fox",)] * 4, [FOX])
        assert value("cross", rendering, tmp_path) == 1
        assert value("cross_strict", rendering, tmp_path) == pytest.approx(1 / 2)
        assert value("self", rendering, tmp_path) == 1
        assert value("self_strict", rendering, tmp_path) == pytest.approx(1 / 6)
        assert value("matched", rendering, tmp_path) == 1 / 2

    def test_a_missing_picture_costs_nothing_anywhere(self, tmp_path):
        rendering = story([scene(doll(RED)), None], [("Fox",)] * 2, [FOX])
        assert value("matched", rendering, tmp_path) == 1
        assert value("self_strict", rendering, tmp_path) == (
            "no character is expected in two shots"
        )

    def test_characters_count_alike_however_often_they_appear(self, tmp_path):
        """Fox three times as itself, the owl once as blue: (1 + 0)/2."""
        shots = [scene(doll(RED))] * 3 + [scene(doll(BLUE))]
        rendering = story(shots, [("Fox",)] * 3 + [("Owl",)], [FOX, OWL])
        assert value("cross", rendering, tmp_path) == pytest.approx(0.5, abs=1e-4)

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
    @pytest.mark.parametrize(
        ("detected", "expected", "value"),
        # The specification's table.
        [(3, 2, 60.65), (0, 1, 36.79), (2, 1, 36.79), (3, 4, 77.88), (2, 2, 100)],
    )
    def test_published_values(self, detected, expected, value):
        assert occm(detected, expected) == pytest.approx(value, abs=0.005)

    def test_all_boxes_count_or_only_matched_ones(self, tmp_path):
        shot = scene(doll(RED, 0), doll(GREEN, 25), doll(BLUE, 50))
        rendering = story([shot, scene()], [("Fox",)] * 2, [FOX])
        boxes = score(CharacterCount("vsb-code-2026.02"), rendering, tmp_path)
        assert [(v.shot, round(v.value, 2)) for v in boxes] == [
            (1, round(100 * math.exp(-2), 2)),
            (2, 36.79),
        ]
        matched = score(CharacterCount("vsb-code-2025.11"), rendering, tmp_path)
        assert [round(v.value, 2) for v in matched] == [100, 36.79]

    @pytest.mark.parametrize("profile", ["vsb-code-2026.02", "vsb-code-2025.11"])
    def test_shots_that_do_not_count(self, tmp_path, profile):
        """No picture, nobody expected: left out; nobody there: 0 figures of 1."""
        shots = [None, scene(doll(RED)), scene(), scene(doll(RED))]
        rendering = story(shots, [("Fox",), (), ("Fox",), ("Fox",)], [FOX])
        values = score(CharacterCount(profile), rendering, tmp_path)
        assert [(v.shot, round(v.value, 2)) for v in values] == [(3, 36.79), (4, 100)]

    def test_a_face_that_is_not_seen_receives_no_box(self, tmp_path):
        """One figure of one expected; but not she, as far as faces tell."""
        ann = character("Ann", scene(doll(RED)), kind="realistic_human")
        rendering = story([scene(doll(FACELESS))], [("Ann",)], [ann])
        (boxes,) = score(CharacterCount("vsb-code-2026.02"), rendering, tmp_path)
        (matched,) = score(CharacterCount("vsb-code-2025.11"), rendering, tmp_path)
        assert (boxes.value, round(matched.value, 2)) == (100, 36.79)


class TestCopyPaste:
    def test_a_gap_of_two_hundredths(self):
        assert copy_paste_rate(0.72, [0.70]) == pytest.approx(0.88, abs=0.001)

    def test_cosines_beyond_1_are_clamped(self):
        assert copy_paste_rate(1.0000001, [1.0]) == 0.5

    def test_without_alternative(self):
        with pytest.raises(ValueError, match="needs an alternative"):
            copy_paste_rate(0.5, [])

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

    def test_one_reference_has_no_alternative_in_the_paper(self, tmp_path):
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX])
        (one,) = score(CopyPaste("vsb-paper"), rendering, tmp_path)
        assert one.value is None
        assert "no character was found that has an alternative" in one.reason

    def test_the_mirrored_anchor_in_the_program(self, tmp_path):
        """A doll of one colour is its own mirror image: one half."""
        rendering = story([scene(doll(RED))], [("Fox",)], [FOX])
        (one,) = score(CopyPaste("vsb-code-2026.02"), rendering, tmp_path)
        assert one.value == pytest.approx(0.5)

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

    def test_nobody_found(self, tmp_path):
        (one,) = score(
            CopyPaste("vsb-code-2026.02"), story([scene()], [("Fox",)], [FOX]), tmp_path
        )
        assert one.value is None

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
