"""Edge cases of the metrics, with the results that their sources demand.

`edge_cases.md` lists the demands. The metrics themselves compute everything, in a
small world whose results are known in advance
(`vistorybench.paper_dolls`, `storybench.telling`).
"""

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import open_clip
import pytest

from evalcore.metrics.base import Pair, Run
from evalcore.metrics.encoders import published
from evalcore.metrics.encoders.i3d import choice
from evalcore.metrics.envision import (
    SUB_SCORES,
    all_scores,
    read_trial,
    stability,
    why_unjudged,
)
from evalcore.metrics.oneig.alignment import alignment
from evalcore.metrics.oneig.text import compare, text_score
from evalcore.metrics.storybench.frechet import (
    FrechetDistance,
    frechet_distance,
    moments,
)
from evalcore.metrics.storybench.similarity import (
    SimilarityOfImages,
    video_text_matching,
)
from evalcore.metrics.vistar.composition import composition, consistency, coverage
from evalcore.metrics.vistar.hwpq import answered, hwpq, majority, pair_score
from evalcore.metrics.vistar.physical_consistency import physical_consistency
from evalcore.metrics.vistar.questionnaire import read_questionnaire
from evalcore.metrics.vistar.text_rendering import text_rendering
from evalcore.metrics.vistar.votes import parse_boolean, parse_lines
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import (
    match,
    pixel_box,
    similarity,
)
from evalcore.metrics.vistorybench.cids import (
    CharacterConsistency,
    CharacterCount,
    CopyPaste,
    copy_paste_rate,
    occm,
)
from evalcore.metrics.vistorybench.pictures import (
    StyleConsistency,
    StyleFaithfulness,
    inception_score,
)
from evalcore.metrics.vistorybench.prompt_alignment import (
    individual_action,
    parse_score,
)
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.storybench.telling import COLOURS, coloured
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    FACELESS,
    FIGURE_ENCODERS,
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
QUOTED = 'The picture reads "Score: 4".\nScore: 1'
TABLE = Path(__file__).with_name("edge_cases.md")


def refusing(formula: Callable[[], object]) -> object:
    """Return the result, or the fact that it is refused."""
    try:
        return formula()
    except ValueError:
        return "refused"


def scored(metric, subject, folder: Path) -> object:
    """Return the value, a list of values by shot, or the fact that it is undefined."""
    with (
        mock.patch.object(
            character_matching, "load_figure_encoders", return_value=FIGURE_ENCODERS
        ),
        mock.patch.object(
            character_matching,
            "load_figure_detector",
            return_value=FIGURE_ENCODERS.detector,
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
    metric = FrechetDistance("inception")
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


OURS: dict[tuple[str, str], Callable[[Path], object]] = {
    # ViStoryBench: matching
    ("matching", "box beyond the border"): lambda _: pixel_box(
        (0.5, 0.5, 4, 4), (81, 41)
    ),
    ("matching", "empty box"): lambda _: pixel_box((0.5, 0.5, 0.001, 0.5), (81, 41)),
    ("matching", "box outside the picture"): lambda _: pixel_box(
        (3, 0.5, 0.5, 0.5), (81, 41)
    ),
    ("matching", "no encoder saw both"): lambda _: similarity({"one": X}, {"two": X}),
    ("matching", "a figure that no encoder of its kind saw"): lambda _: match(
        [[{"clip": X}]], [[{}]]
    ),
    ("matching", "seen by no encoder that saw a reference"): lambda _: match(
        [[{"one": X}]], [[{"two": X}]]
    ),
    ("matching", "more characters than figures"): lambda _: match(
        [[{"clip": X}], [{"clip": Y}]], [[{"clip": X}]] * 2
    ),
    ("matching", "nothing alike: no threshold"): lambda _: match(
        [[{"clip": X}]], [[{"clip": Y}]]
    ),
    # CIDS
    ("CIDS self", "found once (G = 1)"): cids("self", *FOUND_ONCE),
    ("CIDS self, strict", "found once, expected twice"): cids(
        "self_strict", *FOUND_ONCE
    ),
    ("CIDS cross", "found once, expected twice"): cids("cross", *FOUND_ONCE),
    ("CIDS cross, strict", "found once, expected twice"): cids(
        "cross_strict", *FOUND_ONCE
    ),
    ("CIDS cross", "never found (G = 0)"): cids("cross", *NEVER_FOUND),
    ("CIDS self", "never found (G = 0)"): cids("self", *NEVER_FOUND),
    ("matched rate", "found once, expected twice"): cids("matched", *FOUND_ONCE),
    ("CIDS cross", "a character that no shot expects"): cids(
        "cross", [RED_SHOT], [("Fox",)], [FOX, OWL]
    ),
    ("CIDS cross", "no box in the only reference, which is white"): cids(
        "cross", [RED_SHOT], [("Fox",)], [character("Fox", scene())]
    ),
    ("CIDS cross", "a character without recognisable reference"): cids(
        "cross", [RED_SHOT], [("Fox",)], [FOX, ANN]
    ),
    ("CIDS cross", "a character without reference picture"): cids(
        "cross", [RED_SHOT], [("Fox",)], [FOX, character("Owl")]
    ),
    ("CIDS self", "a story without characters"): cids("self", [RED_SHOT], [()], []),
    ("CIDS self", "a shot without picture beside one with"): cids(
        "self", [RED_SHOT, None], [("Fox",)] * 2, [FOX]
    ),
    # OCCM
    ("OCCM", "E = 2, D = 3"): lambda _: occm(3, 2),
    ("OCCM", "E = 1, D = 0"): lambda _: occm(0, 1),
    ("OCCM", "E = 1, D = 2"): lambda _: occm(2, 1),
    ("OCCM", "E = 4, D = 3"): lambda _: occm(3, 4),
    ("OCCM", "two superfluous figures (all boxes count)"): occm_of(
        HEAD,
        [scene(doll(RED, 0), doll(GREEN, 25), doll(BLUE, 50))],
        [("Fox",)],
        [FOX],
    ),
    ("OCCM @vsb-code-2025.11", "two superfluous figures"): occm_of(
        "vsb-code-2025.11",
        [scene(doll(RED, 0), doll(GREEN, 25), doll(BLUE, 50))],
        [("Fox",)],
        [FOX],
    ),
    ("OCCM", "no figure found"): occm_of(HEAD, [NOBODY], [("Fox",)], [FOX]),
    ("OCCM", "no shot expects anybody"): occm_of(HEAD, [RED_SHOT], [()], [FOX]),
    # Copy-paste
    ("copy-paste", "cosines .02 apart"): lambda _: round(
        copy_paste_rate(0.72, [0.70]), 2
    ),
    ("copy-paste", "a cosine above 1 from rounding"): lambda _: copy_paste_rate(
        1.0000001, [1.0]
    ),
    ("copy-paste @vsb-paper", "one reference only"): copied(
        "vsb-paper", [RED_SHOT], [("Fox",)], [FOX]
    ),
    ("copy-paste", "its own mirror image"): copied(HEAD, [RED_SHOT], [("Fox",)], [FOX]),
    ("copy-paste", "nobody found"): copied(HEAD, *NEVER_FOUND),
    # CSD
    ("CSD self", "one picture"): csd(
        StyleConsistency(HEAD), [RED_SHOT, None], [()] * 2, []
    ),
    ("CSD self", "two equal pictures"): csd(
        StyleConsistency(HEAD), [RED_SHOT] * 2, [()] * 2, []
    ),
    ("CSD cross", "several references: the first one counts"): csd(
        StyleFaithfulness(HEAD),
        [scene(doll(ORANGE))],
        [("Fox",)],
        [character("Fox", RED_SHOT, scene(doll(ORANGE)))],
    ),
    ("CSD cross", "a shot without characters"): csd(
        StyleFaithfulness(HEAD), [RED_SHOT], [()], [FOX]
    ),
    ("CSD cross", "nobody has a reference"): csd(
        StyleFaithfulness(HEAD), [RED_SHOT], [()], []
    ),
    # Prompt alignment
    ("prompt alignment", "**Score:** 3 (bold)"): lambda _: parse_score(
        "**Score:** 3", whole=True
    ),
    ("prompt alignment", "Score: 3/4"): lambda _: parse_score("Score: 3/4", whole=True),
    ("prompt alignment", "Score: 3.5 (the program's profile)"): lambda _: parse_score(
        "Score: 3.5", whole=True
    ),
    ("prompt alignment @plumbline-1-plain", "Score: 3.5"): lambda _: parse_score(
        "Score: 3.5", whole=False
    ),
    ("prompt alignment", "Score: 9"): lambda _: parse_score("Score: 9", whole=True),
    ("prompt alignment", "Score: 4 quoted, then Score: 1"): lambda _: parse_score(
        QUOTED, whole=True
    ),
    ("prompt alignment @vsb-code", "Score: 4 quoted, then Score: 1"): lambda _: (
        parse_score(QUOTED, whole=True, first=True)
    ),
    ("prompt alignment", "prose without a score"): lambda _: refusing(
        lambda: parse_score("A fine one.", whole=True)
    ),
    ("individual action", "means 2.5 and 3.5, rounded twice"): lambda _: (
        individual_action([[2, 3], [3, 4]], rounded=True)
    ),
    ("individual action", "no character found in any shot"): lambda _: (
        individual_action([[], []], rounded=True)
    ),
    # Inception Score
    ("Inception Score", "all pictures alike"): lambda _: inception_score(
        np.full((4, 2), 0.5), 1
    )[0],
    ("Inception Score", "each picture a class of its own"): lambda _: inception_score(
        np.eye(4), 1
    )[0],
    ("Inception Score", "deviation of one part"): lambda _: inception_score(
        np.eye(4), 1
    )[1],
    ("Inception Score", "fewer pictures than parts"): lambda _: refusing(
        lambda: inception_score(np.eye(4), 10)
    ),
    # StoryBench
    ("FID", "the same frames"): fid(
        *[(coloured([3, 60, 9]), coloured([200], [100], story="02"))] * 2
    ),
    ("FID", "no true output"): fid((coloured([1, 2]),), ()),
    ("FID", "one frame"): fid((coloured([1]),), (coloured([1, 2]),)),
    ("FID", "by hand: means 6 apart, variances 2 and 18 (ddof 1)"): lambda _: (
        frechet_distance(
            *moments(np.array([[0.0], [2.0]])), *moments(np.array([[4.0], [10.0]]))
        )
    ),
    ("SIM", "equal pictures"): sim(coloured([9]), coloured([9])),
    ("SIM", "a shot whose true picture is missing"): sim(
        coloured([9], [1]), coloured([9], [])
    ),
    ("VTM", "frames that differ: the mean is not normalised"): lambda _: float(
        video_text_matching([np.eye(2)], X[None])[0]
    ),
    ("VTM", "a picture of a story: a segment of one frame"): lambda _: float(
        video_text_matching([X[None]], X[None])[0]
    ),
    ("FVD", "frames taken of a video of 4"): lambda _: len(choice(4)),
    ("FVD", "frames taken of a video of 20"): lambda _: len(choice(20)),
    # Envision
    ("Envision @code", "4.5"): lambda _: envision(nine(4.5, *[3] * 8)),
    ("Envision @paper", "4.5"): lambda _: envision(nine(4.5, *[3] * 8), "plumbline-1"),
    ("Envision @code", "4-5"): lambda _: envision(nine("4-5", *[3] * 8)),
    ("Envision @code", "given twice: 2, then 4"): lambda _: envision(
        nine(2, *[3] * 8) + "\nSemantic Consistency: 4"
    ),
    ("Envision @code", "a score is missing"): lambda _: envision(
        nine(*[3] * 9).rsplit("\n", 1)[0]
    ),
    ("Envision @paper", "a score is missing"): lambda _: envision(
        nine(*[3] * 9).rsplit("\n", 1)[0], "plumbline-1"
    ),
    ("Envision @code", "**Semantic Consistency (0-5):** 4"): lambda _: envision(
        nine(*[3] * 9).replace(
            "Semantic Consistency: 3", "**Semantic Consistency (0-5):** 4"
        )
    ),
    ("Envision", "how many scores, with Dynamics and Interactivity"): lambda _: len(
        read_trial(nine(*[3] * 9)).scores
    ),
    ("Envision @code", "overall of nine fives"): lambda _: round(
        all_scores(dict.fromkeys(SUB_SCORES, 5), "envision-code-05be960")["overall"],
        9,
    ),
    ("Envision", "a step without picture"): lambda _: why_unjudged(
        coloured([1], [], [3], [4], captions=list("abcd"))
    ),
    ("Envision", "deviation over one trial"): lambda _: stability([3])["deviation"],
    # VISTAR
    ("TR", "nothing wanted, nothing written"): lambda _: text_rendering("", ""),
    ("TR", "nothing read"): lambda _: text_rendering("", "OPEN"),
    ("CSE-Cov", "fewer panels than sub-prompts"): lambda _: coverage(
        np.array([[0.5, 0.25]])
    ),
    ("CSE-Con", "the subject in one panel"): lambda _: refusing(
        lambda: consistency([X])
    ),
    ("CSE", "a negative mean"): lambda _: composition(-0.1, -0.4),
    ("PSC", "no two things overlap"): lambda _: physical_consistency([]),
    ("HWPQ", "P true, N true"): lambda _: pair_score(True, True),
    ("HWPQ", "P false, N false"): lambda _: pair_score(False, False),
    ("HWPQ", "two votes of three"): lambda _: majority([True, False, True]),
    ("HWPQ", "three abstentions"): lambda _: majority([None, None, None]),
    ("HWPQ", "one abstains, the others differ"): lambda _: majority(
        [None, True, False]
    ),
    ("HWPQ", "an answer in prose"): lambda _: refusing(
        lambda: parse_boolean("Probably true")
    ),
    ("HWPQ", "two lines that contradict each other"): lambda _: [
        vote.value for vote in parse_lines("1: True\n2: No.\n1: False").values()
    ],
    ("HWPQ", "weights of the levels sum to 1.0005"): lambda _: round(
        sum(one.weight for one in CLOSE.levels), 12
    ),
    ("HWPQ", "weights of the levels sum to 1.1"): lambda _: refusing(
        lambda: questions(
            ("L1", 0.3, [1]),
            ("L2", 0.3, [1]),
            ("L3", 0.3, [1]),
            ("L4", 0.2, [1]),
        )
    ),
    ("HWPQ", "an empty level; only L3 is met"): lambda _: hwpq(
        LACKING, {"L10": 0, "L30": 1, "L40": 0}
    ),
    ("HWPQ", "nobody answers L1; L2 and L3 are met, L4 is not"): lambda _: hwpq(
        FULL, {"L10": None, "L20": 1, "L30": 1, "L40": 0}
    ),
    ("HWPQ", "answered weight, if nobody answers L1"): lambda _: answered(
        FULL, {"L10": None, "L20": 1, "L30": 1, "L40": 0}
    ),
    # OneIG
    ("OneIG alignment", "a parent answered no"): lambda _: alignment(
        {1: False, 2: True, 3: True}, {2: (1,)}
    ),
    ("OneIG text", "punctuation differs"): lambda _: (
        text_score([compare("Open late!", "“Open late”")], "en").score
    ),
    ("OneIG text", "more than 100 edits"): lambda _: (
        text_score([compare("x" * 300, "Open")], "en").score
    ),
    ("OneIG text", "no text is requested"): lambda _: refusing(
        lambda: compare("Open", "...")
    ),
    # Networks
    ("networks", "ViT-L/14 of OpenAI: quick-GELU"): lambda _: (
        open_clip.get_model_config(published.LARGE)["quick_gelu"]
    ),
}


def shown(value: object) -> str:
    """Return a value as the table has it."""
    if isinstance(value, float):
        return f"{round(value, 6) + 0.0:.4g}"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return "none" if value is None else str(value)


def rows(path: Path) -> dict[tuple[str, str], str]:
    """Return the demand for each metric in each case, from the table's lines."""
    lines = [line for line in path.read_text("utf-8").splitlines() if "|" in line]
    cells = [line.strip("| ").split(" | ") for line in lines[2:]]
    return {(metric, case): demanded for metric, case, demanded, *_remark in cells}


DEMANDED = rows(TABLE)


def test_all_cases_of_table_are_computed():
    assert list(OURS) == list(DEMANDED)


@pytest.mark.parametrize("case", OURS, ids=": ".join)
def test_case_has_demanded_value(case, tmp_path):
    assert shown(OURS[case](tmp_path)) == DEMANDED[case]
