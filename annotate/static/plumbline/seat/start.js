// Before anything is painted: the seat looks as it will with its scripts.
{
  const { classList } = document.documentElement;
  const seat = document.getElementById("seat");
  const hasModules = "noModule" in HTMLScriptElement.prototype;
  if (seat && hasModules) {
    const { viewer = {} } = JSON.parse(localStorage.getItem("plumbline-seat")) || {};
    classList.add("js");
    seat.classList.add(viewer.all ? "all" : "one");
    if (viewer.text !== false) seat.classList.add("text");
    seat.style.setProperty("--ratio", seat.dataset.ratio);
    // Without them it is a plain page again.
    const undo = () => {
      classList.remove("js");
      seat.className = "seat-grid";
    };
    addEventListener("plain-seat", undo);
    addEventListener("error", ({ target }) => target.type === "module" && undo(), true);
  }
  // Enter that is still held presses nothing on the next page.
  addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());
}
