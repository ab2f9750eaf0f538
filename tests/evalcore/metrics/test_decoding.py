"""Decoding ahead: in order, each frame let go in time, and never too much at once."""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evalcore.metrics.base import Ask, Clip, Image, Source, Text, Value
from evalcore.metrics.decoding import Ahead
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.feature_cache import FeatureStore
from tests.serving import wait_until

THREADS = 2


class Whole:
    """An encoder that takes pictures as they are."""

    id = "whole"
    batch = 4

    def prepare(self, item):
        return item

    def encode(self, prepared):
        return [np.array([one.mean()]) for one in prepared]


class Small(Whole):
    """An encoder whose inputs are no part of the picture."""

    id = "small"

    def prepare(self, item):
        return np.array([item.mean()])


class Film:
    """A film of 1000 bytes a frame that counts how many of its frames are alive."""

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


def test_a_frame_of_a_long_film_is_let_go_when_it_is_prepared(tmp_path):
    films = [Film(300), Film(300)]
    jobs = [
        MetricJob(i, asking(Small(), film.images())) for i, film in enumerate(films)
    ]
    engine = Engine(FeatureStore(tmp_path), threads=THREADS)
    for outcome in engine.run(jobs):
        assert [value.value for value in outcome.values] == [
            i % 256 for i in range(300)
        ]
    # The one that is decoded, the one before it, and who hands them on.
    assert max(film.most for film in films) <= 4


def test_a_clip_keeps_its_own_frames_until_it_is_complete(pool):
    film = Film(40)
    clips = [
        Clip(film.source, 2, 5),
        Clip(film.source, 4, 8),
        Clip(film.source, 30, 33),
    ]
    ahead = Ahead(pool, most_loads=4)
    found = list(ahead.prepare((Whole(), clip) for clip in clips))
    assert [one.input[:, 0, 0, 0].tolist() for one in found] == [
        [2, 3, 4],
        [4, 5, 6, 7],
        [30, 31, 32],
    ]
    assert film.most <= 6  # four of a clip, and the next one on its way


def test_what_nobody_takes_stays_below_the_bound(pool):
    films = [Film(50), Film(50), Film(50)]
    ahead = Ahead(pool, most_loads=8, most_bytes=10_000)
    coming = ahead.prepare(wants(Whole(), *films))
    first = next(coming)
    wait_until(lambda: sum(film.alive for film in films) >= 10, 60, "ten frames")
    time.sleep(0.3)  # long enough for two threads to decode everything
    # Ten are put down; each thread holds one that waits, and the one it came from.
    assert 10 <= sum(film.alive for film in films) <= 10 + 2 * THREADS + 1
    assert [first.key, *(one.key for one in coming)] == [
        image.key for film in films for image in film.images()
    ]


def test_what_is_larger_than_the_bound_passes_one_by_one(pool):
    films = [Film(5) for _ in range(6)]
    ahead = Ahead(pool, most_loads=3, most_bytes=1)
    found, most = 0, 0
    for _prepared in ahead.prepare(wants(Whole(), *films)):
        time.sleep(0.01)  # the threads do what they may
        found, most = found + 1, max(most, sum(film.alive for film in films))
    assert found == 30
    # One is put down and one taken; each thread holds one, and what it came from.
    assert most <= 2 + 2 * THREADS + 1


def test_a_part_of_a_picture_counts_as_all_of_it(pool):
    films = [Film(1) for _ in range(20)]
    parts = [(Whole(), Image(film.source, box=(0, 0, 1, 1))) for film in films]
    coming = Ahead(pool, most_loads=20, most_bytes=5_000).prepare(parts)
    next(coming)
    time.sleep(0.3)
    assert sum(film.alive for film in films) <= 5 + 2 * THREADS + 1
    coming.close()


def test_inputs_come_in_order_whichever_thread_is_slow(pool):
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


def test_one_frame_serves_several_encoders(pool):
    film = Film(2)
    ahead = Ahead(pool, most_loads=4)
    found = list(ahead.prepare([*wants(Whole(), film), *wants(Small(), film)]))
    assert sorted((one.encoder, one.key) for one in found) == sorted(
        (name, image.key) for name in ("whole", "small") for image in film.images()
    )
    assert len(film._made) == 2


def test_a_film_that_breaks_off_fails_what_lies_behind(pool):
    def broken():
        yield np.zeros((2, 2, 3), np.uint8)
        raise OSError("the file is cut short")

    source = Source("broken", broken)
    items = [Image(source, 0), Image(source, 1), Clip(source, 0, 2)]
    found = list(Ahead(pool, most_loads=4).prepare((Whole(), item) for item in items))
    assert found[0].input.shape == (2, 2, 3)
    assert [str(one.input) for one in found[1:]] == ["the file is cut short"] * 2
    assert all(isinstance(one.input, FeatureError) for one in found[1:])


@pytest.mark.parametrize(
    ("item", "missing"),
    [(lambda s: Image(s, 7), 7), (lambda s: Clip(s, 1, 9), 3)],
)
def test_the_first_frame_that_is_not_there_is_named(pool, item, missing):
    wanted = item(Film(3).source)
    (one,) = Ahead(pool, most_loads=4).prepare([(Whole(), wanted)])
    assert str(one.input) == f"there is no frame {missing}"


def test_a_clip_of_no_frames_fails(pool):
    film = Film(3)
    (one,) = Ahead(pool, most_loads=4).prepare([(Whole(), Clip(film.source, 2, 2))])
    assert isinstance(one.input, FeatureError)


def test_who_stops_early_leaves_no_thread_waiting():
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


def test_a_mistake_in_the_program_is_no_fault_of_a_picture(pool):
    class Wrong(Whole):
        def prepare(self, item):
            raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        list(Ahead(pool, most_loads=4).prepare(wants(Wrong(), Film(2))))


def test_large_pictures_are_encoded_before_a_batch_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("evalcore.metrics.engine.MOST_BYTES", 2_500)

    class Noting(Whole):
        batch = 16
        sizes = []

        def encode(self, prepared):
            self.sizes.append(len(prepared))
            return super().encode(prepared)

    encoder = Noting()
    engine = Engine(FeatureStore(tmp_path), threads=THREADS)
    list(engine.run([MetricJob(0, asking(encoder, Film(7).images()))]))
    assert encoder.sizes == [3, 3, 1]
