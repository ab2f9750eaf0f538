// Video player: one or two synchronised videos, captions, and the part still to watch.
// The longer video leads and the other follows; when one waits, both do.

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2];
const INSIDE = 0.43; // share of a frame at which seeks land, off the frame borders of other frame rates
const NEAR = 0.005; // s of difference that count as synchronised
const FAR = 0.15; // s of difference at which one video waits; less is corrected by speed
const PARTS = 200; // parts of a video, each watched or not
const ENOUGH = 0.95;
const PATIENCE = 20000;

const rateOf = ({ dataset }) => Number(dataset.rate);
const lengthOf = ({ dataset }) => dataset.frames / dataset.rate;
const starves = (video) => video.readyState < 3 && video.networkState === 2;

export function open(main, host) {
  const box = main.querySelector(".player");
  const find = (selector) => box.querySelector(selector);
  const on = (target, kinds, act) =>
    kinds.split(" ").forEach((kind) => host.on(target, kind, act));
  const videos = [...box.querySelectorAll("video")];
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const captions = [...box.querySelectorAll(".captions button")];
  const [scrub, place, left] = [".scrub", ".place", ".to-watch"].map(find);

  // One clock

  let [alive, lead, length, rate, total] = [[], null, 0, 1, 1];
  let [playing, loop, speed] = [false, false, 1]; // the requested state, also while loading
  let segment; // start and end in s of a checklist's shot, which is looped

  function measure() {
    alive = videos.filter((video) => !video.hidden);
    length = Math.max(0, ...alive.map(lengthOf));
    rate = Math.max(1, ...alive.map(rateOf));
    lead = alive.find((video) => lengthOf(video) === length);
    total = Math.max(1, Math.round(length * rate));
    scrub.max = total - 1;
    find("svg").setAttribute("viewBox", `0 0 ${length} 1`);
  }

  const frameAt = (time) => Math.min(total - 1, Math.floor(time * rate + 0.01));
  const frameNow = () => (lead ? frameAt(lead.currentTime) : 0);

  function goTo(frame) {
    const to = Math.max(0, Math.min(frame, total - 1));
    watchedTo = to / rate;
    for (const video of alive) {
      const last = lengthOf(video) - (1 - INSIDE) / rateOf(video);
      const time = to && Math.min((to + INSIDE) / rate, last);
      if (Math.abs(video.currentTime - time) > 0.001) video.currentTime = time;
    }
    settle();
    show(to);
  }

  // Seek all videos to the leading one's frame; what it has played counts as watched.
  function align() {
    if (lead) watch(lead.currentTime);
    goTo(frameNow());
  }

  function settle() {
    const held = document.hidden || alive.some((video) => video.seeking || starves(video));
    for (const video of alive) {
      if (!playing || held) video.pause();
      else if (video.paused && !video.ended) {
        video.play().catch(({ name }) => name === "NotAllowedError" && want(false));
      }
    }
    box.ariaBusy = playing && held;
  }

  function want(value) {
    playing = value;
    box.classList.toggle("playing", playing);
    settle();
  }

  function toggle() {
    want(!playing);
    if (!playing) align(); // both stop at the same frame
    else if (frameNow() === total - 1) goTo(0);
  }

  function step(by) {
    want(false);
    if (by > 0) watch((frameNow() + by) / rate);
    goTo(frameNow() + by);
  }

  function setSpeed(value) {
    speed = value;
    videos.forEach((video) => { video.playbackRate = video.defaultPlaybackRate = speed; });
    find(".speed").value = `${speed}×`;
  }

  function change(by) {
    setSpeed(SPEEDS[SPEEDS.indexOf(speed) + by] ?? speed);
    host.setSetting("speed", speed);
  }

  function setLoop(value) {
    loop = value;
    find("[data-press=l]").ariaPressed = loop;
    host.setSetting("loop", loop);
  }

  function follow(video) {
    if (video.paused || lead.currentTime >= lengthOf(video)) return;
    const late = lead.currentTime - video.currentTime;
    if (Math.abs(late) > Math.max(FAR, 2 / rateOf(video))) align();
    else video.playbackRate = speed * (Math.abs(late) < NEAR ? 1 : 1 + 2 * late);
  }

  // Called for each displayed frame of a video.
  function attend(video) {
    if (host.signal.aborted) return;
    const ask = video.requestVideoFrameCallback ?? requestAnimationFrame.bind(window);
    ask.call(video, () => attend(video));
    if (video !== lead || lead.paused || lead.seeking) return;
    alive.forEach(follow);
    watch(lead.currentTime);
    show(frameNow());
    const past = lead.currentTime + 1 / rate - segment?.end;
    const isFirst = left && missing(); // the first pass plays the whole video
    if (!(past >= 0 && past < FAR) || isFirst) return;
    watch(segment.end); // the last frame of the segment was seen
    goTo(frameAt(segment.start));
  }

  function show(frame) {
    const time = (frame + INSIDE) / rate;
    find(".time").textContent = (frame / rate).toFixed(2);
    find(".frame").textContent = frame + 1;
    scrub.value = frame;
    scrub.ariaValueText = place.textContent;
    box.classList.toggle("given", time < box.dataset.given);
    captions.forEach((caption) => {
      caption.ariaCurrent = time >= caption.dataset.start && time < caption.dataset.end;
    });
    find(".running").textContent = find("[aria-current=true] :last-child")?.textContent ?? "";
  }

  // Watched parts

  const memory = `watched ${videos.map(({ dataset }) => dataset.src)}`;
  const seen = [...(sessionStorage.getItem(memory) ?? "0".repeat(PARTS))];
  let watchedTo = 0;

  const part = (at) => Math.floor((at / length) * PARTS);

  function missing(from = 0, to = length) {
    const parts = seen.slice(part(from), Math.max(part(from) + 1, part(to)));
    return Math.max(0, Math.round(parts.length * ENOUGH) - parts.filter(Number).length) / PARTS;
  }

  host.isPlayed = (shot) => {
    const { start, end } = find(`[data-shot="${shot}"]`)?.dataset ?? {};
    return (lead || !videos.length) && !missing(start, end);
  };

  function watch(time) {
    if (speed <= 1) seen.fill("1", part(watchedTo), part(time) + 1);
    watchedTo = time;
    sessionStorage.setItem(memory, seen.join(""));
    gate();
  }

  function gate() {
    if (!left) return;
    const seconds = Math.ceil(missing() * length);
    const { text, done } = left.dataset;
    const message = seconds ? text.replace("{seconds}", seconds) : done;
    if (message === left.value) return;
    left.ariaLive = seconds ? "off" : "polite";
    left.value = message;
    host.gate(seconds ? message : "");
  }

  // Playback errors

  const timers = new Map();

  function expect(video) {
    clearTimeout(timers.get(video));
    timers.set(video, setTimeout(() => {
      if (document.hidden) expect(video);
      else if (starves(video)) setBroken(video, true);
    }, PATIENCE));
  }

  function setBroken(video, isBroken) {
    if (lead) watch(lead.currentTime);
    const now = frameNow();
    video.hidden = isBroken;
    video.nextElementSibling.hidden = !isBroken;
    measure();
    goTo(now);
    gate();
  }

  function load(video) {
    setBroken(video, false);
    video.preload = "auto";
    video.src = video.dataset.src;
  }

  // Start

  const keys = {
    " ": toggle,
    ",": () => step(-1),
    ".": () => step(1),
    ArrowLeft: () => goTo(frameNow() - Math.round(rate)),
    ArrowRight: () => goTo(frameNow() + Math.round(rate)),
    Home: () => goTo(0),
    l: () => setLoop(!loop),
    "<": () => change(-1),
    ">": () => change(1),
  };

  for (const video of videos) {
    video.controls = false;
    on(video, "click", toggle);
    on(video, "seeked canplay waiting", settle);
    on(video, "loadstart progress seeking waiting", () => expect(video));
    on(video, "error", () => setBroken(video, true));
    on(video, "loadedmetadata", () => setBroken(video, !video.videoWidth));
    on(video, "ended", () => {
      if (video !== lead) return;
      watch(length);
      show(total - 1);
      if (segment) goTo(frameAt(segment.start));
      else if (loop) goTo(0);
      else want(false);
    });
    attend(video);
    load(video);
  }
  on(document, "visibilitychange", settle);
  on(scrub, "input", () => goTo(Number(scrub.value)));
  on(box, "mousedown", (event) => event.target.closest("button") && event.preventDefault());
  on(box, "click", ({ target }) => {
    const pressed = target.closest("button");
    const { press, start, again } = pressed?.dataset ?? {};
    if (press) keys[press]();
    else if (start) goTo(frameAt(start));
    else if (again) load(pressed.closest(".screen").querySelector("video"));
  });
  host.signal.addEventListener("abort", () => videos.forEach((video) => {
    clearTimeout(timers.get(video));
    video.removeAttribute("src");
    video.load(); // closes the connection
  }));
  // A video that is still loading shows its start.
  host.showShot = (number) => {
    const caption = find(`.captions [data-shot="${number}"]`);
    if (!caption) return;
    segment = { start: Number(caption.dataset.start), end: Number(caption.dataset.end) };
    if (!lead?.readyState) return;
    caption.click();
    want(!isCalm);
  };
  setLoop(Boolean(host.setting("loop")));
  setSpeed(Math.min(host.setting("speed") ?? 1, left && missing() ? 1 : 2));
  want(missing() > 0 && !isCalm);
  return { keys };
}
