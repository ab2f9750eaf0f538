"""Execution of networks: device, precision, batch size, strict loading.

`EVALCORE_DEVICE` names the device, `EVALCORE_PRECISION` the number format: `fp32` (the
default, without TF32) or `bf16`. A network that rounding would change too much always
runs in fp32.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from evalcore.metrics.base import Feature, FeatureError
from evalcore.metrics.encoders.precision import DeviceError, precision
from evalcore.metrics.weights import Weights, WeightsError, fingerprint

# fp32 must not silently become TF32.
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False
SHOWN_KEYS = 5
COUNTER = "num_batches_tracked"  # training counter; some versions of torch lack it
GPU_BATCH, CPU_BATCH = 256, 16
UNREADABLE = (
    OSError,
    RuntimeError,
    ValueError,
    EOFError,
    KeyError,
    pickle.UnpicklingError,
)


@lru_cache(maxsize=1)
def device() -> torch.device:
    """Return the device on which networks run."""
    name = os.environ.get("EVALCORE_DEVICE", "").strip()
    if not name:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        where = torch.device(name)
        torch.zeros(1, device=where)
    except (RuntimeError, AssertionError) as error:  # bad name, or no such backend
        reason = str(error).partition("\n")[0]
        raise DeviceError(
            f"EVALCORE_DEVICE={name!r}: write cpu, or the name of an available GPU, "
            f"cuda or cuda:1 ({reason})"
        ) from error
    return where


def in_fp32() -> torch.autocast:
    """Return a context for the part of a network that is never rounded to bf16."""
    return torch.autocast(device().type, enabled=False)


def describe() -> dict[str, str]:
    """Return the device, precision and versions that networks run with."""
    where = device()
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else "processor"
    return {"torch": torch.__version__, "device": name, "precision": precision()}


def load_strictly(
    network: nn.Module, state: Mapping[str, torch.Tensor], file: object
) -> None:
    """Load weights into a network, with no key missing or left over."""
    wanted = network.state_dict()
    if not any(key.endswith(COUNTER) for key in state):
        counters = {key: t for key, t in wanted.items() if key.endswith(COUNTER)}
        state = {**state, **counters}
    missing = [key for key in wanted if key not in state]
    unexpected = [key for key in state if key not in wanted]
    other = [
        f"{key} is {tuple(state[key].shape)}, not {tuple(tensor.shape)}"
        for key, tensor in wanted.items()
        if key in state and state[key].shape != tensor.shape
    ]
    _refuse(file, type(network).__name__, missing, unexpected, other)
    network.load_state_dict(state, strict=True)


def _refuse(
    file: object,
    name: str,
    missing: Sequence[str],
    unexpected: Sequence[str],
    other: Sequence[str],
) -> None:
    """Raise an error if the weights do not match the network."""
    problems = "; ".join(
        f"{len(keys)} {what}: {', '.join(keys[:SHOWN_KEYS])}"
        f"{', ...' * (len(keys) > SHOWN_KEYS)}"
        for what, keys in (
            ("missing", missing),
            ("not in this network", unexpected),
            ("of another shape", other),
        )
        if keys
    )
    if problems:
        raise WeightsError(f"{file} does not hold the weights of {name}: {problems}")


def read_checkpoint(file: object) -> Any:
    """Read a file of tensors without running code in it."""
    try:
        if str(file).endswith(".safetensors"):
            return load_file(str(file))
        return torch.load(str(file), map_location="cpu", weights_only=True)
    except (*UNREADABLE, SafetensorError) as error:
        what = f"{type(error).__name__} {error}".strip()
        raise WeightsError(f"{file} cannot be read as weights ({what})") from error


def load_weights(
    network: nn.Module,
    weights: Weights,
    chosen: Callable[[Any], Any] = lambda checkpoint: checkpoint,
) -> None:
    """Load a file into a network, strictly; `chosen` selects from its content."""
    path = weights.need()
    state = chosen(read_checkpoint(path))
    if not isinstance(state, Mapping):
        raise WeightsError(f"{path} holds a {type(state).__name__}, not named weights")
    load_strictly(network, state, path)


def load_pretrained(
    architecture: Any,
    folder: object,
    *,
    beside: Sequence[str] = (),
    unused: Sequence[str] = (),
) -> nn.Module:
    """Load a network of transformers from a folder, strictly.

    `folder`: location of its files. `beside`: prefixes of weights that belong to
    another part of the publication; the folder may hold them too. `unused`: prefixes of
    weights that the architecture has and never reads; the folder may lack them.
    """
    try:
        network, found = architecture.from_pretrained(
            folder,
            local_files_only=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below, with names
        )
    except (*UNREADABLE, SafetensorError) as error:
        raise WeightsError(f"{folder} cannot be loaded ({error})") from error
    other = [
        f"{key} is {tuple(is_)}, not {tuple(wanted)}"
        for key, is_, wanted in sorted(found["mismatched_keys"])
    ]
    missing, unexpected = (
        sorted(key for key in found[what] if not key.startswith(tuple(beginnings)))
        for what, beginnings in (("missing_keys", unused), ("unexpected_keys", beside))
    )
    _refuse(folder, architecture.__name__, missing, unexpected, other)
    loaded: nn.Module = network
    return loaded


class Network:
    """A network that turns stacked inputs into features, in batches that fit.

    If memory runs out, it halves the batch permanently and continues. `make` builds and
    loads it on first use. `forward` processes a batch (by default it calls the
    network). An `exact` network always runs in fp32.
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        *,
        batch: int | None = None,
        forward: Callable[[nn.Module, torch.Tensor], torch.Tensor] | None = None,
        exact: bool = False,
    ) -> None:
        self._make = make
        self._network: nn.Module | None = None
        self._forward = forward or (lambda network, inputs: network(inputs))
        self._batch = batch
        self._exact = exact

    @property
    def precision(self) -> str:
        return "fp32" if self._exact else precision()

    @property
    def batch(self) -> int:
        """Return how many inputs are encoded together at most."""
        if self._batch is None:
            self._batch = GPU_BATCH if device().type == "cuda" else CPU_BATCH
        return self._batch

    @property
    def network(self) -> nn.Module:
        """Return the loaded network, on its device and without gradients."""
        if self._network is None:
            where = device()
            network = self._make().eval().requires_grad_(False)
            try:
                self._network = network.to(where)
            except RuntimeError as error:
                raise DeviceError(
                    f"{type(network).__name__} cannot be brought to {where} ({error})"
                ) from error
        return self._network

    def __call__(
        self, inputs: Sequence[npt.NDArray[Any]]
    ) -> list[Feature | FeatureError]:
        """Return one feature per input; all inputs have one shape."""
        features: list[Feature | FeatureError] = []
        # A separate step: memory errors in loading do not depend on the batch.
        _ready = self.network
        start = 0
        while start < len(inputs):
            size = min(self.batch, len(inputs) - start)
            found = self._tried(inputs[start : start + size])
            if found is None:
                # Outside the failed attempt, so that its tensors are already free.
                torch.cuda.empty_cache()
                self._batch = max(1, size // 2)
                if size > 1:
                    continue
                reason = f"a single input does not fit into the memory of {device()}"
                found = [FeatureError(reason)]
            features += found
            start += size
        return features

    def _tried(
        self, inputs: Sequence[npt.NDArray[Any]]
    ) -> list[Feature | FeatureError] | None:
        """Return the features; None if the device has too little memory."""
        try:
            return list(self._run(inputs))
        except torch.OutOfMemoryError:
            return None
        except torch.AcceleratorError as error:
            # Later calls in this process would fail too.
            raise DeviceError(f"{device()} failed ({error})") from error

    def _run(self, inputs: Sequence[npt.NDArray[Any]]) -> list[Feature]:
        stacked = torch.from_numpy(np.stack(inputs))
        if device().type == "cuda":
            stacked = stacked.pin_memory().to(device(), non_blocking=True)
        with self.calculating():
            outputs = self._forward(self.network, stacked.float())
        return list(outputs.float().cpu().numpy())

    @contextmanager
    def calculating(self) -> Iterator[None]:
        """Run in the network's precision, without gradients."""
        mixed = self.precision == "bf16"
        with (
            torch.inference_mode(),
            torch.autocast(device().type, torch.bfloat16, enabled=mixed),
        ):
            yield


class NetworkEncoder:
    """An encoder that is a network with weights."""

    def __init__(
        self,
        name: str,
        weights: Weights,
        network: Network,
        prepare: Callable[[Any], Any] = lambda item: item,
        *,
        also: Sequence[Weights] = (),
    ) -> None:
        self.name = name
        self.weights = (weights, *also)
        self.network = network
        self.prepare = prepare

    @cached_property
    def id(self) -> str:
        """Return everything that decides the feature, with hashes of the weights."""
        files = fingerprint(*self.weights)
        return f"{self.name}; {files}; {self.network.precision}"

    @property
    def batch(self) -> int:
        return self.network.batch

    def encode(self, prepared: Sequence[Any]) -> list[Feature | FeatureError]:
        return self.network(prepared)
