// Shows in the header whether the server has all answers.
const KINDS = { saved: "good", saving: "", waiting: "warn", refused: "bad" };

export function teller() {
  const badge = document.getElementById("save-state");
  let hasAnswers = document.querySelector(".question :is(:checked, [type=number]:not([value=''])), .looked :checked");
  let heard = ""; // the last announced state; passing states are skipped
  return (state, detail) => {
    hasAnswers ||= state !== "saved";
    if (!hasAnswers) return; // there is nothing to save yet
    const several = detail > 1 ? `: ${detail} ${badge.dataset.stories}` : "";
    badge.ariaLive = state === "saving" || state === heard ? "off" : "polite";
    if (state !== "saving") heard = state;
    badge.textContent = badge.dataset[state] + several;
    badge.className = `badge ${KINDS[state]}`;
  };
}
