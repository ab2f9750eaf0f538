// Rankings: a digit or a version's button assigns the next rank; ranks can be set singly,
// and versions dragged to a rank or to the place of another version. With ties, versions
// share the rank they are dragged to, and E gives the next version the last rank.

const FAR = 8; // px; a shorter way is a tap

// Gives one version a rank; the version that had it moves on.
function place(ranks, at, rank, by) {
  const other = ranks.indexOf(rank);
  ranks[at] = rank;
  if (other < 0) return;
  const next = rank + by;
  const free = ranks.findIndex((_, i) => !ranks.includes(i + 1)) + 1;
  place(ranks, other, next < 1 || next > ranks.length ? free : next, by);
}

export function open(main, host) {
  const rankings = [...main.querySelectorAll("[data-part=ranking]")];
  const steps = []; // rankings with their previous ranks, for undo
  let current = 0;

  const rowsOf = (ranking) => [...ranking.querySelectorAll(".ranks")];
  const rankOf = (row) => Number(row.querySelector(":checked")?.value || 0);
  const ranksOf = (ranking) => rowsOf(ranking).map(rankOf);
  const hasTies = (ranking) => "ties" in ranking.dataset;
  const isOpen = (ranking) => ranksOf(ranking).includes(0);
  const free = (ranks) => ranks.map((_, i) => i + 1).find((rank) => !ranks.includes(rank));

  function mark(index, scroll = true) {
    current = Math.max(0, Math.min(index, rankings.length - 1));
    rankings.forEach((each, i) => each.classList.toggle("current", i === current));
    if (scroll) rankings[current].scrollIntoView({ block: "nearest" });
  }

  function set(ranking, ranks) {
    rowsOf(ranking).forEach((row, i) => {
      for (const input of row.querySelectorAll("input")) input.checked = Number(input.value) === ranks[i];
    });
    ranking.ranks = ranks;
    rowsOf(ranking).forEach((row, i) => {
      const isTied = ranks[i] && ranks.filter((rank) => rank === ranks[i]).length > 1;
      row.firstElementChild.dataset.rank = ranks[i] || "";
      row.firstElementChild.classList.toggle("tied", isTied);
    });
    ranking.querySelector(".clear").disabled = ranks.every((rank) => !rank);
    if (!hasTies(ranking)) return;
    ranking.querySelector(".tie").disabled = ranks.every((rank) => !rank) || !ranks.includes(0);
    tie(ranking, false);
  }

  // Sets whether the next version shares the last rank.
  function tie(ranking, isOn) {
    ranking.querySelector(".tie").setAttribute("aria-pressed", isOn);
  }
  const isTying = (ranking) => !!ranking.querySelector(".tie[aria-pressed=true]");

  function turnTie(ranking) {
    if (!hasTies(ranking) || ranking.querySelector(".tie").disabled) return true;
    tie(ranking, !isTying(ranking));
  }

  // Only complete rankings are answers; changing one takes it back until it is complete.
  function answer(ranking, before) {
    if (isOpen(ranking) && (before.includes(0) || host.isSubmitted())) return;
    const best = rowsOf(ranking).sort((a, b) => rankOf(a) - rankOf(b));
    const order = best.map((row, i) =>
      (i ? (rankOf(row) === rankOf(best[i - 1]) ? "=" : ">") : "") + row.dataset.place).join("");
    host.answer({ question: ranking.dataset.question, value: isOpen(ranking) ? "" : order });
  }

  function give(ranking, ranks) {
    if (host.isGated()) return set(ranking, ranking.ranks);
    const before = ranking.ranks;
    steps.push([ranking, before]);
    // The last version gets the remaining rank, unless it may share one.
    const left = ranks.filter((rank) => !rank).length;
    set(ranking, left === 1 && !hasTies(ranking) ? ranks.map((rank) => rank || free(ranks)) : ranks);
    answer(ranking, before);
    mark(rankings.indexOf(ranking));
    if (isOpen(ranking)) return;
    const next = rankings.find(isOpen);
    if (next) mark(rankings.indexOf(next));
    else host.answered();
  }

  // Assigns the next rank, or removes it. A complete ranking stays until it is cleared.
  function take(ranking, at) {
    if (!isOpen(ranking)) return host.problem(ranking.dataset.whole, "warning");
    const ranks = [...ranking.ranks];
    const next = isTying(ranking) ? Math.max(...ranks) : free(ranks);
    ranks[at] = ranks[at] ? 0 : next;
    give(ranking, ranks);
    // With the focus here, Enter submits and Space does nothing.
    if (!isOpen(ranking)) ranking.focus({ preventScroll: true });
  }

  // Moves a version to the rank, or to the place of the version, under the pointer.
  function drop(ranking, at, { clientX, clientY }) {
    const target = document.elementFromPoint(clientX, clientY)?.closest(".option, .ranks");
    if (!ranking.contains(target)) return;
    const ranks = [...ranking.ranks];
    const before = ranks[at];
    const { value, dataset } = target.firstElementChild; // a rank's input, or a version's button
    const rank = Number(value || dataset.rank) || free(ranks);
    if (!rank || rank === before) return;
    ranks[at] = 0;
    if (hasTies(ranking)) ranks[at] = rank;
    else place(ranks, at, rank, before && before < rank ? -1 : 1);
    give(ranking, ranks);
  }

  function follow(ranking, button) {
    let start;
    const move = (x, y) => { button.style.translate = `${x}px ${y}px`; };
    host.on(button, "pointerdown", (event) => {
      start = event;
      button.setPointerCapture(event.pointerId);
    });
    host.on(button, "pointermove", ({ clientX, clientY }) => {
      const way = start ? [clientX - start.clientX, clientY - start.clientY] : [0];
      if (Math.hypot(...way) > FAR) button.classList.add("dragged");
      if (button.matches(".dragged")) move(...way);
    });
    host.on(button, "pointerup", (event) => {
      if (button.matches(".dragged")) drop(ranking, rowsOf(ranking).indexOf(button.closest(".ranks")), event);
    });
    host.on(button, "lostpointercapture", () => setTimeout(() => { // after the click
      start = null;
      move(0, 0);
      button.classList.remove("dragged");
    }));
  }

  function clear(ranking) {
    if (ranking.querySelector(".clear").disabled) return true;
    give(ranking, ranking.ranks.map(() => 0));
    ranking.focus({ preventScroll: true });
  }

  // Stores the radio buttons' ranks; without ties, a version loses its rank to another one.
  function settle(ranking) {
    const ranks = ranksOf(ranking);
    const at = ranks.findIndex((rank, i) => rank !== ranking.ranks[i]);
    if (at < 0) return;
    const isLost = (rank, i) => rank === ranks[at] && i !== at && !hasTies(ranking);
    give(ranking, ranks.map((rank, i) => (isLost(rank, i) ? 0 : rank)));
  }

  function byDigit(_event, digit) {
    const at = rowsOf(rankings[current]).findIndex(({ dataset }) => dataset.place === digit);
    if (at < 0 || rankings[current].querySelector("input:disabled")) return true;
    take(rankings[current], at);
  }

  function undo() {
    if (!steps.length) return;
    const [ranking, ranks] = steps.pop();
    const before = ranking.ranks;
    set(ranking, ranks);
    answer(ranking, before);
    mark(rankings.indexOf(ranking));
  }

  for (const ranking of rankings) {
    set(ranking, ranksOf(ranking));
    const sent = rowsOf(ranking).map((row) => Number(row.querySelector("[checked]")?.value || 0));
    if (host.isFirst && `${sent}` !== `${ranking.ranks}`) answer(ranking, sent);
    host.on(ranking, "click", ({ target }) => {
      if (target.closest(".clear")) return clear(ranking);
      if (target.closest(".tie")) return turnTie(ranking);
      const row = target.closest("button:not(.dragged)")?.closest(".ranks");
      if (row) take(ranking, rowsOf(ranking).indexOf(row));
    });
    for (const button of ranking.querySelectorAll(".ranks button:enabled")) follow(ranking, button);
    // Arrow keys pass through other ranks; the one with the focus at the end counts.
    host.on(ranking, "change", ({ target }) => target.matches(":focus-visible") || settle(ranking));
    host.on(ranking, "focusout", ({ target, relatedTarget }) =>
      target.closest(".ranks")?.contains(relatedTarget) || settle(ranking));
    // On a radio button, arrow keys would change the rank, not the shot.
    host.on(ranking, "pointerup", ({ target }) =>
      target.closest(".ranks") && setTimeout(() => ranking.focus({ preventScroll: true })));
  }
  mark(rankings.findIndex(isOpen), false);

  const keys = {
    ArrowUp: () => mark(current - 1),
    ArrowDown: () => mark(current + 1),
    u: undo,
    x: () => clear(rankings[current]),
    e: () => turnTie(rankings[current]),
  };
  for (const digit of "123456789") keys[digit] = byDigit;
  return {
    keys,
    turn: (by) => mark(current + by),
    show({ question, value }) {
      const ranking = rankings.find(({ dataset }) => dataset.question === question);
      if (!ranking) return;
      const ranked = value.split(">").map((places) => places.split("="));
      set(ranking, rowsOf(ranking).map(({ dataset }) =>
        ranked.findIndex((places) => places.includes(dataset.place)) + 1));
    },
    missing() {
      rankings.forEach(settle);
      const open = rankings.findIndex(isOpen);
      if (open < 0) return "";
      mark(open);
      return rankings[open].querySelector("legend").textContent;
    },
  };
}
