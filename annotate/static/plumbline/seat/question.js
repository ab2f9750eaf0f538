// A digit answers the marked question.
const TURN = 250; // ms in which an answer is seen before the next question comes
const QUIET = 300; // ms after that in which a second tap answers nothing
const FIELDS = "textarea, select, input:not([type=radio])";

export function open(main, seat) {
  const questions = [...main.querySelectorAll("[data-part=question]")];
  const answered = []; // the question and its answer before
  let current = 0;

  // Where only the marked one is shown, the next one comes by itself.
  const isNarrow = () => !questions.every((question) => question.getClientRects().length);
  const chosen = (question) => question.querySelector("input:checked")?.value || "";
  const firstOpen = () => questions.findIndex((question) => !chosen(question));

  // The next one that has no answer, or this one.
  function nextOpen() {
    const open = [...questions.slice(current), ...questions].find((each) => !chosen(each));
    return open ? questions.indexOf(open) : current;
  }

  function mark(index, scroll = true) {
    current = Math.max(0, Math.min(index, questions.length - 1));
    questions.forEach((question, i) => question.classList.toggle("current", i === current));
    if (scroll) questions[current].scrollIntoView({ block: "nearest" });
  }

  // On the marked question; from there Enter sends, and Space does not.
  const focus = () => questions[current].focus({ preventScroll: true });

  function turn() {
    mark(nextOpen());
    const question = questions[current];
    question.inert = true;
    setTimeout(() => {
      question.inert = false;
      if (!document.activeElement.matches(FIELDS)) focus(); // who writes by now goes on
    }, QUIET);
  }

  function set(question, value) {
    for (const input of question.elements) input.checked = input.value === value;
    question.dataset.before = value;
  }

  function give(question, value) {
    answered.push([question, question.dataset.before]);
    set(question, value);
    seat.answer({ question: question.dataset.question, value });
  }

  function byDigit({ key }) {
    const question = questions[current];
    const input = question.querySelector(`input[data-key="${key}"]`);
    if (!input || input.disabled) return true;
    if (seat.isGated()) return;
    give(question, input.value);
    mark(nextOpen());
    focus();
    if (firstOpen() < 0) seat.answered();
  }

  function undo() {
    if (!answered.length) return;
    const [question, value] = answered.pop();
    set(question, value);
    seat.answer({ question: question.dataset.question, value });
    mark(questions.indexOf(question));
  }

  questions.forEach((question, i) => {
    const sent = [...question.elements].find(({ defaultChecked }) => defaultChecked)?.value || "";
    question.dataset.before = seat.isFirst ? sent : chosen(question);
    if (question.dataset.before !== chosen(question)) give(question, chosen(question));
    seat.on(question, "change", ({ target }) => {
      if (seat.isGated()) set(question, question.dataset.before);
      else give(question, target.value);
      mark(i);
      if (isNarrow() && !target.matches(":focus-visible")) setTimeout(turn, TURN);
      // Keys pass over answers that are not meant.
      if (firstOpen() < 0 && !target.matches(":focus-visible")) seat.answered();
    });
    // On a radio button the arrow keys would change the answer instead of the shot.
    seat.on(question, "pointerup", ({ target }) => target.closest(".option") && setTimeout(focus));
  });
  mark(firstOpen(), false);

  const keys = {
    ArrowUp: () => mark(current - 1),
    ArrowDown: () => mark(current + 1),
    u: undo,
  };
  for (const digit of "0123456789") keys[digit] = byDigit;
  return {
    keys,
    turn: (by) => mark(current + by),
    show({ question, value }) {
      const found = questions.find(({ dataset }) => dataset.question === question);
      if (found) set(found, value);
    },
    missing() {
      const open = firstOpen();
      if (open < 0) return "";
      mark(open);
      return questions[open].querySelector("legend").textContent;
    },
  };
}
