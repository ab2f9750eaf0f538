"""What the name of a published metric tells: which direction is better, what is in it.

Importing this loads neither numpy nor pandas: `evalcore` reads directions here as well.
"""

import re
import unicodedata
from collections.abc import Collection

# Other names of the same metrics, as programs and tables of their papers have them.
ALIASES = {
    "copy_paste_rate": "copy_paste",
    "copy_paste_score": "copy_paste",
    "pa_avg": "pa_average",
    "pa_character_interaction": "pa_interaction",
    "pa_individual_action": "pa_action",
    "pa_shot": "pa_camera",
}
# Words in names of lower-is-better metrics: distances of distributions (FID and
# others), picture differences, no-reference quality, and errors of texts and numbers.
LOWER_IS_BETTER = frozenset(
    [
        *("cmmd", "fad", "fdd", "fgd", "fid", "frechet", "fvd", "jfid", "kid", "kvd"),
        *("mmd", "rfid", "sfid"),
        *("dists", "lpips", "mae", "mse", "nmse", "pieapp", "rmse"),
        *("brisque", "ilniqe", "niqe", "piqe"),
        *("bpb", "bpc", "cer", "mcd", "nll", "perplexity", "ppl", "ter", "wer"),
        *("epe", "error_rate", "lse_d", "warping_error"),
        "copy_paste",
    ]
)
# Beside such a word, a name may mean the opposite, and tells nothing.
TURNED = frozenset(
    [
        *("inv", "inverse", "inverted", "minus", "neg", "negated", "negative"),
        *("reciprocal", "reverse", "reversed"),
        *("accuracy", "consistency", "similarity"),
        *("decrease", "drop", "gain", "improvement", "reduction"),
    ]
)
# Metrics that are means of others: ViStoryBench, appendix H; DOVER; Envision, 3.3.
MEANS = {
    "pa_average": ("pa_scene", "pa_camera", "pa_interaction", "pa_action"),
    "pqa": ("pqa_aesthetic", "pqa_technical"),
    "envision_overall": (
        "envision_consistency",
        "envision_physicality",
        "envision_aesthetic",
    ),
    "envision_consistency": (
        "envision_semantic",
        "envision_factual",
        "envision_spatial_temporal",
    ),
    "envision_physicality": (
        "envision_basic_properties",
        "envision_dynamics",
        "envision_physical_reliability",
    ),
    "envision_aesthetic": (
        "envision_expressiveness",
        "envision_artistic_quality",
        "envision_authenticity",
    ),
}
# Letters, without the number of a variant: FID50k, FVD16.
_WORD = re.compile("[a-z]+")
# -FID, 1 - FID, 1/FID.
_TURNED_BEFORE = re.compile(r"\s*(1\s*[-\u2212/]|[-\u2212])")
# Where a table of scores notes the metrics whose direction no row tells.
UNTOLD = "metrics without a direction"
UP, DOWN = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"


def known_name(metric: str) -> str:
    """Return a metric's name as it is known here, without case, signs and profile.

    Examples
    --------
    >>> [known_name(one) for one in ("Copy-Paste \u2193", "FID (CLIP)", "pa_shot")]
    ['copy_paste', 'fid_clip', 'pa_camera']
    >>> known_name("1-FID"), known_name("-FID"), known_name("csd_self@vsb-paper")
    ('1_fid', '_fid', 'csd_self')
    """
    plain = metric.partition("@")[0].strip().casefold()
    name = re.sub(r"[\W_]+", "_", plain).removesuffix("_")
    return ALIASES.get(name, name)


def higher_by_name(metric: str) -> bool | None:
    """Say whether higher is better by the arrow in a name, or by its words; else None.

    Examples
    --------
    >>> [higher_by_name(one) for one in ("LPIPS\u2193", "OCCM\u2191", "OCCM")]
    [False, True, None]
    >>> [higher_by_name(one) for one in ("FID50k (CLIP)", "lpips-x", "1-FID")]
    [False, False, None]
    """
    if (UP in metric) != (DOWN in metric):
        return UP in metric
    letters = unicodedata.normalize("NFKD", metric.partition("@")[0]).casefold()
    if _TURNED_BEFORE.match(letters):
        return None
    words = _WORD.findall("".join(x for x in letters if not unicodedata.combining(x)))
    if TURNED & {*words}:
        return None
    name = f"_{'_'.join(words)}_"
    return False if any(f"_{known}_" in name for known in LOWER_IS_BETTER) else None


def contained(metric: str, metrics: Collection[str]) -> tuple[list[str], bool]:
    """Return which of these metrics are in a known mean, and whether they are all."""
    known: dict[str, list[str]] = {}
    for one in metrics:
        known.setdefault(known_name(one), []).append(one)
    found: list[str] = []
    is_whole = True
    for part in MEANS.get(known_name(metric), ()):
        inner, is_inner_whole = contained(part, metrics)
        found += [*known.get(part, ()), *inner]
        is_whole = is_whole and (part in known or is_inner_whole)
    return found, is_whole and bool(found)
