"""The edge cases of the metrics: what their sources demand, and what comes out here.

    python -m tests.evalcore.metrics.edge_cases > docs/edge-cases.md

Everything is computed by the metrics themselves, in a small world where what must come
out can be told by hand (`vistorybench.paper_dolls`, `storybench.telling`).
"""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import open_clip

from evalcore.metrics.base import Pair, Run
from evalcore.metrics.encoders import published
from evalcore.metrics.encoders.i3d import choice
from evalcore.metrics.envision.dimensions import SUB_SCORES, all_scores, stability
from evalcore.metrics.envision.judged import why_unjudged
from evalcore.metrics.envision.reading import read_trial
from evalcore.metrics.oneig.questionnaire import alignment
from evalcore.metrics.oneig.style import style_scores
from evalcore.metrics.oneig.text import compare, text_score
from evalcore.metrics.storybench.fid import FrechetImageDistance
from evalcore.metrics.storybench.frechet import frechet_distance, moments
from evalcore.metrics.storybench.pqa import perceptual_quality
from evalcore.metrics.storybench.sim import SimilarityOfImages
from evalcore.metrics.storybench.vtm import video_text_matching
from evalcore.metrics.vistar.answering import parse_boolean, parse_lines
from evalcore.metrics.vistar.composition import composition, consistency, coverage
from evalcore.metrics.vistar.hwpq import hwpq, majority, pair_score
from evalcore.metrics.vistar.physical_consistency import physical_consistency
from evalcore.metrics.vistar.questionnaire import read_questionnaire
from evalcore.metrics.vistar.text_rendering import text_rendering
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.cids import CharacterConsistency
from evalcore.metrics.vistorybench.copy_paste import CopyPaste, copy_paste_rate
from evalcore.metrics.vistorybench.csd import StyleConsistency, StyleFaithfulness
from evalcore.metrics.vistorybench.identity_matching import match, pixel_box, similarity
from evalcore.metrics.vistorybench.inception_score import inception_score
from evalcore.metrics.vistorybench.occm import CharacterCount, occm
from evalcore.metrics.vistorybench.prompt_alignment import (
    individual_action,
    parse_score,
)
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.storybench.telling import COLOURS, told
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    EYES,
    FACELESS,
    GREEN,
    ORANGE,
    RED,
    SeeColour,
    character,
    doll,
    scene,
    story,
)

HEAD = "vsb-code-2026.02"
UNDEFINED = "undefined"


@dataclass(frozen=True)
class Case:
    """One edge case; `demanded` is what the source, or our reading of it, asks."""

    metric: str
    case: str
    demanded: object
    ours: Callable[[Path], object]
    note: str = ""


def refusing(formula: Callable[[], object]) -> object:
    """Return what comes out, or that it is refused."""
    try:
        return formula()
    except ValueError:
        return "refused"


def scored(metric, subject, folder: Path) -> object:
    """Return the value, a list of values by shot, or that it is undefined."""
    with (
        mock.patch.object(character_matching, "the_eyes", return_value=EYES),
        mock.patch.object(
            character_matching, "the_detector", return_value=EYES.detector
        ),
    ):
        values = score(metric, subject, folder)
    found = [UNDEFINED if one.value is None else one.value for one in values]
    return found[0] if len(found) == 1 else found


def cids(variant: str, *subject) -> Callable[[Path], object]:
    return lambda folder: scored(
        CharacterConsistency(variant, HEAD), story(*subject), folder
    )


def csd(metric, *subject) -> Callable[[Path], object]:
    metric.encoder = SeeColour("style")
    return lambda folder: scored(metric, story(*subject), folder)


FOX, OWL = character("Fox", scene(doll(RED))), character("Owl", scene(doll(GREEN)))
ANN = character("Ann", scene(doll(FACELESS)), kind="realistic_human")
RED_SHOT, NOBODY = scene(doll(RED)), scene()
X, Y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
FOUND_ONCE = [RED_SHOT, NOBODY], [("Fox",)] * 2, [FOX]
NEVER_FOUND = [NOBODY, NOBODY], [("Fox",)] * 2, [FOX]
NINE = "\n".join(
    f"{name}: {{}}"
    for name in (
        "Semantic Consistency",
        "Factual Consistency",
        "Spatial-Temporal Consistency",
        "Basic Properties",
        "Dynamics and Interactivity",
        "Physical Reliability",
        "Expressiveness",
        "Artistic Quality",
        "Authenticity",
    )
)


def nine(*scores: object) -> str:
    return NINE.format(*scores)


def envision(text: str, profile: str = "envision-code-05be960") -> object:
    return refusing(lambda: list(read_trial(text, profile).scores.values()))


def questions(*levels):
    return read_questionnaire(
        {
            "prompt_id": "p",
            "prompt": "p",
            "levels": [
                {
                    "level": name,
                    "weight": weight,
                    "questions": [
                        {
                            "id": f"{name}{i}",
                            "positive": f"Is {name}{i}?",
                            "negative": f"Is no {name}{i}?",
                            "weight": own,
                        }
                        for i, own in enumerate(weights)
                    ],
                }
                for name, weight, weights in levels
            ],
        }
    )


FULL = questions(("L1", 0.2, [1]), ("L2", 0.3, [1]), ("L3", 0.3, [1]), ("L4", 0.2, [1]))
LACKING = questions(
    ("L1", 0.2, [1]), ("L2", 0.3, []), ("L3", 0.3, [1]), ("L4", 0.2, [1])
)
CLOSE = questions(
    ("L1", 0.2005, [1]), ("L2", 0.3, [1]), ("L3", 0.3, [1]), ("L4", 0.2, [1])
)


def fid(outputs, truths) -> Callable[[Path], object]:
    metric = FrechetImageDistance("inception")
    metric.encoder = COLOURS
    return lambda folder: scored(metric, Run("Alder", outputs, truths), folder)


def sim(output, truth) -> Callable[[Path], object]:
    metric = SimilarityOfImages("inception")
    metric.encoder = COLOURS
    return lambda folder: scored(metric, Pair(output, truth), folder)


def occm_of(profile: str, *subject) -> Callable[[Path], object]:
    return lambda folder: scored(CharacterCount(profile), story(*subject), folder)


def copied(profile: str, *subject) -> Callable[[Path], object]:
    return lambda folder: scored(CopyPaste(profile), story(*subject), folder)


def plain(formula: Callable[[], object]) -> Callable[[Path], object]:
    return lambda _folder: formula()


CASES = [
    # ViStoryBench: who is where
    Case(
        "matching",
        "box beyond the border",
        (0, 0, 81, 41),
        plain(lambda: pixel_box((0.5, 0.5, 4, 4), (81, 41))),
    ),
    Case(
        "matching",
        "empty box",
        None,
        plain(lambda: pixel_box((0.5, 0.5, 0.001, 0.5), (81, 41))),
        "dropped",
    ),
    Case(
        "matching",
        "box outside the picture",
        None,
        plain(lambda: pixel_box((3, 0.5, 0.5, 0.5), (81, 41))),
        "dropped",
    ),
    Case(
        "matching",
        "no encoder saw both",
        0.0,
        plain(lambda: similarity({"one": X}, {"two": X})),
    ),
    Case(
        "matching",
        "a figure that no encoder of its kind saw",
        {},
        plain(lambda: match([[{"clip": X}]], [[{}]])),
    ),
    Case(
        "matching",
        "seen by no encoder that saw a reference",
        {0: 0},
        plain(lambda: match([[{"one": X}]], [[{"two": X}]])),
        "similarity 0",
    ),
    Case(
        "matching",
        "more characters than figures",
        {0: 0},
        plain(lambda: match([[{"clip": X}], [{"clip": Y}]], [[{"clip": X}]] * 2)),
        "the others are not found",
    ),
    Case(
        "matching",
        "nothing alike: no threshold",
        {0: 0},
        plain(lambda: match([[{"clip": X}]], [[{"clip": Y}]])),
    ),
    # CIDS
    Case("CIDS self", "found once (G = 1)", 1.0, cids("self", *FOUND_ONCE)),
    Case(
        "CIDS self, strict",
        "found once, expected twice",
        0.0,
        cids("self_strict", *FOUND_ONCE),
        "a missing pair counts 0",
    ),
    Case("CIDS cross", "found once, expected twice", 1.0, cids("cross", *FOUND_ONCE)),
    Case(
        "CIDS cross, strict",
        "found once, expected twice",
        0.5,
        cids("cross_strict", *FOUND_ONCE),
    ),
    Case("CIDS cross", "never found (G = 0)", 0.0, cids("cross", *NEVER_FOUND)),
    Case("CIDS self", "never found (G = 0)", 0.0, cids("self", *NEVER_FOUND)),
    Case(
        "matched rate", "found once, expected twice", 0.5, cids("matched", *FOUND_ONCE)
    ),
    Case(
        "CIDS cross",
        "a character that no shot expects",
        0.5,
        cids("cross", [RED_SHOT], [("Fox",)], [FOX, OWL]),
        "it counts 0",
    ),
    Case(
        "CIDS cross",
        "no box in the only reference, which is white",
        0.5774,
        cids("cross", [RED_SHOT], [("Fox",)], [character("Fox", scene())]),
        "the whole picture stands in: cosine of red and white",
    ),
    Case(
        "CIDS cross",
        "a character without recognisable reference",
        UNDEFINED,
        cids("cross", [RED_SHOT], [("Fox",)], [FOX, ANN]),
        "the program fails; the story drops out of the mean",
    ),
    Case(
        "CIDS cross",
        "a character without reference picture",
        UNDEFINED,
        cids("cross", [RED_SHOT], [("Fox",)], [FOX, character("Owl")]),
    ),
    Case(
        "CIDS self",
        "a story without characters",
        UNDEFINED,
        cids("self", [RED_SHOT], [()], []),
    ),
    Case(
        "CIDS self",
        "a shot without picture beside one with",
        1.0,
        cids("self", [RED_SHOT, None], [("Fox",)] * 2, [FOX]),
        "skipped, no penalty",
    ),
    # OCCM
    Case("OCCM", "E = 2, D = 3", 60.65, plain(lambda: occm(3, 2))),
    Case("OCCM", "E = 1, D = 0", 36.79, plain(lambda: occm(0, 1))),
    Case("OCCM", "E = 1, D = 2", 36.79, plain(lambda: occm(2, 1))),
    Case("OCCM", "E = 4, D = 3", 77.88, plain(lambda: occm(3, 4))),
    Case(
        "OCCM",
        "two superfluous figures (all boxes count)",
        100 * math.exp(-2),
        occm_of(
            HEAD,
            [scene(doll(RED, 0), doll(GREEN, 25), doll(BLUE, 50))],
            [("Fox",)],
            [FOX],
        ),
    ),
    Case(
        "OCCM @vsb-code-2025.11",
        "two superfluous figures",
        100.0,
        occm_of(
            "vsb-code-2025.11",
            [scene(doll(RED, 0), doll(GREEN, 25), doll(BLUE, 50))],
            [("Fox",)],
            [FOX],
        ),
    ),
    Case(
        "OCCM",
        "no figure found",
        36.79,
        occm_of(HEAD, [NOBODY], [("Fox",)], [FOX]),
        "D = 0",
    ),
    Case(
        "OCCM",
        "no shot expects anybody",
        UNDEFINED,
        occm_of(HEAD, [RED_SHOT], [()], [FOX]),
    ),
    # Copy-paste
    Case(
        "copy-paste",
        "cosines .02 apart",
        0.88,
        plain(lambda: round(copy_paste_rate(0.72, [0.70]), 2)),
    ),
    Case(
        "copy-paste",
        "a cosine above 1 from rounding",
        0.5,
        plain(lambda: copy_paste_rate(1.0000001, [1.0])),
        "clamped",
    ),
    Case(
        "copy-paste @vsb-paper",
        "one reference only",
        UNDEFINED,
        copied("vsb-paper", [RED_SHOT], [("Fox",)], [FOX]),
        "the program: 0.0",
    ),
    Case(
        "copy-paste",
        "its own mirror image",
        0.5,
        copied(HEAD, [RED_SHOT], [("Fox",)], [FOX]),
    ),
    Case(
        "copy-paste",
        "nobody found",
        UNDEFINED,
        copied(HEAD, *NEVER_FOUND),
        "the program: 0.0",
    ),
    # CSD
    Case(
        "CSD self",
        "one picture",
        UNDEFINED,
        csd(StyleConsistency(HEAD), [RED_SHOT, None], [()] * 2, []),
        "the program: 0.0",
    ),
    Case(
        "CSD self",
        "two equal pictures",
        1.0,
        csd(StyleConsistency(HEAD), [RED_SHOT] * 2, [()] * 2, []),
    ),
    Case(
        "CSD cross",
        "several references: the first one counts",
        0.8,
        csd(
            StyleFaithfulness(HEAD),
            [scene(doll(ORANGE))],
            [("Fox",)],
            [character("Fox", RED_SHOT, scene(doll(ORANGE)))],
        ),
    ),
    Case(
        "CSD cross",
        "a shot without characters",
        1.0,
        csd(StyleFaithfulness(HEAD), [RED_SHOT], [()], [FOX]),
        "the first character that has a reference stands in",
    ),
    Case(
        "CSD cross",
        "nobody has a reference",
        UNDEFINED,
        csd(StyleFaithfulness(HEAD), [RED_SHOT], [()], []),
    ),
    # Prompt alignment
    Case(
        "prompt alignment",
        "**Score:** 3 (bold)",
        3.0,
        plain(lambda: parse_score("**Score:** 3", whole=True)),
        "the program: 0",
    ),
    Case(
        "prompt alignment",
        "Score: 3/4",
        3.0,
        plain(lambda: parse_score("Score: 3/4", whole=True)),
    ),
    Case(
        "prompt alignment",
        "Score: 3.5 (the program's profile)",
        3.0,
        plain(lambda: parse_score("Score: 3.5", whole=True)),
    ),
    Case(
        "prompt alignment @vsb-paper",
        "Score: 3.5",
        3.5,
        plain(lambda: parse_score("Score: 3.5", whole=False)),
    ),
    Case(
        "prompt alignment",
        "Score: 9",
        4.0,
        plain(lambda: parse_score("Score: 9", whole=True)),
        "the program: 9",
    ),
    Case(
        "prompt alignment",
        "prose without a score",
        "refused",
        plain(lambda: refusing(lambda: parse_score("A fine one.", whole=True))),
        "asked again; then no value (the program: 0)",
    ),
    Case(
        "individual action",
        "means 2.5 and 3.5, rounded twice",
        3.0,
        plain(lambda: individual_action([[2, 3], [3, 4]], rounded=True)),
        "to the even number: 2 and 4",
    ),
    Case(
        "individual action",
        "no character found in any shot",
        None,
        plain(lambda: individual_action([[], []], rounded=True)),
    ),
    # Inception Score
    Case(
        "Inception Score",
        "all pictures alike",
        1.0,
        plain(lambda: inception_score(np.full((4, 2), 0.5), 1)[0]),
    ),
    Case(
        "Inception Score",
        "each picture a class of its own",
        4.0,
        plain(lambda: inception_score(np.eye(4), 1)[0]),
    ),
    Case(
        "Inception Score",
        "deviation of one part",
        0.0,
        plain(lambda: inception_score(np.eye(4), 1)[1]),
    ),
    Case(
        "Inception Score",
        "fewer pictures than parts",
        "refused",
        plain(lambda: refusing(lambda: inception_score(np.eye(4), 10))),
    ),
    # StoryBench
    Case(
        "FID",
        "the same frames",
        0.0,
        fid(*[(told([3, 60, 9]), told([200], [100], story="02"))] * 2),
    ),
    Case("FID", "no true output", UNDEFINED, fid((told([1, 2]),), ())),
    Case(
        "FID",
        "one frame",
        UNDEFINED,
        fid((told([1]),), (told([1, 2]),)),
        "a covariance needs two",
    ),
    Case(
        "FID",
        "by hand: means 6 apart, variances 2 and 18 (ddof 1)",
        44.0,
        plain(
            lambda: frechet_distance(
                *moments(np.array([[0.0], [2.0]])), *moments(np.array([[4.0], [10.0]]))
            )
        ),
        "36 + 2 + 18 - 2 · 6",
    ),
    Case("SIM", "equal pictures", 100.0, sim(told([9]), told([9]))),
    Case(
        "SIM",
        "a shot whose true picture is missing",
        100.0,
        sim(told([9], [1]), told([9], [])),
        "left out",
    ),
    Case(
        "VTM",
        "frames that differ: the mean is not normalised",
        50.0,
        plain(lambda: float(video_text_matching([np.eye(2)], X[None])[0])),
    ),
    Case(
        "VTM",
        "a picture of a story: a segment of one frame",
        100.0,
        plain(lambda: float(video_text_matching([X[None]], X[None])[0])),
    ),
    Case(
        "FVD",
        "frames taken of a video of 4",
        9,
        plain(lambda: len(choice(4))),
        "repeated to 9",
    ),
    Case(
        "FVD",
        "frames taken of a video of 20",
        18,
        plain(lambda: len(choice(20))),
        "rounded down to a multiple of 9",
    ),
    Case(
        "PQA",
        "both views at their means",
        50.0,
        plain(lambda: round(perceptual_quality(0.1107, -0.08285).overall, 6)),
    ),
    # Envision
    Case(
        "Envision @code",
        "4.5",
        [4, *[3] * 8],
        plain(lambda: envision(nine(4.5, *[3] * 8))),
        "the first digit counts",
    ),
    Case(
        "Envision @paper",
        "4.5",
        "refused",
        plain(lambda: envision(nine(4.5, *[3] * 8), "envision-paper")),
        "no whole number: an unusable trial",
    ),
    Case(
        "Envision @code",
        "4-5",
        [4, *[3] * 8],
        plain(lambda: envision(nine("4-5", *[3] * 8))),
    ),
    Case(
        "Envision @code",
        "given twice: 2, then 4",
        [4, *[3] * 8],
        plain(lambda: envision(nine(2, *[3] * 8) + "\nSemantic Consistency: 4")),
        "the last one counts",
    ),
    Case(
        "Envision @code",
        "a score is missing",
        [*[3] * 8, 0],
        plain(lambda: envision(nine(*[3] * 9).rsplit("\n", 1)[0])),
    ),
    Case(
        "Envision @paper",
        "a score is missing",
        "refused",
        plain(lambda: envision(nine(*[3] * 9).rsplit("\n", 1)[0], "envision-paper")),
    ),
    Case(
        "Envision @code",
        "**Semantic Consistency (0-5):** 4",
        [4, *[3] * 8],
        plain(
            lambda: envision(
                nine(*[3] * 9).replace(
                    "Semantic Consistency: 3", "**Semantic Consistency (0-5):** 4"
                )
            )
        ),
        "the program: 0",
    ),
    Case(
        "Envision",
        "how many scores, with Dynamics and Interactivity",
        9,
        plain(lambda: len(read_trial(nine(*[3] * 9)).scores)),
        "the program: 10",
    ),
    Case(
        "Envision @code",
        "overall of nine fives",
        5.0,
        plain(
            lambda: round(
                all_scores(dict.fromkeys(SUB_SCORES, 5), "envision-code-05be960")[
                    "overall"
                ],
                9,
            )
        ),
        ".33 + .33 + .34 in each dimension",
    ),
    Case(
        "Envision",
        "a step without picture",
        "step 2 has no picture",
        plain(lambda: why_unjudged(told([1], [], [3], [4], captions=list("abcd")))),
        "skipped, not 0",
    ),
    Case(
        "Envision",
        "deviation over one trial",
        0.0,
        plain(lambda: stability([3]).deviation),
    ),
    # VISTAR
    Case(
        "TR",
        "nothing wanted, nothing written",
        1.0,
        plain(lambda: text_rendering("", "")),
    ),
    Case("TR", "nothing read", 0.0, plain(lambda: text_rendering("", "OPEN"))),
    Case(
        "CSE-Cov",
        "fewer panels than sub-prompts",
        0.375,
        plain(lambda: coverage(np.array([[0.5, 0.25]]))),
    ),
    Case(
        "CSE-Con",
        "the subject in one panel",
        "refused",
        plain(lambda: refusing(lambda: consistency([X]))),
        "undefined",
    ),
    Case("CSE", "a negative mean", 0.0, plain(lambda: composition(-0.1, -0.4))),
    Case("PSC", "no two things overlap", 1.0, plain(lambda: physical_consistency([]))),
    Case("HWPQ", "P true, N true", 0, plain(lambda: pair_score(True, True))),
    Case("HWPQ", "P false, N false", 0, plain(lambda: pair_score(False, False))),
    Case(
        "HWPQ", "two votes of three", True, plain(lambda: majority([True, False, True]))
    ),
    Case(
        "HWPQ", "three abstentions", None, plain(lambda: majority([None, None, None]))
    ),
    Case(
        "HWPQ",
        "one abstains, the others differ",
        None,
        plain(lambda: majority([None, True, False])),
    ),
    Case(
        "HWPQ",
        "an answer in prose",
        "refused",
        plain(lambda: refusing(lambda: parse_boolean("Probably true"))),
        "abstains",
    ),
    Case(
        "HWPQ",
        "a question without a line",
        [True, None],
        plain(lambda: [vote.value for vote in parse_lines("1: True", 2)]),
    ),
    Case(
        "HWPQ",
        "weights of the levels sum to 1.0005",
        1.0,
        plain(lambda: round(sum(one.weight for one in CLOSE.levels), 12)),
        "within 1e-3: made 1",
    ),
    Case(
        "HWPQ",
        "weights of the levels sum to 1.1",
        "refused",
        plain(
            lambda: refusing(
                lambda: questions(
                    ("L1", 0.3, [1]),
                    ("L2", 0.3, [1]),
                    ("L3", 0.3, [1]),
                    ("L4", 0.2, [1]),
                )
            )
        ),
    ),
    Case(
        "HWPQ",
        "an empty level; only L3 is met",
        0.3 / 0.7,
        plain(lambda: hwpq(LACKING, {"L10": 0, "L30": 1, "L40": 0})),
        "its weight goes to the others",
    ),
    Case(
        "HWPQ",
        "nobody answers L1; L2 and L3 are met, L4 is not",
        0.75,
        plain(lambda: hwpq(FULL, {"L10": None, "L20": 1, "L30": 1, "L40": 0})),
        "(.3 + .3) / .8",
    ),
    # OneIG
    Case(
        "OneIG alignment",
        "a parent answered no",
        1 / 3,
        plain(lambda: alignment({1: False, 2: True, 3: True}, {2: (1,)})),
    ),
    Case(
        "OneIG style",
        "a largest cosine below 0",
        0.0,
        plain(lambda: float(style_scores(X[None], X[None], (-X[None], -X[None]))[0])),
    ),
    Case(
        "OneIG text",
        "punctuation differs",
        1.0,
        plain(lambda: text_score([compare("Open late!", "“Open late”")], "en").score),
    ),
    Case(
        "OneIG text",
        "more than 100 edits",
        0.0,
        plain(lambda: text_score([compare("x" * 300, "Open")], "en").score),
    ),
    Case(
        "OneIG text",
        "no text is wanted",
        "refused",
        plain(lambda: refusing(lambda: compare("Open", "..."))),
    ),
    # Networks
    Case(
        "networks",
        "ViT-L/14 of OpenAI: quick-GELU",
        True,
        plain(lambda: open_clip.get_model_config(published.LARGE)["quick_gelu"]),
    ),
]


def shown(value: object) -> str:
    """Return a value as a reader wants it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return "none" if value is None else str(value)


HEADER = """\
# Edge cases

What the papers and their programs demand of odd input, and what Plumbline makes of it.
An undefined value is no row, with the reason in its place; it never counts as 0. This
table is written by `python -m tests.evalcore.metrics.edge_cases > docs/edge-cases.md`,
which computes the last column but one, and a test holds it against the third.

| metric | case | demanded | here | remark |
|---|---|---|---|---|"""


def table(folder: Path) -> str:
    """Return the table as a page."""
    rows = [
        f"| {one.metric} | {one.case} | {shown(one.demanded)} "
        f"| {shown(one.ours(folder))} | {one.note} |"
        for one in CASES
    ]
    return "\n".join([HEADER, *rows, ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(table(Path(name)), end="")
