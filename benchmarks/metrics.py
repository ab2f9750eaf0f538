"""How fast pictures are scored, against the bare encoder and against pairs.

    python benchmarks/metrics.py                       # on this machine, minutes
    python benchmarks/metrics.py --encoder csd --images 100
    python benchmarks/metrics.py --encoder clip --images 100 1000 10000 --batches 64 256
    python benchmarks/metrics.py --lite                # 20 stories x 26 methods x 16

Scores outputs of 16 shots by csd_self and csd_cross (the same formulas on the encoder
that `--encoder` names), and prints a row of a table, ready to paste, for each number of
images: images per second of the bare network on inputs that lie ready in memory; of the
whole way from files on disk to values (decoding, preprocessing, remembering features,
formulas); their ratio; and seconds for the same again with every feature remembered.
The speed of a shared machine wanders, so both are timed in turns, some images each,
and the ratio is that of all images over all seconds; the slowest and the fastest turn
of the bare network tell how much it wandered.

A peer that encodes both pictures of every pair goes the whole way too, in the same run:
files are read, decoded and prepared on both sides. Networks have their real
architectures and random weights, which calculate as fast as trained ones (`mobilenet`
has its own).
"""

import argparse
import gc
import io
import os
import shutil
import statistics
import sys
import tempfile
import time
from functools import partial
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import torch
from PIL import Image as Pillow

from evalcore.metrics.base import (
    Ask,
    Image,
    RenderedCharacter,
    RenderedShot,
    Rendering,
    Source,
)
from evalcore.metrics.encoders import runtime
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.vistorybench.csd import StyleConsistency, StyleFaithfulness

SHOTS = 16
SIDE = 512
BICUBIC = Pillow.Resampling.BICUBIC
TURNS = 5  # at most, of the bare network and the whole way
DRAWN = 64  # different files; keys differ for all
PEER_SHOTS = 6
# Seconds a pair that ViStoryBench's authors report (table S9, one H800).
REPORTED = {"CSD": 0.046, "CIDS": 0.45}
COLUMNS = (
    "encoder",
    "device",
    "threads",
    "images",
    "bare images/s",
    "whole images/s",
    "ratio",
    "again s",
)
# Peak of dense bf16 matrix products, in TFLOP/s, by name of the device.
PEAKS = {"NVIDIA H200": 989, "NVIDIA H100": 989, "NVIDIA A100": 312}
# Multiplications and additions of one picture, in GFLOP.
WORK = {"csd": 162, "clip": 162, "siglip": 670}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--encoder", choices=["mobilenet", "csd", "clip", "siglip"], default="mobilenet"
    )
    parser.add_argument("--images", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--batches", type=int, nargs="*", default=[])
    parser.add_argument("--lite", action="store_true", help="520 outputs of 16 shots")
    return parser.parse_args()


def encoder_of(name: str, folder: Path):
    """Return an encoder of the real architecture."""
    os.environ["EVALCORE_WEIGHTS_DIR"] = str(folder)
    if name == "mobilenet":
        from evalcore.metrics.encoders.mobilenet import mobilenet_encoder

        return mobilenet_encoder("features")
    torch.manual_seed(0)
    if name == "csd":
        from evalcore.metrics.encoders import csd

        network = csd.StyleNetwork()
        torch.nn.init.normal_(network.last_layer_style)
        (folder / "csd").mkdir()
        torch.save(network.state_dict(), folder / csd.CSD.path)
        return csd.csd_encoder("squash")
    if name == "clip":
        import open_clip
        from safetensors.torch import save_file

        from evalcore.metrics.encoders import clip, published

        path = folder / published.clip_weights().path
        path.parent.mkdir()
        network = open_clip.create_model(published.LARGE, pretrained=None)
        save_file(network.state_dict(), path)
        return clip.clip_image_encoder()
    from transformers import SiglipVisionConfig, SiglipVisionModel

    from evalcore.metrics.encoders import published, siglip

    config = SiglipVisionConfig(
        hidden_size=1152,
        intermediate_size=4304,
        num_hidden_layers=27,
        num_attention_heads=16,
        image_size=384,
        patch_size=14,
    )
    SiglipVisionModel(config).save_pretrained(folder / published.SIGLIP.path)
    torch.save(siglip.Head().state_dict(), folder / published.AESTHETIC_HEAD.path)
    return siglip.aesthetic_encoder("official")


def draw(folder: Path) -> list[Path]:
    """Write pictures with some detail, as PNG."""
    rng = np.random.default_rng(0)
    paths = []
    for i in range(DRAWN):
        small = rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)
        picture = Pillow.fromarray(small).resize(
            (SIDE, SIDE), Pillow.Resampling.BICUBIC
        )
        path = folder / f"{i}.png"
        picture.save(path)
        paths.append(path)
    return paths


def decode(path: Path):
    yield np.asarray(Pillow.open(io.BytesIO(path.read_bytes())).convert("RGB"))


def image(paths: list[Path], number: int) -> Image:
    path = paths[number % len(paths)]
    return Image(Source(f"image {number}", partial(decode, path), (SIDE, SIDE)))


def outputs(paths: list[Path], images: int) -> list[Rendering]:
    """Return outputs of 16 shots each, every shot another image."""
    fox = RenderedCharacter("Fox", "non_human", (image(paths, 0),))
    made = []
    for start in range(0, images, SHOTS):
        numbers = range(start, min(start + SHOTS, images))
        shots = tuple(
            RenderedShot(i + 1, (image(paths, n),), characters=("Fox",))
            for i, n in enumerate(numbers)
        )
        made.append(Rendering(str(start), "Alder", shots, {"Fox": fox}))
    return made


def metrics(encoder) -> list:
    own = [StyleConsistency("vsb-code-2026.02"), StyleFaithfulness("vsb-code-2026.02")]
    for metric in own:
        metric.encoder = encoder
    return own


class Ratings:
    """Only asks: for an encoder whose features are no vectors of length 1."""

    def __init__(self, encoder) -> None:
        self.encoder = encoder

    def score(self, rendering):
        yield Ask(self.encoder, rendering.images)
        return []


def ready(encoder, paths: list[Path], batch: int) -> list:
    """Return a batch of inputs as the network takes them, and warm the network up."""
    inputs = [encoder.prepare(next(decode(paths[i % DRAWN]))) for i in range(batch)]
    encoder.network(inputs)
    return inputs


def bare(encoder, inputs: list, seconds: float = 4) -> list[float]:
    """Return seconds of each pass of the network alone, for that long altogether."""
    times: list[float] = []
    while sum(times) < seconds:
        begun = time.perf_counter()
        encoder.network(inputs)
        times.append(time.perf_counter() - begun)
    return times


def whole(encoder, found: list[Rendering], store: FeatureStore) -> tuple[float, int]:
    """Score all outputs; return seconds, and how many images were encoded."""
    scorers = [Ratings(encoder)] if "Aesthetic" in encoder.name else metrics(encoder)
    jobs = (
        MetricJob(0, one.score(rendering)) for rendering in found for one in scorers
    )
    engine = Engine(store)
    begun = time.perf_counter()
    for outcome in engine.run(jobs):
        if outcome.error is not None:
            raise outcome.error
    return time.perf_counter() - begun, sum(engine.counts.encoded.values())


def peer(encoder, rendering: Rendering) -> float:
    """Return seconds a pair, from files to values, encoding both pictures of each."""
    shots = rendering.images[:PEER_SHOTS]
    times = []
    for pair in combinations(shots, 2):
        begun = time.perf_counter()
        one, other = encoder.encode([encoder.prepare(i.read()) for i in pair])
        float(one @ other)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def pairs(encoder, rendering: Rendering, folder: Path) -> str:
    """Time the pairs of one output in both ways; return what came out."""
    count = len(rendering.images) * (len(rendering.images) - 1) // 2
    times = []
    for turn in range(3):
        seconds, _encoded = whole(
            encoder, [rendering], FeatureStore(folder / f"pairs {turn}")
        )
        times.append(seconds / count)
    once, apart = statistics.median(times), peer(encoder, rendering)
    reported = ", ".join(f"{name} {seconds}" for name, seconds in REPORTED.items())
    return (
        f"files to values, {count} pairs: {once:.4f} s a pair, each picture once; "
        f"{apart:.4f} s for a peer that encodes both of each ({apart / once:.1f} times)"
        f"\nfor reference, not measured here: {reported} s a pair on one H800 "
        "(ViStoryBench, table S9)"
    )


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def race(options: argparse.Namespace, encoder, paths: list[Path], folder: Path) -> None:
    """Print a row for each number of images."""
    described = runtime.describe()
    device = f"{described['device']}, {described['precision']}"
    print(row(*COLUMNS), row(*["---"] * len(COLUMNS)), sep="\n")
    inputs = ready(encoder, paths, encoder.batch)
    for images in [*options.images, *([20 * 26 * SHOTS] if options.lite else [])]:
        store = FeatureStore(folder / "features")
        found = outputs(paths, images)
        taken, encoded, turns = 0.0, 0, []
        step = max(-(-len(found) // TURNS), 2 * encoder.batch // SHOTS, 1)
        for start in range(0, len(found), step):
            times = bare(encoder, inputs)
            turns.append((len(times) * encoder.batch, sum(times)))
            seconds, passes = whole(encoder, found[start : start + step], store)
            taken, encoded = taken + seconds, encoded + passes
        again, none = whole(encoder, found, store)
        # The reference picture is the first image, so it is no image more.
        assert encoded == images, (encoded, images)
        assert none == 0
        alone = sum(n for n, _ in turns) / sum(seconds for _, seconds in turns)
        rates = [n / seconds for n, seconds in turns]
        speed = images / taken
        print(
            row(
                options.encoder,
                device,
                torch.get_num_threads(),
                images,
                f"{alone:.2f} ({min(rates):.2f} to {max(rates):.2f})",
                f"{speed:.2f}",
                f"{speed / alone:.0%}",
                f"{again:.2f}",
            ),
            flush=True,
        )
        shutil.rmtree(folder / "features")


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "weights").mkdir()
        encoder = encoder_of(options.encoder, folder / "weights")
        paths = draw(folder)
        print(f"torch {torch.__version__}, batches of {encoder.batch}")
        for batch in options.batches:
            times = bare(encoder, ready(encoder, paths, batch))
            speed = batch / statistics.median(times)
            print(f"batch {batch:5}: {speed:9.1f} images/s bare{share(options, speed)}")
            gc.collect()
        race(options, encoder, paths, folder)
        if options.encoder != "siglip":  # whose features are ratings
            print(pairs(encoder, outputs(paths, SHOTS)[0], folder))


def share(options: argparse.Namespace, speed: float) -> str:
    """Return the share of the device's peak, where both are known."""
    if runtime.device().type != "cuda" or options.encoder not in WORK:
        return ""
    device = torch.cuda.get_device_name()
    peak = next((p for n, p in PEAKS.items() if device.startswith(n)), None)
    if peak is None:
        return ""
    return f", {speed * WORK[options.encoder] / 1000 / peak:.0%} of peak"


if __name__ == "__main__":
    main()
