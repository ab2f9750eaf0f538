// The set-up form: shows problems at their fields, and ticks whole lists.
(() => {
  "use strict";

  const form = document.getElementById("setup");
  const summary = document.getElementById("summary");

  // A line's text without the template's line breaks.
  const words = (line) => line.textContent.replace(/\s+/g, " ").trim();

  // Solved problems leave the list above the form.
  function forget(left) {
    const problems = document.getElementById("problems");
    if (!problems) return;
    const lines = [...problems.querySelectorAll("li")];
    lines.forEach((line) => { line.hidden = !left.has(words(line)); });
    problems.hidden = lines.every((line) => line.hidden);
  }

  // Problems are shown at their fields as well as in the summary.
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

  // A link to a field in closed details opens them.
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

  // Input from before the scripts loaded has not been checked yet.
  document.addEventListener("htmx:load", () => {
    const typed = [...form.querySelectorAll("input[type=text], input[type=number], textarea")];
    if (typed.some((field) => field.value !== field.defaultValue)) {
      form.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }, { once: true });

  // A second click must not create another study, whose name would be taken.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "create") return;
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });

  document.getElementById("problems")?.focus();
})();
