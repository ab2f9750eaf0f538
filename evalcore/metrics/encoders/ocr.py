"""Text recognition in pictures: RapidOCR with the PP-OCR networks of PaddleOCR.

The networks are part of the package; they are named by their files, so that nothing is
downloaded. It runs on the CPU.
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
# Lines with less confidence are dropped; RapidOCR's default threshold.
CONFIDENCE = 0.5
# Errors of RapidOCR on a picture, which have no common base class.
ERRORS = (ResizeImgError, ONNXRuntimeError, cv2.error)
# Longer and narrower pictures hold no text, and take RapidOCR minutes.
THINNEST = 40


class Ocr:
    """Encoder of pictures into their lines of text.

    A feature is an array of texts, from top to bottom; texts whose tops differ by less
    than 10 pixels form a line and run from left to right. Without text the array is
    empty.
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
        # RapidOCR warns about every picture without text.
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        return engine

    def prepare(self, item: Picture) -> Picture:
        """Put the channels into the order of the networks' training."""
        height, width = item.shape[:2]
        if max(height, width) > THINNEST * min(height, width):
            raise ValueError(f"{width} x {height} pixels are too narrow to be read")
        return np.ascontiguousarray(item[..., ::-1])

    def encode(self, prepared: Sequence[Picture]) -> list[Feature | FeatureError]:
        return [self._read(picture) for picture in prepared]

    def _read(self, picture: Picture) -> Feature | FeatureError:
        try:
            lines = self._engine(picture).txts or ()
        except ERRORS as error:
            return FeatureError(f"RapidOCR cannot read it: {error}")
        return np.array(lines, dtype=np.str_)


ocr = cache(Ocr)
