// Answers in words: sent while they are written, as comments are.
export function open(main, seat) {
  const questions = [...main.querySelectorAll("[data-part=text]")];
  const fieldOf = (question) => question.querySelector("textarea");
  const isLacking = (question) => "required" in question.dataset && !fieldOf(question).value.trim();

  function send(question) {
    const value = fieldOf(question).value.trim();
    if (value === question.dataset.before) return;
    // What is sent as a whole needs its text: it may be changed, and not taken back.
    if (isLacking(question) && seat.isSubmitted()) return;
    question.dataset.before = value;
    seat.answer({ question: question.dataset.question, value });
  }

  for (const question of questions) {
    const field = fieldOf(question);
    // Somebody may have written before the scripts were there.
    question.dataset.before = (seat.isFirst ? field.defaultValue : field.value).trim();
    // What stands there was not stored.
    if ("refused" in question.dataset) question.dataset.before = "";
    send(question);
    seat.on(field, "input", () => seat.draft(field, () => send(question)));
    // From there the keys answer other questions again.
    seat.on(field, "keydown", ({ key }) => key === "Escape" && question.focus({ preventScroll: true }));
  }

  return {
    keys: {},
    show({ question, value }) {
      const found = questions.find(({ dataset }) => dataset.question === question);
      if (!found || seat.isDraft(fieldOf(found))) return;
      fieldOf(found).value = found.dataset.before = value;
    },
    missing() {
      const open = questions.find(isLacking);
      if (!open) return "";
      fieldOf(open).focus();
      return open.querySelector("legend").textContent;
    },
  };
}
