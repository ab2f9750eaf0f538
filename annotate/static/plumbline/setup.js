// The set-up form: what the check found is told at the fields; lists are ticked at once.
(() => {
  "use strict";

  const form = document.getElementById("setup");
  const summary = document.getElementById("summary");

  // What is read of a line, however its template breaks it.
  const words = (line) => line.textContent.replace(/\s+/g, " ").trim();

  // What has been put right leaves the list above the form.
  function forget(left) {
    const problems = document.getElementById("problems");
    if (!problems) return;
    const lines = [...problems.querySelectorAll("li")];
    lines.forEach((line) => { line.hidden = !left.has(words(line)); });
    problems.hidden = lines.every((line) => line.hidden);
  }

  // Problems stand at their fields as well as in the summary.
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target !== summary) return;
    form.querySelectorAll(".field-error").forEach((one) => { one.textContent = ""; });
    form.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
    summary.querySelectorAll("[data-field]").forEach((problem) => {
      const place = document.getElementById(`${problem.dataset.field}-error`);
      if (place) place.textContent = problem.querySelector("span").textContent;
      document.getElementById(problem.dataset.field)?.setAttribute("aria-invalid", "true");
    });
    forget(new Set([...summary.querySelectorAll(".summary-problems li")].map(words)));
  });

  // A link to a field that is folded away unfolds it.
  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a[href^='#id_']");
    const field = link && document.getElementById(link.hash.slice(1));
    for (let box = field; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    if (field) setTimeout(() => field.focus());
  });

  form.querySelectorAll(".tick-all").forEach((bar) => {
    bar.hidden = false;
    bar.addEventListener("click", ({ target }) => {
      if (!("tick" in target.dataset)) return;
      bar.parentElement.querySelectorAll("input").forEach((box) => { box.checked = Boolean(target.dataset.tick); });
      form.dispatchEvent(new Event("input", { bubbles: true }));
    });
  });

  // What was typed before the scripts were there has not been checked.
  document.addEventListener("htmx:load", () => {
    const typed = [...form.querySelectorAll("input[type=text], input[type=number], textarea")];
    if (typed.some((field) => field.value !== field.defaultValue)) {
      form.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }, { once: true });

  // Who presses twice asks for one study: the second would find its name taken.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "create") return;
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });

  document.getElementById("problems")?.focus();
})();
