/* Draws the figures, and makes one SVG of all panels of a figure. */
const Figures = (() => {
  const all = {
{% for figure in figures %}
    "{{ figure.key }}": [{% for panel in figure.panels %}{{ panel.plot|safe }},{% endfor %}],
{% endfor %}
  };
  // Plotly takes seconds to start on a slow machine, so it waits for the first figure.
  function start() {
    if (window.Plotly) return;
{{ plotly|safe }}
  }

  const INK = "#1d2422", LIGHT = "#e8ece9", GRID = "rgba(128,128,128,0.25)";
  const FONT = "system-ui, 'Noto Sans', 'Noto Sans CJK SC', sans-serif";
  const clear = "rgba(0,0,0,0)";

  function dressed(plot, ink) {
    const layout = structuredClone(plot.layout);
    layout.font = { family: FONT, size: 12, color: ink };
    layout.paper_bgcolor = layout.plot_bgcolor = clear;
    layout.margin = { l: 8, r: 14, t: layout.showlegend ? 30 : 8, b: 46, ...layout.margin };
    layout.hovermode = "closest";
    layout.dragmode = false;
    for (const name of Object.keys(layout)) {
      if (!/^[xy]axis/.test(name)) continue;
      layout[name] = { gridcolor: GRID, fixedrange: true, ...layout[name] };
      if (layout[name].title) layout[name].title.standoff = 8;
    }
    // Without a name, plotly names traces at random, and files would differ between runs.
    const data = structuredClone(plot.data).map((trace, i) => ({ ...trace, uid: `t${i}` }));
    return { data, layout };
  }

  async function panelSvg(plot, width, height, prefix) {
    start();
    const { data, layout } = dressed(plot, INK);
    const url = await Plotly.toImage(
      { data, layout: { ...layout, width, height }, config: { staticPlot: true } },
      { format: "svg", width, height });
    const text = decodeURIComponent(url.slice(url.indexOf(",") + 1));
    const uid = text.match(/defs-([0-9a-f]{6})"/);
    return uid ? text.replaceAll(uid[1], prefix) : text;
  }

  // Break a heading into lines that fit; long names break after _ and |.
  function lines(text, width) {
    const ruler = document.createElement("canvas").getContext("2d");
    ruler.font = `600 14px ${FONT}`;
    const found = [""];
    for (const word of text.match(/[^ _|]*[ _|]?/g)) {
      const longer = found.at(-1) + word;
      if (found.at(-1) && ruler.measureText(longer.trimEnd()).width > width) found.push(word);
      else found[found.length - 1] = longer;
    }
    return found.map((line) => line.trimEnd());
  }

  async function svg(box) {
    const titles = [...box.querySelectorAll(".panel > p")].map((p) => p.textContent);
    const heights = [...box.querySelectorAll(".plot")].map((p) => Number(p.dataset.height));
    const plots = all[box.dataset.figure];
    const most = Math.max(1, Math.floor(1000 / (16 * Number(box.dataset.width))));
    const columns = Math.min(most, plots.length);
    const gap = 16, width = plots.length === 1 ? 760 : Math.floor((1000 - gap * (columns - 1)) / columns);
    const parts = [];
    let y = 0;
    for (let i = 0; i < plots.length; i += columns) {
      const row = [...plots.keys()].slice(i, i + columns);
      const headings = row.map((j) => lines(titles[j] ?? "", width - 8));
      const top = 6 + 18 * Math.max(...headings.map((heading) => heading.length));
      for (const [k, j] of row.entries()) {
        const x = k * (width + gap);
        for (const [l, line] of headings[k].entries()) {
          const label = new XMLSerializer().serializeToString(document.createTextNode(line));
          parts.push(`<text x="${x + 4}" y="${y + 16 + 18 * l}" font-family="${FONT}" font-size="14" font-weight="600" fill="${INK}">${label}</text>`);
        }
        const inner = await panelSvg(plots[j], width, heights[j], `p${j}`);
        parts.push(inner.replace("<svg ", `<svg x="${x}" y="${y + top}" `));
      }
      y += top + Math.max(...row.map((j) => heights[j])) + gap;
    }
    const total = columns * width + gap * (columns - 1);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${total}" height="${y}" viewBox="0 0 ${total} ${y}"><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>\n`;
  }

  async function png(box) {
    const text = await svg(box);
    const picture = new Image();
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * picture.width;
    canvas.height = 2 * picture.height;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  }

  return { all, start, dressed, svg, png, INK, LIGHT };
})();
