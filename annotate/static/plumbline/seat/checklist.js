// A checklist: each shot has a sheet, two boxes a label, and counts once it is done.
export function open(main, seat) {
  const all = (selector, root = main) => [...root.querySelectorAll(selector)];
  const sheets = all(".sheet");
  let sheet, row;

  const rows = () => all(".labels div", sheet);
  const boxes = (each) => all(".labels input", each);
  const key = (box) => box.name.split(":")[1];
  const looked = (each) => each.querySelector(".looked input");
  const left = () => sheets.find((each) => !looked(each).checked);
  const of = (shot) => sheets.find((each) => each.dataset.shot === `${shot}`);

  function mark(index) {
    row = (index + rows().length) % rows().length;
    rows().forEach((each, i) => each.classList.toggle("current", i === row));
    all(".meaning")[0].textContent = all(".meanings dd")[row].textContent;
    return boxes(rows()[row]);
  }

  function turnTo(shot) {
    sheet = of(shot) || sheet;
    sheets.forEach((each) => each.classList.toggle("current", each === sheet));
    return mark(0);
  }

  function openSheet({ dataset: { shot } }) {
    seat.showShot?.(shot);
    turnTo(shot)[0].focus({ preventScroll: true });
    sheet.scrollIntoView();
  }

  const send = () => seat.answer({
    shot: sheet.dataset.shot,
    ticked: boxes(sheet).filter((box) => box.checked).map(key),
    looked: looked(sheet).checked,
  });

  function finish() {
    if (!looked(sheet).disabled) {
      if (seat.isGated()) return;
      looked(sheet).checked = true;
      send();
    }
    if (left()) openSheet(left());
    else all("#answers")[0].requestSubmit();
  }

  const on = (event, act) =>
    main.addEventListener(event, ({ target }) => act(target), { signal: seat.signal });
  on("change", (target) => target.closest(".labels") && send());
  on("focusin", (target) => rows().forEach((each, i) => each.contains(target) && mark(i)));
  on("click", (target) => target.closest(".sheet-bar button") && finish());
  seat.shotShown = turnTo;
  turnTo((left() || sheets[0]).dataset.shot);
  seat.showShot?.(sheet.dataset.shot);

  const tick = (event) => boxes(rows()[row])[event.key - 1].click();
  return {
    keys: {
      ArrowUp: () => mark(row - 1)[0].focus(),
      ArrowDown: () => mark(row + 1)[0].focus(),
      1: tick,
      2: tick,
      Enter: ({ target }) => target.matches("button, a, summary") || finish(),
    },
    show({ shot, ticked, looked: isDone }) {
      for (const box of boxes(of(shot))) box.checked = ticked.includes(key(box));
      looked(of(shot)).checked = isDone;
    },
    missing() {
      if (left()) openSheet(left());
      return left()?.ariaLabel;
    },
  };
}
