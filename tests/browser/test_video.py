"""The video player in Chromium: synchronisation, keyboard, required watching."""

import pytest

from annotate.models import Choice
from evalcore.models import Benchmark, Method, Output, Shot, Story
from tests.browser import test_rate
from tests.browser.hands import PHONE, too_small
from tests.browser.test_rate import OFFLINE, finish_by_keyboard, saved
from tests.browser.waiting import wait_until
from tests.clips import BITS, stored_clip, write_clip
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The frame number painted on each video.
NUMBERS = f"""() => [...document.querySelectorAll("video")].map((video) => {{
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const {{ videoWidth: width, videoHeight: height }} = video;
  [canvas.width, canvas.height] = [width, height];
  pen.drawImage(video, 0, 0);
  const painted = pen.getImageData(width / 2, height / 2, 1, 1).data[3];
  let number = painted ? 0 : NaN;
  for (let bit = 0; bit < {BITS}; bit += 1) {{
    const [red] = pen.getImageData((bit + 0.5) * width / {BITS}, height / 2, 1, 1).data;
    number = 2 * number + (red > 127);
  }}
  return number;
}})"""


# A slow machine: frames are rarely reported, and the right video falls behind.
SLOW = """
HTMLVideoElement.prototype.requestVideoFrameCallback = (act) => setTimeout(act, 300);
let next = 0.5;
setInterval(() => {
  const [left, right] = document.querySelectorAll("video");
  if (!(left?.currentTime > next && right)) return;
  right.currentTime = 0;
  next += 0.5;
}, 50);
"""


def make_reel(folder, clips, *, name="clip.mp4", given=None, times=None) -> Benchmark:
    """Create a benchmark of one story with a video per method."""
    benchmark = Benchmark.objects.create(slug="reel", title="Reel")
    story = Story.objects.create(
        benchmark=benchmark, key="01", conditioning_seconds=given
    )
    for number, (start_, end) in enumerate(times or [(0, 1), (1, 2)], start=1):
        Shot.objects.create(
            story=story,
            number=number,
            start_seconds=start_,
            end_seconds=end,
            text={
                "en": {"caption": f"Fox walks {number}"},
                "zh": {"caption": f"狐狸走路 {number}"},
            },
        )
    for place, clip in enumerate(clips):
        method = Method.objects.create(name=f"Method {place}")
        stored = None
        if clip is not None:
            path = write_clip(folder / str(place) / name, **clip)
            stored = stored_clip(path)
        Output.objects.create(story=story, method=method, video=stored)
    return benchmark


SECOND = {"frames": 12, "rate": 12}
TWO_SECONDS = {"frames": 24, "rate": 12}
SLOWER = {"frames": 16, "rate": 8}
LONG = {"frames": 60, "rate": 12}


def make_pair(folder, clips, *, must_watch=False, **kw):
    """Create a pairwise study of one pair of videos for one person."""
    reel = make_reel(folder, clips, **kw)
    presentation = {"same_size": True, "must_watch": must_watch, "comments": False}
    return make_study(
        benchmark=reel, kind="choice", annotators=1, presentation=presentation
    )


def start(page, live_server, study):
    test_rate.start(page, live_server, study)
    page.wait_for_selector(".timeline")


def calm(page):
    """Prevent automatic playback."""
    page.emulate_media(reduced_motion="reduce")


def ready(page):
    page.wait_for_function(
        """() => [...document.querySelectorAll("video:not([hidden])")]
          .every((video) => video.readyState === 4 && !video.seeking)"""
    )


def assert_shown(page, expected: list[int]):
    """Assert that the videos show these frames, from left to right.

    Painting may lag behind the player's frame.
    """
    ready(page)
    wait_until(page, lambda: page.evaluate(NUMBERS), expected)


def states(page, name) -> list:
    return page.eval_on_selector_all(
        "video", "(videos, name) => videos.map((video) => video[name])", name
    )


def ended(page):
    page.wait_for_function(
        "() => !document.querySelector('.player').classList.contains('playing')"
    )


def to_watch(page) -> str:
    return page.locator(".to-watch").inner_text()


def place(page) -> str:
    return page.locator(".place").inner_text()


def watched(page):
    page.wait_for_function(
        "() => document.querySelector('.to-watch').value.startsWith('You have watched')"
    )


def test_pair_of_videos_works_by_keyboard(page, live_server, tmp_path):
    calm(page)
    study = make_pair(tmp_path, [SECOND, SECOND], must_watch=True)
    start(page, live_server, study)
    page.keyboard.press("1")
    assert not page.is_checked("input[name='q:character'][value=left]")
    assert "Watch to the end before you answer" in page.inner_text("#problem")
    page.keyboard.press(" ")
    watched(page)
    assert finish_by_keyboard(page, ["1", "2"]) == 1
    answers = Choice.objects.values_list("question__key", "value")
    assert dict(answers) == {"character": "a", "aesthetics": "tie"}


@pytest.mark.slow
def test_step_is_one_frame_of_the_faster_video(page, live_server, tmp_path):
    calm(page)
    start(page, live_server, make_pair(tmp_path, [TWO_SECONDS, SLOWER]))
    assert_shown(page, [0, 0])
    keys = [".", ".", ".", ",", "ArrowRight", "ArrowLeft", "Home"]
    left, right = [1, 2, 3, 2, 14, 2, 0], [0, 1, 2, 1, 9, 1, 0]
    for key, *expected in zip(keys, left, right, strict=True):
        page.keyboard.press(key)
        assert place(page).endswith(f", frame {expected[0] + 1}")
        assert_shown(page, expected)
    assert place(page) == "0.00 s, frame 1"
    for _ in range(30):
        page.keyboard.press(".")
    assert_shown(page, [23, 15])


@pytest.mark.slow
def test_pause_stops_both_videos_at_the_same_frame(page, live_server, tmp_path):
    start(page, live_server, make_pair(tmp_path, [LONG, LONG]))
    for seconds in (0.1, 0.3, 0.5):
        page.wait_for_function(
            "(to) => document.querySelector('video').currentTime > to", arg=seconds
        )
        page.keyboard.press(" ")
        assert states(page, "paused") == [True, True]
        frame = int(place(page).rpartition(" ")[2]) - 1
        assert frame > 0
        assert_shown(page, [frame, frame])
        page.keyboard.press(" ")


@pytest.mark.slow
@pytest.mark.page_errors(OFFLINE)
def test_next_video_plays_offline(page, live_server, tmp_path):
    reel = make_reel(tmp_path, [SECOND, SECOND])
    free = {"must_watch": False}
    start(
        page, live_server, make_study(benchmark=reel, annotators=1, presentation=free)
    )
    page.wait_for_function("() => document.body.dataset.ahead === '1'")
    page.context.set_offline(True)
    before = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("url => location.href !== url", arg=before)
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.3")


@pytest.mark.slow
def test_fast_playback_does_not_count_and_progress_survives_a_reload(
    page, live_server, tmp_path
):
    calm(page)
    study = make_pair(tmp_path, [SECOND, SECOND], must_watch=True)
    start(page, live_server, study)
    assert "1 s left" in to_watch(page)
    for key in (">", " "):
        page.keyboard.press(key)
    ended(page)
    assert "1 s left" in to_watch(page)
    page.keyboard.press("<")
    page.keyboard.press(" ")
    watched(page)
    page.reload()
    page.wait_for_selector("html.ready")
    watched(page)
    page.keyboard.press("1")
    saved(page)


def test_played_parts_count_when_a_video_falls_behind(page, live_server, tmp_path):
    page.add_init_script(SLOW)
    study = make_pair(tmp_path, [TWO_SECONDS, TWO_SECONDS], must_watch=True)
    start(page, live_server, study)
    page.wait_for_function("() => document.querySelector('video').ended")
    watched(page)


@pytest.mark.slow
def test_shorter_video_waits_on_its_last_frame(page, live_server, tmp_path):
    study = make_pair(tmp_path, [SECOND, TWO_SECONDS], must_watch=True)
    start(page, live_server, study)
    told = page.wait_for_function(
        """() => {
          const [left, right] = document.querySelectorAll("video");
          if (!left.ended) return null;
          right.dispatchEvent(new Event("canplay"));
          const { value } = document.querySelector(".to-watch");
          return [left.paused, left.ended, right.ended, value];
        }"""
    )
    *states_then, to_watch_then = told.json_value()
    assert states_then == [True, True, False]
    assert "s left" in to_watch_then
    ended(page)
    assert_shown(page, [11, 23])
    assert place(page) == "1.92 s, frame 24"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert_shown(page, [0, 0])
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
    assert states(page, "paused") == [False, False]


@pytest.mark.slow
@pytest.mark.page_errors("404 .*/video/")
def test_broken_video_does_not_block_answers(page, live_server, tmp_path):
    study = make_pair(tmp_path, [SECOND, TWO_SECONDS], must_watch=True)
    page.route("**/right/video/", lambda route: route.fulfill(status=404))
    start(page, live_server, study)
    page.wait_for_selector("text=This video cannot be played here. >> visible=true")
    assert page.locator("video:visible").count() == 1
    fault = page.locator(".report-fault:visible")
    assert fault.locator("xpath=ancestor::figure").get_attribute("data-side") == "right"
    watched(page)
    page.unroute("**/right/video/")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("video:visible >> nth=1")
    assert_shown(page, [11, 11])
    assert page.get_attribute(".scrub", "max") == "23"


def test_video_works_by_touch_on_a_phone(chromium, live_server, tmp_path):
    context = chromium.new_context(**PHONE, reduced_motion="reduce")
    page = context.new_page()
    start(page, live_server, make_pair(tmp_path, [LONG, LONG], given=0.5))
    page.locator("[data-press=' ']").tap()
    page.wait_for_function("() => document.querySelector('video').currentTime > 0")
    page.locator("video").first.tap()
    assert states(page, "paused") == [True, True]
    page.locator(".captions button").nth(1).tap()
    assert_shown(page, [12, 12])
    for width in (390, 360):
        page.set_viewport_size({"width": width, "height": 844})
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width
        assert too_small(page) == []
    context.close()
