(() => {
  const status = document.getElementById("status");
  const announce = (text) => { status.textContent = text; };

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
      // The clipboard is closed to some pages at file: addresses.
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
        button.textContent = {{ _("Copied")|tojson }};
        announce(button.textContent);
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
      announce({{ _("Rows: {n}")|tojson }}.replace("{n}", rows.filter((row) => !row.hidden).length));
    });
  }

  for (const table of document.querySelectorAll("table.grid")) {
    for (const button of table.querySelectorAll("button.sort")) {
      button.addEventListener("click", () => {
        const head = button.closest("th"), place = head.cellIndex, names = place === 0;
        // A second press reverses the order; names start with A, numbers with the highest.
        const usual = names ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === usual ? (names ? "descending" : "ascending") : usual;
        const value = (row) => Number(row.cells[place].dataset.value || -9);
        const name = (row) => row.cells[place].textContent.trim();
        const compare = names ? (a, b) => name(a).localeCompare(name(b)) : (a, b) => value(a) - value(b);
        const turn = order === "ascending" ? 1 : -1;
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => turn * compare(a, b)));
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const message = order === "ascending" ? {{ _("Sorted by {title}, ascending")|tojson }} : {{ _("Sorted by {title}, descending")|tojson }};
        announce(message.replace("{title}", button.textContent));
      });
    }
  }

  const opened = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", opened);
  opened();

  const sections = [...document.querySelectorAll(".section, details[data-lines]")];
  document.getElementById("unfold")?.addEventListener("click", (event) => {
    const open = sections.some((box) => !box.open);
    for (const box of sections) box.open = open;
    event.target.textContent = open ? {{ _("Close all")|tojson }} : {{ _("Open all")|tojson }};
  });

  // Print every part, but only as many tables of metrics as fit on a few sheets, and no
  // closed table of a file: most are wider than a sheet.
  let closed = [];
  addEventListener("beforeprint", () => {
    let lines = 100;
    closed = [...document.querySelectorAll("details")].filter((box) => {
      lines -= Number(box.dataset.lines ?? 0);
      return !box.open && !box.dataset.rows && (!box.dataset.lines || lines >= 0);
    });
    for (const box of closed) box.open = true;
  });
  addEventListener("afterprint", () => closed.forEach((box) => { box.open = false; }));

  // A page opened from a disk has no host for an address that begins with /.
  const hostless = location.protocol === "file:" && document.body.dataset.stories?.startsWith("/");
  const stories = hostless ? "" : document.body.dataset.stories;
  if (hostless) document.querySelectorAll(".stories").forEach((said) => said.remove());

  if (typeof Figures === "undefined") return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const settings = { displaylogo: false, responsive: true, displayModeBar: false };
  const boxes = [...document.querySelectorAll(".panels")];
  const printed = matchMedia("print");
  const ink = () => (dark.matches && !printed.matches ? Figures.LIGHT : Figures.INK);
  const done = new Set();

  // A click on an output opens its story; plotly's traces have the names.
  const plain = (text) => text.replace(/&(amp|lt|gt);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);
  const isOutput = (point) => point?.data.meta === "output";
  function address({ data, pointNumber }) {
    const known = { story: plain(data.text[pointNumber]), method: plain(data.name) };
    return stories.replace(/\{(story|method)\}/g, (_, name) => encodeURIComponent(known[name]));
  }
  function link(plot) {
    plot.on("plotly_hover", ({ points }) => plot.classList.toggle("links", isOutput(points[0])));
    plot.on("plotly_unhover", () => plot.classList.remove("links"));
    plot.on("plotly_click", ({ points }) => {
      if (isOutput(points[0])) open(address(points[0]), "_blank", "noopener");
    });
  }

  function draw(box) {
    if (done.has(box)) return;
    done.add(box);
    Figures.start();
    const plots = box.querySelectorAll(".plot");
    Figures.all[box.dataset.figure].forEach((plot, i) => {
      const { data, layout } = Figures.dressed(plot, ink());
      Plotly.newPlot(plots[i], data, layout, settings);
      if (stories) link(plots[i]);
    });
  }
  // Draw figures near the viewport; those in a closed section wait until it opens.
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watcher.unobserve(one.target); draw(one.target); }
  }, { rootMargin: "800px" });
  boxes.forEach((box) => watcher.observe(box));

  function redress() {
    for (const box of done) {
      for (const plot of box.querySelectorAll(".plot")) {
        const width = plot.getBoundingClientRect().width;
        Plotly.relayout(plot, { "font.color": ink(), ...(printed.matches && width ? { width } : { autosize: true }) });
      }
    }
  }
  dark.addEventListener("change", redress);
  function prepare() {
    boxes.filter((box) => box.checkVisibility()).forEach(draw);
    redress();
  }
  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", redress);
  printed.addEventListener("change", () => { if (printed.matches) prepare(); else redress(); });

  for (const button of document.querySelectorAll("button.svg")) {
    button.addEventListener("click", async () => {
      const box = document.querySelector(`.panels[data-figure="${button.dataset.figure}"]`);
      save(await Figures.svg(box), `${button.dataset.figure}.svg`, "image/svg+xml");
      announce({{ _("Saved")|tojson }});
    });
  }
})();
