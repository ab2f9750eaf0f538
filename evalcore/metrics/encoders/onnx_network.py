"""Running a network in ONNX's format, on the processor.

Faces are small: a processor finds and recognises those of a whole benchmark in minutes,
and the features are the same on every machine.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as states

from evalcore.metrics.weights import Weights, WeightsError, fingerprint

# What onnxruntime raises; they have no common parent of their own.
ERRORS = (
    states.EPFail,
    states.Fail,
    states.InvalidArgument,
    states.InvalidGraph,
    states.InvalidProtobuf,
    states.NoSuchFile,
    states.NotImplemented,
    states.RuntimeException,
)


class OnnxNetwork:
    """A network read from a file when first needed; several threads may call it.

    `outputs`: how many outputs it must have. `threads`: how many of its own it uses for
    a call; by default one a processor.
    """

    def __init__(self, weights: Weights, *, outputs: int, threads: int = 0) -> None:
        self.weights = weights
        self.outputs = outputs
        self.threads = threads

    @cached_property
    def id(self) -> str:
        return fingerprint(self.weights)

    @cached_property
    def session(self) -> Any:
        path = self.weights.need()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        # Published files name a fixed batch of 1 as the shape of outputs that have
        # any; without this every batch would be warned about.
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except ERRORS as error:
            raise WeightsError(f"{path} cannot be read as ONNX ({error})") from error
        found = len(session.get_outputs())
        if found != self.outputs or len(session.get_inputs()) != 1:
            raise WeightsError(
                f"{path} is another network: it has {len(session.get_inputs())} inputs "
                f"and {found} outputs, not 1 and {self.outputs}"
            )
        return session

    def __call__(
        self, batch: npt.NDArray[np.float32]
    ) -> Sequence[npt.NDArray[np.float32]]:
        session = self.session
        try:
            outputs = session.run(None, {session.get_inputs()[0].name: batch})
        except ERRORS as error:
            raise RuntimeError(f"{self.weights.path}: {error}") from error
        return [np.asarray(output) for output in outputs]

    @property
    def fixed_batch(self) -> int | None:
        """Return how many inputs it takes at once, if it takes just that many."""
        first = self.session.get_inputs()[0].shape[0]
        return first if isinstance(first, int) else None
