"""How fast the annotator's seat is: from one story to the next, and on the server.

Draws a study with stories of 16 shots at 1024 x 1024 px (`--shots`, `--side`), serves
it by gunicorn on SQLite, both temporary, and works through it in Chromium by keyboard:

    python benchmarks/seat.py [--stories 40] [--shots 16] [--side 1024]

Prints, against their limits:

- milliseconds from the key press that completes a unit until the next story is fully
  visible (every picture in sight decoded and a frame painted with it), one shot at a
  time and with all shots in sight, with the next story fetched beforehand and without;
- server milliseconds of "submit and next", of an answer, of what comes next, and of the
  page of a story, for one annotator at a time on SQLite, through Django's whole
  middleware, beside how fast this machine counts at that moment;
- bytes of the seat's JavaScript by kind of page and of its stylesheet, as a deployment
  sends them (packed by gzip) and unpacked, and of a unit's HTML.

Exit 1 when a limit is missed.
"""

import argparse
import gzip
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.temporary_site import chromium, serve, temporary_site

SEAT = ROOT / "annotate" / "static" / "plumbline"
NEXT_MS, SERVER_MS = 100, 15
ASKING = 4  # people, one after the other, whose requests are measured on the server
SCRIPT_BYTES, STYLE_BYTES, HTML_BYTES = 30_000, 30_000, 60_000
THINKING_MS = 1500  # in which a person looks at a story, and the next one is fetched
# How fast the machine is at the moment: it may share its processors.
YARDSTICK = "counting to 200,000"
# What each kind of page loads.
CORE = ("seat", "queue", "pages", "state")
PICTURES = ("start", "shots", "zoom", "looking")
KINDS = {
    "pictures": (*CORE, *PICTURES, "question"),
    "pairs of pictures": (*CORE, *PICTURES, "compare", "question"),
    "pairs with comments on shots": (
        *CORE,
        *PICTURES,
        "compare",
        "question",
        "comments",
    ),
    "videos": (*CORE, "start", "player", "question"),
    "checklist of pictures": (*CORE, *PICTURES, "checklist"),
    "checklist of videos": (*CORE, "start", "player", "checklist"),
}
# Notes when a key is pressed, and when all that is then in sight has been painted.
WATCH = """() => {
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const began = event.timeStamp;
    const before = document.querySelector("main");
    const seen = new MutationObserver(async () => {
      const main = document.querySelector("main");
      if (main === before) return;
      seen.disconnect();
      await new Promise(requestAnimationFrame);
      const pictures = [...main.querySelectorAll("img")].filter((image) => {
        const box = image.getBoundingClientRect();
        return box.width && box.bottom > 0 && box.top < innerHeight;
      });
      await Promise.all(pictures.map((image) => image.decode()));
      await new Promise(requestAnimationFrame);
      const channel = new MessageChannel(); // runs after the frame was painted
      channel.port1.onmessage = () => {
        window.waited = { ms: performance.now() - began, pictures: pictures.length };
      };
      channel.port2.postMessage(0);
    });
    seen.observe(document.body, { childList: true });
  }, true);
}"""


def main() -> int:
    """Measure everything; return 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stories", type=int, default=40)
    parser.add_argument("--shots", type=int, default=16)
    parser.add_argument("--side", type=int, default=1024)
    options = parser.parse_args()
    with temporary_site():
        study, tokens = build(options)
        failed = weigh(study, tokens[0])
        failed |= ask_server(tokens[:ASKING])
        failed |= work(tokens[ASKING:], options)
    return int(failed)


def build(options: argparse.Namespace):
    """Store an open study whose pictures are drawn; return it and people's tokens."""
    import numpy as np
    from PIL import Image

    from annotate.models import Invitation
    from annotate.presentation import same_size
    from evalcore.models import Benchmark, Frame, Method, Output, Shot, Story
    from tests.factories import store_picture
    from tests.working import LIKERT, join, make_planned

    benchmark = Benchmark.objects.create(slug="seat", title="Seat")
    method = Method.objects.create(name="Alder")
    dice = np.random.default_rng(1)
    words = "The fox walks on through the wood and looks for its hat. "
    print(f"Drawing {options.stories} stories of {options.shots} shots ...", flush=True)
    for number in range(options.stories):
        story = Story.objects.create(benchmark=benchmark, key=f"{number:03}")
        output = Output.objects.create(story=story, method=method)
        for shot_number in range(1, options.shots + 1):
            text = {"setting": words, "plot": 3 * words, "camera": words}
            shot = Shot.objects.create(
                story=story, number=shot_number, text={"en": text}
            )
            rough = dice.integers(0, 255, (48, 48, 3), dtype=np.uint8)
            picture = Image.fromarray(rough).resize(
                (options.side, options.side), Image.Resampling.BICUBIC
            )
            path = Path(os.environ["DATA_DIR"]) / "shot.jpg"
            picture.save(path, quality=90)
            stored = store_picture(path.read_bytes())
            Frame.objects.create(
                output=output, shot=shot, number=shot_number, media=stored
            )
    study = make_planned(
        f"{LIKERT}\nassignment: open\nredundancy: 9\nsession_size: 20\n",
        benchmark=benchmark,
    )
    same_size.draw(study, seconds=3600)
    people = [join(study) for _ in range(ASKING + 3)]
    tokens = [Invitation.objects.get(annotator=person).token for person in people]
    return study, tokens


def weigh(study, token: str) -> bool:
    """Print the bytes of scripts, style and page; say whether a limit is missed."""
    from django.test import Client
    from django.urls import reverse

    failed = False
    for kind, modules in KINDS.items():
        paths = [SEAT / "seat" / f"{name}.js" for name in modules]
        failed |= weigh_files(f"JavaScript, {kind}", paths, SCRIPT_BYTES)
    failed |= weigh_files("stylesheet", [SEAT / "plumbline.css"], STYLE_BYTES)
    client = Client(SERVER_NAME="127.0.0.1")
    page = client.post(reverse("rate-pause", args=[token]), follow=True)
    failed |= show("HTML of a unit", len(page.content), HTML_BYTES, "bytes")
    return failed


def weigh_files(name: str, paths: list[Path], limit: int) -> bool:
    """Print what is sent of files, and what it is unpacked; say whether it is much."""
    contents = [path.read_bytes() for path in paths]
    sent = sum(len(gzip.compress(content)) for content in contents)
    failed = show(name, sent, limit, "bytes")
    print(f"    unpacked {sum(map(len, contents)):,}")
    return failed


def ask_server(tokens: list[str]) -> bool:
    """Work through everything by requests, as one after the other; print the time.

    Say whether a limit is missed.
    """
    from django.test import Client

    names = ("submit and next", "answer", "ahead", "page", YARDSTICK)
    spent: dict[str, list[float]] = {name: [] for name in names}
    for token in tokens:
        ask_for_one(Client(SERVER_NAME="127.0.0.1"), token, spent)
    failed = False
    for name, times in spent.items():
        limit = SERVER_MS if name == "submit and next" else None
        failed |= show(f"server, {name}, p95 of {len(times)}", p95(times), limit, "ms")
        print(f"    median {statistics.median(times):.1f} ms")
    return failed


def ask_for_one(client, token: str, spent: dict[str, list[float]]) -> None:
    from django.urls import reverse

    at = client.post(reverse("rate-pause", args=[token]))["Location"]
    while "/story/" in at:
        ahead = timed(spent["ahead"], client.get, f"{at}ahead/").json()
        for page in ahead["pages"][:1]:
            timed(spent["page"], client.get, page)
        for question in ("character", "beauty"):
            timed(spent["answer"], save, client, at, [question])
        timed(spent[YARDSTICK], sum, range(200_000))
        # The browser shows the next story already, and says which.
        shown = ahead["pages"][0].split("/")[-2] if ahead["pages"] else ""
        at = timed(spent["submit and next"], save, client, at, [], shown)
        if at.endswith("/pause/"):
            at = client.post(at)["Location"]


def timed(times: list[float], work, *args, **options):
    began = time.perf_counter()
    result = work(*args, **options)
    times.append(1000 * (time.perf_counter() - began))
    return result


def save(client, address: str, questions: list[str], shown: str | None = None) -> str:
    """Send answers as the page does, or submit; return the next address."""
    rows: list[dict[str, object]] = [
        {
            "kind": "answer",
            "id": name,
            "key": f"{address}{name}",
            "question": name,
            "value": 3,
        }
        for name in questions
    ]
    if shown is not None:
        rows.append({"kind": "submit", "id": "", "seconds": 30, "shown": shown})
    body = {"rows": rows}
    reply = client.post(f"{address}save/", body, content_type="application/json")
    return reply.json().get("next", address)


def work(tokens: list[str], options: argparse.Namespace) -> bool:
    """Work through sessions in Chromium; print how long the next story takes."""
    failed = False
    with serve() as base, chromium() as browser:
        for name, token, keys, ahead in (
            ("one shot at a time", tokens[0], "", True),
            ("all shots in sight", tokens[1], "a", True),
            ("nothing fetched beforehand", tokens[2], "", False),
        ):
            times, seen = session(browser, base, token, keys, ahead)
            label = f"next story, {name} ({seen} pictures), p95 of {len(times)}"
            failed |= show(label, p95(times), NEXT_MS if ahead else None, "ms")
            print(
                f"    median {statistics.median(times):.0f}, "
                f"slowest {max(times):.0f} ms"
            )
    return failed


def session(browser, base: str, token: str, keys: str, ahead: bool):
    """Return the milliseconds of each step, and how many pictures were in sight."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    if not ahead:
        page.route("**/ahead/", lambda route: route.abort())
    page.goto(f"{base}/rate/{token}/pause/")
    page.click("main button.primary")
    times, seen = [], 0
    page.wait_for_selector("html.ready")
    for key in keys:
        page.keyboard.press(key)
    while "/story/" in page.url:
        page.evaluate(WATCH)
        page.wait_for_timeout(THINKING_MS)
        page.keyboard.press("3")
        page.keyboard.press("3")
        page.wait_for_timeout(100)
        began, address = time.perf_counter(), page.url
        page.evaluate("() => { window.waited = null; }")
        page.keyboard.press("Enter")
        page.wait_for_function("url => location.href !== url", arg=address)
        page.wait_for_load_state("load")
        if "/story/" not in page.url:
            break
        if ahead:
            page.wait_for_function("() => window.waited")
            waited = page.evaluate("() => window.waited")
            times.append(waited["ms"])
            seen = max(seen, waited["pictures"])
        else:  # a new page: measured from outside
            page.wait_for_selector("html.ready")
            times.append(1000 * (time.perf_counter() - began))
    context.close()
    return times, seen


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def show(name: str, value: float, limit: float | None, unit: str) -> bool:
    """Print a figure with its limit; say whether it is missed."""
    missed = limit is not None and value > limit
    beside = "" if limit is None else f"  (limit {limit:,})"
    print(
        f"  {name}: {value:,.1f} {unit}{beside}{'  MISSED' if missed else ''}",
        flush=True,
    )
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
