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
    if (!input) return false;
    input.checked = true;
    save(questions[current], input.value);
    markNextUnanswered();
    return true;
  }

  // Saving --------------------------------------------------------------------

  const waiting = new Map(); // question -> {value, key}; the newest answer wins
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
    problem.hidden = true;
    waiting.set(question.dataset.question, { value, key: newKey() });
    tell("saving", "");
    send();
  }

  async function send() {
    if (sending || waiting.size === 0) return;
    sending = true;
    const [question, { value, key }] = waiting.entries().next().value;
    const body = new FormData();
    body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    body.set("question", question);
    body.set("value", value);
    body.set("client_key", key);
    let again = false;
    try {
      const response = await fetch(seat.dataset.answerUrl, { method: "POST", body });
      if (response.status === 409 || response.status === 400) {
        problem.textContent = (await response.json()).error;
        problem.hidden = false;
      } else if (!response.ok) again = true;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch: the network failed
      again = true;
    }
    sending = false;
    if (again) {
      tell("failed", "warn");
      setTimeout(send, delay);
      delay = Math.min(delay * 2, RETRY_LAST);
      return;
    }
    delay = RETRY_FIRST;
    const newest = waiting.get(question);
    if (newest && newest.key === key) waiting.delete(question);
    if (waiting.size) send();
    else if (!problem.hidden) {
      submitWhenSaved = false;
      state.textContent = "";
    } else {
      tell("saved", "good");
      if (submitWhenSaved) form.requestSubmit();
    }
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
      problem.textContent = `${problem.dataset.unanswered} ${title}`;
      problem.hidden = false;
      mark(questions.indexOf(open));
      return;
    }
    if (sending || waiting.size) {
      // An answer on its way could arrive after the form and undo a later change.
      event.preventDefault();
      submitWhenSaved = true;
      return;
    }
    countTime();
    form.elements.seconds.value = (visible / 1000).toFixed(1);
  }

  // Keys ----------------------------------------------------------------------

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
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
    if (/^[0-9]$/.test(event.key)) {
      if (answerByKey(event.key)) event.preventDefault();
    } else if (event.key in actions) {
      if (actions[event.key]() !== true) event.preventDefault();
    }
  }

  // Start ---------------------------------------------------------------------

  document.documentElement.classList.add("js");
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
  window.addEventListener("beforeunload", (event) => {
    if (waiting.size) event.preventDefault();
  });
  showShot(0);
  const open = questions.findIndex((q) => !answered(q));
  mark(open < 0 ? 0 : open);
  window.scrollTo(0, 0);
})();
