// A story's page: its parts, their keys, and the next story in its place.
import { openDrafts } from "./drafts.js";
import { ask, openQueue } from "./queue.js";
import { openPages, pageOf, partsOf } from "./pages.js";
import { teller } from "./state.js";

const PATIENCE = 4000; // ms for a page that may not come
const DOUBLE = 500; // ms between the presses of a double one, at most

const settings = JSON.parse(localStorage.getItem("plumbline-seat")) || {};
const setting = (name) => settings[name];
function setSetting(name, value) {
  settings[name] = value;
  localStorage.setItem("plumbline-seat", JSON.stringify(settings));
}

const badge = teller();
const pages = openPages();
const queue = openQueue(() => story.code, tell, onReply, showRow);
const drafts = openDrafts(() => (drafts.state() === "saving" ? badge("saving") : queue.flush()));
let story;
let left; // the code of the one before
let standing = "saved";
let isActive = true; // since the last beat
let sentAt = -DOUBLE; // ms, by performance.now()

const byId = (id) => document.getElementById(id);
const reveal = (part) => part.scrollIntoView({ block: "nearest" });

function tell(state, detail, code) {
  const about = code && code !== story.code ? byId("problem").dataset.before : "";
  if (state === "refused" || state === "lost") showProblem(about + detail);
  if (state === "lost") return;
  badge((state === "saved" && drafts.state()) || state, detail);
  if (state === "saving") return;
  standing = state;
  const waits = byId("waits");
  const isNew = waits.hidden;
  waits.hidden = !story?.isSubmitted || state !== "waiting";
  if (isNew) reveal(waits);
}

function showProblem(text, kind = "error") {
  const problem = byId("problem");
  problem.className = `notice ${kind}`;
  problem.ariaLive = "assertive";
  problem.textContent = text.trim() || problem.dataset.refused;
  problem.hidden = false;
  reveal(problem);
}

function isGated() {
  if (story.gate) showProblem(story.gate, "warning");
  return story.gate;
}

// What is left changes under the eyes of who was told; it is not said again.
function follow(gate) {
  const problem = byId("problem");
  if (!gate) problem.hidden = true;
  else if (problem.matches(".warning")) [problem.ariaLive, problem.textContent] = ["off", gate];
}

const names = partsOf(document);
const scriptOf = (name) => document.querySelector(`[data-script=${name}]`).href;
const parts = await Promise.all(names.map((name) => import(scriptOf(name))));

function open(page) {
  const { main } = page;
  const { code, saveUrl: url, aheadUrl, isSubmitted } = main.querySelector("#seat").dataset;
  const controller = new AbortController();
  const { signal } = controller;
  let since = null;
  let going;
  const memory = `visible ${page.url}`; // outlives the page

  function countTime() {
    let visible = Number(sessionStorage.getItem(memory)); // ms
    if (since !== null) visible += performance.now() - since;
    since = document.hidden ? null : performance.now();
    sessionStorage.setItem(memory, visible);
    return visible;
  }

  const opened = {
    page, code, url, isTouched: false, isSubmitted: false, gate: "",
    close() {
      drafts.close();
      countTime();
      controller.abort();
    },
    seconds: () => countTime() / 1000,
  };

  const seat = {
    signal, setting, setSetting,
    on: (element, kind, act, more) => element.addEventListener(kind, act, { signal, ...more }),
    gate(text) {
      opened.gate = text;
      follow(text);
    },
    isGated,
    hasGate: () => Boolean(opened.gate),
    isFirst: !story, // somebody may have answered before the scripts were there
    isSubmitted: () => pages.finished.has(page.url) || isSubmitted !== undefined,
    problem: showProblem,
    answer(answer) {
      clearTimeout(going);
      byId("problem").hidden = true;
      opened.isTouched = true;
      queue.answer(opened, answer);
    },
    comment: (what) => queue.shotComment(opened, what),
    draft(field, send, wait) {
      opened.isTouched = true;
      drafts.write(field, send, wait);
    },
    flush: drafts.flush,
    drop: drafts.drop,
    isDraft: drafts.has,
    answered() {
      if (setting("auto")) going = setTimeout(() => story === opened && complete(), 400);
    },
  };
  countTime();
  seat.on(document, "visibilitychange", countTime);
  story = opened;
  pages.keep(page);
  wire(opened, seat);
  opened.parts = parts.map((part) => part.open(main, seat));
  queue.waiting(code).then(async (rows) => {
    if (story === opened) rows.forEach(showRow);
    await queue.resume(); // till then this one may not be theirs
    setTimeout(() => story === opened && aheadUrl && pages.prepare(aheadUrl), 200);
  });
}

// What waits in this browser, or was given in another tab just now.
function showRow(row) {
  if (row.code !== story.code) return;
  if (["answer", "shot_comment"].includes(row.kind)) story.parts.forEach((part) => part.show?.(row));
  const field = row.kind === "comment" && story.page.main.querySelector("textarea[name=comment]");
  if (!field || drafts.has(field)) return;
  field.value = row.text;
  field.closest("details").open ||= row.text;
}

async function rest({ href }) {
  const signal = AbortSignal.timeout(PATIENCE);
  const reply = await fetch(href, { method: "HEAD", signal }).catch(() => null);
  if (reply) return location.assign(href);
  if (isMenuOpen()) byId("more").hidePopover();
  showProblem(byId("problem").dataset.offline);
}

function wire(opened, { on, draft }) {
  const { main } = opened.page;
  on(main, "submit", (event) => {
    if (event.target.id === "skip") pages.leave();
    if (event.target.id !== "answers") return;
    event.preventDefault();
    complete();
  });
  on(main, "click", (event) => {
    const button = event.target.closest(".report-fault");
    if (button) {
      const { side, shot } = button.closest("[data-side]").dataset;
      queue.fault(story, { side, shot });
      button.disabled = true;
      button.textContent = button.dataset.done;
    }
    const pause = event.target.closest("#break");
    if (pause) {
      event.preventDefault();
      rest(pause);
    }
    // The second press of a double one is meant for the story before.
    const isSecond = event.detail && !opened.isTouched && performance.now() - sentAt < DOUBLE;
    if (isSecond && event.target.closest("#submit")) event.preventDefault();
    const { turn } = event.target.closest(".turn")?.dataset ?? {};
    if (turn) story.parts.forEach((part) => part.turn?.(Number(turn)));
    const page = event.target.closest("#back") && pages.find(byId("back").pathname);
    if (!page) return;
    event.preventDefault();
    pages.turnBack();
    show(page, "pushState");
  });
  on(main, "input", ({ target }) => {
    if (target.matches("textarea[name=comment]")) draft(target, () => queue.comment(opened, target.value));
  });
  on(main, "change", ({ target }) => {
    if (target.matches("textarea")) drafts.flush();
    if (target.dataset.setting) setSetting(target.dataset.setting, target.checked);
  });
  on(main, "toggle", ({ target }) => reveal(target), { capture: true });
  main.querySelectorAll("[data-setting]").forEach((input) => {
    input.checked = Boolean(setting(input.dataset.setting));
  });
}

function complete() {
  const done = story;
  drafts.flush();
  if (isGated()) return;
  const missing = done.parts.map((part) => part.missing?.()).find(Boolean);
  const [submit, problem] = [byId("submit"), byId("problem")];
  if (missing) return showProblem(`${problem.dataset.unanswered} ${missing}`);
  if (done.isSubmitted || submit.disabled) return;
  if (submit.href) return submit.click(); // closed
  problem.hidden = true;
  done.isSubmitted = true;
  sentAt = performance.now();
  left = done.code;
  pages.finished.add(done.page.url);
  submit.firstElementChild.textContent = submit.dataset.again;
  // What was not taken is told here.
  const told = Object.assign({}, ...done.parts.map((part) => part.told?.()));
  const next = standing === "refused" ? undefined : pages.next();
  const shown = next?.main.querySelector("#seat").dataset.code || "";
  queue.submit(done, { ...told, seconds: done.seconds(), shown });
  if (next) show(next, "pushState", done.page.url);
}

function show(page, how, previous) {
  history[how]?.(null, "", page.url);
  story.close();
  story.page.main.replaceWith(page.main);
  story.page.place.replaceWith(page.place);
  document.title = page.title;
  document.querySelector(".language [name=next]").value = page.url;
  const back = byId("back");
  if (back && previous) back.href = previous;
  page.main.focus({ preventScroll: true });
  open(page);
  scrollTo(0, 0);
}

function onReply(code, { gone, submitted, next }) {
  const isHere = code === story.code;
  if (isHere && gone) location.reload();
  if (isHere && !submitted) story.isSubmitted = false;
  // Whoever hurries has begun the next one by then; what was answered there is kept.
  const isOurs = isHere || code === left;
  if (submitted && isOurs && next.endsWith("/note/")) return location.assign(next);
  // The story shown since may be somebody else's; what was begun is finished.
  const isOver = isHere ? story.isSubmitted : code === left && !story.isTouched;
  if (!submitted || !isOver || next === story.page.url || pages.finished.has(next)) return;
  const page = pages.find(next);
  if (!page) location.assign(next);
  else show(page, "replaceState");
}

const ownKeys = {
  Enter: ({ target }) => target.matches("button, a, summary") || complete(),
  Backspace: () => byId("back")?.click(),
  p: () => byId("break")?.click(),
  "?": () => {
    const more = byId("more");
    if (!more.getClientRects().length) more.showPopover();
    more.querySelector(".keys-help").toggleAttribute("open");
  },
};

// Old browsers have no such menu: what is in it stands below.
const isMenuOpen = () => byId("more").showPopover && byId("more").matches(":popover-open");

const WALKING = /^(Arrow.*|Home|End|Page.*)$/;

// What a key is called. Where a digit needs Shift or comes in full width, the place counts.
function namesOf(event) {
  const { code, shiftKey } = event;
  const key = event.key.normalize("NFKC");
  const isSign = key.length === 1 || /^(Dead|Process|Unidentified)$/.test(key);
  const isPlain = isSign && !shiftKey && !event.getModifierState("AltGraph");
  const [, digit] = (isPlain && /^(?:Digit|Numpad)(\d)$/.exec(code)) || [];
  return [...new Set([/\d/.test(key) ? key : digit, key.length === 1 ? key.toLowerCase() : key])];
}

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || !target.matches) return;
  if (isMenuOpen() && !/^[?p]$/i.test(key)) return; // Escape closes it
  if (target.closest(".skip[open], textarea, select, .language")) return;
  if (target.matches("[type=number]") && key !== "Enter") return;
  if (WALKING.test(key) && target.matches("[type=radio], [type=range]")) return;
  if (key === " " && target.closest("button, a, summary, input")) return;
  if (key.length === 1 && setting("keysOff")) return;
  // Held keys act once, but for those that walk.
  const isIdle = event.repeat && !/^(Arrow.*|[,.])$/.test(key);
  // Kinds share keys: they go to the one that has the focus.
  const here = story.parts.filter((_, i) => names[i] === target.closest("[data-part]")?.dataset.part);
  const keysOf = [...story.parts.map(({ first = {} }) => first), ...[...here, ...story.parts].map(({ keys }) => keys), ownKeys];
  const isTaken = namesOf(event).some((name) =>
    keysOf.some((keys) => keys[name] && (isIdle || keys[name](event, name) !== true)));
  if (isTaken) event.preventDefault();
}

// While somebody does something, the story stays theirs.
function beat() {
  const { heartbeatUrl } = byId("seat").dataset;
  if (!heartbeatUrl || !isActive || document.hidden || story.isSubmitted) return;
  isActive = false;
  ask(heartbeatUrl);
}

addEventListener("keydown", onKey);
for (const kind of ["pointermove", "keydown", "scroll", "touchstart"]) {
  addEventListener(kind, () => { isActive = true; }, { passive: true });
}
setInterval(beat, 60000);
addEventListener("popstate", () => {
  const page = pages.find(location.pathname);
  if (!page) return location.reload();
  if (page === story.page) return;
  if (!story.isSubmitted) pages.turnBack();
  show(page);
});
addEventListener("pagehide", () => {
  drafts.flush();
  queue.leave();
});
addEventListener("beforeunload", (e) => standing === "waiting" && e.preventDefault());
open(pageOf(document, location.pathname));
if (byId("problem").hidden) scrollTo(0, 0);
// A skip that was refused stands in the menu, as it was typed.
else if (document.querySelector(".skip[open]") && !byId("more").getClientRects().length) byId("more").showPopover?.();
document.documentElement.classList.add("ready");
