"""Published weights (`weights.toml`) and packages that the encoders need.

The module is separate from the encoders, so that checks for missing weights import no
network library.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalcore.metrics.weights import File, PackagedWeights, Weights

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
# The file that shows that a network of transformers is complete.
WHOLE = "model.safetensors"


def clip_weights(name: str = LARGE) -> Weights:
    """Return the weights file of a CLIP network."""
    return _weights(**CLIP[name])


def _file(name: str) -> Weights:
    return _weights(**TABLE[name])


def _weights(
    *,
    licence: str,
    path: str = "",
    url: str = "",
    hub: str = "",
    revision: str = "",
    hub_file: str = "",
    files: Mapping[str, Mapping[str, Any]] | None = None,
    steps: str = "",
    **facts: Any,
) -> Weights:
    """Return a file, or the folder whose files are named.

    What has no place of its own lies in a folder with the repository's name.
    """
    folder = hub.partition("/")[2]
    address = f"{HUB}/{hub}/resolve/{revision or 'main'}" if hub else ""
    if files is None:
        place = path or f"{folder}/{hub_file}"
        facts["also"] = tuple(facts.get("also", ()))
        one = File(place, url or f"{address}/{hub_file}", **facts)
        return Weights(place, licence, (one,), hub, revision, hub_file)
    place = path or folder
    parts = [
        File(f"{place}/{name}", f"{address}/{name}" if address else "", **said)
        for name, said in files.items()
    ]
    shows = hub_file or WHOLE
    return Weights(place, licence, tuple(parts), hub, revision, shows, steps)


def _packaged(name: str) -> PackagedWeights:
    return PackagedWeights(**TABLE[name])


@dataclass(frozen=True)
class AntelopeWeights(Weights):
    """A file of insightface's antelopev2.

    Its archive often unpacks to a folder inside one of the same name; both places work.
    """

    def find(self) -> Path | None:
        return super().find() or Weights(f"antelopev2/{self.path}", "").find()


DETECTOR = _file("detector")
SIGLIP, AESTHETIC_HEAD = _file("siglip"), _file("aesthetic_head")
CSD = _file("csd")
MOBILENET = _packaged("mobilenet")
INCEPTION_FID = _file("inception_fid")
INCEPTION_IMAGENET = _file("inception_imagenet")
I3D = _file("i3d")
TEXT_LINES = _packaged("text_lines")
TEXT_TURNED = _packaged("text_turned")
TEXT_WORDS = _packaged("text_words")
OCR = (TEXT_LINES, TEXT_TURNED, TEXT_WORDS)
DEPTH, OBJECTS = _file("depth"), _file("objects")
POSE, EXPRESSION = _file("pose"), _file("expression")
CUT_OUT, APPEARANCE = _file("cut_out"), _file("appearance")
SCRFD = AntelopeWeights(**vars(_file("scrfd")))
ARCFACE = AntelopeWeights(**vars(_file("arcface")))
ADAFACE, FACENET = _file("adaface"), _file("facenet")
DLIB_POINTS = _packaged("dlib_points")
DLIB_NETWORK = _packaged("dlib_network")
DOVER, DREAMSIM = _file("dover"), _file("dreamsim")
