// Says in the header whether the server has all answers.
const KINDS = { saved: "good", saving: "", waiting: "warn", refused: "bad" };

export function teller() {
  const badge = document.getElementById("save-state");
  return (state, detail) => {
    const several = detail > 1 ? `: ${detail} ${badge.dataset.stories}` : "";
    badge.textContent = badge.dataset[state] + several;
    badge.className = `badge ${KINDS[state]}`;
  };
}
