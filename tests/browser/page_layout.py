"""Faults of layout that a script can measure on any page."""

# Phones, a tablet and a laptop.
WIDTHS = (360, 768, 1280)
SMALLEST_TEXT, SMALLEST_TARGET = 12, 24  # px; WCAG 2.2, 2.5.8
FAULTS = """([smallestText, smallestTarget]) => {
  const isHidden = (one) => one.closest(".visually-hidden, .skip-link, svg")
    || getComputedStyle(one).clipPath !== "none";
  const shown = [...document.body.querySelectorAll("*")]
    .filter((one) => one.checkVisibility() && !isHidden(one));
  const words = (one) =>
    (one.textContent || one.ariaLabel || "").trim().replace(/\\s+/g, " ");
  const say = (fault, one) => `${fault}: ${one.tagName} ${words(one).slice(0, 50)}`;
  const style = (one) => getComputedStyle(one);
  const own = (one) => [...one.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const boxes = (one) => [...(one.closest("label") || one).getClientRects()];

  const width = document.documentElement.scrollWidth;
  const isCut = (one) => /hidden|clip/.test(style(one).overflowX) && words(one)
    && one.scrollWidth > one.clientWidth + 1
    && !one.matches("input, .question-card > summary");
  const isSmall = (one) => own(one).length
    && parseFloat(style(one).fontSize) < smallestText;

  // Parts of text that lie on each other, unless one of them floats on purpose.
  const floats = (one) => one && (/fixed|sticky/.test(style(one).position)
    || floats(one.parentElement));
  const clipOf = (one) => one.closest(".scroll-x, .ticks-wide, #summary");
  const texts = shown.filter((one) => !floats(one) && !clipOf(one)).flatMap((one) =>
    own(one).flatMap((node) => {
      const range = document.createRange();
      range.selectNode(node);
      return [...range.getClientRects()].map((box) => [one, box]);
    }));
  texts.sort(([, a], [, b]) => a.top - b.top);
  const isOver = ([one, a], at) => {
    for (let next = at + 1; next < texts.length; next++) {
      const [other, b] = texts[next];
      if (b.top > a.bottom - 5) return false;
      if (other !== one && b.height > 5
        && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3) return true;
    }
    return false;
  };

  // A small target needs a circle of free space, unless it stands in a sentence.
  const targets = shown.filter((one) =>
    one.matches("a[href], button, input, select, textarea, summary"));
  const lines = "p, li, td, th, dd, dt, div, body > *";
  const isInline = (one) => one.matches("a, .link, .term")
    && style(one).display.startsWith("inline")
    && words(one.parentElement.closest(lines)) !== words(one);
  const isTight = (one) => {
    const [box] = boxes(one);
    const size = Math.min(box.width, box.height);
    if (size > smallestTarget - 1 || isInline(one)) return false;
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    return targets.some((other) => other !== one && boxes(other).some((near) => {
      const across = Math.max(near.left - x, 0, x - near.right);
      const down = Math.max(near.top - y, 0, y - near.bottom);
      return near.width && Math.hypot(across, down) < smallestTarget / 2;
    }));
  };
  return [
    ...(width > innerWidth ? [`the page is ${width} px wide`] : []),
    ...shown.filter(isCut).map((one) => say("cut off", one)),
    ...shown.filter(isSmall).map((one) => say("small text", one)),
    ...texts.filter(isOver).map(([one]) => say("covered", one)),
    ...targets.filter(isTight).map((one) => say("small target", one)),
  ];
}"""


def faults(page) -> list[tuple[str, str]]:
    """Return the faults of the open page at each width; then restore the size."""
    before = page.viewport_size
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": before["height"]})
        wrong = page.evaluate(FAULTS, [SMALLEST_TEXT, SMALLEST_TARGET])
        found += [(f"{width} px", text) for text in wrong]
    page.set_viewport_size(before)
    return found
