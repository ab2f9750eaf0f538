// A story's page: its parts, keyboard shortcuts, and the change to the next story.
import { openDrafts } from "./drafts.js";
import * as offline from "./offline.js";
import { ask, openQueue } from "./queue.js";
import { openPages, pageOf, partsOf } from "./pages.js";
import { teller } from "./state.js";

const PATIENCE = 4000; // ms to wait for a page
const DOUBLE = 500; // maximum ms between the clicks of a double click

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
let left; // the code of the previous story
let standing = "saved";
let isActive = true; // since the last heartbeat
let sentAt = -DOUBLE; // ms, by performance.now()

const byId = (id) => document.getElementById(id);
const reveal = (part) => part.scrollIntoView({ block: "nearest" });

function tell(state, detail, code) {
  const about = code && code !== story.code ? byId("problem").dataset.before : "";
  if (state === "refused" || state === "lost") showProblem(about + detail);
  if (state === "lost") return;
  badge((state === "saved" && drafts.state()) || state, detail);
  if (state === "saving") return;
  if (state === "saved" && standing === "waiting") online();
  standing = state;
  const waits = byId("waits");
  const isNew = waits.hidden;
  waits.hidden = !story?.isSubmitted || state !== "waiting";
  if (isNew) reveal(waits);
}

const online = () => { byId("offline").hidden = true; };

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

// A visible message is updated silently, without another announcement.
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
  const { code, saveUrl: url, aheadUrl, isSubmitted } = main.querySelector("#annotator").dataset;
  const controller = new AbortController();
  const { signal } = controller;
  let since = null;
  let going;
  const memory = `visible ${page.url}`; // survives a reload

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

  const host = {
    signal, setting, setSetting,
    on: (element, kind, act, more) => element.addEventListener(kind, act, { signal, ...more }),
    gate(text) {
      opened.gate = text;
      follow(text);
    },
    isGated,
    hasGate: () => Boolean(opened.gate),
    isFirst: !story, // the annotator may have answered before the scripts loaded
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
  host.on(document, "visibilitychange", countTime);
  story = opened;
  pages.keep(page);
  wire(opened, host);
  opened.parts = parts.map((part) => part.open(main, host));
  offline.shown(page.url);
  queue.waiting(code).then(async (rows) => {
    const answers = offline.isCopy ? [...offline.given(code), ...rows] : rows;
    if (story === opened) answers.forEach(showRow);
    opened.isSubmitted ||= offline.isCopy && rows.some(({ kind }) => kind === "submit");
    await queue.resume(); // until then, the slot may not be assigned
    await offline.ready;
    setTimeout(() => story === opened && aheadUrl && pages.prepare(aheadUrl), 200);
  });
}

// Shows a queued answer, or one from another tab.
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
    // The second click of a double click belongs to the previous story.
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
  if (submit.href) return submit.click(); // answers are final
  problem.hidden = true;
  done.isSubmitted = true;
  sentAt = performance.now();
  left = done.code;
  pages.finished.add(done.page.url);
  submit.firstElementChild.textContent = submit.dataset.again;
  // Refused rows are reported on this page.
  const measured = Object.assign({}, ...done.parts.map((part) => part.measured?.()));
  const next = standing === "refused" ? undefined : pages.next();
  const shown = next?.main.querySelector("#annotator").dataset.code || "";
  queue.submit(done, { ...measured, seconds: done.seconds(), shown });
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
  // A fast annotator may have begun the next story; its answers are kept.
  const isOurs = isHere || code === left;
  if (submitted && isOurs && next.endsWith("/note/")) return location.assign(next);
  // The displayed story may be assigned to somebody else; a story with answers is kept.
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

// In old browsers without popovers, the menu's content is below.
const isMenuOpen = () => byId("more").showPopover && byId("more").matches(":popover-open");

const WALKING = /^(Arrow.*|Home|End|Page.*)$/;

// Returns the names of a key. Digits that need Shift or are full-width count by position.
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
  // Held keys act once, except those that move.
  const isIdle = event.repeat && !/^(Arrow.*|[,.])$/.test(key);
  // Kinds share keys; the one with the focus gets them first.
  const here = story.parts.filter((_, i) => names[i] === target.closest("[data-part]")?.dataset.part);
  const keysOf = [...story.parts.map(({ first = {} }) => first), ...[...here, ...story.parts].map(({ keys }) => keys), ownKeys];
  const isTaken = namesOf(event).some((name) =>
    keysOf.some((keys) => keys[name] && (isIdle || keys[name](event, name) !== true)));
  if (isTaken) event.preventDefault();
}

// Activity renews the lease.
function beat() {
  const { heartbeatUrl } = byId("annotator").dataset;
  if (!heartbeatUrl || !isActive || document.hidden || story.isSubmitted) return;
  isActive = false;
  ask(heartbeatUrl).then((reply) => reply && online());
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
addEventListener("online", online);
addEventListener("beforeunload", (e) => standing === "waiting" && e.preventDefault());
byId("offline").hidden = !offline.isCopy;
if (!offline.isCopy) offline.renew(byId("annotator").dataset.code);
offline.forget();
open(pageOf(document, location.pathname));
if (byId("problem").hidden) scrollTo(0, 0);
// A refused skip reopens the menu with its input.
else if (document.querySelector(".skip[open]") && !byId("more").getClientRects().length) byId("more").showPopover?.();
document.documentElement.classList.add("ready");
