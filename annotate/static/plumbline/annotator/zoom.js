// A common zoom: all pictures show the same part.

const MOST = 8;
const FLICK = 40; // px
const REST = 300; // ms after scrolling before the wheel zooms

const within = (value, least, most) => Math.max(least, Math.min(value, most));
const spread = (one, other) => Math.hypot(one[0] - other[0], one[1] - other[1]);

// A point as a share of the picture's box, relative to its centre.
const pointOf = ({ target, offsetX, offsetY }) =>
  [offsetX / target.clientWidth - 0.5, offsetY / target.clientHeight - 0.5];

// On an unzoomed picture, `drag` gets the finger's position and `flick` its direction.
export function openZoom(main, on, { drag, flick }, changed) {
  const sheet = main.querySelector("#shots");
  const fingers = new Map();
  let zoom = 1;
  let place = [0, 0]; // of the picture's centre
  let isStill = true;
  let start = 0; // px from the left
  let scrolledAt = -REST; // ms

  function put(newZoom, newPlace) {
    zoom = newZoom;
    place = newPlace.map((part) => within(part, (1 - zoom) / 2, (zoom - 1) / 2));
    sheet.style.cssText = `--zoom: ${zoom}; --x: ${place[0] * 100}%; --y: ${place[1] * 100}%`;
    sheet.classList.toggle("zoomed", zoom > 1);
    const [output, factor] = [main.querySelector("#zoom"), `${+zoom.toFixed(1)}×`];
    if (output.value !== factor) output.value = factor; // screen readers announce it
    changed(zoom);
  }

  const fit = () => put(1, place);
  const pan = (x, y) => put(zoom, [place[0] + x, place[1] + y]);

  function enlarge(factor, at = [0, 0]) {
    const wanted = within(zoom * factor, 1, MOST);
    put(wanted, place.map((part, i) => at[i] + (part - at[i]) * wanted / zoom));
  }

  const toggle = (at) => (zoom > 1 ? fit() : enlarge(2, at));

  function move(event) {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const point = pointOf(event);
    fingers.set(event.pointerId, point);
    const other = [...fingers.values()].find((each) => each !== point);
    isStill &&= spread(point, before) < 0.01;
    if (other) enlarge(spread(point, other) / spread(before, other), other);
    else if (zoom > 1) pan(point[0] - before[0], point[1] - before[1]);
    else drag(point[0] + 0.5);
  }

  const onPane = (kind, act) =>
    on(sheet, kind, (event) => event.target.matches("a.pane") && act(event), { passive: false });
  onPane("pointerdown", (event) => {
    event.target.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, pointOf(event));
    isStill = fingers.size === 1;
    start = isStill ? event.clientX : NaN; // two fingers do not flick
  });
  onPane("pointermove", move);
  onPane("pointerup", ({ clientX, pointerType }) => {
    const way = clientX - start;
    const isFlick = pointerType === "touch" && zoom === 1 && fingers.size === 1;
    if (isFlick && Math.abs(way) > FLICK) flick(-Math.sign(way));
  });
  onPane("lostpointercapture", ({ pointerId }) => fingers.delete(pointerId));
  onPane("dragstart", (event) => event.preventDefault());
  onPane("dblclick", (event) => toggle(pointOf(event)));
  onPane("wheel", (event) => {
    const isOver = !scrollY && !sheet.scrollTop && event.timeStamp - scrolledAt > REST;
    const isIdle = zoom === 1 && (event.deltaY > 0 || !isOver);
    if (!event.ctrlKey && (isIdle || event.target.closest(".all"))) {
      scrolledAt = event.timeStamp;
      return; // the page scrolls
    }
    event.preventDefault();
    enlarge(1.002 ** -event.deltaY, pointOf(event));
  });

  const arrow = (x, y) => () => zoom === 1 || pan(x / 8, y / 8);
  const larger = () => enlarge(1.25);
  return {
    fit,
    isStill: () => isStill,
    keys: {
      "+": larger, "=": larger, "-": () => enlarge(0.8), z: () => toggle(), Escape: fit,
      ArrowLeft: arrow(1, 0), ArrowRight: arrow(-1, 0), ArrowUp: arrow(0, 1), ArrowDown: arrow(0, -1),
    },
  };
}
