"""Most memory of a process that imports one large picture, format by format.

    python benchmarks/pictures.py [--megapixels 64]

Each picture is drawn, written and imported by `import_outputs` into a fresh database,
in a process of its own, with MEDIA_MAX_MEGAPIXELS at its size. "Before" is what the
process took until then, "most" the kernel's high-water mark of its memory (VmHWM).
"""

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
FORMATS = {
    "JPEG": ("jpg", "RGB", {"quality": 85}),
    "JPEG, progressive": ("jpg", "RGB", {"quality": 85, "progressive": True}),
    "PNG": ("png", "RGB", {"compress_level": 1}),
    "PNG with transparency": ("png", "RGBA", {"compress_level": 1}),
    "WebP": ("webp", "RGB", {"method": 0}),
}


def peak() -> int:
    """Return the most memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(found) // 1000


def draw(side: int) -> Image.Image:
    """Draw a square picture of gradients with some noise."""
    y, x = np.mgrid[0:side, 0:side].astype(np.uint16)
    bands = [x // 40, y // 40, (x + y) // 60, x]
    pixels = np.stack([band.astype(np.uint8) for band in bands], axis=-1)
    part = pixels[side // 4 : side // 2, side // 4 : side // 2]
    part ^= np.random.default_rng(0).integers(0, 32, part.shape, dtype=np.uint8)
    return Image.fromarray(pixels)


def measure(folder: Path) -> None:
    """Import a folder in this process and print what that took."""
    sys.path[0] = str(ROOT)  # `analysis` is a script beside this one, too
    import django

    django.setup()
    from django.core.management import call_command

    from evalcore.importing.outputs import import_outputs
    from evalcore.models import Benchmark

    call_command("migrate", verbosity=0)
    before, start = peak(), time.perf_counter()
    import_outputs(folder, benchmark=Benchmark(slug="large"), create_stories=True)
    print(before, peak(), f"{time.perf_counter() - start:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megapixels", type=int, default=64)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    picture = draw(math.isqrt(args.megapixels * 10**6))
    print(f"{'':24}{'before':>8}{'most':>8} MB{'time':>8} s")
    for name, (ending, mode, options) in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "outputs/Method/story" / f"shot_01.{ending}"
            path.parent.mkdir(parents=True)
            picture.convert(mode).save(path, **options)
            env = os.environ | {
                "DJANGO_SETTINGS_MODULE": "evalcore.settings",
                "DATA_DIR": f"{folder}/data",
                "MEDIA_MAX_MEGAPIXELS": str(args.megapixels),
            }
            done = subprocess.run(
                [sys.executable, __file__, "--measure", f"{folder}/outputs"],
                env=env,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            before, most, seconds = done.stdout.split()
            print(f"{name:24}{before:>8}{most:>8}   {seconds:>8}", flush=True)


if __name__ == "__main__":
    main()
