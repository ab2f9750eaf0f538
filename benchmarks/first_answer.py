"""When a story can be answered over a slow network, and how much the page jumps.

Draws two stories of 16 shots at 1024 x 1024 px, serves them by gunicorn, both
temporary, and opens the first one in Chromium as on Slow 4G (562 ms until an answer
begins, 180 kB a second), with nothing in the browser's store:

    python benchmarks/first_answer.py [--runs 5]

Prints medians over the runs, at 1440 x 900 and 390 x 844, of the seconds from the
request until: something is seen; a digit answers; a click on an answer is stored; the
first picture is there; all pictures are there. And the requests and kilobytes until
the first answer, and the layout shift (CLS) of a visit in which nobody does anything.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.seat import build
from benchmarks.temporary_site import chromium, serve, temporary_site

SLOW_4G = {
    "offline": False,
    "latency": 562.5,
    "downloadThroughput": 180_000,
    "uploadThroughput": 84_375,
}
SIZES = {
    "1440 x 900": {"viewport": {"width": 1440, "height": 900}},
    "390 x 844": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
    },
}
# What the page notes of itself, from its first byte on; CLS as web.dev defines it for
# one window of time, which is all there is here.
WATCH = """
window.noted = { shift: 0 };
const note = (name) => { noted[name] ??= performance.now() / 1000; };
new PerformanceObserver((list) => {
  const own = list.getEntries().filter((entry) => !entry.hadRecentInput);
  for (const { value } of own) noted.shift += value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  if (list.getEntriesByName("first-contentful-paint").length) note("paint");
}).observe({ type: "paint", buffered: true });
const seen = () => [...document.querySelectorAll("#shots img")];
const has = (image) => image.complete && image.naturalWidth;
setInterval(() => {
  if (seen().some(has)) note("picture");
  if (seen().length && seen().every(has)) note("pictures");
  if (document.querySelector(".question input:checked")) note("checked");
}, 20);
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with temporary_site():
        size = argparse.Namespace(stories=2, shots=16, side=1024)
        _study, tokens = build(size)
        work(tokens, options.runs)
    return 0


def work(tokens: list[str], runs: int) -> None:
    with serve() as base, chromium() as browser:
        for token, (name, size) in zip(tokens, SIZES.items(), strict=False):
            address = first_story(browser, base, token)
            for hand in ("digit", "click", "nobody"):
                found = [visit(browser, address, size, hand) for _ in range(runs)]
                shown = ", ".join(
                    f"{key} {statistics.median(one[key] for one in found):.2f}"
                    for key in found[0]
                )
                print(f"{name}, {hand}: {shown}", flush=True)


def first_story(browser, base: str, token: str) -> str:
    """Go to the first story at full speed; return its address, as of a later visit."""
    page = browser.new_page()
    page.goto(f"{base}/rate/{token}/pause/")
    page.click("main button.primary")
    page.wait_for_url("**/story/**")
    address = page.url
    page.close()
    return address


def visit(browser, address: str, size: dict, hand: str) -> dict[str, float]:
    """Open a story over a slow network and answer as soon as that works."""
    context = browser.new_context(**size)
    page = context.new_page()
    page.add_init_script(WATCH)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW_4G)
    sent: list[int] = []
    stored: list[str] = []
    session.on("Network.dataReceived", lambda one: sent.append(one["dataLength"]))
    session.on(
        "Network.requestWillBeSent",
        lambda one: (
            stored.append(one["request"].get("postData", ""))
            if "/save/" in one["request"]["url"]
            else None
        ),
    )
    page.goto(address, wait_until="commit")
    page.wait_for_selector(".question input", state="attached", timeout=60_000)
    value = "1"
    while hand != "nobody" and not any('"answer"' in body for body in stored):
        if hand == "digit":
            page.keyboard.press(value)
        else:
            value = "2" if value == "1" else "1"
            box = page.locator(f".question input[value='{value}']").first
            box.evaluate("(one) => one.click()")
        page.wait_for_timeout(50)
    answered = page.evaluate("performance.now() / 1000")
    requests = page.evaluate("performance.getEntriesByType('resource').length")
    kilobytes = sum(sent) / 1000
    page.wait_for_function("() => window.noted.pictures", timeout=120_000)
    noted = page.evaluate("window.noted")
    context.close()
    if hand == "nobody":
        return {"seen": noted["paint"], "layout shift": noted["shift"]}
    return {
        "seen": noted["paint"],
        "answered": answered,
        "first picture": noted["picture"],
        "all pictures": noted["pictures"],
        "requests": requests,
        "kB": kilobytes,
    }


if __name__ == "__main__":
    sys.exit(main())
