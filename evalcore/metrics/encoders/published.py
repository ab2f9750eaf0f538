"""Published weights (`weights.toml`) and packages that the encoders need.

The module is separate from the encoders, so that checks for missing weights import no
network library.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from evalcore.metrics.weights import PackagedWeights, Weights

TABLE = tomllib.loads(Path(__file__).with_name("weights.toml").read_text("utf-8"))

TORCH = ("torch",)
CLIP_PACKAGES = ("torch", "open_clip")
TRANSFORMERS = ("torch", "transformers")
TORCHVISION = ("torch", "torchvision")
OCR_PACKAGES = ("rapidocr", "onnxruntime")

LARGE = "ViT-L-14-quickgelu"
LARGE_336 = "ViT-L-14-336-quickgelu"
CLIP_FILE = "open_clip_model.safetensors"
# Repositories with OpenAI's weights in open_clip's layout.
CLIP_HUB = {
    LARGE: "timm/vit_large_patch14_clip_224.openai",
    LARGE_336: "timm/vit_large_patch14_clip_336.openai",
    "ViT-B-32-quickgelu": "timm/vit_base_patch32_clip_224.openai",
}


def clip_weights(name: str = LARGE) -> Weights:
    """Return the weights file of a CLIP network."""
    return _on_hub(CLIP_HUB[name], "MIT", CLIP_FILE)


def _on_hub(hub: str, licence: str, file: str = "") -> Weights:
    """Return a repository of the hub: one file of it, or the whole of it."""
    folder = hub.partition("/")[2]
    return Weights(
        path=f"{folder}/{file}" if file else folder,
        licence=licence,
        origin=f"hf download {hub} {file}".rstrip()
        + f" --local-dir $EVALCORE_WEIGHTS_DIR/{folder}",
        hub=hub,
        hub_file=file or "model.safetensors",
    )


def _file(name: str) -> Weights:
    said = TABLE[name]
    return Weights(**said) if "path" in said else _on_hub(**said)


def _packaged(name: str) -> PackagedWeights:
    return PackagedWeights(**TABLE[name])


@dataclass(frozen=True)
class AntelopeWeights(Weights):
    """A file of insightface's antelopev2.

    Its archive often unpacks to a folder inside one of the same name; both places work.
    """

    def find(self) -> Path | None:
        return super().find() or Weights(f"antelopev2/{self.path}", "", "").find()


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
SCRFD = AntelopeWeights(**TABLE["scrfd"])
ARCFACE = AntelopeWeights(**TABLE["arcface"])
ADAFACE, FACENET = _file("adaface"), _file("facenet")
DLIB_POINTS = _packaged("dlib_points")
DLIB_NETWORK = _packaged("dlib_network")
