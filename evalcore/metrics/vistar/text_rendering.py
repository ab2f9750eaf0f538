"""TR: whether the requested text is readable in the picture."""

import re
import unicodedata
from functools import cached_property

from evalcore.metrics.base import (
    Ask,
    Encoder,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import OCR, OCR_PACKAGES
from evalcore.metrics.formulas import edit_distance
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import parameter
from evalcore.metrics.weights import requires

CHARACTERS, TOKENS = 0.5, 0.5  # the paper's weights are unpublished; these are ours
IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
BETWEEN_IDEOGRAPHS = re.compile(rf"(?<=[{IDEOGRAPH}])\s+(?=[{IDEOGRAPH}])")
TOKEN = re.compile(rf"[{IDEOGRAPH}]|[^\W{IDEOGRAPH}]+|[^\w\s]")
QUOTED = re.compile('"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')


def normalised_text(text: str) -> str:
    r"""Return a text in the form for comparison.

    In Unicode's form NFKC, without case, each run of white space (line breaks too) as
    one space, none around the text and none between two ideographs or kana.
    """
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return BETWEEN_IDEOGRAPHS.sub("", text)


def tokens(text: str) -> set[str]:
    """Return the words of a normalised text, and each other character by itself."""
    return set(TOKEN.findall(text))


def text_rendering(read: str, wanted: str) -> float:
    """Return the agreement of a text read with the expected text, from 0 to 1.

    The mean of 1 - L / longer length and J, with the Levenshtein distance L and the
    Jaccard index J of the sets of tokens, of normalised texts. 1 where both are empty,
    0 where one is.

    Source: VISTAR, section 3.3.1. Weights, normalisation and tokens are unpublished;
    all ours.
    """
    read, wanted = normalised_text(read), normalised_text(wanted)
    if not read or not wanted:
        return float(read == wanted)
    distance = edit_distance(read, wanted) / max(len(read), len(wanted))
    read_tokens, wanted_tokens = tokens(read), tokens(wanted)
    shared = len(read_tokens & wanted_tokens) / len(read_tokens | wanted_tokens)
    return CHARACTERS * (1 - distance) + TOKENS * shared


def quoted(text: str) -> list[str]:
    """Return the parts in double quotation marks of any kind, in order."""
    return ["".join(groups).strip() for groups in QUOTED.findall(text)]


class TextRendering:
    """Text rendering of each shot.

    The expected text is the prompt's parameter `text`, for every shot of the story;
    without it, the parts of the shot's own text in double quotation marks, joined by
    spaces. The text read consists of all lines in the picture, from top to bottom,
    joined by spaces: additional text lowers the value.
    """

    info = declared("text_rendering")
    exact = True  # its networks never round to bf16

    @cached_property
    def reader(self) -> Encoder:
        from evalcore.metrics.encoders.ocr import ocr

        return ocr()

    weights = OCR
    missing = requires(OCR_PACKAGES, weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per rendered shot; undefined if no text is expected."""
        wanted = {
            shot.number: text
            for shot in rendering.rendered
            if (text := expected_text(rendering, shot))
        }
        shots = [shot for shot in rendering.rendered if shot.number in wanted]
        features = yield Ask(self.reader, [shot.frames[0] for shot in shots])
        read = {
            shot.number: " ".join(map(str, lines))
            for shot, lines in zip(shots, features, strict=True)
        }
        return [
            Value(
                text_rendering(read[shot.number], wanted[shot.number]),
                shot.number,
                trace={"read": read[shot.number], "wanted": wanted[shot.number]},
            )
            if shot.number in wanted
            else Value(None, shot.number, "no text is expected in this picture")
            for shot in rendering.rendered
        ]


def expected_text(rendering: Rendering, shot: RenderedShot) -> str:
    """Return the expected text of a shot; empty if there is none."""
    return parameter(rendering, "text") or " ".join(quoted(shot.wording))
