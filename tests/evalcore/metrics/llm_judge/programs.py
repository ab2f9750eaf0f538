"""The papers' own programs, run from the operator's checkouts with the network faked.

A test that needs one is skipped without it, and prints the line that brings it.
"""

import importlib
import json
import os
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest

from evalcore.metrics.llm_judge.checkouts import Checkout

PROGRAMS = ("vistorybench", "scripts", "eval")
# Packages of the programs that their request builders do not use.
UNUSED = (
    "insightface",
    "groundingdino",
    "groundingdino.util",
    "groundingdino.util.inference",
    "facexlib",
    "facexlib.utils",
    "facexlib.utils.face_restoration_helper",
    "vistorybench.bench.content.AdaFace",
    "vistorybench.bench.content.AdaFace.inference",
    "qwen_vl_utils",
)


def needs(checkout: Checkout, weights: str | None) -> pytest.MarkDecorator:
    """Return a mark that skips a test without the checkout in the folder `weights`."""
    with mock.patch.dict(os.environ, {"EVALCORE_WEIGHTS_DIR": weights or ""}):
        there = checkout.find() is not None
    return pytest.mark.skipif(not there, reason=str(checkout.lack))


@contextmanager
def program_modules(folder, *names):
    """Yield modules of a program, which finds its files from its own folder."""
    natsort, megfile = ModuleType("natsort"), ModuleType("megfile")
    natsort.natsorted = sorted
    megfile.smart_open = open
    stubs = {name: mock.MagicMock() for name in UNUSED}
    stubs |= {"natsort": natsort, "megfile": megfile}
    stubs = {name: stub for name, stub in stubs.items() if name not in sys.modules}
    before, environment = os.getcwd(), dict(os.environ)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.modules.update(stubs)
    try:
        yield [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        # Libraries that the program imported stay: torch cannot be imported twice.
        for name in list(sys.modules):
            if name in stubs or name.partition(".")[0] in PROGRAMS:
                del sys.modules[name]


class Posted:
    """Requests that ViStoryBench's program posts, and scripted replies to them."""

    def __init__(self, *replies: str) -> None:
        self.bodies: list[dict] = []
        self.replies = list(replies) or ["Score: 3"]

    def post(self, url, headers, data):
        self.bodies.append(json.loads(data))
        text = self.replies[min(len(self.bodies), len(self.replies)) - 1]
        body = {"choices": [{"message": {"content": text}}]}
        return SimpleNamespace(status_code=200, json=lambda: body)
