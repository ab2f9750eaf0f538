// Questions with options: a digit answers the current one; longer numbers are typed.
import { parse, sliderOf } from "./numbers.js";

const TURN = 250; // ms for which an answer stays visible before the next question
const QUIET = 300; // ms after that in which a second tap is ignored
const PAUSE = 800; // ms after which a typed number is complete
const FIELDS = "textarea, select, input:not([type=radio])";

export function open(main, host) {
  const questions = [...main.querySelectorAll("[data-part=question]")];
  const sliders = new Map(questions.map((each) => [each, sliderOf(each, host.on)]));
  const answered = []; // questions with their previous answers, for undo
  let current = 0;
  let typed = ""; // digits so far, and their question:
  let about;

  // If only the current question is visible, the next one follows automatically.
  const isNarrow = () => !questions.every((question) => question.getClientRects().length);
  const chosen = (question) =>
    sliders.get(question)?.value() ?? question.querySelector("input:checked")?.value ?? "";
  const firstOpen = () => questions.findIndex((question) => !chosen(question));

  // The next unanswered question, or the current one.
  function nextOpen() {
    const open = [...questions.slice(current), ...questions].find((each) => !chosen(each));
    return open ? questions.indexOf(open) : current;
  }

  function mark(index, scroll = true) {
    current = Math.max(0, Math.min(index, questions.length - 1));
    questions.forEach((question, i) => question.classList.toggle("current", i === current));
    if (scroll) questions[current].scrollIntoView({ block: "nearest" });
    if (typed && about !== questions[current]) host.flush();
  }

  // With the focus on the question, Enter submits and Space does nothing.
  const focus = () => questions[current].focus({ preventScroll: true });

  // Shows another question; a second tap must not answer it.
  function turn(index) {
    const panel = questions[current].closest(".panel");
    const { scrollTop } = panel;
    mark(index);
    if (!isNarrow() && panel.scrollTop === scrollTop) return;
    const question = questions[current];
    question.inert = true;
    setTimeout(() => {
      question.inert = false;
      if (!document.activeElement.matches(FIELDS)) focus(); // do not interrupt typing
    }, QUIET);
  }

  function set(question, value) {
    const slider = sliders.get(question);
    if (slider) slider.set(value);
    else for (const input of question.elements) input.checked = input.value === value;
    question.dataset.before = value;
  }

  function give(question, value) {
    answered.push([question, question.dataset.before]);
    set(question, value);
    host.answer({ question: question.dataset.question, value });
  }

  function goOn() {
    mark(nextOpen());
    focus();
    if (firstOpen() < 0) host.answered();
  }

  // Stores the value of a slider or its field; returns false if it is not on the scale.
  function settle(question) {
    const value = sliders.get(question).value();
    if (value === null) return false;
    if (value === question.dataset.before) return;
    if (host.isGated()) set(question, question.dataset.before);
    else give(question, value);
  }

  const refuse = (question) => host.problem(question.dataset.range);

  function type(text) {
    [typed, about] = [text, questions[current]];
    about.querySelector(".typed").value = typed;
    if (typed) host.draft(about, finish, PAUSE);
    else host.drop(about);
  }

  function finish() {
    const [question, value] = [about, parse(typed, about.dataset)];
    question.querySelector(".typed").value = typed = "";
    if (value === null) return refuse(question);
    if (host.isGated()) return;
    give(question, value);
    if (questions[current] === question) goOn();
  }

  function byDigit(_event, digit) {
    const question = questions[current];
    const input = question.querySelector(`input[data-key="${digit}"]`);
    if ((input ?? question.querySelector("input")).disabled) return true;
    if (question.dataset.range) return type(typed + digit);
    if (!input) return true;
    if (host.isGated()) return;
    give(question, input.value);
    goOn();
  }

  function undo() {
    if (!answered.length) return;
    const [question, value] = answered.pop();
    set(question, value);
    host.answer({ question: question.dataset.question, value });
    mark(questions.indexOf(question));
  }

  function hear(question, i) {
    const slider = sliders.get(question);
    host.on(question, "change", ({ target }) => {
      mark(i);
      if (slider) {
        if (settle(question) === false) refuse(question);
        return host.flush();
      }
      if (about === question && typed) type("");
      if (host.isGated()) set(question, question.dataset.before);
      else give(question, target.value);
      if (!target.matches(":focus-visible")) setTimeout(() => turn(nextOpen()), TURN);
      // Arrow keys pass through other answers first.
      if (firstOpen() < 0 && !target.matches(":focus-visible")) host.answered();
    });
    // Tapping the chosen answer goes on, too.
    host.on(question, "click", ({ target }) => {
      const isChosen = target.type === "radio" && target.value === question.dataset.before;
      if (isChosen && isNarrow() && !target.matches(":focus-visible")) turn(i + 1);
    });
    // On a radio button or slider, arrow keys would change the answer, not the shot.
    host.on(question, "pointerup", ({ target }) =>
      target.closest(".option, [type=range]") && setTimeout(focus));
    if (!slider) return;
    host.on(slider.field, "input", () => host.draft(slider.field, () => settle(question)));
    host.on(question, "click", ({ target }) => {
      if (!target.matches("[type=range]")) return;
      slider.press();
      settle(question);
      mark(i);
    });
  }

  questions.forEach((question, i) => {
    const sent = sliders.get(question)?.field.defaultValue
      ?? [...question.elements].find(({ defaultChecked }) => defaultChecked)?.value ?? "";
    question.dataset.before = host.isFirst ? sent : chosen(question);
    if (question.dataset.before !== chosen(question)) give(question, chosen(question));
    hear(question, i);
  });
  mark(firstOpen(), false);
  // A table has no room for the words of each answer. In a list, the line would move the
  // options under a finger.
  for (const kind of ["pointerover", "focusin"]) {
    host.on(main, kind, ({ target }) => {
      const option = target.closest?.(".table .option");
      if (option && !isNarrow()) main.querySelector(".meaning").textContent = option.textContent;
    });
  }

  const keys = {
    ArrowUp: () => mark(current - 1),
    ArrowDown: () => mark(current + 1),
    u: undo,
    // In a number field, Enter first stores the number, then submits.
    Enter({ target }) {
      if (!host.isDraft(target)) return true;
      host.flush();
      if (host.isDraft(target)) return refuse(target.closest("[data-part]"));
      target.blur(); // its change event marks its question
      goOn();
    },
  };
  const isNegative = () => questions[current].dataset.low < 0;
  const first = {
    "-": (event) => (typed || isNegative() ? byDigit(event, "-") : true),
    Enter: () => !typed || host.flush(),
    Backspace: () => !typed || type(typed.slice(0, -1)),
    Escape: () => !typed || type(""),
  };
  for (const digit of "0123456789") {
    keys[digit] = byDigit;
    // Some keyboards have the minus in the row of digits.
    first[digit] = (event) =>
      (typed ? byDigit(event, digit) : event.key !== "-" || first["-"](event));
  }
  return {
    keys,
    first,
    turn: (by) => mark(current + by),
    show({ question, value }) {
      const found = questions.find(({ dataset }) => dataset.question === question);
      if (found && !host.isDraft(sliders.get(found)?.field)) set(found, value);
    },
    missing() {
      const open = firstOpen();
      if (open < 0) return "";
      mark(open);
      return questions[open].querySelector("legend").textContent;
    },
  };
}
