"""Check of metrics against expected values, on a story drawn by code.

A value that can be had by hand, or from another program, is expected wherever the
metric runs (`EXPECTED`). What needs published weights has no expected value until it
was recorded on a machine that has them; the record names their hashes.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from evalcore.metrics import registry
from evalcore.metrics.base import (
    Image,
    Metric,
    Pair,
    Picture,
    RenderedCharacter,
    RenderedShot,
    Rendering,
    Run,
    Source,
)
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.identity import identity_of
from evalcore.metrics.weights import weights_of

RECORD = Path(__file__).with_name("checked.json")
NEVER = "never checked with real weights"
SIDE = 256
# Rounding of features in fp32 by other processors and versions of libraries.
ROUNDING = 1e-3
PACKAGES = ("torch", "torchvision", "transformers", "open_clip_torch", "onnxruntime")
State = Literal[
    "agrees", "differs", "computed", "failed", "not ready", "judge", "import only"
]


@dataclass(frozen=True)
class Expected:
    """Expected mean of a metric's values on its subject, and where it comes from."""

    value: float
    source: str
    tolerance: float = ROUNDING


@dataclass(frozen=True)
class Record:
    """A value that was computed with real weights."""

    value: float | None  # mean of its values; None with the reason if none is defined
    reason: str
    metric_version: str  # version and profile
    weights: Mapping[str, str]  # SHA-256 of each file, by its path, as in its identity
    # Precision, device, versions of packages.
    run: Mapping[str, str] = field(compare=False)
    date: str = field(compare=False)  # day of the computation


@dataclass(frozen=True)
class Check:
    """Result of a metric's check; `record` is what was computed now, if anything."""

    name: str
    state: State
    text: str
    record: Record | None = None


# Subjects ----------------------------------------------------------------------------


def plain(*colours: tuple[int, int, int]) -> Picture:
    """Return a picture of vertical stripes of equal width."""
    width = SIDE // len(colours)
    stripes = [np.full((SIDE, width, 3), one, np.uint8) for one in colours]
    return np.concatenate(stripes, axis=1)


RED, GREEN = (255, 0, 0), (0, 255, 0)
SKIN, SKY, GRASS, INK = (232, 190, 160), (150, 200, 240), (90, 160, 80), (30, 30, 40)
COATS = {"Ann": (200, 40, 40), "Bob": (40, 70, 190)}


def figures(*people: tuple[str, int], side: int = 2 * SIDE) -> Picture:
    """Return a meadow with drawn people at places from left to right, 0 to 100."""
    picture = Pillow.new("RGB", (side, side), SKY)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, side * 2 // 3, side, side), fill=GRASS)
    for name, place in people:
        x, unit = side * place // 100, side // 16
        draw.rectangle((x - unit, 7 * unit, x + unit, 12 * unit), fill=COATS[name])
        draw.rectangle((x - unit, 12 * unit, x + unit, 14 * unit), fill=INK)
        draw.ellipse((x - unit, 4 * unit, x + unit, 7 * unit), fill=SKIN)
        for eye in (x - unit // 2, x + unit // 2):
            draw.ellipse((eye - 3, 5 * unit, eye + 3, 5 * unit + 6), fill=INK)
        draw.arc((x - 9, 5 * unit, x + 9, 6 * unit), 20, 160, fill=INK, width=2)
    return np.asarray(picture)


def sign(text: str) -> Picture:
    """Return a white sign with a text."""
    picture = Pillow.new("RGB", (2 * SIDE, SIDE), "white")
    font = ImageFont.load_default(60)
    ImageDraw.Draw(picture).text((40, 90), text, fill="black", font=font)
    return np.asarray(picture)


def image_of(key: str, *pictures: Picture) -> list[Image]:
    """Return the pictures of one file."""
    height, width = pictures[0].shape[:2]
    source = Source(f"check {key}", lambda: iter(pictures), (width, height))
    return [Image(source, index) for index in range(len(pictures))]


def stripes() -> Rendering:
    """Return four shots: red, red, red beside green, and one without a picture."""
    pictures = (plain(RED), plain(RED), plain(RED, GREEN))
    shots = [
        RenderedShot(number, tuple(image_of(f"stripes {number}", picture)))
        for number, picture in enumerate(pictures, start=1)
    ]
    return Rendering("check", "check", (*shots, RenderedShot(4)))


def meadow(method: str, shift: int) -> Rendering:
    """Return a story of two people on a meadow, in four shots, as a video's frames."""
    people = {"Ann": ("Ann",), "Bob": ("Bob",), "both": ("Ann", "Bob")}
    order = ["Ann", "Bob", "both", "both"]
    places = {"Ann": 25, "Bob": 70}
    pictures = [
        figures(*((name, places[name] + shift + number) for name in people[who]))
        for number, who in enumerate(order)
    ]
    frames = [picture for picture in pictures for _ in range(8)]
    images = image_of(f"meadow {method}", *frames)
    shots = tuple(
        RenderedShot(
            number + 1,
            tuple(images[number * 8 : number * 8 + 8]),
            {"caption": f"{' and '.join(people[who])} on a meadow under a blue sky."},
            people[who],
        )
        for number, who in enumerate(order)
    )
    characters = {
        name: RenderedCharacter(
            name, "realistic_human", tuple(image_of(f"of {name}", figures((name, 50))))
        )
        for name in COATS
    }
    return Rendering("check", method, shots, characters, is_video=True)


def signs() -> Rendering:
    """Return one shot that must show a text, and shows it."""
    words = {"prompt": 'A white sign with the words "HELLO WORLD".'}
    shown = tuple(image_of("sign", sign("HELLO WORLD")))
    return Rendering("check", "check", (RenderedShot(1, shown, words),))


def subject_of(metric: Metric) -> Rendering | Pair | Run:
    """Return what a metric is checked on."""
    name, level = metric.info.name, metric.info.scores
    if name in {"text_rendering", "oneig_text"}:
        return signs()
    if metric.info.family == "baseline" and not weights_of(metric):
        return stripes()
    output, truth = meadow("check", 0), meadow("true one", 3)
    if level == "pair":
        return Pair(output, truth)
    return Run("check", (output,), (truth,)) if level == "run" else output


# Expected values ---------------------------------------------------------------------

HAND = "calculated by hand"
EXPECTED = {
    "shots_present": Expected(3 / 4, f"{HAND}: three of four shots"),
    "palette_consistency": Expected(2 / 3, f"{HAND}: pairs share 1, 1/2 and 1/2"),
    # Red: rg = 255, yb = 127.5. Beside green: rg = 255 and -255, yb = 127.5.
    "colourfulness": Expected(
        (2 * 0.3 * np.hypot(255, 127.5) + 255 + 0.3 * 127.5) / 3, HAND
    ),
    # A step of .587 - .299 times 255 in two of 254 columns, in one of three shots.
    "sharpness": Expected((0.288 * 255) ** 2 * 2 / 254 / 3, HAND),
    "mobilenet_self": Expected(0.946804, "torchvision's own network and transforms"),
    "mobilenet_diversity": Expected(
        1.314155, "torchvision's own network and transforms"
    ),
    "text_rendering": Expected(1, "the text on the sign is the wanted one"),
}


def records(own: Path | None = None) -> dict[str, Record]:
    """Return the recorded values by metric: published ones, and an own file's."""
    found: dict[str, Record] = {}
    for path in (RECORD, own):
        if path is not None and path.is_file():
            found |= _read(path.read_text("utf-8"))
    return found


@cache
def _read(text: str) -> dict[str, Record]:
    return {name: Record(**said) for name, said in json.loads(text).items()}


def status(name: str, own: Path | None = None) -> str:
    """Return by what a metric can be checked; empty for judges and import only."""
    metric = registry.load(name)
    if registry.import_only(name) or metric.info.queue == "judge":
        return ""
    if name in EXPECTED:
        return EXPECTED[name].source
    record = records(own).get(name)
    return f"recorded on {record.date}" if record else NEVER


def never_checked(own: Path | None = None) -> list[str]:
    """Return the metrics whose weights have never been at hand for a check."""
    return [name for name in registry.names() if status(name, own) == NEVER]


# Checks ------------------------------------------------------------------------------


def check(name: str, own: Path | None = None) -> Check:
    """Compute a metric and compare it with its expected value."""
    metric = registry.load(name)
    if sentence := registry.import_only(name):
        return Check(name, "import only", sentence)
    if metric.info.queue == "judge":
        return Check(name, "judge", "asks a judge, which answers as it likes")
    if metric.missing():
        return Check(name, "not ready", status(name, own))
    found = _computed(metric)
    if isinstance(found, Exception):
        return Check(name, "failed", f"{type(found).__name__}: {found}")
    if (expected := EXPECTED.get(name)) is not None:
        return _compared(name, found, expected)
    before = records(own).get(name)
    if before is None:
        return Check(name, "computed", f"{_said(found)}; {NEVER}", found)
    changed = [
        what
        for what in ("metric_version", "weights")
        if getattr(before, what) != getattr(found, what)
    ]
    if before.run["precision"] != found.run["precision"]:
        changed.append("precision")
    if changed:
        words = " and ".join(changed).replace("_", " ")
        text = f"{_said(found)}; of other {words} than on {before.date}"
        return Check(name, "computed", text, found)
    if before.value is None or found.value is None:
        state: State = "agrees" if before.reason == found.reason else "differs"
        return Check(name, state, f"{_said(found)}; {status(name, own)}", found)
    return _compared(name, found, Expected(before.value, status(name, own)))


def _compared(name: str, found: Record, expected: Expected) -> Check:
    close = found.value is not None and bool(
        abs(found.value - expected.value)
        <= expected.tolerance * max(1, abs(expected.value))
    )
    wanted = f"expected {expected.value:.6g} ({expected.source})"
    state: State = "agrees" if close else "differs"
    return Check(name, state, f"{_said(found)}, {wanted}", found)


def _said(record: Record) -> str:
    return record.reason if record.value is None else f"{record.value:.6g}"


def _computed(metric: Metric) -> Record | Exception:
    """Return the mean of a metric's values and what it was computed with, or an error.

    The error of one metric does not end the check of the others.
    """
    scoring = metric.score(subject_of(metric))
    with TemporaryDirectory() as folder:
        engine = Engine(FeatureStore(Path(folder)))
        (outcome,) = engine.run([MetricJob(metric.info.name, scoring)])
    if outcome.error is not None:
        return outcome.error
    values = [one.value for one in outcome.values if one.value is not None]
    reasons = "; ".join(dict.fromkeys(one.reason for one in outcome.values))
    return Record(
        float(np.mean(values)) if values else None,
        "" if values else reasons,
        metric.info.full_version,
        dict(identity_of(metric).weight_files),
        _circumstances(metric),
        datetime.now(UTC).date().isoformat(),
    )


def _circumstances(metric: Metric) -> dict[str, str]:
    found = {"precision": "fp32"}
    if weights_of(metric):
        from evalcore.metrics.encoders.runtime import describe

        found |= describe()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def record(checks: Iterable[Check], own: Path) -> list[str]:
    """Add what was computed to an own file of values; return the metrics' names."""
    new = {
        one.name: one.record
        for one in checks
        if one.record is not None and one.name not in EXPECTED
    }
    before = _read(own.read_text("utf-8")) if own.is_file() else {}
    known = {name: asdict(one) for name, one in sorted((before | new).items())}
    own.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    return sorted(new)
