// Terms of the glossary: their notes appear on hover and focus. Without this script, a press shows them.
(() => {
  "use strict";

  // Milliseconds in which the pointer can move from a term to its note.
  const GRACE = 300;
  let timer = 0;

  function show(button) {
    clearTimeout(timer);
    const note = button.popoverTargetElement;
    if (!note.matches(":popover-open")) note.showPopover({ source: button });
  }

  function hide() {
    document.querySelector(".term-note:popover-open")?.hidePopover();
  }

  const part = (element) => element?.closest?.(".term, .term-note");

  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "mouse" || !part(target)) return;
    clearTimeout(timer);
    if (part(target).matches(".term")) show(part(target));
  });
  document.addEventListener("pointerout", ({ target, relatedTarget, pointerType }) => {
    if (pointerType === "mouse" && part(target) && !part(relatedTarget)) timer = setTimeout(hide, GRACE);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches(".term:focus-visible")) show(target);
  });
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (part(target) && !part(relatedTarget)) hide();
  });
  // A press on a term that shows its note would hide the note.
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".term");
    if (!button) return;
    event.preventDefault();
    show(button);
  });
})();
