// Comments on single shots, with fields for the displayed or selected shot.

export function open(main, host) {
  const box = main.querySelector("[data-part=comments]");
  const [list, summary] = ["select", "output"].map((name) => box.querySelector(name));
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
    summary.value = written.map(({ dataset }) => dataset.shot).join(", ");
  }

  function send(field) {
    const [, shot, side] = field.name.split(":");
    host.comment({ shot, side, text: field.value });
    tell();
  }

  function turnTo(shot) {
    const caption = main.querySelector(`.captions [data-shot="${shot}"]`);
    follow(shot);
    if (caption) caption.click();
    else host.showShot(shot);
  }

  for (const name of ["showShot", "shotShown"]) {
    const before = host[name];
    host[name] = (shot) => {
      before?.(shot);
      follow(shot);
    };
  }
  host.on(box, "input", ({ target }) => target === list || host.draft(target, () => send(target)));
  host.on(list, "change", () => turnTo(list.value));
  // A video keeps playing while the annotator writes.
  host.on(main, "timeupdate", () => {
    if (box.contains(document.activeElement)) return;
    follow(main.querySelector(".captions [aria-current=true]")?.dataset.shot);
  }, { capture: true });
  follow(main.querySelector(".sheet.current, .here")?.dataset.shot);

  return {
    keys: {},
    show({ kind, shot, side, text }) {
      if (kind !== "shot_comment") return;
      const field = box.querySelector(`[name="shot-comment:${shot}:${side}"]`);
      if (field && !host.isDraft(field)) field.value = text;
      tell();
    },
  };
}
