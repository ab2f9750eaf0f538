"""TR: whether the text that was asked for is to be read in the picture."""

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
from evalcore.metrics.weights import needing

CHARACTERS, TOKENS = 0.5, 0.5  # the paper's weights are unpublished; these are ours
IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
BETWEEN_IDEOGRAPHS = re.compile(rf"(?<=[{IDEOGRAPH}])\s+(?=[{IDEOGRAPH}])")
TOKEN = re.compile(rf"[{IDEOGRAPH}]|[^\W{IDEOGRAPH}]+|[^\w\s]")
QUOTED = re.compile('"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')


def normalised_text(text: str) -> str:
    r"""Return a text as it is compared.

    In Unicode's form NFKC, without case, each run of white space (line breaks too) as
    one space, none around the text and none between two ideographs or kana.
    """
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return BETWEEN_IDEOGRAPHS.sub("", text)


def tokens(text: str) -> set[str]:
    """Return the words of a normalised text, and its other signs each by itself."""
    return set(TOKEN.findall(text))


def text_rendering(read: str, wanted: str) -> float:
    """Return how well a text that was read is the one that was wanted, from 0 to 1.

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
    found, asked = tokens(read), tokens(wanted)
    shared = len(found & asked) / len(found | asked)
    return CHARACTERS * (1 - distance) + TOKENS * shared


def quoted(text: str) -> list[str]:
    """Return what stands in double quotation marks of any kind, in order."""
    return ["".join(groups).strip() for groups in QUOTED.findall(text)]


class TextRendering:
    """Text rendering of each shot.

    What is wanted is the prompt's parameter `text`, for every shot of the story; where
    there is none, what the shot's own text has in double quotation marks, joined by
    spaces. What is read are all lines in the picture, from top to bottom, joined by
    spaces: writing that nobody asked for lowers the value.
    """

    info = declared("text_rendering")

    @cached_property
    def reader(self) -> Encoder:
        from evalcore.metrics.encoders.ocr import ocr

        return ocr()

    missing = needing(OCR_PACKAGES, OCR)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there; undefined where no text is wanted."""
        wanted = {
            shot.number: text
            for shot in rendering.rendered
            if (text := wanted_text(rendering, shot))
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
            else Value(None, shot.number, "no text is wanted in this picture")
            for shot in rendering.rendered
        ]


def wanted_text(rendering: Rendering, shot: RenderedShot) -> str:
    """Return what is to be read in a shot; empty if nothing."""
    return parameter(rendering, "text") or " ".join(quoted(shot.wording))
