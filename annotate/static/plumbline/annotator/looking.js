// Measures how long each shot was in sight; studies can require a minimum before answers.

const BEAT = 100; // ms
const HALF = 0.499; // share of a picture, or of the window
const PATIENCE = 20; // s; a picture that takes longer to load no longer blocks answers
const STEPS = [...Array(21).keys()].map((step) => step / 20);

export function open(main, host) {
  const line = main.querySelector(".to-see");
  const enough = Number(line.dataset.seconds ?? 0);
  const memory = `in sight ${location.pathname}`;
  const before = JSON.parse(sessionStorage.getItem(memory)) ?? {};

  // Each picture with its place and its seconds in sight.
  const views = [...main.querySelectorAll("#shots figure")].map((figure) => {
    const { side, shot } = figure.dataset;
    const key = `${shot} ${side}`;
    const pane = figure.querySelector(".pane");
    const picture = pane.querySelector("img");
    return { key, side, shot, pane, picture, seconds: before[key] ?? 0, waited: 0, isHere: false };
  });
  const shots = [...new Set(views.map(({ shot }) => shot))];
  const isShown = ({ picture, waited }) =>
    picture && waited < PATIENCE && (!picture.complete || picture.naturalWidth);
  const of = (shot) => views.filter((view) => view.shot === shot && isShown(view));
  const secondsOf = (shot) => Math.min(...of(shot).map(({ seconds }) => seconds));
  // A shot is in sight while any of its pictures is, if each of them was at some time.
  const together = Object.fromEntries(shots.map((shot) => [shot, before[shot] ?? 0]));
  // With two pictures in one place, the right one counts alone, or the larger part does.
  const { classList } = main.querySelector("#annotator");
  const divider = main.querySelector("#divider");
  function isOnTop({ side, pane }) {
    const isOne = pane.closest(".shot") && /swipe|flick/.test(classList);
    if (!isOne) return true;
    if (classList.contains("flick")) return side === "right";
    return Math.abs(divider.value - (side === "left" ? 100 : 0)) / 100 < 1 - HALF;
  }
  const left = () => shots.filter((shot) => secondsOf(shot) < enough);

  let since = performance.now();
  let isHidden = document.hidden;
  let said;

  function count() {
    const passed = isHidden ? 0 : (performance.now() - since) / 1000;
    since = performance.now();
    isHidden = document.hidden;
    const seen = views.filter((view) => view.isHere && isOnTop(view));
    for (const view of seen) {
      if (!view.picture?.complete) view.waited += passed;
      else view.seconds += passed;
    }
    const here = seen.filter(({ picture }) => picture?.complete);
    for (const shot of new Set(here.map((view) => view.shot))) together[shot] += passed;
    const kept = views.map(({ key, seconds }) => [key, seconds]);
    sessionStorage.setItem(memory, JSON.stringify({ ...together, ...Object.fromEntries(kept) }));
    if (enough) tell();
  }

  function tell() {
    const missing = left();
    const { text, one, done } = line.dataset;
    const sentence = missing.length > 1 ? text : one;
    const message = missing.length ? sentence.replace("{shots}", ranges(missing)) : done;
    if (message === said) return;
    line.ariaLive = missing.length ? "off" : "polite";
    said = line.value = message;
    host.gate(missing.length ? message : "");
    for (const shot of shots) {
      const marks = main.querySelectorAll(`#shots [data-shot="${shot}"], #strip [href="#shot-${shot}"]`);
      marks.forEach((mark) => mark.classList.toggle("unseen", missing.includes(shot)));
    }
  }

  // 3, 7-9
  function ranges(missing) {
    const runs = [];
    missing.forEach((shot, i) => {
      const isNext = i && shots.indexOf(shot) === shots.indexOf(missing[i - 1]) + 1;
      if (isNext) runs.at(-1)[1] = shot;
      else runs.push([shot]);
    });
    return runs.map((run) => run.join("\u2013")).join(", ");
  }

  const observer = new IntersectionObserver((entries) => {
    count();
    for (const { target, intersectionRatio, intersectionRect, rootBounds } of entries) {
      const covered = intersectionRect.width * intersectionRect.height;
      const window = rootBounds ? rootBounds.width * rootBounds.height : Infinity;
      const isHere = intersectionRatio > HALF || covered > HALF * window;
      views.find(({ pane }) => pane === target).isHere = isHere;
    }
  }, { threshold: STEPS });
  views.forEach(({ pane }) => observer.observe(pane));
  const timer = setInterval(count, BEAT);
  host.on(document, "visibilitychange", count);
  host.signal.addEventListener("abort", () => {
    clearInterval(timer);
    observer.disconnect();
  });
  count();

  return {
    keys: {},
    measured() {
      count();
      // A picture that never loaded was not seen.
      const seen = shots.map((shot) => [shot, secondsOf(shot) && together[shot]]);
      return { in_sight: Object.fromEntries(seen) };
    },
  };
}
