"""Sizes alone tell whose shape is odd; shares are worked out by hand, as fractions."""

import random

import pytest

from annotate.presentation.aspect_ratios import OddShape, Sized, filled, odd_shapes

WIDE, TALL, SQUARE = (1024, 576), (512, 1024), (1024, 1024)


def shown(stories=3, number=4, **sizes: tuple[int, int]) -> list[Sized]:
    """Each method has so many pictures of its size in every story."""
    return [
        Sized(story, method, size, number)
        for method, size in sizes.items()
        for story in range(stories)
    ]


def only(pictures: list[Sized], **how) -> OddShape:
    (found,) = odd_shapes(pictures, **how)
    return found


def test_a_method_that_alone_is_tall_makes_the_others_small():
    found = only(shown(Alder=TALL, Birch=WIDE, Cedar=WIDE, Elm=WIDE, Fir=WIDE))
    assert (found.methods, found.others) == (("Alder",), 4)
    assert (found.size, found.usual, found.is_uniform) == (TALL, WIDE, True)
    assert (found.odd, found.every) == (12, 12)
    assert (found.box, found.without) == ((1024, 1024), (1024, 576))
    # 512 of 1024 columns; 576 of 1024 rows, all of them without Alder.
    assert (found.fill, found.others_fill, found.fill_without) == (0.5, 0.5625, 1.0)
    assert found.gain == pytest.approx(16 / 9)
    assert found.left_out == ("Alder",)
    assert found.tells


def test_how_much_of_a_box_a_picture_fills():
    assert filled((512, 288), (1024, 576)) == 1  # it is enlarged
    assert filled((100, 100), (200, 100)) == 0.5
    assert filled((100, 400), (100, 100)) == 0.25


@pytest.mark.parametrize(
    "sizes",
    [
        {"Alder": (4096, 2304), "Birch": WIDE, "Cedar": (512, 288)},
        {"Alder": (1020, 1000), "Birch": (1000, 1000), "Cedar": (1010, 1000)},
        {"Alder": (1000, 1020), "Birch": (1000, 1000)},
    ],
    ids=["larger files", "2 % wider", "2 % higher"],
)
def test_no_false_alarm_where_shapes_agree(sizes):
    assert odd_shapes(shown(**sizes)) == []


def test_three_per_cent_are_another_shape():
    found = only(shown(Alder=(1030, 1000), Birch=(1000, 1000), Cedar=(1000, 1000)))
    assert found.methods == ("Alder",)
    assert found.gain < 1.1
    assert found.tells


def test_stories_may_differ_in_shape_for_all_methods_alike():
    pictures = shown(stories=2, Alder=WIDE, Birch=WIDE)
    pictures += [Sized(9, method, TALL) for method in ("Alder", "Birch")]
    assert odd_shapes(pictures) == []
    # A shape that is usual elsewhere is odd in a story where others have another.
    found = only([*pictures, *shown(stories=2, Cedar=TALL)])
    assert (found.methods, found.usual) == (("Cedar",), WIDE)
    assert found.gain == 1  # the box is as large without it


def test_all_methods_may_mix_shapes_within_a_story():
    pictures = shown(Alder=WIDE, Birch=WIDE, Cedar=WIDE)
    assert odd_shapes(pictures + shown(Alder=TALL, Birch=TALL, Cedar=TALL)) == []


def test_mixed_pictures_of_one_method_are_counted():
    pictures = shown(number=16, Alder=WIDE, Birch=WIDE, Cedar=WIDE)
    found = only([*pictures, Sized(0, "Alder", TALL, 4)])
    assert (found.odd, found.every, found.is_uniform) == (4, 52, False)
    assert found.tells
    # 2 of 50 are fewer than one in twenty: they do not tell, but they cost.
    found = only([*pictures, Sized(0, "Alder", TALL, 2)])
    assert not found.tells
    assert found.gain == pytest.approx(16 / 9)
    # 3 % wider, they do neither.
    assert odd_shapes([*pictures, Sized(0, "Alder", (1024, 559), 2)]) == []


def test_shares_of_the_box_are_means_over_pictures():
    pictures = [Sized(0, method, WIDE, 3) for method in ("Birch", "Cedar")]
    pictures += [Sized(1, method, SQUARE, 1) for method in ("Birch", "Cedar")]
    found = only([*pictures, Sized(0, "Alder", TALL, 3), Sized(0, "Alder", SQUARE, 1)])
    assert found.fill == (3 * 0.5 + 1) / 4
    assert found.others_fill == (3 * 0.5625 + 1) / 4


def test_methods_of_one_odd_shape_are_one_finding():
    found = only(shown(Alder=TALL, Birch=(256, 512), Cedar=WIDE, Elm=WIDE))
    assert (found.methods, found.others) == (("Alder", "Birch"), 2)
    assert found.gain == pytest.approx(16 / 9)


def test_where_none_alone_makes_the_box_large_all_odd_ones_together_do():
    found = odd_shapes(shown(Alder=TALL, Birch=(400, 1000), Cedar=WIDE, Elm=WIDE))
    assert [one.methods for one in found] == [("Alder",), ("Birch",)]
    assert {one.left_out for one in found} == {("Alder", "Birch")}
    assert [one.gain for one in found] == [pytest.approx(16 / 9)] * 2
    assert [one.without for one in found] == [WIDE] * 2


def test_of_two_methods_the_one_that_fills_the_box_is_usual():
    found = only(shown(Alder=SQUARE, Birch=WIDE))
    assert (found.methods, found.usual, found.others) == (("Birch",), SQUARE, 1)
    assert (found.fill, found.others_fill, found.gain) == (0.5625, 1, 1)


def test_methods_that_all_differ_are_told_one_by_one():
    found = odd_shapes(shown(Alder=(96, 64), Birch=(48, 80), Cedar=(96, 96)))
    assert [one.methods for one in found] == [("Alder",), ("Birch",)]


def test_the_costliest_is_first():
    found = odd_shapes(
        shown(Alder=(1000, 900), Birch=(200, 1000), Cedar=WIDE, Elm=WIDE)
    )
    assert [one.methods[0] for one in found] == ["Birch", "Alder"]


def test_a_method_that_is_larger_in_some_stories_only_makes_others_small():
    pictures = [Sized(0, method, WIDE) for method in ("Alder", "Birch")]
    pictures += [
        Sized(story, method, (576, 1024))
        for story in (1, 2, 3)
        for method in ("Alder", "Birch")
    ]
    found = only([*pictures, Sized(0, "Cedar", (8192, 4608))])
    assert (found.methods, found.odd, found.tells) == (("Cedar",), 0, False)
    assert (found.size, found.usual) == ((8192, 4608), (1024, 1024))
    tall = (9 / 16) ** 2  # in a box of 16 : 9; in a square one each fills 9/16
    assert found.others_fill == pytest.approx((1 + 3 * tall) / 4)
    assert found.fill_without == pytest.approx(9 / 16)


def test_a_story_of_one_method_tells_nothing():
    assert odd_shapes([Sized(0, "Alder", TALL), Sized(1, "Birch", WIDE)]) == []
    pictures = shown(Alder=WIDE, Birch=WIDE)
    assert odd_shapes([*pictures, Sized(9, "Alder", TALL, 90)]) == []
    assert odd_shapes([]) == []


def test_no_false_alarm_where_sizes_jitter_within_two_per_cent():
    dice = random.Random(3)
    pictures = {
        Sized(story, method, (1024 + dice.randint(-6, 6), 576 + dice.randint(-2, 2)))
        for story in range(20)
        for method in "ABCDEFGH"
        for _shot in range(16)
    }
    assert odd_shapes(pictures) == []


def test_in_its_own_size_a_larger_method_is_odd():
    pictures = shown(Alder=(2048, 1152), Birch=WIDE, Cedar=(1030, 580))
    found = only(pictures, same_size=False)
    assert (found.methods, found.size, found.usual) == (("Alder",), (2048, 1152), WIDE)
    assert found.box is None
    assert odd_shapes(pictures) == []
