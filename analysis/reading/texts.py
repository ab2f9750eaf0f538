"""Numbers and names in tables, and directions by a metric's name.

Importing this loads neither numpy nor pandas: the web and imports use it as well.
"""

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations

from analysis.problems import shown
from analysis.sentences import chained, sentence

# 3, -0.5, 1e-3.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# So many characters of a refused cell are named by their code point.
MOST_CODE_POINTS = 3
# Scales have so many steps from one whole number to the next.
STEPS_OF_ONE = (1, 2, 4, 5, 10, 20)


def as_number(value: object) -> float:
    r"""Return a cell as a number; NaN for what is none, and for true and false.

    Only ASCII digits, signs and points make a number; blanks around it do no harm.

    Examples
    --------
    >>> as_number(" 007 "), as_number("1e400"), as_number("1,5"), as_number(True)
    (7.0, inf, nan, nan)
    >>> as_number("\u00a00.5"), as_number("\uff14"), as_number("\u22120.5")
    (0.5, nan, nan)
    """
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else float("nan")
    is_flag = getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if is_flag or isinstance(value, bool | bytes):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf")
    except (TypeError, ValueError):
        return float("nan")


def is_nan_word(value: object) -> bool:
    """Say whether a cell is the word that programs write for a missing number."""
    return isinstance(value, str) and value.strip().lower() == "nan"


def step_of(values: Iterable[float]) -> float:
    """Return the step of a scale that has all values; 0 where it has none.

    Examples
    --------
    >>> step_of([3.5, 4, 2]), step_of([57.3, 12.8]), step_of([3.3333, 4.0])
    (0.5, 0.1, 0.0)
    """
    known = list(values)
    for steps in STEPS_OF_ONE:
        if all(math.isclose(v * steps, round(v * steps)) for v in known):
            return 1 / steps
    return 0.0


def with_code_points(text: str) -> str:
    r"""Return a text with the code points of characters that are not ASCII.

    Examples
    --------
    >>> with_code_points("12 %"), ascii(with_code_points("\uff14.5"))
    ('12 %', "'\\uff14.5 (U+FF14)'")
    """
    odd = list(dict.fromkeys(letter for letter in text if not letter.isascii()))
    if not odd:
        return text
    points = ", ".join(f"U+{ord(letter):04X}" for letter in odd[:MOST_CODE_POINTS])
    more = ", ..." if len(odd) > MOST_CODE_POINTS else ""
    return f"{text} ({points}{more})"


# Among more names than this only those are near that are written nearly alike.
MOST_COMPARED = 5000
_SPACES = re.compile(r"[\s_\u002d\u2010-\u2015]+")
_BETWEEN_DIGITS = re.compile(rf"(?<=[0-9]){_SPACES.pattern}(?=[0-9])")
_ZEROS = re.compile(r"(?<![0-9.])0+(?=[0-9])")


def _joined(text: str) -> str:
    """Return a text without blanks and hyphens, which still tell 1-11 from 11-1."""
    return _SPACES.sub("", _BETWEEN_DIGITS.sub("\N{MIDDLE DOT}", text))


def _visible(text: str) -> str:
    """Return a text in its simplest letters, without those that cannot be seen."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(x for x in plain if unicodedata.category(x) != "Cf")


def without_zeros(text: str) -> str:
    """Return a text whose numbers begin with no zero.

    Examples
    --------
    >>> without_zeros("s007"), without_zeros("1.05"), without_zeros("0")
    ('s7', '1.05', '0')
    """
    return _ZEROS.sub("", text)


# In what names may differ though somebody meant the same.
FORMS: Mapping[str, Callable[[str], str]] = {
    sentence("case"): str.casefold,
    sentence("spaces, hyphens or underscores"): _joined,
    sentence("the Unicode form of letters"): _visible,
    sentence("zeros before numbers"): without_zeros,
}
# Only the kinds of difference needed to explain the spelling are named.
WAYS = [ways for n in range(1, len(FORMS) + 1) for ways in combinations(FORMS, n)]


class Nearest:
    """Finds which of some names another one may stand for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)
        self._alike: dict[tuple[str, ...], dict[str, str]] = {}

    def describe(self, name: str) -> str:
        """Return the nearest name and in what alone it differs; empty without one."""
        if same := self.alike(name):
            return same
        if len(self._names) > MOST_COMPARED:
            return ""
        near = difflib.get_close_matches(name, self._names, n=1)
        return repr(shown(near[0])) if near else ""

    def alike(self, name: str) -> str:
        """Return the name that differs in its form alone, and in what; empty if none.

        Examples
        --------
        >>> Nearest(["GPT-4o"]).alike("gpt 4o")
        "'GPT-4o', which differs only in case and in spaces, hyphens or underscores"
        """
        for forms in WAYS:
            if same := self._of(forms).get(written(name, forms)):
                return sentence(
                    "{name}, which differs only in {forms}",
                    name=repr(shown(same)),
                    forms=chained("{first} and in {second}", forms),
                )
        return ""

    def _of(self, forms: tuple[str, ...]) -> dict[str, str]:
        if forms not in self._alike:
            self._alike[forms] = {written(name, forms): name for name in self._names}
        return self._alike[forms]


def written(name: str, forms: Iterable[str] = FORMS) -> str:
    """Return a name as it is without differences in some forms; by default in any."""
    for form in forms:
        name = FORMS[form](name)
    return name


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
    if (parts := MEANS.get(known_name(metric))) is None:
        return [], False
    known: dict[str, list[str]] = {}
    for one in metrics:
        known.setdefault(known_name(one), []).append(one)
    found: list[str] = []
    is_whole = True
    for part in parts:
        inner, is_inner_whole = contained(part, metrics)
        found += [*known.get(part, ()), *inner]
        is_whole = is_whole and (part in known or is_inner_whole)
    return found, is_whole and bool(found)
