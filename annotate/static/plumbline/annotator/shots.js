// Picture viewer: one shot at a time with a strip, or all shots, by shot or by story.
import { openZoom } from "./zoom.js";

const pair = document.querySelector("#flicker") && await import("./compare.js");

const LEAST = 104; // px, least width including the gap
const GAP = 8;
const LINE = 22; // px, height of a caption
const SMALL = 320; // px, size of thumbnails
const WAIT = 250; // ms before a shot under the pointer is enlarged

export function open(main, host) {
  const find = (selector) => main.querySelector(selector);
  const all = (selector) => [...main.querySelectorAll(selector)];
  const [grid, sheet] = ["#annotator", "#shots"].map(find);
  const [shots, links, images] = [".shot", "#strip a", "#shots .pane img"].map(all);
  const [stories, figures] = [".story", "#shots figure"].map(all);
  const { ratio } = grid.dataset;
  const several = Math.max(1, stories.length);
  const isOn = (name) => grid.classList.contains(name);
  const { on } = host;
  let shot = 0;
  let at = 0; // the current side, in the one-at-a-time view
  let side = 0; // px, the longer side of a picture in the overview
  let enlarged = 1;
  let passing; // a look for this story only
  let waits;
  let over; // the figure under the pointer

  const numberOf = (index) => shots[index].id.slice(5);
  const ofShot = (index) => figures.filter(({ dataset }) => dataset.shot === numberOf(index));

  function showShot(index) {
    shot = Math.max(0, Math.min(index, shots.length - 1));
    shots.forEach((each, i) => each.classList.toggle("current", i === shot));
    links.forEach((link, i) => { link.ariaCurrent = i === shot; });
    figures.forEach((each, i) => {
      each.classList.toggle("here", each.dataset.shot === numberOf(shot));
      each.classList.toggle("aside", isOn("alone") && i % several !== at);
    });
    tell();
    find("#nth").textContent = `${numberOf(shot)}/${shots.length}`;
    if (!isOn("all")) {
      zoom.fit();
      sheet.scrollTop = 0; // back to the picture after reading the script
    }
    const seen = isOn("stories") ? ofShot(shot) : (isOn("all") ? shots : links).slice(shot, shot + 1);
    if (host.showShot) seen.forEach((each) => each.scrollIntoView({ block: "nearest", inline: "center" }));
    host.shotShown?.(numberOf(shot));
  }

  // Announces the shot, with its side in the one-at-a-time view.
  function tell() {
    const side = isOn("alone") ? `${ofShot(shot)[at].querySelector("b").textContent}: ` : "";
    const parts = [side, shots[shot].querySelector("h2").textContent.trim()];
    [...find("#here").children].forEach((part, i) => {
      if (part.textContent !== parts[i]) part.textContent = parts[i];
    });
  }

  // Moves to the next shot, or to the next side in the one-at-a-time view.
  function step(by) {
    const to = shot * several + at + by;
    if (!isOn("alone")) return showShot(shot + by);
    if (to < 0 || to >= figures.length) return;
    at = to % several;
    showShot(Math.floor(to / several));
  }

  function arrange() {
    const overview = { all: "overview" in grid.dataset };
    const { text = true, ...chosen } = { ...overview, ...host.setting("viewer"), ...passing };
    chosen.all &&= shots.length > 1;
    const looks = { large: false, swipe: false, alone: false, ...chosen, one: !chosen.all };
    looks.text = chosen.all ? Boolean(chosen.textAll) : text;
    looks.stories = Boolean(looks.all && chosen.stories && stories.length);
    looks.alone = Boolean(looks.one && looks.alone && stories.length);
    for (const [look, wanted] of Object.entries(looks)) {
      grid.classList.toggle(look, wanted);
      find(`[data-look=${look}]`)?.setAttribute("aria-pressed", wanted);
    }
    const { activeElement } = document;
    for (const figure of figures) {
      const { side: name, shot: number } = figure.dataset;
      const home = find(`#shot-${number} .shot-pictures`);
      (looks.stories ? stories.find(({ dataset }) => dataset.side === name) : home).append(figure);
    }
    makeRoom();
    showShot(shot);
    // Moved elements lose the focus.
    if (sheet.contains(activeElement)) activeElement.focus({ preventScroll: true });
  }

  // Shows one shot instead of the overview, for this story only.
  function openShot(number) {
    peek();
    shot = shots.indexOf(find(`#shot-${number}`));
    passing = { all: false };
    arrange();
  }

  function choose(look) {
    const name = look === "text" && isOn("all") ? "textAll" : look;
    const more = look === "stories" ? { all: true } : look === "alone" ? { all: false } : {};
    if (look === "all" || "all" in more) passing = {};
    host.setSetting("viewer", { ...host.setting("viewer"), ...more, [name]: !isOn(look) });
    arrange();
  }

  // The greatest tile width at which all shots fit; a tile shows `sides` pictures.
  function widest(wide, high, sides, label) {
    const sizes = shots.map((_, i) =>
      Math.min(wide / (i + 1), (high / Math.ceil(shots.length / (i + 1)) - label) * ratio * sides));
    return Math.max(...sizes);
  }

  // Fits the tiles to the window.
  function makeRoom() {
    // The sheet's padding is half a gap.
    const [wide, high] = [sheet.clientWidth, sheet.clientHeight];
    const label = GAP + (shots[0].querySelector(".shot-caption") ? LINE : 0);
    let [tile, blocks, sides, room] = [0, 1, 1, wide];
    if (isOn("stories")) {
      for (let columns = 1; columns <= several; columns += 1) {
        const rows = Math.ceil(several / columns);
        const size = widest(wide / columns, high / rows - LINE, 1, label);
        if (size > tile) [tile, blocks, room] = [size, columns, wide / columns];
      }
    } else {
      sides = isOn("swipe") ? 1 : several;
      if (!isOn("text")) tile = widest(wide, high, sides, label);
    }
    const least = sides * LEAST * (isOn("text") && !isOn("stories") ? 2 : 1);
    if (tile < least) tile = room / Math.max(1, Math.floor(room / least));
    const rows = Math.ceil(several / blocks);
    const peek = Math.min(room / tile, 0.9 * (high / rows) / (tile / sides / ratio + label));
    sheet.classList.add("fitted");
    grid.style.cssText = `--ratio: ${ratio}; --tile: ${tile - GAP}px; --blocks: ${blocks};`
      + `--rows: ${rows}; --peek: ${Math.max(1, Math.min(peek, 4))}`;
    side = (tile / sides) * Math.max(1, 1 / ratio);
    choosePictures();
  }

  // Thumbnails load quickly, so small tiles use them.
  function choosePictures() {
    const isSmall = isOn("all") && side * enlarged * devicePixelRatio <= SMALL;
    for (const image of images) {
      const { href } = image.closest("a");
      const wanted = isSmall && !image.closest(".peek") ? href.replace(/display.$/, "thumb/") : href;
      if (image.src !== wanted) image.src = wanted;
    }
  }

  // Enlarges all versions of a shot in the overview as far as there is room.
  function peek(figure) {
    clearTimeout(waits);
    all(".peek").forEach((each) => each.classList.remove("peek"));
    if (!figure || !isOn("all") || enlarged > 1) return choosePictures();
    const number = figure.dataset.shot;
    const grown = isOn("stories")
      ? figures.filter(({ dataset }) => dataset.shot === number) : [figure.closest(".shot")];
    for (const each of grown) {
      const room = (isOn("stories") ? each.parentElement : sheet).getBoundingClientRect();
      const box = each.getBoundingClientRect();
      const share = (from, start, size, whole) =>
        100 * Math.max(0, Math.min(1, (from - start) / Math.max(1, whole - size)));
      each.style.transformOrigin = `${share(box.x, room.x, box.width, room.width)}% `
        + `${share(box.y, room.y, box.height, room.height)}%`;
      each.classList.add("peek");
    }
    choosePictures();
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
  const zoom = openZoom(main, on, { drag, flick: (by) => isOn("swipe") || step(by) }, (factor) => {
    enlarged = factor;
    choosePictures();
  });
  const keys = {
    ...zoom.keys,
    ...comparing,
    ArrowLeft: () => zoom.keys.ArrowLeft() && step(-1),
    ArrowRight: () => zoom.keys.ArrowRight() && step(1),
    Escape: () => (all(".peek").length ? peek() : zoom.keys.Escape()),
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
    if (figure && isOn("all") && zoom.isStill()) openShot(figure.dataset.shot);
    else if (!event.detail && target.matches("a.pane")) keys.z();
    else if (figure && zoom.isStill()) host.pictureClicked?.(event, figure);
  });
  on(sheet, "pointermove", ({ target, pointerType }) => {
    const figure = pointerType === "mouse" && target.closest("figure");
    if (figure === over) return;
    over = figure;
    clearTimeout(waits);
    waits = setTimeout(() => peek(figure), figure ? WAIT : 0);
  });
  on(sheet, "pointerleave", () => { peek(); over = null; });
  on(sheet, "focusin", ({ target }) => target.matches("a.pane:focus-visible") && peek(target.closest("figure")));
  on(sheet, "focusout", () => peek());
  for (const story of stories) {
    on(story, "scroll", () => stories.forEach((each) => { each.scrollTop = story.scrollTop; }));
  }
  on(main, "error", ({ target }) => showFault(target), { capture: true });
  on(window, "resize", makeRoom);
  zoom.fit();
  arrange();
  images.filter((each) => each.complete && !each.naturalWidth && each.loading !== "lazy").forEach(showFault);
  // Pictures out of sight load after those in sight.
  const first = images.filter((image) => image.loading !== "lazy");
  Promise.all(first.map((image) => image.complete || new Promise((done) => {
    on(image, "load", done);
    on(image, "error", done);
  }))).then(() => images.forEach((image) => { image.loading = "eager"; }));
  host.openShot = openShot;
  host.showShot = (number) => showShot(shots.indexOf(find(`#shot-${number}`)));
  return { keys };
}
