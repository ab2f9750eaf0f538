(() => {
  const status = document.getElementById("status");
  const say = (text) => { status.textContent = text; };

  function save(text, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Where the clipboard is closed to the page, as on some file: addresses.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  const special = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}", "−": "$-$",
    "[": "{[}", "*": "{*}" };
  const escaped = (text) => text.replace(/[\\&%$#_{}~^<>|"−[*]/g, (c) => special[c] ?? "\\" + c);
  function latex(table) {
    const rows = shown(table).map((r) => [...r.cells].map((c) => escaped(c.textContent)).join(" & ") + " \\\\");
    const align = [...table.rows[0].cells].map((c) => (c.classList.contains("n") ? "r" : "l")).join("");
    return ["\\begin{tabular}{" + align + "}", "\\toprule", rows[0], "\\midrule", ...rows.slice(1), "\\bottomrule", "\\end{tabular}", ""].join("\n");
  }
  const shown = (table) => [...table.rows].filter((row) => !row.hidden);
  const tabbed = (table) => shown(table).map((r) => [...r.cells].map((c) => c.textContent).join("\t")).join("\n");

  for (const box of document.querySelectorAll("details.table")) {
    const table = box.querySelector("table");
    for (const button of box.querySelectorAll("button.copy")) {
      button.addEventListener("click", async () => {
        await copy(button.dataset.as === "latex" ? latex(table) : tabbed(table));
        const before = button.textContent;
        button.textContent = "Copied";
        say("Copied");
        setTimeout(() => { button.textContent = before; }, 2000);
      });
    }
    const filter = box.querySelector("input");
    filter?.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      say(`${rows.filter((row) => !row.hidden).length} rows`);
    });
  }

  for (const table of document.querySelectorAll("table.grid")) {
    for (const button of table.querySelectorAll("button.sort")) {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const value = (row) => Number(row.cells[head.cellIndex].dataset.value || -9);
        const rows = [...table.tBodies[0].rows].sort((a, b) => value(b) - value(a));
        table.tBodies[0].append(...rows);
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", "descending");
        say(`Sorted by ${button.textContent}`);
      });
    }
  }

  const opened = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("details")) target.open = true;
  };
  addEventListener("hashchange", opened);
  opened();

  if (typeof Figures === "undefined") return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const settings = { displaylogo: false, responsive: true, displayModeBar: false };
  const boxes = [...document.querySelectorAll(".panels")];
  const printed = matchMedia("print");
  const ink = () => (dark.matches && !printed.matches ? Figures.LIGHT : Figures.INK);
  const done = new Set();

  function draw(box) {
    if (done.has(box)) return;
    done.add(box);
    const plots = box.querySelectorAll(".plot");
    Figures.all[box.dataset.figure].forEach((plot, i) => {
      const { data, layout } = Figures.dressed(plot, ink());
      Plotly.newPlot(plots[i], data, layout, settings);
    });
  }
  // Near figures are drawn first, so that the page is there at once; the others follow
  // while it is read.
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watcher.unobserve(one.target); draw(one.target); }
  }, { rootMargin: "800px" });
  boxes.forEach((box) => watcher.observe(box));
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 100));
  function rest() {
    const next = boxes.find((box) => !done.has(box));
    if (!next) return;
    draw(next);
    idle(rest);
  }
  idle(rest);

  function redress() {
    for (const box of done) {
      for (const plot of box.querySelectorAll(".plot")) {
        const width = plot.getBoundingClientRect().width;
        Plotly.relayout(plot, { "font.color": ink(), ...(printed.matches && width ? { width } : { autosize: true }) });
      }
    }
  }
  dark.addEventListener("change", redress);
  const short = [...document.querySelectorAll("details")].filter((box) => !box.open && Number(box.dataset.rows ?? 0) <= 40);
  function prepare() {
    short.forEach((box) => { box.open = true; });
    boxes.forEach(draw);
    redress();
  }
  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", () => {
    short.forEach((box) => { box.open = false; });
    redress();
  });
  printed.addEventListener("change", () => { if (printed.matches) prepare(); else redress(); });

  for (const button of document.querySelectorAll("button.svg")) {
    button.addEventListener("click", async () => {
      const box = document.querySelector(`.panels[data-figure="${button.dataset.figure}"]`);
      save(await Figures.svg(box), `${button.dataset.figure}.svg`, "image/svg+xml");
      say("Saved");
    });
  }
})();
