// Comments on single shots, with fields for the displayed or selected shot.

export function open(main, seat) {
  const box = main.querySelector("[data-part=comments]");
  const [list, told] = ["select", "output"].map((name) => box.querySelector(name));
  const rows = [...box.querySelectorAll("[data-shot]")];
  const fields = (row) => [...row.querySelectorAll("textarea")];

  function follow(shot) {
    if (!rows.some(({ dataset }) => dataset.shot === `${shot}`)) return;
    list.value = shot;
    rows.forEach((row) => row.classList.toggle("current", row.dataset.shot === `${shot}`));
  }

  // Lists the shots that have a comment.
  function tell() {
    const written = rows.filter((row) => fields(row).some(({ value }) => value.trim()));
    told.value = written.map(({ dataset }) => dataset.shot).join(", ");
  }

  function send(field) {
    const [, shot, side] = field.name.split(":");
    seat.comment({ shot, side, text: field.value });
    tell();
  }

  function turnTo(shot) {
    const caption = main.querySelector(`.captions [data-shot="${shot}"]`);
    follow(shot);
    if (caption) caption.click();
    else seat.showShot(shot);
  }

  for (const name of ["showShot", "shotShown"]) {
    const before = seat[name];
    seat[name] = (shot) => {
      before?.(shot);
      follow(shot);
    };
  }
  seat.on(box, "input", ({ target }) => target === list || seat.draft(target, () => send(target)));
  seat.on(list, "change", () => turnTo(list.value));
  // A video keeps playing while the annotator writes.
  seat.on(main, "timeupdate", () => {
    if (box.contains(document.activeElement)) return;
    follow(main.querySelector(".captions [aria-current=true]")?.dataset.shot);
  }, { capture: true });
  follow(main.querySelector(".sheet.current, .here")?.dataset.shot);

  return {
    keys: {},
    show({ kind, shot, side, text }) {
      if (kind !== "shot_comment") return;
      const field = box.querySelector(`[name="shot-comment:${shot}:${side}"]`);
      if (field && !seat.isDraft(field)) field.value = text;
      tell();
    },
  };
}
