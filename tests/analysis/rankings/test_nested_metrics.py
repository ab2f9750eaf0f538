from analysis.rankings.composite_weights import Composite, equally
from analysis.rankings.composites import counted_once, counted_twice

PARTS = ["PA-Scene", "pa_shot", "pa_character_interaction", "pa_individual_action"]


def test_mean_beside_all_its_parts_is_left_out():
    counted, (remark,) = counted_once(["occm", *PARTS, "pa_average"])
    assert counted == ["occm", *PARTS]
    assert remark.startswith(f"pa_average contains {', '.join(PARTS)}. Left out")
    assert "twice: pa_average. " in remark


def test_of_a_mean_beside_some_parts_these_are_left_out():
    counted, (remark,) = counted_once(["occm", *PARTS[1:], "pa_average"])
    assert counted == ["occm", "pa_average"]
    assert f"twice: {', '.join(PARTS[1:])}. " in remark


def test_declared_ranks_count_what_they_name_and_are_remarked_on():
    inner = equally("pair", ["csd", "occm"])
    asked = [
        inner,
        equally("known", [*PARTS[:2], "pa_average"], kind="ranks"),
        equally("declared", ["pair", "csd", "aesthetic"], kind="ranks"),
        Composite("weightless", {"pair": 1, "csd": 0}, kind="ranks"),
        equally("mean", ["pair", "csd"]),
        equally("plain", ["csd", "occm"], kind="ranks"),
        equally("asked", ["pa_scene", "pa_average"], over="questions", kind="ranks"),
    ]
    assert [*counted_twice(asked)] == [
        ("known", "counts pa_average and also what it contains: PA-Scene, pa_shot."),
        ("declared", "counts pair and also what it contains: csd."),
    ]
