"""Benchmarks whose methods have rendered every story as a small video."""

from pathlib import Path

from evalcore.models import Benchmark, Method, Output, Shot, Story
from tests.clips import stored_clip


def make_same_reel(
    clip: Path, seconds: float, methods: list[str], slug: str = "reel"
) -> Benchmark:
    """Two stories of two shots; every method rendered them as this video."""
    benchmark = Benchmark.objects.create(slug=slug, title=slug.title())
    stored = stored_clip(clip)
    rows = [Method.objects.get_or_create(name=name)[0] for name in methods]
    for key in ("01", "02"):
        story = Story.objects.create(benchmark=benchmark, key=key)
        for number in (1, 2):
            Shot.objects.create(
                story=story,
                number=number,
                text={"en": {"caption": f"Walk {number}"}},
                start_seconds=(number - 1) * seconds / 2,
                end_seconds=number * seconds / 2,
            )
        for method in rows:
            Output.objects.create(story=story, method=method, video=stored)
    return benchmark
