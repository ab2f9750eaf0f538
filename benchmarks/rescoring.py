"""How long a run takes that finds everything done, or every feature remembered.

    python benchmarks/rescoring.py [--images 10000]
    python -m tests.with_postgres python benchmarks/rescoring.py

Makes a benchmark of outputs with 16 shots in a database of its own, computes two
baselines once, and times, from the request to the end of the run:

- the same run again (every value is there);
- the run after all values were removed (every feature is remembered).

The limit for both is 2 seconds for 10,000 images.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
from PIL import Image

from tests.pressure.drain import own_database

SHOTS, METHODS, SIDE = 16, 25, 64
METRICS = ["sharpness", "palette_consistency"]
LIMIT = 2.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000)
    return parser.parse_args()


def fill(images: int):
    """Store stories that every method has rendered, each picture another one."""
    from evalcore import media
    from evalcore.models import (
        Benchmark,
        Frame,
        MediaFile,
        Method,
        Output,
        Shot,
        Story,
    )

    benchmark = Benchmark.objects.create(slug="many", title="Many")
    methods = [Method.objects.create(name=f"M{i:02}") for i in range(METHODS)]
    stories = Story.objects.bulk_create(
        Story(benchmark=benchmark, key=f"{i:03}")
        for i in range(-(-images // (SHOTS * METHODS)))
    )
    shots = Shot.objects.bulk_create(
        Shot(story=story, number=n, text={"en": {"plot": "A fox walks."}})
        for story in stories
        for n in range(1, SHOTS + 1)
    )
    outputs = Output.objects.bulk_create(
        Output(story=story, method=method) for story in stories for method in methods
    )
    by_story = {
        story.pk: [s for s in shots if s.story_id == story.pk] for story in stories
    }
    rng = np.random.default_rng(0)
    files, frames = [], []
    for output in outputs[: images // SHOTS]:
        for shot in by_story[output.story_id]:
            pixels = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            stored = write(Image.fromarray(pixels), media)
            files.append(stored)
            frames.append(
                Frame(
                    output=output, shot=shot, number=shot.number, media_id=stored.sha256
                )
            )
    MediaFile.objects.bulk_create(files, batch_size=500)
    Frame.objects.bulk_create(frames, batch_size=500)
    return benchmark, len(frames)


def write(picture: Image.Image, media):
    """Write a picture where the store would; return its row."""
    from evalcore.models import MediaFile

    name = media.digest(picture.tobytes())
    row = MediaFile(
        sha256=name,
        source_sha256=name,
        content_type="image/png",
        extension="png",
        bytes=1,
        width=SIDE,
        height=SIDE,
    )
    path = media.original_path(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, compress_level=1)
    return row


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as name, own_database(Path(name)):
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": name,
            "MEDIA_ROOT": f"{name}/media",
        }
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from evalcore.models import MetricScore
        from evalcore.scoring import metric_runs

        call_command("migrate", verbosity=0)
        benchmark, images = fill(options.images)

        def timed() -> float:
            begun = time.perf_counter()
            run = metric_runs.run(metric_runs.queue_run(benchmark, METRICS).pk)
            assert run.state == "done", run.error
            return time.perf_counter() - begun

        first = timed()
        values = MetricScore.objects.count()
        print(f"{connection.vendor}, {images} images, {values} values: {first:.1f} s")
        late = 0
        for what, before in (
            ("every value there", lambda: None),
            ("every feature remembered", MetricScore.objects.all().delete),
        ):
            times = []
            for _ in range(3):
                before()
                times.append(timed())
            assert MetricScore.objects.count() == values
            middle = sorted(times)[1]
            late += middle > LIMIT
            print(f"{what}: median {middle:.2f} s of {[round(t, 2) for t in times]}")
    sys.exit(bool(late))


if __name__ == "__main__":
    main()
