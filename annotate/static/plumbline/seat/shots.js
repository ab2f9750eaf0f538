// Shots: one at a time with all in a strip, or all at a glance.
import { openZoom } from "./zoom.js";

const pair = document.querySelector("#flicker") && await import("./compare.js");

const LEAST = 112; // px wide
const GAP = 10;
const SMALL = 320; // px: small pictures

export function open(main, seat) {
  const find = (selector) => main.querySelector(selector);
  const all = (selector) => [...main.querySelectorAll(selector)];
  const [grid, sheet, bar] = ["#seat", "#shots", ".viewer-bar"].map(find);
  const [shots, links, images] = [".shot", "#strip a", "#shots img"].map(all);
  const { ratio } = grid.dataset;
  const isOn = (name) => grid.classList.contains(name);
  const { on } = seat;
  let shot = 0;
  let side = 0; // px: the longer one of a picture among all
  let enlarged = 1;

  function showShot(index) {
    shot = Math.max(0, Math.min(index, shots.length - 1));
    shots.forEach((each, i) => each.classList.toggle("current", i === shot));
    links.forEach((link, i) => { link.ariaCurrent = i === shot; });
    find("#here").textContent = shots[shot].querySelector("h2").textContent.trim();
    if (!isOn("all")) zoom.fit();
    const seen = isOn("all") ? shots : links;
    if (seat.showShot) seen[shot].scrollIntoView({ block: "nearest", inline: "center" });
    seat.shotShown?.(shots[shot].id.slice(5));
  }

  function arrange() {
    const { text = true, ...chosen } = seat.setting("viewer") || {};
    const looks = { all: false, large: false, swipe: false, ...chosen, one: !chosen.all };
    looks.text = chosen.all ? Boolean(chosen.textAll) : text;
    for (const [look, wanted] of Object.entries(looks)) {
      grid.classList.toggle(look, wanted);
      find(`[data-look=${look}]`)?.setAttribute("aria-pressed", wanted);
    }
    makeRoom();
    showShot(shot);
  }

  function choose(look) {
    const name = look === "text" && isOn("all") ? "textAll" : look;
    seat.setSetting("viewer", { ...seat.setting("viewer"), [name]: !isOn(look) });
    arrange();
  }

  // As large as the window allows, one or all.
  function makeRoom() {
    const top = sheet.getBoundingClientRect().top + scrollY;
    const high = Math.max(innerHeight - top - bar.offsetHeight - 24, 2 * LEAST);
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
    side = (tile / sides) * Math.max(1, 1 / ratio);
    choosePictures();
  }

  // Many small ones are there at once.
  function choosePictures() {
    const isSmall = isOn("all") && side * enlarged * devicePixelRatio <= SMALL;
    for (const image of images) {
      const { href } = image.closest("a");
      const wanted = isSmall ? href.replace(/display.$/, "thumb/") : href;
      if (image.src !== wanted) image.src = wanted;
    }
  }

  function showFault(image) {
    const figure = image.closest("figure");
    if (!figure || figure.querySelector("div")) return;
    const tile = find("#broken").content.firstElementChild.cloneNode(true);
    tile.querySelector(".retry").onclick = () => {
      tile.remove();
      image.src = image.src;
    };
    figure.append(tile);
  }

  const { drag = () => {}, ...comparing } = pair?.openComparison(main, on) ?? {};
  const zoom = openZoom(main, on, drag, (factor) => {
    enlarged = factor;
    choosePictures();
  });
  const keys = {
    ...zoom.keys,
    ...comparing,
    ArrowLeft: () => zoom.keys.ArrowLeft() && showShot(shot - 1),
    ArrowRight: () => zoom.keys.ArrowRight() && showShot(shot + 1),
  };
  for (const { dataset: { look, key } } of all("[data-look]")) keys[key] = () => choose(look);
  on(find(".viewer"), "click", (event) => {
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
    } else if (!event.detail && target.matches("a.pane")) keys.z();
  });
  on(main, "error", ({ target }) => showFault(target), { capture: true });
  on(window, "resize", makeRoom);
  zoom.fit();
  arrange();
  images.filter((each) => each.complete && !each.naturalWidth).forEach(showFault);
  seat.showShot = (number) => showShot(shots.indexOf(find(`#shot-${number}`)));
  return { keys };
}
