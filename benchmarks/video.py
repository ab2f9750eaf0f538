"""How far apart two videos of the annotator's player run, as they are shown.

    python benchmarks/video.py [--seconds 60] [--busy 2]

Draws pairs of clips (equal and different frame rates), serves them together with the
player as it is delivered, plays each pair in Chromium in a loop at speeds 0.5, 1 and 2,
and prints the drift: median, 95th and 99th percentile and largest, in milliseconds for
whoever watches, and in frames of the faster and of the slower one. It is measured apart
from the player's own correction: whenever a video shows a frame,
requestVideoFrameCallback tells the frame's time and when it is displayed; a video's
place in between is interpolated, and the two places are compared. Beside it stands how
far apart the two clocks are (`currentTime`, at each frame of the page), which does not
count when the screen is drawn. `--busy` keeps as many processes calculating meanwhile.

A frame is displayed when the screen is drawn anew, 60 times a second, and browsers let
it be late by up to half its length; so videos of different rates are never quite even.
Exits 1 when a 99th percentile exceeds one frame of the slower video.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")

import django

django.setup()

from django.template.loader import render_to_string
from playwright.sync_api import Page, sync_playwright

from tests.clips import write_clip

SPEEDS = (0.5, 1, 2)
RATES = ((8, 8), (12, 12), (24, 24), (30, 30), (8, 12), (12, 30), (24, 30))
CLIP_SECONDS = 6
SIZE = (320, 192)
TYPES = {".css": "text/css", ".js": "text/javascript"}

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<link rel="stylesheet" href="/static/plumbline.css">
<main id="main" class="seat seat-pair"><div class="seat-grid"><section class="viewer">
{player}</section></div></main>
<script type="module">
import {{ open }} from "/static/seat/player.js";
const settings = {settings};
open(document.getElementById("main"), {{
  signal: new AbortController().signal,
  gate() {{}},
  say() {{}},
  setting: (name) => settings[name],
  setSetting() {{}},
}});
</script>"""

# Everything either video shows: its side (0 or 1), the frame's time, when it is shown;
# and how many seconds apart the clocks are.
RECORD = """() => {
  window.shown = [];
  window.apart = [];
  const videos = [...document.querySelectorAll("video")];
  const compare = () => {
    requestAnimationFrame(compare);
    const [left, right] = videos.map((video) => video.currentTime);
    const idle = videos.some((video) => video.paused || video.seeking);
    if (!idle) window.apart.push(left - right);
  };
  compare();
  for (const [side, video] of videos.entries()) {
    const note = (now, { mediaTime, expectedDisplayTime }) => {
      window.shown.push([side, mediaTime, expectedDisplayTime]);
      video.requestVideoFrameCallback(note);
    };
    video.requestVideoFrameCallback(note);
  }
}"""


def main() -> int:
    """Measure every pair at every speed; exit 1 where they are a frame apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--busy", type=int, default=0)
    asked = parser.parse_args()
    print(
        "rates   speed  frames shown  median ms   p95   p99   max"
        "   p99 in frames  of the slower  clocks p95   p99"
    )
    failed = False
    with kept_busy(asked.busy), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for rates in RATES:
            with served([clip(rate) for rate in rates]) as site:
                for speed in SPEEDS:
                    page = browser.new_page(viewport={"width": 1440, "height": 900})
                    site.page = player_page(rates, speed)
                    page.goto(f"http://127.0.0.1:{site.server_port}/")
                    failed |= report(rates, speed, *play(page, asked.seconds))
                    page.close()
        browser.close()
    return int(failed)


def clip(rate: int) -> bytes:
    """Return a video as annotators are shown one."""
    options = {"g": str(rate // 2)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write_clip(
            path, frames=rate * CLIP_SECONDS, rate=rate, size=SIZE, options=options
        )
        return path.read_bytes()


@contextmanager
def kept_busy(number: int):
    """Let processes calculate in vain meanwhile."""
    busy = [multiprocessing.Process(target=_calculate) for _ in range(number)]
    for process in busy:
        process.start()
    yield
    for process in busy:
        process.terminate()


def _calculate() -> None:
    while True:
        sum(i * i for i in range(10**6))


def player_page(rates: tuple[int, int], speed: float) -> str:
    """Return a page with the player alone, looping."""
    videos = [
        {
            "side": side,
            "present": True,
            "width": SIZE[0],
            "height": SIZE[1],
            "frame_rate": rate,
            "frames": rate * CLIP_SECONDS,
        }
        for side, rate in zip(("left", "right"), rates, strict=True)
    ]
    context = {"videos": videos, "seat": "rate", "token": "t" * 22, "slot": {"code": 1}}
    settings = json.dumps({"loop": True, "speed": speed})
    player = render_to_string("rate/_player.html", context)
    return PAGE.format(player=player, settings=settings)


class Site(BaseHTTPRequestHandler):
    """The page, the files it asks for, and the two clips in ranges."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/":
            self._send(self.server.page.encode(), "text/html")
        elif self.path.startswith("/static/"):
            path = ROOT / "annotate/static/plumbline" / self.path.split("/", 2)[2]
            self._send(path.read_bytes(), TYPES[path.suffix])
        elif "/left/" in self.path or "/right/" in self.path:
            self._send(self.server.clips["/right/" in self.path], "video/mp4")
        else:
            self.send_error(404)

    def _send(self, data: bytes, content_type: str) -> None:
        asked = self.headers.get("Range")
        first, last = 0, len(data) - 1
        if asked:
            start, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(start), int(end) if end else last
        self.send_response(206 if asked else 200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        with suppress(ConnectionError):  # a page that is closed asks no more
            self.wfile.write(data[first : last + 1])

    def log_message(self, *words) -> None:
        """Say nothing."""


@contextmanager
def served(clips: list[bytes]):
    """Serve a page and the clips of its two sides."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.clips = clips
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def play(page: Page, seconds: float) -> tuple[list, list[float]]:
    """Return what was shown while the pair played for that long, and the clocks."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('video')].every((v) => v.currentTime > 0)"
    )
    page.evaluate(RECORD)
    page.wait_for_timeout(1000 * seconds)
    shown, apart = page.evaluate("() => [window.shown, window.apart]")
    return [tuple(one) for one in shown], apart


def drifts(shown: list[tuple[int, float, float]], speed: float) -> list[float]:
    """Return how far right is from left, in milliseconds, at each frame of left.

    A loop's end is left out: between two frames that are not neighbours in time
    nothing can be interpolated.
    """
    right = [(at, time) for side, time, at in shown if side == 1]
    found, i = [], 0
    for side, time, at in shown:
        if side != 0:
            continue
        while i + 1 < len(right) and right[i + 1][0] < at:
            i += 1
        if i + 1 == len(right) or right[i][0] > at:
            continue
        (before, first), (after, second) = right[i], right[i + 1]
        if not 0 < second - first < 0.5 or abs(first - time) > CLIP_SECONDS / 2:
            continue
        there = first + (second - first) * (at - before) / (after - before)
        found.append(1000 * (there - time) / speed)
    return found


def report(
    rates: tuple[int, int], speed: float, shown: list, clocks: list[float]
) -> bool:
    """Print one line; return whether the pair was a frame apart."""
    apart = sorted(abs(one) for one in drifts(shown, speed))
    median = statistics.median(apart)
    p95, p99 = high(apart)
    ticks = high(sorted(1000 * abs(one) / speed for one in clocks))
    frames, slow = (p99 * speed * rate / 1000 for rate in (max(rates), min(rates)))
    print(
        f"{rates[0]:>2}, {rates[1]:>2}  {speed:>5}  {len(shown):>12}  {median:>9.1f}"
        f"  {p95:>4.0f}  {p99:>4.0f}  {apart[-1]:>4.0f}  {frames:>14.2f}{slow:>15.2f}"
        f"  {ticks[0]:>10.0f}  {ticks[1]:>4.0f}",
        flush=True,
    )
    return slow > 1


def high(ordered: list[float]) -> list[float]:
    """Return the 95th and the 99th percentile."""
    return [ordered[int(len(ordered) * share)] for share in (0.95, 0.99)]


if __name__ == "__main__":
    sys.exit(main())
