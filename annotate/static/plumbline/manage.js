// Pages of a study.
(() => {
  "use strict";

  // Focusing a link field selects the whole link.
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(".link-field")) event.target.select();
  });

  // Buttons copy their own text or the field beside them. The clipboard needs HTTPS;
  // elsewhere the browser copies a selected field.
  const selectAndCopy = (text) => {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  };
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copy]");
    if (!button) return;
    const { copy, copied } = button.dataset;
    const text = copy || button.parentElement.querySelector("textarea, input").value;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      selectAndCopy(text);
      button.focus();
    }
    button.textContent = copied;
    button.setAttribute("aria-label", copied);
  });

  // A file that the server would refuse is not sent.
  document.addEventListener("change", ({ target }) => {
    const { most, tooLarge } = target.dataset;
    if (!tooLarge) return;
    target.setCustomValidity(target.files[0]?.size > most * 2 ** 20 ? tooLarge : "");
    target.reportValidity();
  });

  // The marks of each kind of fault can be hidden.
  document.addEventListener("change", ({ target }) => {
    const { fault } = target.dataset;
    if (!fault) return;
    document.querySelectorAll(`g[data-fault="${fault}"]`).forEach((mark) => {
      mark.toggleAttribute("hidden", !target.checked);
    });
  });

  // A refreshed part keeps its scroll position, focus and open details.
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

  // Long lists of names can be filtered, and the visible ones ticked together.
  const boxes = (group) => [...group.querySelectorAll(".ticks-wide label")];
  document.addEventListener("input", ({ target }) => {
    const group = target.matches("[type=search]") && target.closest("[data-names]");
    if (!group) return;
    const typed = target.value.trim().toLowerCase();
    boxes(group).forEach((box) => { box.hidden = !box.textContent.toLowerCase().includes(typed); });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-names] [type=search]")) event.preventDefault();
  });
  document.addEventListener("click", ({ target }) => {
    const group = target.matches("[data-tick]") && target.closest("[data-names]");
    if (!group) return;
    boxes(group).filter((box) => !box.hidden).forEach((box) => {
      box.querySelector("input").checked = target.dataset.tick === "all";
    });
  });

  // A box for everybody ticks the boxes in sight; changing one of those unticks it.
  document.addEventListener("change", ({ target }) => {
    const all = document.querySelector("[data-everybody]");
    const same = all ? [...document.getElementsByName(all.dataset.everybody)] : [];
    if (target === all) same.forEach((box) => { box.checked = all.checked; });
    else if (same.includes(target)) all.checked = false;
  });

  // A row's menu is positioned above the table, which would otherwise clip it.
  document.documentElement.classList.add("js");
  const menus = () => document.querySelectorAll(".menu[open]");
  const place = (menu) => {
    const button = menu.querySelector("summary").getBoundingClientRect();
    const panel = menu.querySelector(".stack");
    const { width, height } = panel.getBoundingClientRect();
    const edge = 8;
    const below = button.bottom + 4;
    const fits = below + height <= innerHeight - edge;
    const left = Math.min(button.right - width, innerWidth - width - edge);
    panel.style.left = `${Math.max(left, edge)}px`;
    panel.style.top = `${Math.max(fits ? below : button.top - height - 4, edge)}px`;
  };
  const placeAll = () => menus().forEach(place);

  document.addEventListener("toggle", ({ target }) => {
    if (target.matches(".menu") && target.open) {
      menus().forEach((other) => { if (other !== target) other.open = false; });
    }
    if (target.closest(".menu[open]")) placeAll();
  }, true);
  addEventListener("scroll", placeAll, { capture: true, passive: true });
  addEventListener("resize", placeAll);

  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector(".menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", ({ target }) => {
    menus().forEach((menu) => { if (!menu.contains(target)) menu.open = false; });
  });
})();
