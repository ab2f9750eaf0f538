// Pages of a study.
(() => {
  "use strict";

  // A link is selected as a whole as soon as it has the focus.
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(".link-field")) event.target.select();
  });

  // A part that is fetched anew stays scrolled where it was, and keeps the focus.
  const places = (part) => [...part.querySelectorAll("a, .scroll-x")];
  const name = (place) => place.getAttribute("href") || place.className;
  let scrolled = [];
  let focused = null;

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const place = places(detail.target).find((one) => one === document.activeElement);
    focused = place ? name(place) : null;
    scrolled = [...detail.target.querySelectorAll(".scroll-x")].map((box) => box.scrollLeft);
  });

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    detail.target.querySelectorAll(".scroll-x").forEach((box, at) => {
      box.scrollLeft = scrolled[at] || 0;
    });
    const place = focused && places(detail.target).find((one) => name(one) === focused);
    if (place) place.focus({ preventScroll: true });
  });
})();
