// The story's shots: one at a time with all in a strip, or all at a glance.
import { openComparison } from "./compare.js";
import { openZoom } from "./zoom.js";

const LEAST = 112; // px: no picture is narrower; all of them are scrolled then
const GAP = 10;

export function open(main, seat) {
  const find = (selector) => main.querySelector(selector);
  const grid = find("#seat");
  const sheet = find("#shots");
  const bar = find(".viewer-bar");
  const shots = [...sheet.children];
  const links = [...find("#strip").querySelectorAll("a")];
  const images = [...sheet.querySelectorAll("img")];
  const isOn = (name) => grid.classList.contains(name);
  const { on } = seat;
  let shot = 0;

  function showShot(index) {
    shot = Math.max(0, Math.min(index, shots.length - 1));
    shots.forEach((each, i) => each.classList.toggle("current", i === shot));
    links.forEach((link, i) => link.setAttribute("aria-current", i === shot));
    find("#here").textContent = shots[shot].querySelector("h2").textContent;
    if (!isOn("all")) zoom.fit();
    const seen = isOn("all") ? shots : links;
    seen[shot].scrollIntoView({ block: "nearest", inline: "center" });
    seat.shotShown?.(shots[shot].id.slice(5));
  }

  // What was chosen, for this story or one before, is how the page looks.
  function arrange() {
    const { all, textAll, text = true, large, swipe } = seat.setting("viewer") || {};
    const looks = { all, one: !all, text: all ? textAll : text, large, swipe };
    for (const [look, wanted] of Object.entries(looks)) {
      grid.classList.toggle(look, Boolean(wanted));
      find(`[data-look=${look}]`)?.setAttribute("aria-pressed", Boolean(wanted));
    }
    makeRoom();
    showShot(shot);
  }

  function choose(look) {
    const name = look === "text" && isOn("all") ? "textAll" : look;
    seat.setSetting("viewer", { ...seat.setting("viewer"), [name]: !isOn(look) });
    arrange();
  }

  // Pictures are as large as the window lets them be, one of them or all.
  function makeRoom() {
    const { ratio } = grid.dataset;
    const top = sheet.getBoundingClientRect().top + window.scrollY;
    const high = Math.max(window.innerHeight - top - bar.offsetHeight - 24, 2 * LEAST);
    const wide = sheet.clientWidth + GAP;
    const stories = shots[0].querySelectorAll("figure").length;
    const sides = isOn("swipe") ? 1 : stories;
    const label = GAP + 22 * (stories - 1);
    const least = sides * LEAST * (isOn("text") ? 2 : 1);
    const sizes = shots.map((_, i) =>
      Math.min(wide / (i + 1), (high / Math.ceil(shots.length / (i + 1)) - label) * ratio * sides));
    const size = isOn("text") ? 0 : Math.max(...sizes);
    const tile = size > least ? size : wide / Math.max(1, Math.floor(wide / least));
    grid.style.cssText = `--ratio: ${ratio}; --room: ${high}px; --tile: ${tile - GAP}px`;
  }

  // A picture that could not be loaded says so, and can be asked for again.
  function showFault(image) {
    const figure = image.closest("figure");
    if (!figure || figure.querySelector("div")) return;
    const tile = find("#broken").content.firstChild.cloneNode(true);
    tile.querySelector(".retry").onclick = () => {
      tile.remove();
      image.src = image.src;
    };
    figure.append(tile);
  }

  const { drag, ...comparing } = openComparison(main, on);
  const zoom = openZoom(main, on, drag);
  const keys = {
    ...zoom.keys,
    ...comparing,
    ArrowLeft: () => zoom.keys.ArrowLeft() && showShot(shot - 1),
    ArrowRight: () => zoom.keys.ArrowRight() && showShot(shot + 1),
  };
  bar.querySelectorAll("[data-look]").forEach(({ dataset: { look, key } }) => {
    keys[key] = () => choose(look);
  });
  on(main, "click", (event) => {
    const { target } = event;
    const key = target.closest("[data-key]")?.dataset.key;
    const link = links.indexOf(target.closest("a"));
    const figure = target.closest("figure");
    if (key || figure || link >= 0) event.preventDefault();
    if (key) keys[key]();
    if (link >= 0) showShot(link);
    if (figure && isOn("all") && zoom.isStill()) {
      shot = shots.indexOf(figure.closest(".shot"));
      choose("all");
    } else if (figure && event.detail === 0) keys.z();
  });
  on(main, "error", ({ target }) => showFault(target), { capture: true });
  on(window, "resize", makeRoom);
  zoom.fit();
  if (!sheet.querySelector(".script")) find("[data-look=text]")?.replaceWith(find(".shot-text p"));
  arrange();
  images.filter((each) => each.complete && !each.naturalWidth).forEach(showFault);
  seat.showShot = (number) => showShot(shots.indexOf(find(`#shot-${number}`)));
  return { keys };
}
