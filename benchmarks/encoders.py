"""Measure pictures per second of each network, and the device's deviation.

    EVALCORE_DEVICE=cuda python benchmarks/encoders.py [--only CLIP CSD] [--batch 256]

Networks have the published architectures and sizes, and random weights, so that no file
is needed. A row is one encoder at the product's size of batch, or at `--batch`:

- "fp32/s", "bf16/s": pictures a second from prepared input to features in memory,
  medians after one round of warm-up. "GB" is the most memory that tensors took on the
  GPU, weights included.
- "bare": the same batch through the network alone, in fp32, its input on the device.
  "engine": the same pictures through the metrics' engine, which prepares them in
  threads and stores features. Both are pictures a second; the share is engine by bare.
- "fp32 off": the largest difference of features between the GPU and the processor, both
  in fp32; of features with numbers above 1 a share of the largest. An exclamation mark
  stands at what is beyond the 1e-6 that `test_precision.py` of the encoders allows.
- "bf16 off": the same between bf16 and fp32 on the device.

Exact encoders calculate in fp32 whatever is asked for, and have no bf16. Of what finds
boxes the scores are compared: where two are about equal, rounding decides which comes
first.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers as tf
from PIL import Image as Pillow
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import head, row, timed
from evalcore.metrics.base import Ask, Image, Source, Text
from evalcore.metrics.encoders import clip, published, runtime
from evalcore.metrics.encoders import clip as csd
from evalcore.metrics.encoders import scenes as siglip
from evalcore.metrics.encoders import subjects as boxes
from evalcore.metrics.encoders import torchvision_networks as inception
from evalcore.metrics.encoders.precision import PRECISIONS
from evalcore.metrics.encoders.runtime import Network
from evalcore.metrics.encoders.subjects import SubjectEncoder
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore

SIDE, PICTURES, REPEATS, CHECKED = 1024, 16, 3, 4
TOLERANCE = 1e-6
CPU = torch.device("cpu")
TEXTS = [
    Text(f"Shot {i}: a fox walks through snow, seen from afar.") for i in range(16)
]
BOX = (0.5, 0.5, 0.6, 0.6)


@dataclass(frozen=True)
class Case:
    """An encoder, its networks in the order in which it holds them, and its input."""

    encoder: Callable[[], Any]
    networks: Sequence[Callable[[], nn.Module]]
    texts: Sequence[Text] = ()
    item: Callable[[Any], Any] = lambda picture: picture
    compared: Callable[[Any], Any] = lambda feature: feature


# Networks ----------------------------------------------------------------------------


def sized(kind: Any, **sizes: Any) -> Any:
    """Return a configuration, whose declared types know few of the names it takes."""
    return kind(**sizes)


@lru_cache(maxsize=1)
def clip_network(name: str) -> nn.Module:
    """Return a CLIP; the same one to pictures and texts that come one after another."""
    return clip.unloaded(name)


def style_network() -> nn.Module:
    network = csd.StyleNetwork()
    nn.init.normal_(network.last_layer_style)
    return network


def aesthetic_network() -> nn.Module:
    layers = {"num_hidden_layers": 27, "num_attention_heads": 16}
    sizes = {"hidden_size": 1152, "intermediate_size": 4304, "image_size": 384}
    config = tf.SiglipVisionConfig(patch_size=14, **sizes, **layers)
    return siglip.Predictor(tf.SiglipVisionModel(config), siglip.Head())


def detector_network() -> nn.Module:
    stages = {"depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24]}
    outputs = ["stage2", "stage3", "stage4"]
    sizes = {"window_size": 7, "embed_dim": 96, "out_features": outputs}
    backbone = sized(tf.SwinConfig, **sizes, **stages)
    config = tf.GroundingDinoConfig(
        backbone_config=backbone, text_config=tf.BertConfig()
    )
    return tf.GroundingDinoForObjectDetection(config)


def kept_alive(make: Callable[[], nn.Module]) -> nn.Module:
    """Return a network of convolutions in whose depth numbers do not vanish."""
    network = make()
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight)
    return network


def detector() -> boxes.Detector:
    """Return the detector, with BERT's token ids of its prompt."""
    encoder = boxes.Detector("character")
    ids = torch.tensor([[101, 2839, 1012, 102]])  # [CLS] character . [SEP]
    encoder._tokens = {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": torch.ones_like(ids),
    }
    return encoder


def scores(feature: Any) -> Any:
    """Return the scores of boxes, the best first."""
    return -torch.tensor(-feature[:, 4]).sort().values.numpy()


LARGE_CLIP = partial(clip_network, published.LARGE)
SMALL = "ViT-B-32-quickgelu"  # for machines without a GPU
CASES = {
    "CLIP ViT-B/32": Case(
        partial(clip.clip_image_encoder, SMALL), [partial(clip_network, SMALL)]
    ),
    "CLIP ViT-L/14": Case(clip.clip_image_encoder, [LARGE_CLIP]),
    "CLIP ViT-L/14, texts": Case(clip.clip_text_encoder, [LARGE_CLIP], texts=TEXTS),
    "CSD": Case(partial(csd.csd_encoder, "squash"), [style_network]),
    "Aesthetic (SigLIP so400m)": Case(
        partial(siglip.aesthetic_encoder, "official"), [aesthetic_network]
    ),
    "Grounding DINO": Case(detector, [detector_network], compared=scores),
    "SAM + DINOv2 subject": Case(
        SubjectEncoder,
        [
            lambda: tf.SamModel(tf.SamConfig()),
            lambda: tf.Dinov2Model(tf.Dinov2Config(image_size=518, patch_size=14)),
        ],
        item=lambda picture: (picture, BOX),
    ),
    "Inception v3 of FID": Case(
        inception.fid_encoder, [partial(kept_alive, inception.fid_network)]
    ),
}


# Measuring ---------------------------------------------------------------------------


def drawn(seed: int) -> Pillow.Image:
    """Draw a picture of large soft shapes with some noise."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = np.asarray(Pillow.fromarray(shapes).resize((SIDE, SIDE))).astype(np.int16)
    noise = rng.integers(-8, 9, picture.shape, dtype=np.int16)
    return Pillow.fromarray((picture + noise).clip(0, 255).astype(np.uint8))


def inputs_of(case: Case, encoder: Any) -> list[Any]:
    """Return prepared texts or pictures."""
    if case.texts:
        return [encoder.prepare(text) for text in case.texts]
    drawings = map(drawn, range(PICTURES))
    return [encoder.prepare(case.item(np.asarray(one))) for one in drawings]


@contextmanager
def running(device: torch.device, precision: str) -> Iterator[None]:
    """Have networks run there and so, as the environment would say."""
    asked = {"EVALCORE_DEVICE": str(device), "EVALCORE_PRECISION": precision}
    with mock.patch.dict(os.environ, asked):
        runtime.device.cache_clear()
        yield


def networks(encoder: Any) -> list[Network]:
    return [one for one in vars(encoder).values() if isinstance(one, Network)]


def fitted(case: Case, modules: Sequence[nn.Module], batch: int = 0) -> Any:
    """Return a new encoder that was given its networks, and perhaps another batch."""
    encoder = case.encoder()
    for network, module in zip(networks(encoder), modules, strict=True):
        network._make = lambda module=module: module
        network._batch = batch or network._batch
        _ = network.network  # brought to the device
    return encoder


def features(case: Case, encoder: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return of each input what is compared, before anything is left out by scores."""
    encode = encoder.encode if len(networks(encoder)) > 1 else encoder.network
    return [case.compared(one).ravel() for one in encode(inputs)]


def bare_rate(encoder: Any, many: Sequence[Any]) -> float:
    """Return pictures a second of an encoder's one network, without the product."""
    network = networks(encoder)[0]
    batch = torch.from_numpy(np.stack(many)).float().to(runtime.device())

    def once() -> None:
        with network.calculating():
            network._forward(network.network, batch)
        if runtime.device().type == "cuda":
            torch.cuda.synchronize()

    return len(many) / statistics.median(timed(once, 1 + REPEATS)[1:])


def engine_rate(case: Case, encoder: Any, count: int) -> float:
    """Return pictures a second of the engine, with an empty store each time."""
    if case.texts:
        items: list[Any] = [Text(f"{case.texts[0].text} {i}") for i in range(count)]
    else:
        items = [picture_of(number) for number in range(count)]

    vars(encoder)["id"] = "bench"  # random weights have no hash

    def scoring() -> Any:
        yield Ask(encoder, items)
        return []

    def once() -> None:
        with tempfile.TemporaryDirectory() as folder:
            engine = Engine(FeatureStore(Path(folder)))
            (outcome,) = engine.run([MetricJob("bench", scoring())])
        if outcome.error is not None:
            raise outcome.error

    return count / statistics.median(timed(once, 1 + REPEATS)[1:])


def picture_of(number: int) -> Image:
    """Return one of the drawn pictures, with a key of its own."""
    picture = np.asarray(drawn(number % PICTURES))
    return Image(Source(f"bench {number}", lambda: iter([picture])))


def off(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest difference, as a share of the largest number above 1."""
    return max(
        float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))
        for a, b in zip(found, wanted, strict=True)
    )


def measured(case: Case, device: torch.device, batch: int) -> list[str]:
    """Return the cells of an encoder's row."""
    torch.manual_seed(0)
    modules = [make() for make in case.networks]
    on_gpu = device.type == "cuda"
    with running(CPU, "fp32"):
        encoder = fitted(case, modules)
        inputs = inputs_of(case, encoder)
        few = inputs[:CHECKED]
        on_cpu = features(case, encoder, few) if on_gpu else []
    found: dict[str, list[Any]] = {}
    rates: dict[str, str] = {}
    bare, engine, share = "-", "-", "-"
    gigabytes = "-"
    for precision in PRECISIONS:
        with running(device, precision):
            encoder = fitted(case, modules, batch)
            if networks(encoder)[0].precision != precision:
                continue
            many = list(itertools.islice(itertools.cycle(inputs), encoder.batch))
            found[precision] = features(case, encoder, few)
            spent = timed(partial(encoder.encode, many), 1 + REPEATS)[1:]
            rates[precision] = f"{len(many) / statistics.median(spent):.3g}"
            if precision == "fp32" and len(modules) == 1:
                alone = bare_rate(encoder, many)
                whole = engine_rate(case, encoder, len(many))
                bare, engine = f"{alone:.3g}", f"{whole:.3g}"
                share = f"{whole / alone:.0%}"
            if on_gpu and precision == "fp32":
                gigabytes = f"{torch.cuda.max_memory_allocated(device) / 1e9:.1f}"
    apart = off(found["fp32"], on_cpu) if on_cpu else 0.0
    mark = "!" if apart > TOLERANCE else ""
    rounded = f"{off(found['bf16'], found['fp32']):.1e}" if "bf16" in found else "-"
    for module in modules:  # what is still held is not the next one's memory
        module.cpu()
    size = str(networks(encoder)[0].batch)
    different = f"{apart:.1e}{mark}" if on_cpu else "-"
    speed = [rates["fp32"], gigabytes, rates.get("bf16", "-"), bare, engine, share]
    return [size, *speed, different, rounded]


def main() -> None:
    """Print a row for each encoder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--batch", type=int, default=0)
    given = parser.parse_args()
    device = runtime.device()
    print(", ".join(f"{k} {v}" for k, v in runtime.describe().items() if v != "fp32"))
    speed = ("batch", "fp32/s", "GB", "bf16/s", "bare", "engine", "share")
    head("encoder", *speed, "fp32 off", "bf16 off")
    for name, case in CASES.items():
        if given.only and not any(part in name for part in given.only):
            continue
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        row([name, *measured(case, device, given.batch)])


if __name__ == "__main__":
    main()
