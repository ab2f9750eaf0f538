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

import numpy as np
import pytest
from PIL import Image as Pillow

from evalcore.metrics.base import Source
from evalcore.metrics.llm_judge.checkouts import Checkout
from evalcore.metrics.llm_judge.client import asking
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.llm_judge.serving import judge_at

STORIES = ("01", "02", "03", "04", "05")

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


def needs(checkout: Checkout) -> pytest.MarkDecorator:
    """Return a mark that skips a test without the checkout."""
    return pytest.mark.skipif(checkout.find() is None, reason=str(checkout.lack))


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


def asked_of(server, metric, subject, folder):
    """Return the bodies of a metric's requests, and its values."""
    before = len(server.asked)
    with asking(judge_at(server)):
        values = score(metric, subject, folder)
    return [asked.body for asked in server.asked[before:]], values


def without_name(body: dict) -> dict:
    return {key: value for key, value in body.items() if key != "model"}


def in_order(bodies: list[dict]) -> list[str]:
    """Return bodies as sorted JSON, since questions are asked in parallel."""
    return sorted(json.dumps(without_name(b), sort_keys=True) for b in bodies)


def png_source(path) -> Source:
    picture = np.asarray(Pillow.open(path).convert("RGB"))
    size = picture.shape[1], picture.shape[0]
    return Source(str(path), lambda: iter([picture]), size, path.read_bytes)
