// Comparison of two pictures in one place: alternating, or with a divider.

const HOLD = 300; // ms; a longer press does not keep the right picture

export function openComparison(main, on) {
  const { classList } = main.querySelector("#annotator");
  const flicker = main.querySelector("#flicker");
  const divider = main.querySelector("#divider");
  let keepUntil = 0;

  function show(right) {
    classList.toggle("flick", right);
    flicker.ariaPressed = right;
  }

  const cut = () => main.style.setProperty("--cut", `${divider.value}%`);
  on(flicker, "pointerdown", ({ pointerId, timeStamp }) => {
    flicker.setPointerCapture(pointerId);
    keepUntil = classList.contains("flick") ? 0 : timeStamp + HOLD;
    show(true);
  });
  on(flicker, "lostpointercapture", ({ timeStamp }) => show(timeStamp < keepUntil));
  on(flicker, "click", ({ detail }) => detail || show(!classList.contains("flick")));
  on(document, "keyup", ({ key }) => key.toLowerCase() === "f" && show(false));
  on(window, "blur", () => show(false));
  on(divider, "input", cut);
  return {
    f: () => show(true),
    drag(share) {
      if (!classList.contains("swipe")) return;
      divider.value = share * 100;
      cut();
    },
  };
}
