"""The engine: each item once, in batches, and one's misfortune is one's own."""

import threading
from collections import Counter

import numpy as np
import pytest

from evalcore.metrics.base import Ask, Clip, Image, Source, Text, Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.errors import FatalError, FeatureError
from evalcore.metrics.feature_cache import FeatureStore
from tests.evalcore.metrics.asking import image_of, noise


class Brightness:
    """An encoder that notes what it was given."""

    def __init__(self, name="brightness", batch=4):
        self.id = name
        self.batch = batch
        self.batches = []
        self.threads = set()

    def prepare(self, item):
        self.threads.add(threading.get_ident())
        return float(np.mean(item)) if not isinstance(item, Text) else len(item.text)

    def encode(self, prepared):
        self.batches.append(len(prepared))
        return [np.array([value]) for value in prepared]


def asking(encoder, items, tolerant=False):
    features = yield Ask(encoder, items, tolerant)
    return [
        Value(None, reason=str(f)) if isinstance(f, FeatureError) else Value(f.item())
        for f in features
    ]


@pytest.fixture
def engine(tmp_path):
    return Engine(FeatureStore(tmp_path))


def outcomes(engine, *scorings):
    jobs = [MetricJob(i, scoring) for i, scoring in enumerate(scorings)]
    return {outcome.key: outcome for outcome in engine.run(jobs)}


def values(outcome):
    assert outcome.error is None, outcome.error
    return [value.value for value in outcome.values]


PICTURES = [image_of(np.full((4, 6, 3), level, np.uint8)) for level in range(9)]


def test_each_item_is_encoded_once_in_full_batches(engine):
    encoder = Brightness(batch=4)
    outcomes(engine, *(asking(encoder, PICTURES) for _ in range(5)))
    assert encoder.batches == [4, 4, 1]
    again = Brightness(batch=4)
    outcomes(engine, asking(again, PICTURES))
    assert again.batches == []


def test_a_picture_is_decoded_once_for_all_that_want_it(engine):
    decoded = Counter()

    def pictures():
        decoded["it"] += 1
        return iter([noise(1)])

    source = Source("it", pictures)
    parts = [
        Image(source),
        Image(source, box=(0, 0, 10, 10)),
        Image(source, mirrored=True),
    ]
    one, two = Brightness("one"), Brightness("two")
    outcomes(engine, asking(one, parts), asking(two, parts[:1]))
    assert decoded == {"it": 1}
    assert sum(one.batches) == 3


def test_parts_are_cut_and_mirrored():
    picture = noise(3, (8, 6))
    image = image_of(picture)
    cut = Image(image.source, box=(1, 2, 4, 6), mirrored=True)
    np.testing.assert_array_equal(cut.read(), picture[2:6, 1:4][:, ::-1])
    assert cut.size == (3, 4)
    assert image.size == (8, 6)
    assert len({image.key, cut.key, Image(image.source, mirrored=True).key}) == 3


def test_frames_and_clips_of_a_video_come_from_one_decoding(engine):
    decoded = Counter()

    def frames():
        decoded["it"] += 1
        for level in range(10):
            decoded["frames"] += 1
            yield np.full((2, 2, 3), level, np.uint8)

    film = Source("film", frames)
    items = [Image(film, 3), Clip(film, 2, 6), Image(film, 0)]
    found = outcomes(engine, asking(Brightness(), items))
    assert values(found[0]) == [3, 3.5, 0]
    assert decoded == {"it": 1, "frames": 6}


def broken():
    raise OSError("the file is cut short")


def test_an_unreadable_picture_fails_those_who_asked_for_it(engine):
    bad = Image(Source("bad", broken))
    encoder = Brightness()
    found = outcomes(
        engine,
        asking(encoder, [PICTURES[0], bad]),
        asking(encoder, [PICTURES[0]]),
        asking(encoder, [bad, PICTURES[1]], tolerant=True),
    )
    assert str(found[0].error) == "the file is cut short"
    assert values(found[1]) == [0]
    assert values(found[2]) == [None, 1]
    assert found[2].values[0].reason == "the file is cut short"


def test_what_failed_is_tried_again_by_the_next_run(engine):
    readable = [False]

    def pictures():
        if not readable[0]:
            raise OSError("not yet")
        return iter([noise(1)])

    image = Image(Source("late", pictures))
    assert outcomes(engine, asking(Brightness(), [image]))[0].error is not None
    readable[0] = True
    assert outcomes(engine, asking(Brightness(), [image]))[0].error is None


def test_a_metric_may_go_on_after_a_refusal(engine):
    bad = Image(Source("bad", broken))
    encoder = Brightness()

    def scoring():
        try:
            yield Ask(encoder, [bad])
        except FeatureError as error:
            (feature,) = yield Ask(encoder, [PICTURES[7]])
            return [Value(feature.item(), reason=str(error))]

    found = outcomes(engine, scoring())
    assert values(found[0]) == [7]
    assert found[0].values[0].reason == "the file is cut short"


def test_metrics_may_ask_in_turns_and_not_at_all(engine):
    encoder = Brightness()

    def chain():
        (first,) = yield Ask(encoder, [PICTURES[2]])
        (second,) = yield Ask(encoder, [Text("x" * int(first.item()))])
        none = yield Ask(encoder, [])
        return [Value(second.item() + len(none))]

    def silent():
        yield from ()
        return [Value(1.0)]

    found = outcomes(engine, chain(), silent())
    assert values(found[0]) == [2]
    assert values(found[1]) == [1]


def test_a_formula_that_fails_is_its_outputs_own_misfortune(engine):
    def failing():
        yield Ask(Brightness(), PICTURES[:1])
        raise ZeroDivisionError("no pairs")

    found = outcomes(engine, failing(), asking(Brightness(), PICTURES[:1]))
    assert isinstance(found[0].error, ZeroDivisionError)
    assert values(found[1]) == [0]


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_what_an_encoder_fails_on_fails_alone_whatever_its_batch(engine, batch):
    class Moody(Brightness):
        def encode(self, prepared):
            if 2.0 in prepared:
                raise RuntimeError("the kernel failed")
            return super().encode(prepared)

    encoder = Moody(batch=batch)
    found = outcomes(engine, *(asking(encoder, [PICTURES[i]]) for i in range(4)))
    assert [found[i].error is None for i in range(4)] == [True, True, False, True]


@pytest.mark.parametrize("error", [FatalError("the budget is spent"), KeyError("bug")])
def test_anything_else_ends_the_run_and_keeps_what_was_encoded(engine, error):
    class Fatal(Brightness):
        def encode(self, prepared):
            if len(self.batches) == 2:
                raise error
            return super().encode(prepared)

    encoder = Fatal(batch=2)
    with pytest.raises(type(error)):
        outcomes(engine, asking(encoder, PICTURES))
    rest = Brightness(batch=2)
    outcomes(engine, asking(rest, PICTURES))
    assert sum(rest.batches) == 9 - 4


def test_outcomes_come_before_the_last_job_is_begun(tmp_path):
    """A long run stores as it goes: at most a window of jobs is open."""
    begun = []

    def jobs():
        for i in range(30):
            begun.append(i)
            yield MetricJob(i, asking(encoder, [PICTURES[i % 9]]))

    encoder = Brightness()
    engine = Engine(FeatureStore(tmp_path), window=5)
    first = next(engine.run(jobs()))
    assert first.key == 0
    assert len(begun) == 5


def test_a_job_is_done_as_soon_as_all_it_asked_for_is_known(engine):
    encoder = Brightness(batch=2)
    jobs = [
        MetricJob(i, asking(encoder, PICTURES[2 * i : 2 * i + 2])) for i in range(4)
    ]
    found = engine.run(jobs)
    for done in range(1, 5):
        assert next(found).key == done - 1
        assert encoder.batches == [2] * done


def test_within_a_run_all_hear_the_same_of_an_item(tmp_path):
    class Moody(Brightness):
        def encode(self, prepared):
            features = super().encode(prepared)
            return features if len(self.batches) > 1 else [FeatureError("not now")]

    encoder = Moody()
    jobs = [MetricJob(i, asking(encoder, PICTURES[:1])) for i in range(2)]
    engine = Engine(FeatureStore(tmp_path), window=1)
    assert [str(one.error) for one in engine.run(jobs)] == ["not now"] * 2
    assert encoder.batches == [1]
    assert values(outcomes(engine, asking(encoder, PICTURES[:1]))[0]) == [0]


def test_every_batch_is_a_sign_of_life(tmp_path):
    signs = []
    engine = Engine(FeatureStore(tmp_path), on_batch=lambda: signs.append(1))
    outcomes(engine, asking(Brightness(batch=2), PICTURES))
    assert len(signs) == 5
    assert engine.counts.encoded == {"brightness": 9}


def test_pictures_are_decoded_in_threads(tmp_path):
    barrier = threading.Barrier(3, timeout=20)

    def waiting():
        barrier.wait()  # passes only if three decode at once
        return iter([noise(1)])

    images = [Image(Source(str(i), waiting)) for i in range(3)]
    engine = Engine(FeatureStore(tmp_path), threads=3)
    assert outcomes(engine, asking(Brightness(), images))[0].error is None
