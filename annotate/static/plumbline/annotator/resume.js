// Pages between stories: sends queued answers, shows their state, and copies the
// completion code.
import { forget } from "./offline.js";
import { openQueue } from "./queue.js";
import { teller } from "./state.js";

const badge = teller();

function tell(state, detail) {
  if (state !== "lost") return badge(state, detail);
  const notice = document.createElement("p");
  Object.assign(notice, { className: "notice error", role: "alert", textContent: detail });
  return document.querySelector("main").prepend(notice);
}

const copy = document.querySelector("[data-copied]");
if (copy) {
  copy.hidden = false;
  copy.onclick = () => {
    getSelection().selectAllChildren(document.querySelector(".completion-code"));
    const isCopied = document.execCommand("copy"); // works without HTTPS, too
    const { copied, refused } = copy.dataset;
    copy.nextElementSibling.value = isCopied ? copied : refused;
  };
}

forget("visitEnds" in document.querySelector("main").dataset);
openQueue(() => "", tell, () => {}).resume();
