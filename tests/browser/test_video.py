"""The player of videos in Chromium: in step, by keyboard, watched before answered."""

import pytest

from annotate.models import Choice
from evalcore.models import Benchmark, Method, Output, Shot, Story
from tests.browser import test_rate
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.hands import PHONE, too_small
from tests.browser.test_rate import OFFLINE, finish_by_keyboard, saved
from tests.browser.waiting import wait_until
from tests.clips import BITS, stored_clip, write_clip
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The number of the frame that each video shows, which is painted on it.
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


def make_reel(folder, clips, *, name="clip.mp4", given=None, times=None) -> Benchmark:
    """A benchmark of one story, rendered as one video by each method."""
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


# How many seconds two videos are apart whenever one of them shows a frame.
RECORD = """
window.apart = [];
const attended = new Set();
document.addEventListener("play", ({ target }) => {
  if (attended.has(target)) return;
  attended.add(target);
  const note = () => {
    const [left, right] = document.querySelectorAll("video");
    window.apart.push(Math.abs(left.currentTime - right.currentTime));
    target.requestVideoFrameCallback(note);
  };
  target.requestVideoFrameCallback(note);
}, true);
"""
IN_STEP = """() => {
  const [left, right] = document.querySelectorAll("video");
  const isPlaying = !left.paused && !right.paused;
  return isPlaying && Math.abs(left.currentTime - right.currentTime) < 0.02;
}"""


SECOND = {"frames": 12, "rate": 12}
TWO_SECONDS = {"frames": 24, "rate": 12}
SLOWER = {"frames": 16, "rate": 8}
LONG = {"frames": 60, "rate": 12}


def make_pair(folder, clips, *, must_watch=False, **kw):
    """A pairwise study of one pair of videos, to be judged by one person."""
    reel = make_reel(folder, clips, **kw)
    presentation = {"same_size": True, "must_watch": must_watch, "comments": False}
    return make_study(
        benchmark=reel, kind="choice", annotators=1, presentation=presentation
    )


def start(page, live_server, study):
    test_rate.start(page, live_server, study)
    page.wait_for_selector(".timeline")


def calm(page):
    """Let nothing play by itself."""
    page.emulate_media(reduced_motion="reduce")


def ready(page):
    page.wait_for_function(
        """() => [...document.querySelectorAll("video:not([hidden])")]
          .every((video) => video.readyState === 4 && !video.seeking)"""
    )


def assert_shown(page, expected: list[int]):
    """The videos show these frames, from left to right.

    What is painted may be behind the player, which has found its frame already.
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
        "() => document.querySelector('.to-watch').value.startsWith('Watched')"
    )


def test_a_pair_is_watched_and_judged_by_keyboard_alone(page, live_server, tmp_path):
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


def test_space_after_the_last_answer_plays_and_sends_nothing(
    page, live_server, tmp_path
):
    calm(page)
    start(page, live_server, make_pair(tmp_path, [LONG, LONG]))
    for key in "12 ":
        page.keyboard.press(key)
    page.wait_for_selector(".player.playing")
    saved(page)
    assert Choice.objects.filter(slot__state="leased").count() == 2


def test_a_step_is_one_frame_of_the_faster(page, live_server, tmp_path):
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


def test_pausing_leaves_both_on_the_same_frame(page, live_server, tmp_path):
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


def test_captions_follow_and_lead(page, live_server, tmp_path):
    calm(page)
    study = make_pair(tmp_path, [TWO_SECONDS, TWO_SECONDS], given=0.5)
    start(page, live_server, study)
    running = page.locator(".captions [aria-current=true]")
    assert "Fox walks 1" in running.inner_text()
    assert page.locator(".player.given").count() == 1
    page.locator(".captions button").nth(1).focus()
    page.keyboard.press("Enter")
    assert_shown(page, [12, 12])
    assert "Fox walks 2" in running.inner_text()
    assert page.inner_text(".running") == "Fox walks 2"
    assert page.locator(".player.given").count() == 0
    page.keyboard.press(",")
    assert "Fox walks 1" in running.inner_text()


def test_what_is_chosen_holds_for_the_next_story(page, live_server, tmp_path):
    """Loop and speed; and the story that is left is quiet, the next one plays."""
    reel = make_reel(tmp_path, [SECOND, SECOND])
    free = {"must_watch": False}
    study = make_study(benchmark=reel, annotators=1, presentation=free)
    start(page, live_server, study)
    page.keyboard.press("l")
    page.keyboard.press(">")
    page.keyboard.press(">")
    assert states(page, "playbackRate") == [1.5]
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.7")
    page.wait_for_function("() => document.querySelector('video').currentTime < 0.3")
    first = page.query_selector("video")
    before = page.url
    page.wait_for_function("() => document.body.dataset.ahead > 0")
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("url => location.href !== url", arg=before)
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.3")
    assert states(page, "playbackRate") == [1.5]
    assert page.get_attribute("[data-press=l]", "aria-pressed") == "true"
    assert first.evaluate("(video) => [video.paused, video.networkState]") == [True, 0]
    page.keyboard.press("Backspace")
    page.wait_for_function("url => location.href === url", arg=before)
    page.wait_for_function("() => document.querySelector('video').currentTime > 0")


@pytest.mark.page_errors(OFFLINE)
def test_the_next_video_plays_without_network(page, live_server, tmp_path):
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
def test_the_next_story_is_to_be_watched_too(page, live_server, tmp_path):
    calm(page)
    reel = make_reel(tmp_path, [SECOND, TWO_SECONDS])
    start(page, live_server, make_study(benchmark=reel, annotators=1))
    page.keyboard.press(" ")
    watched(page)
    page.wait_for_function("() => document.body.dataset.ahead === '1'")
    before = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("url => location.href !== url", arg=before)
    page.keyboard.press("3")
    assert not page.is_checked("input[name='q:character'][value='3']")
    assert "Watch to the end before you answer" in page.inner_text("#problem")


def test_fast_does_not_count_and_a_reload_forgets_nothing(page, live_server, tmp_path):
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


@pytest.mark.slow
def test_both_stand_within_a_frame_of_each_other(page, live_server, tmp_path):
    clips = [{"frames": 72, "rate": 24, "size": (320, 192)}] * 2
    study = make_pair(tmp_path, clips)
    page.add_init_script(RECORD)
    start(page, live_server, study)
    ended(page)
    apart = sorted(page.evaluate("() => window.apart"))
    assert len(apart) > 20
    assert apart[len(apart) * 9 // 10] < 1 / 24


@pytest.mark.slow
def test_one_that_falls_behind_catches_up(page, live_server, tmp_path):
    start(page, live_server, make_pair(tmp_path, [LONG, LONG]))
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
    page.evaluate("document.querySelectorAll('video')[1].currentTime -= 0.12")
    page.wait_for_function(IN_STEP)


def test_the_shorter_one_waits_on_its_last_frame(page, live_server, tmp_path):
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
def test_where_one_waits_both_do(page, live_server, tmp_path):
    start(page, live_server, make_pair(tmp_path, [LONG, LONG]))
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
    right = page.locator("video").nth(1)
    right.evaluate(
        """(video) => {
          const two = { get: () => 2, configurable: true };
          Object.defineProperties(video, { readyState: two, networkState: two });
          video.dispatchEvent(new Event("waiting"));
        }"""
    )
    assert states(page, "paused") == [True, True]
    assert page.get_attribute(".player", "aria-busy") == "true"
    right.evaluate(
        """(video) => {
          delete video.readyState;
          delete video.networkState;
          video.dispatchEvent(new Event("canplay"));
        }"""
    )
    assert states(page, "paused") == [False, False]
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    assert states(page, "paused") == [True, True]
    page.evaluate(hide, False)
    assert states(page, "paused") == [False, False]


@pytest.mark.page_errors("404 .*/video/")
def test_a_broken_video_locks_nobody_out(page, live_server, tmp_path):
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


def test_a_video_that_never_comes_is_broken(page, live_server, tmp_path):
    page.clock.install()
    page.route("**/video/", lambda route: None)
    start(page, live_server, make_pair(tmp_path, [SECOND, None], must_watch=True))
    assert page.get_by_text("This video is missing.").is_visible()
    assert not page.get_by_text("cannot be played").is_visible()
    page.clock.run_for(21_000)
    assert page.get_by_text("This video cannot be played here.").is_visible()
    watched(page)


@pytest.mark.slow
def test_a_webm_is_shown_too(page, live_server, tmp_path):
    calm(page)
    reel = make_reel(tmp_path, [TWO_SECONDS], name="clip.webm")
    start(page, live_server, make_study(benchmark=reel, annotators=1))
    page.keyboard.press(".")
    assert_shown(page, [1])


def test_by_touch_on_a_phone(chromium, live_server, tmp_path):
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


def test_axe_finds_nothing(page, live_server, tmp_path):
    page.emulate_media(reduced_motion="reduce")
    study = make_pair(tmp_path, [SECOND, None], must_watch=True, given=0.5)
    start(page, live_server, study)
    ready(page)
    assert violations_of_both_themes(page) == []
