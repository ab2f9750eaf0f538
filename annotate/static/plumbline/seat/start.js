// Sets the layout for scripts before the first paint.
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
    // If a script fails before the page is ready, the plain page is restored.
    const undo = ({ target }) => {
      if (classList.contains("ready") || !(target === window || target.type === "module")) return;
      classList.remove("js");
      seat.className = "seat-grid";
    };
    addEventListener("error", undo, true);
    addEventListener("unhandledrejection", undo);
  }
  // A held Enter key must not press a button on the next page.
  addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());
}
