"""Renderings for metrics, read from the database."""

import io

import numpy as np
import pytest
from PIL import Image

from evalcore.importing.outputs import import_outputs
from evalcore.models import (
    Benchmark,
    Character,
    CharacterImage,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import judged_outputs, metric_runs
from tests.clips import number_of, write_clip
from tests.factories import make_benchmark, picture_bytes, store_picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def woods():
    benchmark = make_benchmark(stories=2, shots=3)
    story = Story.objects.get(key="01")
    story.extra = {"vistar": {"angle": "TR"}}
    story.save()
    for key, kind in (("Fox", "non_human"), ("Ann", "realistic_human")):
        row = Character.objects.create(story=story, key=key, kind=kind)
        for ordinal in (2, 1):
            CharacterImage.objects.create(
                character=row,
                ordinal=ordinal,
                media=store_picture(picture_bytes(f"{key} {ordinal}")),
            )
    shot = story.shots.get(number=2)
    shot.characters.add(Character.objects.get(key="Ann"))
    return benchmark


def rendering(method="Alder", story="01"):
    output = Output.objects.get(method__name=method, story__key=story)
    return judged_outputs.rendering(output)


def test_rendering_has_pictures_texts_and_characters(woods):
    one = rendering()
    assert (one.story, one.method, one.is_video) == ("01", "Alder", False)
    assert [shot.number for shot in one.shots] == [1, 2, 3]
    assert one.shots[1].text["setting"] == "A wood, part 2"
    assert [shot.characters for shot in one.shots] == [(), ("Ann",), ()]
    assert set(one.characters) == {"Fox", "Ann"}
    assert one.characters["Ann"].kind == "realistic_human"
    assert one.extra == {"vistar": {"angle": "TR"}}
    first, second = one.characters["Fox"].references
    fox = Image.open(io.BytesIO(picture_bytes("Fox 1"))).convert("RGB")
    np.testing.assert_array_equal(first.read(), np.asarray(fox))
    assert first.key != second.key


def test_number_of_queries_is_independent_of_outputs(woods, django_assert_num_queries):
    # Outputs; frames with media; shots; references; characters; characters in each
    # shot.
    with django_assert_num_queries(6):
        judged_outputs.renderings(list(judged_outputs.outputs(woods)[:1]))
    with django_assert_num_queries(6):
        assert len(judged_outputs.renderings(list(judged_outputs.outputs(woods)))) == 6


@pytest.fixture
def reel(tmp_path):
    """Return a film of 4 s at 8 frames per second: .5 s given, then two captions."""
    benchmark = Benchmark.objects.create(slug="reel", title="Reel")
    story = Story.objects.create(benchmark=benchmark, key="01", conditioning_seconds=1)
    for number, start, end in ((1, 1.0, 2.0), (2, 2.0, 4.0)):
        Shot.objects.create(
            story=story,
            number=number,
            start_seconds=start,
            end_seconds=end,
            text={"en": {"caption": f"Caption {number}"}},
        )
    write_clip(tmp_path / "Loom" / "01.mp4", frames=32, rate=8)
    import_outputs(tmp_path, benchmark=benchmark)
    return benchmark


def test_video_is_divided_into_shots_without_conditioning_part(reel):
    one = judged_outputs.rendering(Output.objects.get())
    assert one.is_video
    shown = [[number_of(image.read()) for image in shot.frames] for shot in one.shots]
    assert shown == [list(range(8, 16)), list(range(16, 32))]


def test_videos_are_scored(reel):
    run = metric_runs.run(
        metric_runs.queue_run(reel, ["sharpness", "palette_consistency"]).pk
    )
    assert (run.state, run.error) == ("done", "")
    assert MetricScore.objects.filter(metric="sharpness").count() == 2
    assert MetricScore.objects.filter(metric="palette_consistency").count() == 1
