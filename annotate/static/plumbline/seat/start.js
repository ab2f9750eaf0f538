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
    // Whatever fails until it is ready, loading or running: a plain page again.
    const undo = ({ target }) => {
      if (classList.contains("ready") || !(target === window || target.type === "module")) return;
      classList.remove("js");
      seat.className = "seat-grid";
    };
    addEventListener("error", undo, true);
    addEventListener("unhandledrejection", undo);
  }
  // Enter that is still held presses nothing on the next page.
  addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());
}
