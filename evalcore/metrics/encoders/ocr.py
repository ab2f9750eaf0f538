"""Reading text in pictures: RapidOCR with the PP-OCR networks of PaddleOCR.

The networks lie inside the package; they are named by their files, so that nothing is
ever fetched. It runs on the processor.
"""

import logging
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from rapidocr import RapidOCR

from evalcore.metrics.base import Feature, Picture
from evalcore.metrics.encoders.published import (
    OCR,
    TEXT_LINES,
    TEXT_TURNED,
    TEXT_WORDS,
)
from evalcore.metrics.weights import fingerprint

BATCH = 8
# Lines that are read with less confidence are dropped; RapidOCR's own threshold.
CONFIDENCE = 0.5


class Ocr:
    """An encoder of pictures into the lines of text in them.

    A feature is an array of texts, from top to bottom and in one line (whose beginnings
    differ by less than 10 pixels in height) from left to right. No text gives an empty
    array.
    """

    batch = BATCH

    @cached_property
    def id(self) -> str:
        """Name what decides the texts."""
        engine = f"RapidOCR {version('rapidocr')} above {CONFIDENCE}"
        return f"{engine}; {fingerprint(*OCR)}"

    @cached_property
    def _engine(self) -> Any:
        engine = RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.text_score": CONFIDENCE,
                "Det.model_path": str(TEXT_LINES.need()),
                "Cls.model_path": str(TEXT_TURNED.need()),
                "Rec.model_path": str(TEXT_WORDS.need()),
            }
        )
        # It warns of every picture without text.
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        return engine

    def prepare(self, item: Picture) -> Picture:
        """Put the channels into the order that the networks were trained on."""
        return np.ascontiguousarray(item[..., ::-1])

    def encode(self, prepared: Sequence[Picture]) -> list[Feature]:
        """Return the lines of each picture."""
        return [self._read(picture) for picture in prepared]

    def _read(self, picture: Picture) -> Feature:
        lines = self._engine(picture).txts or ()
        return np.array(lines, dtype=np.str_)


@cache
def ocr() -> Ocr:
    """Return the reader."""
    return Ocr()
