"""Files with several pictures: how they are cut, and that the metrics see each one."""

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import Image, Run, Source
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.oneig.prompt import cells, seen_pictures
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at

RED, GREEN, BLUE, BLACK = (90, 0, 0), (0, 90, 0), (0, 0, 90), (0, 0, 0)


def grid_of(*rows):
    """A picture of 8 x 8 fields of colour; of several, a pixel too many on a side."""
    fields = [[np.full((8, 8, 3), colour, np.uint8) for colour in row] for row in rows]
    whole = np.vstack([np.hstack(row) for row in fields])
    more = (0, len(rows) > 1), (0, len(rows[0]) > 1), (0, 0)
    return np.pad(whole, more, constant_values=255)


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


def test_a_picture_smaller_than_the_grid():
    with pytest.raises(
        ValueError, match="a picture of 9 x 1 pixels has no 2 x 2 cells"
    ):
        cells(image(9, 1), (2, 2))


def seen(picture, grid, folder):
    """The names of the pictures in a file of so many columns and rows."""
    job = MetricJob("it", seen_pictures(rendering_of([picture]), grid))
    (outcome,) = Engine(FeatureStore(folder)).run([job])
    return list(outcome.values)


def test_black_cells_are_no_pictures(tmp_path):
    assert seen(grid_of([RED, GREEN], [BLUE, RED]), (2, 2), tmp_path) == [
        *("1.1", "1.2", "1.3", "1.4")
    ]
    picture = grid_of([RED, BLACK], [BLACK, GREEN])
    assert seen(picture, (2, 2), tmp_path) == ["1.1", "1.4"]


def judged(server, name, subject, folder):
    with asking(judge_at(server)):
        (value,) = score(registry.load(name), subject, folder)
    return value


def test_alignment_asks_of_each_cell(server, tmp_path):
    server.then = answers("Yes")
    wide = np.hstack([noise(1), noise(2)])
    subject = rendering_of([wide, None, wide], oneig={"questions": {"1": "A fox?"}})
    value = judged(server, "oneig_alignment@grid-2x1", subject, tmp_path)
    assert list(value.trace["answers"]) == ["1.1", "1.2", "3.1", "3.2"]
    assert len(server.asked) == 2  # both files show the same
    value = judged(server, "oneig_alignment", subject, tmp_path)
    assert list(value.trace["answers"]) == ["1", "3"]


@pytest.mark.parametrize("name", ["oneig_text", "oneig_text_pooled"])
def test_texts_are_read_in_each_cell(server, tmp_path, name):
    server.then = answers("Open")
    subject = rendering_of([np.hstack([noise(1), noise(2)])], oneig={"text": "Open"})
    whole = Run("Alder", (subject,)) if name.endswith("pooled") else subject
    value = judged(server, f"{name}@oneig-judge-grid-2x1", whole, tmp_path)
    assert (value.value, value.trace["pictures"]) == (1, 2)
    profile = registry.load(f"{name}@rapidocr-grid-2x1").info
    assert (profile.profile, profile.queue) == ("rapidocr-grid-2x1", "cpu")


@pytest.mark.parametrize(
    "name",
    [
        "oneig_alignment@grid-2x0",
        "oneig_alignment@grid-10x1",
        "oneig_alignment@2x2",
        "oneig_alignment@",
        "oneig_text@grid-2x2",
        "oneig_text@rapidocr-grid-2",
        "hwpq@vistar-single-grid-2x2",
    ],
)
def test_other_grids_are_refused(name):
    with pytest.raises(registry.UnknownMetricError, match="has no profile"):
        registry.load(name)
