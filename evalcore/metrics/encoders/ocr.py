"""Reading text in pictures: RapidOCR with the PP-OCR networks of PaddleOCR.

The networks lie inside the package; they are named by their files, so that nothing is
ever fetched. It runs on the processor.
"""

import logging
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import cv2
import numpy as np
from rapidocr import RapidOCR
from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError
from rapidocr.utils.process_img import ResizeImgError

from evalcore.metrics.base import Feature, FeatureError, Picture
from evalcore.metrics.encoders.published import OCR, TEXT_LINES, TEXT_TURNED, TEXT_WORDS
from evalcore.metrics.weights import fingerprint

BATCH = 8
# Lines that are read with less confidence are dropped; RapidOCR's own threshold.
CONFIDENCE = 0.5
# What it raises over a picture; they have no common parent of their own.
ERRORS = (ResizeImgError, ONNXRuntimeError, cv2.error)
# A picture so much longer than wide holds no text, and takes RapidOCR minutes.
THINNEST = 40


class Ocr:
    """An encoder of pictures into the lines of text in them.

    A feature is an array of texts, from top to bottom and in one line (whose beginnings
    differ by less than 10 pixels in height) from left to right. No text gives an empty
    array.
    """

    batch = BATCH

    @cached_property
    def id(self) -> str:
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
        height, width = item.shape[:2]
        if max(height, width) > THINNEST * min(height, width):
            raise ValueError(f"{width} x {height} pixels are too thin to be read")
        return np.ascontiguousarray(item[..., ::-1])

    def encode(self, prepared: Sequence[Picture]) -> list[Feature | FeatureError]:
        return [self._read(picture) for picture in prepared]

    def _read(self, picture: Picture) -> Feature | FeatureError:
        try:
            lines = self._engine(picture).txts or ()
        except ERRORS as error:
            return FeatureError(f"RapidOCR cannot read it: {error}")
        return np.array(lines, dtype=np.str_)


@cache
def ocr() -> Ocr:
    return Ocr()
