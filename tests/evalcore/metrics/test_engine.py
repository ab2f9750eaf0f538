"""The engine: each item once, in batches, and errors limited to their metrics."""

import threading
from collections import Counter

import numpy as np
import pytest

from evalcore.metrics.base import (
    Ask,
    Clip,
    FatalError,
    FeatureError,
    Image,
    Source,
    Text,
    Value,
)
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from tests.evalcore.metrics.asking import image_of, noise


class Brightness:
    """Encoder that records its inputs."""

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


def test_items_are_encoded_once_in_full_batches(engine):
    encoder = Brightness(batch=4)
    outcomes(engine, *(asking(encoder, PICTURES) for _ in range(5)))
    assert encoder.batches == [4, 4, 1]
    again = Brightness(batch=4)
    outcomes(engine, asking(again, PICTURES))
    assert again.batches == []


def test_feature_that_a_metric_cannot_use_serves_one_run_only(tmp_path):
    """The first three pictures are too dark for the second metric."""

    def bright(feature):
        return feature.item() > 2

    def picky(encoder):
        features = yield Ask(encoder, PICTURES, keep=bright)
        return [Value(feature.item()) for feature in features]

    for encoded in ([9], [3]):
        encoder = Brightness(batch=16)
        engine = Engine(FeatureStore(tmp_path), window=1)
        found = outcomes(engine, picky(encoder), picky(encoder))
        assert values(found[0]) == values(found[1]) == list(range(9))
        assert encoder.batches == encoded
    stored = FeatureStore(tmp_path).get_many("brightness", [p.key for p in PICTURES])
    assert {feature.item() for feature in stored.values()} == set(range(3, 9))


def test_versions_of_used_answers_go_with_the_outcome(engine):
    class Answering(Brightness):
        def version_of(self, feature):
            return f"v{int(feature.item()) % 3}" if feature.item() else ""

    def picky(encoder, keep):
        features = yield Ask(encoder, PICTURES[:6], keep=keep)
        yield Ask(Brightness("plain"), PICTURES)
        return [Value(feature.item()) for feature in features]

    found = outcomes(
        engine,
        picky(Answering("owl"), None),
        picky(Answering("owl"), lambda f: f.item() % 3 != 1),
    )
    assert found[0].judge_versions == {"v0", "v1", "v2"}
    assert found[1].judge_versions == {"v0", "v2"}


def test_computation_again_replaces_stored_features_once(tmp_path):
    """Also for a worker that continues it."""
    one = PICTURES[:1]
    outcomes(Engine(FeatureStore(tmp_path)), asking(Brightness(), one))

    class Brighter(Brightness):
        def encode(self, prepared):
            return [feature + 10 for feature in super().encode(prepared)]

    for encoded in ([1], []):
        again = Brighter()
        engine = Engine(FeatureStore(tmp_path), again="7")
        assert values(outcomes(engine, asking(again, one))[0]) == [10]
        assert again.batches == encoded
    plain = Engine(FeatureStore(tmp_path))
    assert values(outcomes(plain, asking(Brightness(), one))[0]) == [10]


def test_picture_is_decoded_once_for_all_metrics(engine):
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


def test_unreadable_picture_fails_only_requesting_metrics(engine):
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


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_encoder_error_fails_only_its_item(engine, batch):
    class Moody(Brightness):
        def encode(self, prepared):
            if 2.0 in prepared:
                raise RuntimeError("the kernel failed")
            return super().encode(prepared)

    encoder = Moody(batch=batch)
    found = outcomes(engine, *(asking(encoder, [PICTURES[i]]) for i in range(4)))
    assert [found[i].error is None for i in range(4)] == [True, True, False, True]


@pytest.mark.parametrize("error", [FatalError("the budget is spent"), KeyError("bug")])
def test_fatal_error_ends_run_and_keeps_features(engine, error):
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
