"""Every metric's direction and range, as its paper has them.

What a metric does not declare is "higher is better, from 0 to 1"; a forgotten
declaration would turn the sign of its correlations, or refuse its scores.
"""

from analysis.reading import metric_names
from evalcore.metrics import registry
from evalcore.metrics.envision.dimensions import DIMENSIONS, PARTS

LOWER_IS_BETTER = {"copy_paste", "fid", "fid_clip", "fvd", "fvd_internvideo"}
COSINES = (
    "clip_consistency clip_score mobilenet_self dlib_self cids_cross cids_self "
    "cids_cross_strict cids_self_strict csd_cross csd_self oneig_reasoning"
)
# 100 times a cosine.
PER_CENT_OF_COSINE = (
    "sim sim_clip sim_pooled sim_clip_pooled vtm vtm_pooled vtm_internvideo"
)
RANGES = {
    (-1, 1): COSINES.split(),
    (-100, 100): PER_CENT_OF_COSINE.split(),
    (0, 100): ["occm", "pqa", "pqa_aesthetic", "pqa_technical"],
    (0, 4): ["pa_scene", "pa_camera", "pa_interaction", "pa_action"],
    (0, 5): [f"envision_{part}" for part in PARTS],
    (0, 2): ["oneig_diversity"],
    # As many as there are classes.
    (1, 1000): ["inception_score", "mobilenet_diversity"],
    (0, None): [*(LOWER_IS_BETTER - {"copy_paste"}), "colourfulness", "sharpness"],
    (None, None): ["aesthetic"],
}


def test_directions():
    infos = {name: registry.load(name).info for name in registry.METRICS}
    lower = {name for name, info in infos.items() if not info.higher_is_better}
    assert lower == LOWER_IS_BETTER


def test_tables_tell_directions_and_means_by_the_names_of_these_metrics():
    lower = {m for m in registry.METRICS if metric_names.higher_by_name(m) is False}
    assert lower == LOWER_IS_BETTER
    parts = {part for own in metric_names.MEANS.values() for part in own}
    known = {*metric_names.MEANS, *parts, *metric_names.ALIASES.values()}
    assert known - {*registry.METRICS} == {"pa_average"}
    assert {
        whole.removeprefix("envision_"): tuple(p.removeprefix("envision_") for p in own)
        for whole, own in metric_names.MEANS.items()
        if whole.startswith("envision_")
    } == {**DIMENSIONS, "overall": tuple(DIMENSIONS)}


def test_ranges():
    expected = {name: ends for ends, names in RANGES.items() for name in names}
    found = {}
    for name in registry.METRICS:
        info = registry.load(name).info
        found[name] = info.low, info.high
    assert found == {name: expected.get(name, (0, 1)) for name in registry.METRICS}
