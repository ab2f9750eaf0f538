"""Files with several pictures: cutting, and use of each one by the metrics."""

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import Image, Run, Source
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.oneig.alignment import cells
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at

RED, GREEN, BLUE, BLACK = (90, 0, 0), (0, 90, 0), (0, 0, 90), (0, 0, 0)


def image(width, height, box=None):
    return Image(Source("a", lambda: iter(()), (width, height)), box=box)


@pytest.mark.parametrize(
    ("size", "grid", "boxes"),
    [
        ((8, 6), (2, 2), [(0, 0, 4, 3), (4, 0, 8, 3), (0, 3, 4, 6), (4, 3, 8, 6)]),
        ((9, 7), (2, 2), [(0, 0, 4, 3), (4, 0, 8, 3), (0, 3, 4, 6), (4, 3, 8, 6)]),
        ((9, 4), (3, 1), [(0, 0, 3, 4), (3, 0, 6, 4), (6, 0, 9, 4)]),
        ((4, 9), (1, 3), [(0, 0, 4, 3), (0, 3, 4, 6), (0, 6, 4, 9)]),
        ((5, 5), (1, 1), [(0, 0, 5, 5)]),
    ],
)
def test_cells_are_cut_row_by_row(size, grid, boxes):
    assert [cell.box for cell in cells(image(*size), grid)] == boxes


def judged(server, name, subject, folder):
    with asking(judge_at(server)):
        (value,) = score(registry.load(name), subject, folder)
    return value


@pytest.mark.parametrize("name", ["oneig_text", "oneig_text_pooled"])
def test_texts_are_read_in_each_cell(server, tmp_path, name):
    server.then = answers("Open")
    subject = rendering_of([np.hstack([noise(1), noise(2)])], oneig={"text": "Open"})
    whole = Run("Alder", (subject,)) if name.endswith("pooled") else subject
    value = judged(server, f"{name}@plumbline-1-grid-2x1", whole, tmp_path)
    assert (value.value, value.trace["pictures"]) == (1, 2)
    profile = registry.load(f"{name}@rapidocr-grid-2x1").info
    assert (profile.profile, profile.queue) == ("rapidocr-grid-2x1", "cpu")
