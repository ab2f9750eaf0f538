"""Which published weights the encoders of scenes need, and how to get them.

Apart from the encoders, so that asking what is lacking imports no network library. All
of them may be used for any purpose; YOLOv8, which VISTAR detects and segments with, is
under the AGPL and stands aside for RF-DETR.
"""

from evalcore.metrics.weights import PackagedWeights, Weights

TRANSFORMERS = ("torch", "transformers")
OCR_PACKAGES = ("rapidocr", "onnxruntime")


def _folder(hub: str, licence: str) -> Weights:
    """Return a repository of the hub with a network of transformers."""
    name = hub.partition("/")[2]
    return Weights(
        path=name,
        licence=licence,
        origin=f"hf download {hub} --local-dir $EVALCORE_WEIGHTS_DIR/{name}",
        hub=hub,
        hub_file="model.safetensors",
    )


def _read_by(file: str) -> PackagedWeights:
    return PackagedWeights("rapidocr", f"models/{file}.onnx", "Apache-2.0")


TEXT_LINES = _read_by("PP-OCRv6_det_small")
TEXT_TURNED = _read_by("ch_ppocr_mobile_v2.0_cls_mobile")
TEXT_WORDS = _read_by("PP-OCRv6_rec_small")
OCR = (TEXT_LINES, TEXT_TURNED, TEXT_WORDS)

DEPTH = _folder("Intel/dpt-hybrid-midas", "Apache-2.0")
OBJECTS = _folder("Roboflow/rf-detr-seg-medium", "Apache-2.0")
POSE = _folder("usyd-community/vitpose-base-simple", "Apache-2.0")
EXPRESSION = _folder("trpakov/vit-face-expression", "Apache-2.0")
CUT_OUT = _folder("facebook/sam-vit-base", "Apache-2.0")
APPEARANCE = _folder("facebook/dinov2-base", "Apache-2.0")
