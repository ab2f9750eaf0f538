"""Encoders that may run in bf16, and their parts that never do.

Mixed precision works on a CPU too, so these tests show the behaviour of a GPU.
"""

import numpy as np
import pytest
import torch

from evalcore.metrics.encoders import runtime
from evalcore.metrics.encoders.runtime import Network

ADAFACE_UNITS, ADAFACE_WIDTHS = (1, 1, 1, 1), (8, 8, 16, 16)


@pytest.fixture
def weights(weights, monkeypatch):
    monkeypatch.setenv("EVALCORE_PRECISION", "bf16")
    return weights


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_fp32_is_the_default_everywhere(device, monkeypatch):
    monkeypatch.delenv("EVALCORE_PRECISION", raising=False)
    monkeypatch.setattr(runtime, "device", lambda: torch.device(device))
    assert runtime.precision() == "fp32"
    assert Network(torch.nn.Identity).precision == "fp32"


class Product(torch.nn.Module):
    """Multiplies by a matrix: under bf16 its output is bf16."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, batch):
        self.seen = self.layer(batch)
        return self.seen


@pytest.mark.parametrize(
    ("exact", "named", "kind"),
    [(True, "fp32", torch.float32), (False, "bf16", torch.bfloat16)],
)
def test_exact_network_is_never_rounded(weights, exact, named, kind):
    product = Product()
    network = Network(lambda: product, exact=exact)
    network([np.ones(3, np.float32)])
    assert product.seen.dtype == kind
    assert network.precision == named
