// The annotator's page: keys, one shot at a time, and answers saved as they are given.
// Without this script the same page works as one long form.
(() => {
  "use strict";

  const seat = document.getElementById("seat");
  const form = document.getElementById("answers");
  const state = document.getElementById("save-state");
  const problem = document.getElementById("problem");
  const shots = [...document.querySelectorAll(".shot")];
  const links = [...document.querySelectorAll("#strip a")];
  const questions = [...form.querySelectorAll(".question")];
  const RETRY_FIRST = 1000;
  const RETRY_LAST = 30000;
  const TRY_AGAIN = [408, 429]; // of the refusals; a server's own failure counts too

  // Shots ---------------------------------------------------------------------

  let shot = 0;

  function showShot(index) {
    shot = Math.max(0, Math.min(index, shots.length - 1));
    shots.forEach((element, i) => element.classList.toggle("current", i === shot));
    links.forEach((link, i) => {
      if (i === shot) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    const item = links[shot] && links[shot].parentElement;
    if (item) {
      const strip = item.parentElement;
      strip.scrollLeft = item.offsetLeft - strip.clientWidth / 2 + item.clientWidth / 2;
    }
    if (seat.classList.contains("show-all")) {
      shots[shot].scrollIntoView({ block: "nearest" });
    }
  }

  function toggle(button, name, on) {
    const now = seat.classList.toggle(name);
    document.getElementById(button).setAttribute("aria-pressed", String(now === on));
  }

  const toggleAll = () => toggle("toggle-all", "show-all", true);
  const toggleText = () => toggle("toggle-text", "hide-text", false);

  // Questions -----------------------------------------------------------------

  let current = 0;

  function mark(index) {
    current = Math.max(0, Math.min(index, questions.length - 1));
    questions.forEach((q, i) => q.classList.toggle("current", i === current));
    questions[current].scrollIntoView({ block: "nearest" });
  }

  const answered = (question) => question.querySelector("input:checked") !== null;

  function markNextUnanswered() {
    const order = questions.map((_, i) => (current + 1 + i) % questions.length);
    const open = order.find((i) => !answered(questions[i]));
    if (open === undefined) {
      mark(current);
      document.getElementById("submit").focus();
    } else mark(open);
  }

  function answerByKey(key) {
    const input = questions[current].querySelector(`input[data-key="${key}"]`);
    if (!input || input.disabled) return false;
    input.checked = true;
    save(questions[current], input.value);
    markNextUnanswered();
    return true;
  }

  // Saving --------------------------------------------------------------------

  const waiting = new Map(); // question -> {value, key}; the newest answer wins
  const refused = new Map(); // the same, of answers that the server did not take
  let sending = false;
  let submitWhenSaved = false;
  let delay = RETRY_FIRST;

  function tell(name, kind) {
    state.textContent = state.dataset[name];
    state.className = `badge ${kind}`;
  }

  function newKey() {
    return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) =>
      b.toString(16).padStart(2, "0")).join("");
  }

  function save(question, value) {
    const name = question.dataset.question;
    refused.delete(name);
    waiting.set(name, { value, key: newKey() });
    sendAll();
  }

  function sendAll() {
    refused.forEach((answer, name) => waiting.set(name, answer));
    refused.clear();
    problem.hidden = true;
    tell("saving", "");
    send();
  }

  async function send() {
    if (sending || waiting.size === 0) return;
    sending = true;
    const [question, answer] = waiting.entries().next().value;
    const refusal = await post(question, answer);
    sending = false;
    if (refusal === null) {
      tell("failed", "warn");
      setTimeout(send, delay);
      delay = Math.min(delay * 2, RETRY_LAST);
      return;
    }
    delay = RETRY_FIRST;
    if (waiting.get(question).key === answer.key) {
      waiting.delete(question);
      if (refusal) {
        refused.set(question, answer);
        showProblem(refusal);
      }
    }
    if (waiting.size) send();
    else if (refused.size) {
      submitWhenSaved = false;
      tell("refused", "bad");
    } else {
      tell("saved", "good");
      if (submitWhenSaved) form.requestSubmit();
    }
  }

  // Logging in in another tab of this browser replaces the token that the page came with.
  function renewToken() {
    const field = form.elements.csrfmiddlewaretoken;
    const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    if (cookie) field.value = cookie[1];
    return field.value;
  }

  // Returns "" when the answer is stored, why it never will be, or null to try again.
  async function post(question, { value, key }) {
    const body = new FormData();
    body.set("csrfmiddlewaretoken", renewToken());
    body.set("question", question);
    body.set("value", value);
    body.set("client_key", key);
    try {
      const response = await fetch(seat.dataset.answerUrl, {
        method: "POST", body, headers: { Accept: "application/json" },
      });
      if (response.ok) return "";
      if (response.status >= 500 || TRY_AGAIN.includes(response.status)) return null;
      return await reason(response);
    } catch (error) {
      if (error instanceof TypeError) return null; // fetch: the network failed
      throw error;
    }
  }

  async function reason(response) {
    const type = response.headers.get("Content-Type") || "";
    if (!type.startsWith("application/json")) return problem.dataset.refused;
    return (await response.json()).error;
  }

  function showProblem(text) {
    problem.textContent = text;
    problem.hidden = false;
    questions[current].scrollIntoView({ block: "nearest" }); // the message covers some
  }

  // Submitting ----------------------------------------------------------------

  let visible = 0;
  let since = document.hidden ? null : performance.now();

  function countTime() {
    if (since !== null) visible += performance.now() - since;
    since = document.hidden ? null : performance.now();
  }

  function submit(event) {
    const open = questions.find((q) => !answered(q));
    if (open) {
      event.preventDefault();
      const title = open.querySelector("legend").textContent;
      showProblem(`${problem.dataset.unanswered} ${title}`);
      mark(questions.indexOf(open));
      return;
    }
    if (sending || waiting.size || refused.size) {
      // An answer on its way could arrive after the form and undo a later change; one
      // that was refused is offered again, for what is shown is what must be stored.
      event.preventDefault();
      submitWhenSaved = true;
      if (refused.size) sendAll();
      return;
    }
    countTime();
    renewToken();
    form.elements.seconds.value = (visible / 1000).toFixed(1);
  }

  // The reasons for skipping open below what is in sight.
  document.querySelector(".skip")?.addEventListener("toggle", ({ target }) => {
    if (target.open) target.scrollIntoView({ block: "nearest" });
  });

  // Keys ----------------------------------------------------------------------

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.form && target.form !== form) return; // the reasons for skipping
    const tag = target.tagName;
    const choosing = tag === "INPUT" && target.type === "radio";
    const pressing = tag === "BUTTON" || tag === "A" || tag === "SUMMARY";
    const actions = {
      ArrowLeft: () => choosing || showShot(shot - 1),
      ArrowRight: () => choosing || showShot(shot + 1),
      ArrowUp: () => choosing || mark(current - 1),
      ArrowDown: () => choosing || mark(current + 1),
      Enter: () => pressing || form.requestSubmit(),
      Backspace: () => document.getElementById("back")?.click(),
      a: toggleAll,
      t: toggleText,
    };
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const digit = /^[0-9]$/.test(key);
    if (!digit && !(key in actions)) return;
    if (event.repeat && !key.startsWith("Arrow")) {
      event.preventDefault(); // however long a key is held, it acts once
    } else if (digit) {
      if (answerByKey(key)) event.preventDefault();
    } else if (actions[key]() !== true) event.preventDefault();
  }

  // Lease ---------------------------------------------------------------------

  // While the page is seen and somebody does something, the story stays theirs.
  const HEARTBEAT = 60000;
  let active = true;

  function beat() {
    const url = seat.dataset.heartbeatUrl;
    if (!url || !active || document.hidden) return;
    active = false;
    const headers = { "X-CSRFToken": renewToken(), Accept: "application/json" };
    fetch(url, { method: "POST", headers }).catch(() => {}); // the next one may succeed
  }

  // Start ---------------------------------------------------------------------

  document.documentElement.classList.add("js");
  form.elements.stored.disabled = false;
  document.querySelector(".viewer-bar").hidden = false;
  document.getElementById("previous-shot").onclick = () => showShot(shot - 1);
  document.getElementById("next-shot").onclick = () => showShot(shot + 1);
  document.getElementById("toggle-all").onclick = toggleAll;
  document.getElementById("toggle-text").onclick = toggleText;
  links.forEach((link, i) => {
    link.onclick = (event) => {
      event.preventDefault();
      showShot(i);
    };
  });
  questions.forEach((question, i) => {
    question.addEventListener("change", (event) => {
      save(question, event.target.value);
      mark(i);
    });
    question.addEventListener("pointerup", () => {
      // A click leaves focus on a radio button, whose arrow keys would then change
      // the answer instead of the shot.
      setTimeout(() => question.focus({ preventScroll: true }));
    });
  });
  form.addEventListener("submit", submit);
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", countTime);
  for (const kind of ["pointermove", "keydown", "scroll", "touchstart"]) {
    document.addEventListener(kind, () => { active = true; }, { passive: true });
  }
  setInterval(beat, HEARTBEAT);
  window.addEventListener("beforeunload", (event) => {
    if (waiting.size) event.preventDefault();
  });
  showShot(0);
  const open = questions.findIndex((q) => !answered(q));
  mark(open < 0 ? 0 : open);
  if (problem.hidden) window.scrollTo(0, 0);
  else problem.scrollIntoView({ block: "nearest" });
})();
