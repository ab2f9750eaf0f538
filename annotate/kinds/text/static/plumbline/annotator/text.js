// Free-text answers, sent during typing like comments.
export function open(main, host) {
  const questions = [...main.querySelectorAll("[data-part=text]")];
  const fieldOf = (question) => question.querySelector("textarea");
  const isLacking = (question) => "required" in question.dataset && !fieldOf(question).value.trim();

  function send(question) {
    const value = fieldOf(question).value.trim();
    if (value === question.dataset.before) return;
    // A required answer of a submitted story can be changed but not removed.
    if (isLacking(question) && host.isSubmitted()) return;
    question.dataset.before = value;
    host.answer({ question: question.dataset.question, value });
  }

  for (const question of questions) {
    const field = fieldOf(question);
    // The annotator may have typed before the scripts loaded.
    question.dataset.before = (host.isFirst ? field.defaultValue : field.value).trim();
    // The text in the field was refused, so it is not stored.
    if ("refused" in question.dataset) question.dataset.before = "";
    send(question);
    host.on(field, "input", () => host.draft(field, () => send(question)));
    // After Escape, keys answer other questions again.
    host.on(field, "keydown", ({ key }) => key === "Escape" && question.focus({ preventScroll: true }));
  }

  return {
    keys: {},
    show({ question, value }) {
      const found = questions.find(({ dataset }) => dataset.question === question);
      if (!found || host.isDraft(fieldOf(found))) return;
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
