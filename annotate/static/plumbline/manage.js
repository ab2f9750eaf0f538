// Pages of a study.
(() => {
  "use strict";

  // A link is selected as a whole as soon as it has the focus.
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(".link-field")) event.target.select();
  });

  // A part that is fetched anew stays scrolled, keeps the focus, and what is unfolded.
  const places = (part) => [...part.querySelectorAll("a, button, summary, .scroll-x")];
  const name = (place) =>
    place.id || place.getAttribute("href") || place.closest("details")?.id || place.className;
  let scrolled = [];
  let focused = null;
  let unfolded = [];

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const place = places(detail.target).find((one) => one === document.activeElement);
    focused = place ? name(place) : null;
    scrolled = [...detail.target.querySelectorAll(".scroll-x")].map((box) => box.scrollLeft);
    unfolded = [...detail.target.querySelectorAll("details[open]")].map((one) => one.id);
  });

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    detail.target.querySelectorAll("details").forEach((one) => {
      if (one.id && unfolded.includes(one.id)) one.open = true;
    });
    detail.target.querySelectorAll(".scroll-x").forEach((box, at) => {
      box.scrollLeft = scrolled[at] || 0;
    });
    const place = focused && places(detail.target).find((one) => name(one) === focused);
    if (place) place.focus({ preventScroll: true });
  });
})();
