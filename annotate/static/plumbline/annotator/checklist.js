// A checklist: one sheet per shot, two boxes per label. A shot counts once the annotator
// marks it as done, which requires that it was in sight.

const LEAST = 5; // tenths of a second, longer than a double click

export function open(main, host) {
  const all = (selector, root = main) => [...root.querySelectorAll(selector)];
  const sheets = all(".sheet");
  const [meaning, done, submit] = all(".meaning, #shot-done, #submit");
  let sheet, row, seen;
  let age = 0; // tenths of a second since the sheet opened
  let isAwaited = false; // the shot is marked as done once it was in sight

  const rows = () => all(".labels div", sheet);
  const boxes = (each) => all(".labels input", each);
  const key = (box) => box.name.split(":")[1];
  const looked = (each) => each.querySelector(".looked input");
  const left = () => sheets.find((each) => !looked(each).checked);
  const of = (shot) => sheets.find((each) => each.dataset.shot === `${shot}`);

  function mark(index) {
    row = (index + rows().length) % rows().length;
    rows().forEach((each, i) => each.classList.toggle("current", i === row));
    meaning.textContent = all(".meanings dd")[row].textContent;
    return boxes(rows()[row]);
  }

  function turnTo(shot) {
    sheet = of(shot) || sheet;
    sheets.forEach((each) => each.classList.toggle("current", each === sheet));
    offer(0);
    mark(0);
    age = 0;
    isAwaited = false;
  }

  function openSheet({ dataset: { shot } }) {
    turnTo(shot);
    sheet.focus({ preventScroll: true }); // a second press of Space must not tick a box
    sheet.scrollIntoView();
    scrollTo(0, 0); // on a phone, the shot is above the sheet
    host.showShot?.(shot);
  }

  function isInSight() {
    const { shot } = sheet.dataset;
    if (host.isPlayed) return host.isPlayed(shot);
    const [pictures] = all(`#shot-${shot} .shot-pictures`);
    const { y, height } = pictures.getBoundingClientRect();
    const middle = y + height / 2;
    return height && middle > 0 && middle < innerHeight
      && all("img", pictures).every(({ complete, naturalWidth }) => complete && naturalWidth);
  }

  // Marks this shot as done, or submits once all are.
  function offer(tenths) {
    seen = tenths;
    done.hidden = meaning.hidden = !left();
    submit.hidden = !done.hidden;
    submit.disabled = done.ariaDisabled = seen < LEAST;
  }

  const timer = setInterval(() => {
    if (document.hidden) return;
    age += 1;
    if (!left() || isInSight()) offer(seen + 1);
    if (isAwaited && seen >= LEAST && !host.hasGate()) finish();
  }, 100);
  host.signal.addEventListener("abort", () => clearInterval(timer));

  const send = () => host.answer({
    shot: sheet.dataset.shot,
    ticked: boxes(sheet).filter((box) => box.checked).map(key),
    looked: looked(sheet).checked,
  });

  function finish() {
    if (!looked(sheet).checked) {
      if (!isInSight()) host.problem(all(".checklist")[0].dataset.wait);
      const waits = seen < LEAST || host.isGated();
      isAwaited = waits && age >= LEAST;
      if (waits) return;
      looked(sheet).checked = true;
      send();
    }
    if (left()) return openSheet(left());
    offer(0);
    submit.scrollIntoView({ block: "nearest" });
  }

  // Clears a category and moves on to the next.
  function none(block) {
    const ticked = all("input:checked", block);
    ticked.forEach((box) => { box.checked = false; });
    if (ticked.length) send();
    block.querySelector(".none").classList.add("given");
    mark(rows().findLastIndex((each) => block.contains(each)) + 1)[0].focus();
  }

  const on = (kind, act) => host.on(main, kind, ({ target }) => act(target));
  on("change", (target) => {
    const block = target.closest(".labels");
    if (!block) return;
    block.querySelector(".none").classList.remove("given");
    isAwaited = false;
    send();
  });
  on("click", (target) => target.closest(".none") && none(target.closest(".labels")));
  on("focusin", (target) => rows().forEach((each, i) => each.contains(target) && mark(i)));
  host.on(done, "click", finish);
  host.shotShown = turnTo;
  turnTo((left() || sheets[0]).dataset.shot);
  host.showShot?.(sheet.dataset.shot);

  const tick = (_event, digit) => boxes(rows()[row])[digit - 1].click();
  return {
    keys: {
      ArrowUp: () => mark(row - 1)[0].focus(),
      ArrowDown: () => mark(row + 1)[0].focus(),
      1: tick,
      2: tick,
      n: () => {
        const block = rows()[row].closest(".labels");
        if (!block.querySelector(".none")) return true;
        none(block);
      },
      Enter: ({ target }) => !left() || target.matches("button, a, summary") || finish(),
    },
    show({ shot, ticked, looked: isDone }) {
      if (!ticked) return;
      for (const box of boxes(of(shot))) box.checked = ticked.includes(key(box));
      looked(of(shot)).checked = isDone;
    },
    missing: () => left()?.ariaLabel,
  };
}
