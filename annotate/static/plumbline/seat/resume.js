// On pages between stories: sends what still waits in this browser, and says how it is.
import { openQueue } from "./queue.js";
import { teller } from "./state.js";

const badge = teller();

function tell(state, detail) {
  if (state !== "lost") return badge(state, detail);
  const notice = document.createElement("p");
  Object.assign(notice, { className: "notice error", role: "alert", textContent: detail });
  return document.querySelector("main").prepend(notice);
}

openQueue(() => "", tell, () => {}).resume();
