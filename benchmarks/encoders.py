"""How many pictures a second each network sees, and how far the device is off.

    EVALCORE_DEVICE=cuda python benchmarks/encoders.py [--only CLIP CSD] [--images 512]

Networks have the sizes of the published ones and random weights, so that no file is
needed (`benchmarks/networks.py`). A line is one encoder at one size of batch:

- "prepare/s": stored PNGs of 1024 x 1024 that are decoded, resized and cut, by one
  thread and by as many as there are processors, which is how the engine does it; of
  texts, how many are cut into tokens.
- "encode": pictures a second from prepared input to features in memory; "network": the
  same without stacking them and without the way to the device and back. Medians after
  one round of warm-up. "GB" is the most memory that tensors took on the GPU, weights
  included.
- "fp32 off": the largest difference of features between the GPU and the processor, both
  in fp32; of features with numbers above 1 a share of the largest. An exclamation mark
  stands at what is beyond the 1e-6 that `test_precision.py` of the encoders allows.
- "bf16 off" and "1 - cos": the same between bf16 and fp32 on the device, and how far
  bf16 turned the vectors; "apart" is 1 - cos between two pictures, to compare.

Exact encoders calculate in fp32 whatever is asked for, and have no bf16. Of what finds
boxes, objects and joints the scores are compared: where two are about equal, rounding
decides which comes first.
"""

import argparse
import io
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from PIL import Image

sys.path[0] = str(Path(__file__).resolve().parents[1])  # `analysis` lies here, too

from benchmarks.networks import CASES, Case
from evalcore.metrics.encoders import runtime
from evalcore.metrics.encoders.runtime import Network
from evalcore.metrics.errors import FatalError

SIDE, PICTURES = 1024, 16
TOLERANCE = 1e-6
CPU = torch.device("cpu")
EXACT = f"{'-':>9}{'-':>8}{'-':>6}"
# What a network may raise that does not fit the installed packages or the device.
FAILURES = (
    AttributeError,
    FatalError,
    ImportError,
    RuntimeError,
    TypeError,
    ValueError,
)
HEAD = (
    f"{'':28}{'prepare/s':>16} {'':>6}{'fp32/s':>17}{'':>6}{'bf16/s':>17}\n"
    f"{'':28}{'1 thread':>9}{'all':>7} {'batch':>6}"
    + f"{'encode':>9}{'network':>8}{'GB':>6}" * 2
    + f"{'fp32 off':>10}{'bf16 off':>10}{'1 - cos':>10}{'apart':>10}"
)


@dataclass(frozen=True)
class Speed:
    """Pictures a second, and the most memory in GB; 0 where it is not known."""

    encode: float
    network: float
    memory: float

    def __str__(self) -> str:
        return f"{shown(self.encode):>9}{shown(self.network):>8}{self.memory:>6.1f}"


def shown(value: float) -> str:
    if not value:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


# What is looked at -------------------------------------------------------------------


def drawn(seed: int, side: int = SIDE) -> Image.Image:
    """Draw a picture of large soft shapes with some noise."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = np.asarray(Image.fromarray(shapes).resize((side, side))).astype(np.int16)
    noise = rng.integers(-8, 9, picture.shape, dtype=np.int16)
    return Image.fromarray((picture + noise).clip(0, 255).astype(np.uint8))


def stored(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@cache
def files() -> list[bytes]:
    """Return the pictures as they are stored, the same for all encoders."""
    return [stored(drawn(i)) for i in range(PICTURES)]


def decoded(data: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def preparing(case: Case, encoder: Any) -> list[Callable[[], Any]]:
    """Return what makes each input, from the stored picture or the text on."""
    if case.texts:
        return [partial(encoder.prepare, text) for text in case.texts]
    if case.face:  # what comes before a face network, on the processor, is not its own
        faces = [np.asarray(drawn(i, case.face)) for i in range(PICTURES)]
        return [partial(encoder.prepare, face) for face in faces]
    return [lambda f=file: encoder.prepare(case.item(decoded(f))) for file in files()]


def prepared_a_second(makers: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return inputs a second, of one thread and of as many as there are processors."""
    threads = os.cpu_count() or 1
    alone = [timed(make) for make in makers]
    many = [make for make in makers for _ in range(4 * threads // len(makers) or 1)]
    with ThreadPoolExecutor(threads) as pool:
        together = [
            timed(lambda: list(pool.map(lambda make: make(), many)))
            for _ in range(repeats)
        ]
    return [1 / statistics.median(alone), len(many) / statistics.median(together)]


# On the device -----------------------------------------------------------------------


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def settle() -> None:
    """Wait until the device has done all it was told to."""
    if runtime.device().type == "cuda":
        torch.cuda.synchronize(runtime.device())


@contextmanager
def running(device: torch.device, precision: str) -> Iterator[None]:
    """Have networks run there and so, as the environment would say."""
    asked = {"EVALCORE_DEVICE": str(device), "EVALCORE_PRECISION": precision}
    with mock.patch.dict(os.environ, asked):
        runtime.device.cache_clear()
        yield


def networks(encoder: Any) -> list[Network]:
    return [one for one in vars(encoder).values() if isinstance(one, Network)]


def fitted(case: Case, modules: Sequence[torch.nn.Module], images: int = 0) -> Any:
    """Return a new encoder that was given its networks, and perhaps another batch."""
    encoder = case.encoder()
    for network, module in zip(networks(encoder), modules, strict=True):
        network._make = lambda module=module: module
        network._batch = images or network._batch
        _ = network.network  # brought to the device
    return encoder


def features(case: Case, encoder: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return of each input what is compared, before anything is left out by scores."""
    if len(networks(encoder)) > 1:
        return [case.compared(one).ravel() for one in encoder.encode(inputs)]
    return [case.compared(one).ravel() for one in encoder.network(inputs)]


def most_memory() -> float:
    """Return how many GB tensors took at most on the GPU, since that was reset."""
    return torch.cuda.max_memory_allocated(runtime.device()) / 1e9


def speed(encoder: Any, inputs: Sequence[Any], repeats: int) -> Speed:
    """Encode one batch again and again."""
    spent: list[float] = []
    (watched, *others) = networks(encoder)
    forward = watched._forward

    def watch(module: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
        settle()
        start = time.perf_counter()
        found = forward(module, batch)
        settle()
        spent.append(time.perf_counter() - start)
        return found

    watched._forward = watch
    on_gpu = runtime.device().type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(runtime.device())
    encoder.encode(inputs)
    spent.clear()
    whole = statistics.median(
        timed(lambda: encoder.encode(inputs)) for _ in range(repeats)
    )
    watched._forward = forward
    known = spent and not others
    return Speed(
        encode=len(inputs) / whole,
        network=repeats * len(inputs) / sum(spent) if known else 0,
        memory=most_memory() if on_gpu else 0,
    )


# What differs ------------------------------------------------------------------------


def off(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest difference, as a share of the largest number above 1."""
    return max(
        float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))
        for a, b in zip(found, wanted, strict=True)
    )


def turned(found: Sequence[Any], wanted: Sequence[Any]) -> list[float]:
    """Return 1 - cos of each two vectors."""
    return [
        max(0.0, 1 - float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        for a, b in (
            (np.asarray(a, float), np.asarray(b, float))
            for a, b in zip(found, wanted, strict=False)
        )
    ]


def differences(
    on_cpu: list[Any], plain: list[Any], mixed: list[Any]
) -> tuple[str, ...]:
    """Return the last four columns; of single numbers there are no angles."""
    limit = "!" if on_cpu and off(plain, on_cpu) > TOLERANCE else ""
    is_vector = plain[0].size > 1
    return (
        f"{off(plain, on_cpu):.1e}{limit}" if on_cpu else "-",
        f"{off(mixed, plain):.1e}" if mixed else "-",
        f"{max(turned(mixed, plain)):.1e}" if mixed and is_vector else "-",
        f"{statistics.median(turned(plain[1:], plain)):.1e}" if is_vector else "-",
    )


# All of it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Ready:
    """An encoder's networks, its inputs, and what the processor makes of the first."""

    case: Case
    modules: Sequence[torch.nn.Module]
    inputs: Sequence[Any]
    few: Sequence[Any]
    on_cpu: Sequence[Any]
    prepared: str


def ready(case: Case, device: torch.device, options: argparse.Namespace) -> Ready:
    """Make networks and inputs, and do on the processor what is done there."""
    torch.manual_seed(0)
    modules = [make() for make in case.networks]
    with running(CPU, "fp32"):
        encoder = fitted(case, modules)
        makers = preparing(case, encoder)
        rates = [0.0, 0.0]
        if not case.face:
            rates = prepared_a_second(makers, options.repeats)
        inputs = [make() for make in makers]
        few = inputs[: options.checked]
        on_cpu = features(case, encoder, few) if device.type != "cpu" else []
    prepared = f"{shown(rates[0]):>9}{shown(rates[1]):>7}"
    return Ready(case, modules, inputs, few, on_cpu, prepared)


def line(one: Ready, device: torch.device, images: int, repeats: int) -> str:
    """Measure one size of batch in both precisions."""
    found: dict[str, list[Any]] = {}
    speeds: dict[str, Speed] = {}
    for precision in runtime.PRECISIONS:
        with running(device, precision):
            encoder = fitted(one.case, one.modules, images)
            if networks(encoder)[0].precision != precision:
                continue
            size = images or encoder.batch
            batch = [*itertools.islice(itertools.cycle(one.inputs), size)]
            found[precision] = features(one.case, encoder, one.few)
            speeds[precision] = speed(encoder, batch, repeats)
            size = min(size, networks(encoder)[0].batch)  # less, if memory ran out
    compared = differences(one.on_cpu, found["fp32"], found.get("bf16", []))
    return (
        f"{one.prepared} {size:>6}{speeds['fp32']}{speeds.get('bf16', EXACT)}"
        + "".join(f"{text:>10}" for text in compared)
    )


def lines(
    case: Case, device: torch.device, options: argparse.Namespace
) -> Iterator[str]:
    """Measure an encoder, and give a line a size of batch."""
    one = ready(case, device, options)
    try:
        for images in options.images or [0]:
            yield line(one, device, images, options.repeats)
    finally:  # what is still held is not the next one's memory
        for module in one.modules:
            module.cpu()


def main() -> int:
    """Print a line for each encoder and size; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument(
        "--images", type=int, nargs="*", help="sizes of batches, if not the product's"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--checked", type=int, default=4, help="pictures that are compared, from 2"
    )
    options = parser.parse_args()
    device = runtime.device()
    print(", ".join(f"{k} {v}" for k, v in runtime.describe().items() if v != "fp32"))
    print(HEAD, flush=True)
    failed = 0
    for name, case in CASES.items():
        if options.only and not any(part in name for part in options.only):
            continue
        try:
            for measured in lines(case, device, options):
                print(f"{name:28}{measured}", flush=True)
        except FAILURES as error:
            failed = 1
            print(f"{name:28}failed: {type(error).__name__}: {error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
