"""Published weights (`weights.toml`) and packages that the encoders need.

The module is separate from the encoders, so that checks for missing weights import no
network library.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalcore.metrics.weights import File, Weights

TABLE = tomllib.loads(Path(__file__).with_name("weights.toml").read_text("utf-8"))

TORCH = ("torch",)
CLIP_PACKAGES = ("torch", "open_clip")
TRANSFORMERS = ("torch", "transformers")
TORCHVISION = ("torch", "torchvision")
OCR_PACKAGES = ("rapidocr", "onnxruntime")
DOVER_PACKAGES = ("torch", "dover.models")
DREAMSIM_PACKAGES = ("torch", "dreamsim", "peft")

LARGE = "ViT-L-14-quickgelu"
LARGE_336 = "ViT-L-14-336-quickgelu"
# OpenAI's weights in open_clip's layout.
CLIP = {
    LARGE: TABLE["clip_224"],
    LARGE_336: TABLE["clip_336"],
    "ViT-B-32-quickgelu": TABLE["clip_32"],
}
HUB = "https://huggingface.co"
# Facts of a file, not of what it belongs to.
OF_FILES = ("url", "sha256", "size", "also")
# The file that shows that a network of transformers is complete.
WHOLE = "model.safetensors"


def clip_weights(name: str = LARGE) -> Weights:
    """Return the weights file of a CLIP network."""
    return _weights(**CLIP[name])


def _named(name: str) -> Weights:
    return _weights(**TABLE[name])


def _weights(
    path: str = "", files: Mapping[str, Mapping[str, Any]] | None = None, **said: Any
) -> Weights:
    """Return a file, or the folder whose files are named.

    What has no place of its own lies in a folder with the repository's name.
    """
    hub, revision = said.get("hub", ""), said.get("revision", "main")
    folder = hub.partition("/")[2]
    address = f"{HUB}/{hub}/resolve/{revision}/" if hub else ""
    facts = {name: said.pop(name) for name in OF_FILES if name in said}
    if files is None:
        place = path or f"{folder}/{said['hub_file']}"
        url = facts.pop("url", "") or (address and f"{address}{said['hub_file']}")
        also = tuple(facts.pop("also", ()))
        parts = [File(place, url, also=also, **facts)]
    else:
        place = path or folder
        said.setdefault("hub_file", WHOLE)
        parts = [
            File(f"{place}/{name}", address and f"{address}{name}", **about)
            for name, about in files.items()
        ]
    return Weights(place, files=tuple(parts), **said)


DETECTOR = _named("detector")
SIGLIP, AESTHETIC_HEAD = _named("siglip"), _named("aesthetic_head")
CSD = _named("csd")
MOBILENET = _named("mobilenet")
INCEPTION_FID = _named("inception_fid")
INCEPTION_IMAGENET = _named("inception_imagenet")
I3D = _named("i3d")
TEXT_LINES = _named("text_lines")
TEXT_TURNED = _named("text_turned")
TEXT_WORDS = _named("text_words")
OCR = (TEXT_LINES, TEXT_TURNED, TEXT_WORDS)
DEPTH, OBJECTS = _named("depth"), _named("objects")
POSE, EXPRESSION = _named("pose"), _named("expression")
CUT_OUT, APPEARANCE = _named("cut_out"), _named("appearance")
SCRFD, ARCFACE = _named("scrfd"), _named("arcface")
ADAFACE, FACENET = _named("adaface"), _named("facenet")
DLIB_POINTS = _named("dlib_points")
DLIB_NETWORK = _named("dlib_network")
DOVER, DREAMSIM = _named("dover"), _named("dreamsim")
