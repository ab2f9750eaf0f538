// Sets the layout for scripts before the first paint.
{
  const { classList } = document.documentElement;
  const main = document.getElementById("annotator");
  const hasModules = "noModule" in HTMLScriptElement.prototype;
  if (main && hasModules) {
    const { viewer = {} } = JSON.parse(localStorage.getItem("plumbline-seat")) || {};
    classList.add("js");
    main.classList.add(viewer.all ?? "overview" in main.dataset ? "all" : "one");
    if (viewer.text !== false) main.classList.add("text");
    main.style.setProperty("--ratio", main.dataset.ratio);
    // If a script fails before the page is ready, the plain page is restored.
    const undo = ({ target }) => {
      if (classList.contains("ready") || !(target === window || target.type === "module")) return;
      classList.remove("js");
      main.className = "annotator-grid";
    };
    addEventListener("error", undo, true);
    addEventListener("unhandledrejection", undo);
  }
  // A held Enter key must not press a button on the next page.
  addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());
}
