// Marks: pins on places in the pictures, set by a click, a tap, or a cross-hair for keys.

const NOTHING = "nothing";
const [STEP, LEAP] = [0.02, 0.1]; // of a picture, for one arrow key, without and with Shift
const FAR = 5; // px; a shorter way is a tap
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const within = (value) => Math.max(0, Math.min(value, 1));

// The part of a box that the picture in it fills, as shares of the box.
function filled(image, box) {
  const [across, down] = [image.naturalWidth / box.width, image.naturalHeight / box.height];
  return [across, down].map((part) => part / Math.max(across, down) || 1);
}

// The place of a pointer, as shares of the picture; empty outside of it.
function placeOf(image, { clientX, clientY }) {
  const box = image.getBoundingClientRect();
  const [wide, high] = filled(image, box);
  const x = ((clientX - box.x) / box.width - (1 - wide) / 2) / wide;
  const y = ((clientY - box.y) / box.height - (1 - high) / 2) / high;
  return x === within(x) && y === within(y) ? { x, y } : undefined;
}

export function open(main, host) {
  const question = main.querySelector("[data-part=marks]");
  const find = (selector) => question.querySelector(selector);
  const field = find("textarea");
  const list = find(".pin-list");
  const isLocked = field.disabled;
  const others = [...main.querySelectorAll(".question:not([data-part=marks], [data-part=text])")];
  const grid = main.querySelector("#annotator");
  const labels = [...question.querySelectorAll("[data-label]")];
  const layers = new Map(); // by shot
  let pins = [];
  let isNothing = false;
  let before;
  let aim; // the place of the cross-hair, and the pin that it moves

  const cross = document.createElement("div");
  cross.className = "cross";
  cross.tabIndex = 0;
  // Screen readers pass arrow keys on.
  cross.setAttribute("role", "application");
  cross.ariaLabel = find(".aiming").ariaLabel;

  const imageOf = (shot) => layers.get(`${shot}`)?.parentElement.querySelector(".pane img");
  const nameOf = (label) => labels.find(({ dataset }) => dataset.label === label).lastChild.textContent.trim();
  const filledIn = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
  const lineOf = ({ shot, x, y, label }) => `${shot} ${x.toFixed(6)} ${y.toFixed(6)} ${label}`;
  const isLacking = () => "required" in question.dataset && !text();
  const text = () => (isNothing ? NOTHING : pins.map(lineOf).join("\n"));

  function parse(value) {
    isNothing = value.trim() === NOTHING;
    pins = isNothing ? [] : value.split("\n").filter(Boolean).map((line) => {
      const [shot, x, y, label] = line.split(" ");
      return { shot, x: Number(x), y: Number(y), label };
    });
  }

  // Places an element of a layer by its share of the picture, which can be letterboxed.
  function put(element, { shot, x, y }) {
    const image = imageOf(shot);
    const [wide, high] = filled(image, image.parentElement.getBoundingClientRect());
    element.style.setProperty("--u", (1 - wide) / 2 + x * wide);
    element.style.setProperty("--v", (1 - high) / 2 + y * high);
    const layer = layers.get(`${shot}`);
    if (element.parentElement !== layer) layer.append(element); // which would take the focus
  }

  function draw() {
    main.querySelectorAll(".pin").forEach((pin) => pin.remove());
    pins.forEach((pin, at) => {
      if (!imageOf(pin.shot)) return;
      const drawn = document.createElement("b");
      drawn.className = "pin";
      drawn.ariaHidden = true;
      drawn.textContent = at + 1;
      drawn.dataset.at = at;
      drawn.title = nameOf(pin.label);
      put(drawn, pin);
    });
    if (aim) put(cross, aim);
  }

  function tellList() {
    const rows = pins.map(({ shot, label }, at) => {
      const row = find("template").content.firstElementChild.cloneNode(true);
      const { mark, shotName } = question.dataset;
      const name = filledIn(mark, { n: at + 1, shot });
      row.dataset.at = at;
      row.querySelector("b").textContent = at + 1;
      row.querySelector("span").textContent = filledIn(shotName, { shot });
      for (const button of row.querySelectorAll("[data-do], select")) {
        const own = button.ariaLabel ?? button.textContent.trim();
        button.ariaLabel = button.dataset.do === "show" ? name : `${own}: ${name}`;
      }
      row.querySelector("select").value = label;
      return row;
    });
    list.replaceChildren(...rows);
    const button = find("[data-do=nothing]");
    button.setAttribute("aria-pressed", isNothing);
    button.disabled = isLocked || pins.length > 0;
    field.value = text();
  }

  function tell() {
    tellList();
    draw();
  }

  function settle() {
    tell();
    const value = text();
    if (value === before) return;
    // A required answer of a submitted story can be changed but not removed.
    if (!value && "required" in question.dataset && host.isSubmitted()) return;
    before = value;
    host.answer({ question: question.dataset.question, value });
  }

  // In a narrow window, this question takes the place of the others, or gives it back.
  const point = (isOn) => grid.classList.toggle("pointing", isOn || !others.length);

  // Shows the cross-hair at a place, or hides it.
  function aimAt(place, byKeys = false) {
    aim = place;
    const isMoving = aim?.at !== undefined;
    find(".aiming").hidden = !aim;
    find(".to-aim").hidden = Boolean(aim);
    for (const one of question.querySelectorAll(".to-name")) one.hidden = isMoving;
    for (const one of question.querySelectorAll(".to-move")) one.hidden = !isMoving;
    cross.remove();
    find(".aimed").value = "";
    if (!aim) return;
    point(true);
    put(cross, aim);
    say();
    find(".aiming").scrollIntoView({ block: "nearest" });
    if (byKeys) cross.focus({ preventScroll: true });
  }

  function say() {
    const [x, y] = [aim.x, aim.y].map((part) => Math.round(100 * part));
    find(".aimed").value = filledIn(question.dataset.place, { shot: aim.shot, x, y });
  }

  function begin(place) {
    if (isLocked || host.isGated()) return;
    const { shot = main.querySelector(".here").dataset.shot } = place ?? {};
    host.openShot(shot);
    if (imageOf(shot)) aimAt({ shot, x: 0.5, y: 0.5, ...place }, true);
  }

  function finish(label) {
    const { at, ...place } = aim;
    if (at === undefined) pins.push({ ...place, label });
    else pins[at] = { ...pins[at], ...place };
    isNothing = false;
    aimAt();
    settle();
    question.focus({ preventScroll: true });
  }

  function sayNothing() {
    if (isLocked || pins.length || host.isGated()) return true;
    aimAt();
    isNothing = !isNothing;
    settle();
    if (isNothing) host.answered();
  }

  const acts = {
    aim: () => begin(),
    cancel: () => aimAt(),
    place: () => finish(),
    nothing: sayNothing,
    show: (at) => host.openShot(pins[at].shot),
    move: (at) => begin({ ...pins[at], at }),
    delete(at) {
      if (host.isGated()) return;
      pins.splice(at, 1);
      aimAt();
      settle();
      question.focus({ preventScroll: true });
    },
  };
  host.on(question, "click", ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    const at = Number(button.closest("[data-at]")?.dataset.at);
    if (button.dataset.label) finish(button.dataset.label);
    else acts[button.dataset.do](at);
  });
  host.on(list, "change", ({ target }) => {
    const { at } = target.closest("[data-at]").dataset;
    if (host.isGated()) return tellList();
    pins[at].label = target.value;
    settle();
    list.children[at].querySelector("select").focus();
  });

  host.pictureClicked = ({ clientX, clientY, target }, figure) => {
    const image = figure.querySelector(".pane img");
    const place = image?.naturalWidth && placeOf(image, { clientX, clientY });
    if (!place || isLocked || target.closest(".pin") || host.isGated()) return;
    aimAt({ at: aim?.at, shot: figure.dataset.shot, ...place });
    if (aim.at !== undefined) finish();
  };
  const turned = host.shotShown;
  host.shotShown = (shot) => {
    turned?.(shot);
    if (aim && aim.at === undefined && `${aim.shot}` !== `${shot}`) aimAt();
  };

  host.on(main, "click", (event) => {
    const by = Number(event.target.closest(".turn")?.dataset.turn);
    const isOn = grid.classList.contains("pointing");
    if (isOn ? by !== -1 : by !== 1 || !others.at(-1).matches(".current")) return;
    event.stopPropagation();
    point(!isOn);
  }, { capture: true });
  const { answered } = host;
  host.answered = () => (isLacking() ? point(true) : answered());

  function drag(layer) {
    let start;
    host.on(layer, "pointerdown", (event) => {
      const { target, pointerId } = event;
      if (!target.matches(".pin") || isLocked) return;
      start = event;
      target.setPointerCapture(pointerId);
    });
    host.on(layer, "pointermove", (event) => {
      const way = start && [event.clientX - start.clientX, event.clientY - start.clientY];
      if (!start || Math.hypot(...way) < FAR) return;
      const pin = pins[event.target.dataset.at];
      const place = placeOf(imageOf(pin.shot), event);
      if (place) put(event.target, { ...pin, ...place });
    });
    host.on(layer, "pointerup", (event) => {
      if (!start) return;
      const way = [event.clientX - start.clientX, event.clientY - start.clientY];
      start = undefined;
      const at = Number(event.target.dataset.at);
      const place = placeOf(imageOf(pins[at].shot), event);
      if (Math.hypot(...way) < FAR) return list.children[at].querySelector("select").focus();
      if (place && !host.isGated()) pins[at] = { ...pins[at], ...place };
      settle();
    });
  }

  for (const figure of main.querySelectorAll("#shots figure:has(img)")) {
    const layer = document.createElement("div");
    layer.className = "pins";
    figure.append(layer);
    layers.set(figure.dataset.shot, layer);
    drag(layer);
    host.on(figure.querySelector(".pane img"), "load", draw);
  }
  host.on(window, "resize", draw);
  const sent = host.isFirst ? field.defaultValue : field.value;
  // The text in the field was refused, so it is not stored.
  before = "refused" in question.dataset ? "" : sent.trim();
  parse(field.value);
  tell();
  point(false);

  const first = {
    Enter({ target }) {
      if (!aim || target.matches("button")) return true;
      if (aim.at === undefined) labels[0].focus();
      else finish();
    },
    Escape: () => !aim || aimAt(),
  };
  for (const [key, [x, y]] of Object.entries(WAYS)) {
    first[key] = ({ shiftKey }) => {
      if (!aim) return true;
      const step = shiftKey ? LEAP : STEP;
      aim = { ...aim, x: within(aim.x + x * step), y: within(aim.y + y * step) };
      put(cross, aim);
      say();
    };
  }
  labels.forEach(({ dataset }, i) => {
    first[i + 1] = () => (!aim || aim.at !== undefined ? true : finish(dataset.label));
  });
  return {
    first,
    keys: { m: () => begin(), n: sayNothing },
    show({ question: about, value }) {
      if (about !== question.dataset.question) return;
      before = value;
      parse(value);
      aimAt();
      tell();
    },
    missing() {
      if (!isLacking()) return "";
      point(true);
      question.focus();
      return find("legend").textContent;
    },
  };
}
