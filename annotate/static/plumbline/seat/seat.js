// The annotator's seat: opens the parts of a story's page, hands keys to them and answers
// to the queue, and puts the next story in place of this one without a wait.
import { ask, openQueue } from "./queue.js";
import { openPages, pageHere } from "./pages.js";
import { setSetting, setting } from "./settings.js";
import { teller } from "./state.js";

const HEARTBEAT = 60000;
const CALM = 200; // until this story is painted
const REST_AFTER = 25 * 60000;
const REST = 5 * 60000; // whoever did nothing for so long has rested

const badge = teller();
const pages = openPages();
const queue = openQueue(tell, onReply);
let story; // the one on the page
let left; // the code of the one that was submitted last
let standing = "saved"; // how the answers are, but for "saving"
let isActive = true; // somebody did something since the last beat

const byId = (id) => document.getElementById(id);
const seatData = () => byId("seat").dataset;

function tell(state, detail) {
  badge(state, detail);
  if (state !== "saving") standing = state;
  if (state === "refused") showProblem(detail);
  byId("waits").hidden = !(story?.isSubmitted && state === "waiting");
}

function showProblem(text) {
  const problem = byId("problem");
  problem.textContent = text.trim() || problem.dataset.refused;
  problem.hidden = false;
  problem.scrollIntoView({ block: "nearest" });
}

// Whether something is to be done before an answer is taken; says what.
function isGated() {
  if (story.gate) showProblem(story.gate);
  return Boolean(story.gate);
}

// What a page may have, the first to hear of a key first; all stories of a study have the
// same.
const names = ["player", "shots", "checklist", "question"];
const parts = await Promise.all(names
  .filter((name) => document.querySelector(`.${name}`))
  .map((name) => import(`./${name}.js`)));

function open(page) {
  const { main } = page;
  const { code, saveUrl: url, aheadUrl } = main.querySelector("#seat").dataset;
  const controller = new AbortController();
  const { signal } = controller;
  let since = null;
  page.visible ??= 0; // ms; whoever comes back goes on

  function countTime() {
    if (since !== null) page.visible += performance.now() - since;
    since = document.hidden ? null : performance.now();
  }

  const opened = {
    page, code, url, isTouched: false, isSubmitted: false, gate: "",
    close: () => controller.abort(),
    seconds() {
      countTime();
      return page.visible / 1000;
    },
  };

  // What the parts of the page may use.
  const seat = {
    signal, setting, setSetting,
    on: (element, kind, act, more) => element.addEventListener(kind, act, { signal, ...more }),
    gate(text) {
      opened.gate = text;
      if (!text) byId("problem").hidden = true;
    },
    isGated,
    answer(answer) {
      byId("problem").hidden = true;
      opened.isTouched = true;
      queue.answer(opened, answer);
    },
    // Every question has an answer now.
    answered() {
      if (setting("auto")) complete();
      else byId("submit").focus({ preventScroll: true });
    },
  };
  countTime();
  seat.on(document, "visibilitychange", countTime);
  story = opened;
  pages.keep(page);
  wire(main, seat.on);
  opened.parts = parts.map((part) => part.open(main, seat));
  queue.waiting(code).then(async (rows) => {
    rows.filter(({ kind }) => kind === "answer").forEach(opened.parts.at(-1).show);
    await queue.resume(); // until the story before is sent, this one may not be theirs
    setTimeout(() => story === opened && pages.prepare(aheadUrl), CALM);
  });
}

function wire(main, on) {
  const all = (selector) => main.querySelectorAll(selector);
  on(main.querySelector("#answers"), "submit", (event) => {
    event.preventDefault();
    complete();
  });
  on(main, "click", (event) => {
    const report = event.target.closest(".report-fault");
    if (report) sendReport(report);
    const page = event.target.closest("#back") && pages.find(byId("back").pathname);
    if (!page) return;
    event.preventDefault();
    pages.comesNext(story.page.url);
    show(page);
    history.pushState(null, "", page.url);
  });
  on(main, "change", ({ target }) => {
    if (target.name === "comment" && target.form.id === "answers") queue.comment(story, target.value);
    if (target.dataset.setting) setSetting(target.dataset.setting, target.checked);
  });
  // The reasons for skipping open below what is in sight.
  all(".skip").forEach((skip) => on(skip, "toggle", () => skip.scrollIntoView({ block: "nearest" })));
  all("[data-setting]").forEach((input) => {
    input.checked = Boolean(setting(input.dataset.setting));
  });
}

async function sendReport(button) {
  const { side, shot } = button.closest("[data-side]").dataset;
  const response = await ask(seatData().reportUrl, new URLSearchParams({ side, shot }));
  if (!response?.ok) return;
  button.disabled = true;
  button.textContent = button.dataset.done;
}

async function complete() {
  const done = story;
  const missing = done.parts.map((part) => part.missing?.()).find(Boolean);
  if (missing) showProblem(`${byId("problem").dataset.unanswered} ${missing}`);
  if (missing || done.isSubmitted || isGated()) return;
  const submit = byId("submit");
  if (submit.href) { // closed: nothing is to be sent
    submit.click();
    return;
  }
  byId("problem").hidden = true;
  done.isSubmitted = true;
  left = done.code;
  pages.finish(done.page.url);
  submit.firstElementChild.textContent = submit.dataset.again;
  // What was not taken is told here: no going on before the server says so.
  const next = standing === "refused" ? undefined : pages.next();
  const shown = next?.main.querySelector("#seat").dataset.code || "";
  await queue.submit(done, { seconds: done.seconds(), shown });
  if (!next || story !== done) return; // the server says where to go
  show(next, done.page.url);
  history.pushState(null, "", next.url);
}

// Puts a story on the page; `previous` is the address that leads back.
function show(page, previous) {
  story.close();
  story.page.main.replaceWith(page.main);
  story.page.place.replaceWith(page.place);
  document.title = page.title;
  document.querySelector(".language [name=next]").value = page.url;
  const back = byId("back");
  if (back && previous) back.href = previous;
  page.main.focus({ preventScroll: true });
  open(page);
  window.scrollTo(0, 0);
  suggestRest();
}

function onReply(code, reply) {
  const isHere = code === story.code;
  if (isHere && !reply.submitted) story.isSubmitted = false;
  // A story shown since may have gone to somebody else; what was begun is finished.
  const isOver = isHere ? story.isSubmitted : code === left && !story.isTouched;
  if (!reply.submitted || !isOver || reply.next === story.page.url) return;
  const page = pages.find(reply.next);
  if (page) {
    show(page);
    history.replaceState(null, "", page.url);
  } else location.assign(reply.next);
}

// Somebody who works for long without a pause is told that a rest would do good.
function suggestRest() {
  const now = Date.now();
  const [since = now, last = now] = sessionStorage.getItem("work")?.split(" ").map(Number) ?? [];
  const begun = now - last > REST ? now : since;
  sessionStorage.setItem("work", `${begun} ${now}`);
  byId("rest").hidden = now - begun < REST_AFTER;
}

const ownKeys = {
  Enter: ({ target }) => target.matches("button, a, summary") || void complete(),
  Backspace: () => byId("back")?.click(),
  p: () => byId("break")?.click(),
  "?": () => {
    const help = document.querySelector(".keys-help");
    help.open = !help.open;
    if (help.open) help.scrollIntoView({ block: "nearest" });
  },
};

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || !target.matches) return;
  if (target.closest(".skip, textarea, select, .language")) return;
  if (key.startsWith("Arrow") && target.matches("[type=radio], [type=range]")) return;
  if (key === " " && target.closest("button, a, summary, input")) return;
  if (key.length === 1 && setting("keysOff")) return;
  const name = key.length === 1 ? key.toLowerCase() : key;
  // However long a key is held, it acts once, but for those that walk.
  const isIdle = event.repeat && !/^(Arrow.*|[,.])$/.test(key);
  const takes = ({ keys }) => keys[name] && (isIdle || keys[name](event) !== true);
  if ([...story.parts, { keys: ownKeys }].some(takes)) event.preventDefault();
}

// While the page is seen and somebody does something, the story stays theirs.
function beat() {
  const { heartbeatUrl } = seatData();
  if (!heartbeatUrl || !isActive || document.hidden || story.isSubmitted) return;
  isActive = false;
  ask(heartbeatUrl); // if it fails, the next one may succeed
}

document.addEventListener("keydown", onKey);
for (const kind of ["pointermove", "keydown", "scroll", "touchstart"]) {
  document.addEventListener(kind, () => { isActive = true; }, { passive: true });
}
setInterval(beat, HEARTBEAT);
addEventListener("popstate", () => {
  const page = pages.find(location.pathname);
  if (!page) location.reload();
  else if (page !== story.page) {
    if (!story.isSubmitted) pages.comesNext(story.page.url);
    show(page);
  }
});
addEventListener("beforeunload", (event) => {
  if (standing === "waiting") event.preventDefault();
});
document.documentElement.classList.add("js");
open(pageHere());
suggestRest();
if (byId("problem").hidden) window.scrollTo(0, 0);
