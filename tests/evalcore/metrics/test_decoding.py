"""Decoding ahead: in order, with frames released in time, and in bounded memory."""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evalcore.metrics.base import Ask, Image, Source, Text, Value
from evalcore.metrics.decoding import Ahead
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from tests.serving import wait_until

THREADS = 2


class Whole:
    """Encoder that takes pictures unchanged."""

    id = "whole"
    batch = 4

    def prepare(self, item):
        return item

    def encode(self, prepared):
        return [np.array([one.mean()]) for one in prepared]


class Small(Whole):
    """Encoder whose inputs share no memory with the picture."""

    id = "small"

    def prepare(self, item):
        return np.array([item.mean()])


class Film:
    """Film of 1000 bytes per frame that counts its frames still in memory."""

    def __init__(self, frames):
        self.frames = frames
        self.most = 0
        self._made = []
        self.source = Source(f"film {id(self)}", self._pictures)

    def _pictures(self):
        for level in range(self.frames):
            frame = np.full((20, 50, 1), level % 256, np.uint8)
            self._made.append(weakref.ref(frame))
            self.most = max(self.most, self.alive)
            yield frame

    @property
    def alive(self):
        return sum(made() is not None for made in self._made)

    def images(self):
        return [Image(self.source, index) for index in range(self.frames)]


@pytest.fixture
def pool():
    with ThreadPoolExecutor(THREADS) as pool:
        yield pool


def wants(encoder, *films):
    return [(encoder, image) for film in films for image in film.images()]


def asking(encoder, items):
    features = yield Ask(encoder, items)
    return [Value(feature.item()) for feature in features]


def test_frame_is_released_after_preparation(tmp_path):
    films = [Film(300), Film(300)]
    jobs = [
        MetricJob(i, asking(Small(), film.images())) for i, film in enumerate(films)
    ]
    engine = Engine(FeatureStore(tmp_path), threads=THREADS)
    for outcome in engine.run(jobs):
        assert [value.value for value in outcome.values] == [
            i % 256 for i in range(300)
        ]
    # The frame being decoded, the previous one, and one held by the decoder.
    assert max(film.most for film in films) <= 4


def test_waiting_inputs_stay_below_bound(pool):
    films = [Film(50), Film(50), Film(50)]
    ahead = Ahead(pool, most_loads=8, most_bytes=10_000)
    coming = ahead.prepare(wants(Whole(), *films))
    first = next(coming)
    wait_until(lambda: sum(film.alive for film in films) >= 10, 60, "ten frames")
    time.sleep(0.3)  # long enough for two threads to decode everything
    # Ten are queued; each thread holds one that waits, and the one it came from.
    assert 10 <= sum(film.alive for film in films) <= 10 + 2 * THREADS + 1
    assert [first.key, *(one.key for one in coming)] == [
        image.key for film in films for image in film.images()
    ]


def test_inputs_keep_order_when_a_thread_is_slow(pool):
    def slow():
        time.sleep(0.2)
        yield np.zeros((2, 2, 3), np.uint8)

    sources = [Source("slow", slow), *(film.source for film in (Film(1), Film(1)))]
    items = [Text("said"), *map(Image, sources)]
    found = Ahead(pool, most_loads=4).prepare(
        (Whole() if i else Length(), item) for i, item in enumerate(items)
    )
    assert [one.key for one in found] == [item.key for item in items]


class Length(Whole):
    id = "length"

    def prepare(self, item):
        return len(item.text)


def test_early_stop_leaves_no_thread_waiting():
    pool = ThreadPoolExecutor(THREADS)
    coming = Ahead(pool, most_loads=8, most_bytes=1).prepare(
        wants(Whole(), *(Film(50) for _ in range(6)))
    )
    next(coming)
    coming.close()
    ending = threading.Thread(target=pool.shutdown, daemon=True)
    ending.start()
    ending.join(10)
    assert not ending.is_alive()
