/* page.js: the report's tables, charts and filters, from the JSON in the page. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  /* Told apart by people who do not see all colours; ours full, the paper's pale. The same as
   * in the charts of files. */
  const colours = data.colours, pale = data.pale;
  const charts = [];
  const figures = [];

  function make(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  }

  function number(v, metric) {
    if (v === null) return "–";
    if (metric.as === "gain" || metric.as === "decrease") {
      const text = Math.abs(v).toFixed(2);
      return (v < 0 && text !== "0.00" ? "−" : "+") + text;
    }
    return Number.isInteger(v) ? v.toLocaleString("en") : v.toLocaleString("en", { maximumFractionDigits: Math.abs(v) < 10 ? 4 : 2 });
  }

  /* A table whose headings sort. columns: {title, text, cls}; rows: arrays of {show, value}. */
  function fillTable(table, columns, rows, caption) {
    const head = make("tr"), body = make("tbody");
    columns.forEach((c, i) => {
      const b = make("button", { type: "button" }, c.title);
      const th = make("th", { scope: "col", "aria-sort": "none" }, b);
      if (c.text) th.className = "text";
      b.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") !== "ascending";
        for (const other of head.children) other.setAttribute("aria-sort", "none");
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        const lines = rows.slice().sort((a, z) => {
          const x = a[i].value, y = z[i].value;
          if (x === null || y === null) return (x === null) - (y === null);
          const d = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
          return up ? d : -d;
        });
        fillBody(lines);
      });
      head.append(th);
    });
    function fillBody(lines) {
      body.replaceChildren(...lines.map((cells) => {
        const tr = make("tr");
        cells.forEach((c, i) => {
          const first = i === 0;
          const td = make(first ? "th" : "td", first ? { scope: "row" } : {}, c.show);
          td.className = (columns[i].text ? "text " : "") + (columns[i].cls || "");
          tr.append(td);
        });
        return tr;
      }));
    }
    fillBody(rows);
    table.replaceChildren(...(caption ? [make("caption", {}, caption)] : []), make("thead", {}, head), body);
  }

  /* -- figures -- */

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function chosen() {
    return { workload: $("f-workload").value, machine: $("f-machine").value, variant: $("f-variant").value,
      text: $("f-text").value.trim().toLowerCase() };
  }

  /* Rows and series of a figure that the filters leave. */
  function left(figure, f) {
    const word = (figure.title + " " + figure.name).toLowerCase();
    const rows = figure.rows.map((r, i) => i).filter((i) =>
      (!f.workload || figure.workloads[i] === f.workload) &&
      (!f.text || word.includes(f.text) || figure.rows[i].toLowerCase().includes(f.text)));
    const series = figure.series.map((s, i) => i).filter((i) =>
      (!f.machine || figure.series[i].machine === f.machine) &&
      (!f.variant || figure.series[i].variant === f.variant));
    return { rows, series };
  }

  function columnsOf(figure, m, shown) {
    const list = [];
    for (const k of shown.series) {
      if (!figure.shows[m][k]) continue;
      list.push({ label: figure.series[k].label, values: figure.ours[m], k, paper: false });
      if (shown.rows.some((r) => figure.paper[m][r][k] !== null))
        list.push({ label: figure.series[k].label + ", paper", values: figure.paper[m], k, paper: true });
    }
    return list;
  }

  /* Values on the bars, where they are asked for. */
  const valuesOnBars = { id: "valuesOnBars", afterDatasetsDraw(chart) {
    if (!$("f-values").checked || chart.config.type !== "bar") return;
    const g = chart.ctx;
    g.save();
    g.fillStyle = css("--fg");
    g.font = "10px sans-serif";
    chart.data.datasets.forEach((d, i) => chart.getDatasetMeta(i).data.forEach((bar, k) => {
      const v = d.data[k];
      if (typeof v !== "number") return;
      g.save();
      const text = String(Number(v.toPrecision(3))), stacked = chart.options.scales.y.stacked;
      const width = g.measureText(text).width, flat = stacked && bar.width > width;
      if (!stacked || bar.base - bar.y > (flat ? 11 : width + 2)) { /* in the middle of its part, if there is room */
        g.textAlign = stacked ? "center" : "left";
        g.translate(bar.x + (flat ? 0 : 3), stacked ? (bar.y + bar.base) / 2 + (flat ? 4 : 0) : bar.y - 4);
        if (!flat) g.rotate(-Math.PI / 2);
        g.fillText(text, 0, 0);
      }
      g.restore();
    }));
    g.restore();
  } };

  /* Points of different shape, for print without colours; as in the charts of files. */
  const shapes = [["rect", 0], ["circle", 0], ["triangle", 0], ["triangle", 180], ["rectRot", 0]];
  const shape = (i) => ({ pointStyle: shapes[i % shapes.length][0], pointRotation: shapes[i % shapes.length][1] });
  const legendOfShapes = { usePointStyle: true };

  /* Names beside points, where they cover neither points nor another name. */
  const namesOfPoints = { id: "namesOfPoints", afterDatasetsDraw(chart) {
    const g = chart.ctx, area = chart.chartArea, covered = [], named = [];
    chart.data.datasets.forEach((d, i) => d.data.forEach((v, k) => {
      if (!v || !v.name) return;
      const { x, y } = chart.getDatasetMeta(i).data[k];
      covered.push({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 });
      named.push({ x, y, name: v.name });
    }));
    g.save();
    g.fillStyle = css("--fg");
    g.font = "11px sans-serif";
    for (const { x, y, name } of named) {
      const width = g.measureText(name).width;
      const places = [[x + 6, y], [x - 6 - width, y], [x - width / 2, y - 11], [x - width / 2, y + 11]]
        .map(([left, middle]) => ({ left, right: left + width, top: middle - 6, bottom: middle + 6 }));
      const place = places.find((p) => p.left >= area.left && p.right <= area.right && p.top >= area.top && p.bottom <= area.bottom &&
        !covered.some((c) => p.left < c.right && c.left < p.right && p.top < c.bottom && c.top < p.bottom));
      if (!place) continue;
      covered.push(place);
      g.fillText(name, place.left, place.bottom - 2);
    }
    g.restore();
  } };

  /* 1, 2 and 5 of each decade. */
  function decades(v) {
    const first = Math.round(v / 10 ** Math.floor(Math.log10(v)));
    return [1, 2, 5, 10].includes(first) ? v.toLocaleString("en", { maximumFractionDigits: 6 }) : "";
  }

  /* A chart as SVG: it is drawn once more into a context that writes down paths and texts instead of
   * painting them. What the real context knows (colours, fonts, widths of texts) is asked of it. */
  function svgOf(chart) {
    const real = chart.ctx, out = [], saved = [];
    let m = new DOMMatrix(), clip = "", clips = 0, path = "";
    const escaped = (t) => String(t).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
    const at = (x, y) => { const p = m.transformPoint({ x, y }); return `${+p.x.toFixed(2)} ${+p.y.toFixed(2)}`; };
    const to = (letter) => (...xy) => {
      const points = [];
      for (let i = 0; i < xy.length; i += 2) points.push(at(xy[i], xy[i + 1]));
      path += (path || letter === "M" ? letter : "M") + points.join(" ");
    };
    const shape = (d, attributes) => { if (d) out.push(`<path d="${d}" ${attributes}${clip}/>`); };
    const filled = () => `fill="${real.fillStyle}" fill-opacity="${real.globalAlpha}"`;
    const stroked = () => `fill="none" stroke="${real.strokeStyle}" stroke-width="${real.lineWidth}" stroke-linecap="${real.lineCap}" ` +
      `stroke-linejoin="${real.lineJoin}" stroke-dasharray="${real.getLineDash().join(" ")}" stroke-dashoffset="${real.lineDashOffset}"`;
    const box = (x, y, w, h) => `M${at(x, y)}L${at(x + w, y)}L${at(x + w, y + h)}L${at(x, y + h)}Z`;
    const anchors = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
    const lines = { top: "text-before-edge", hanging: "hanging", middle: "central", alphabetic: "alphabetic", bottom: "text-after-edge" };
    const own = {
      save() { real.save(); saved.push([DOMMatrix.fromMatrix(m), clip]); },
      restore() { real.restore(); if (saved.length) [m, clip] = saved.pop(); },
      translate(x, y) { m = m.translate(x, y); }, rotate(a) { m = m.rotate(a * 180 / Math.PI); }, scale(x, y) { m = m.scale(x, y); },
      setTransform() { m = new DOMMatrix(); }, resetTransform() { m = new DOMMatrix(); }, clearRect() {},
      beginPath() { path = ""; }, closePath() { if (path) path += "Z"; },
      moveTo: to("M"), lineTo: to("L"), bezierCurveTo: to("C"), quadraticCurveTo: to("Q"),
      arc(x, y, r, a, b, back) {
        const turn = 2 * Math.PI, by = Math.abs(b - a) >= turn ? (back ? -turn : turn) : back ? -((a - b + turn) % turn) : (b - a + turn) % turn;
        const spot = (angle) => [x + r * Math.cos(angle), y + r * Math.sin(angle)];
        (path ? own.lineTo : own.moveTo)(...spot(a));
        for (const half of [a + by / 2, a + by]) path += `A${r} ${r} 0 0 ${by > 0 ? 1 : 0} ${at(...spot(half))}`;
      },
      rect(x, y, w, h) { path += box(x, y, w, h); },
      fill() { shape(path, filled()); }, stroke() { shape(path, stroked()); },
      fillRect(x, y, w, h) { shape(box(x, y, w, h), filled()); }, strokeRect(x, y, w, h) { shape(box(x, y, w, h), stroked()); },
      clip() { out.push(`<clipPath id="c${++clips}"><path d="${path}"/></clipPath>`); clip = ` clip-path="url(#c${clips})"`; },
      fillText(text, x, y) {
        out.push(`<g${clip}><text x="${x}" y="${y}" transform="matrix(${[m.a, m.b, m.c, m.d, m.e, m.f].map((v) => +v.toFixed(4)).join(" ")})" style="font: ${escaped(real.font)}" ` +
          `${filled()} text-anchor="${anchors[real.textAlign] || "start"}" dominant-baseline="${lines[real.textBaseline] || "alphabetic"}">${escaped(text)}</text></g>`);
      },
      strokeText() {}
    };
    const context = new Proxy(real, {
      get: (t, k) => (k in own ? own[k] : typeof t[k] === "function" ? t[k].bind(t) : t[k]),
      set: (t, k, v) => { t[k] = v; return true; }
    });
    const draw = (ctx) => { /* the chart, its axes and legend, its series keep the context apiece */
      for (const part of [chart, ...chart.boxes]) part.ctx = ctx;
      for (const meta of chart.getSortedVisibleDatasetMetas()) meta.controller._ctx = ctx;
      chart.draw();
    };
    try {
      draw(context);
    } finally {
      draw(real);
    }
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${chart.width}" height="${chart.height}" viewBox="0 0 ${chart.width} ${chart.height}">` +
      `<rect width="100%" height="100%" fill="${css("--bg")}"/>${out.join("\n")}</svg>\n`;
  }

  /* Lines with a style by segment are drawn point by point, others as a Path2D, which cannot be read. */
  if (typeof Chart !== "undefined") for (const kind of ["line", "scatter"]) Chart.defaults.datasets[kind].segment = {};

  /* Links that save a chart as a picture and its values as CSV. */
  function downloads(name, chart) {
    const save = (ending, href) => {
      const a = make("a", { download: `${name.replace(/[^A-Za-z0-9.-]+/g, "-")}.${ending}`, href: href() });
      document.body.append(a);
      a.click();
      a.remove();
    };
    const button = (text, ending, href) => {
      const b = make("button", { type: "button" }, text);
      b.addEventListener("click", () => save(ending, href));
      return b;
    };
    const quoted = (s) => `"${String(s).replaceAll('"', '""')}"`;
    const csv = () => {
      const d = chart().data, points = d.datasets.some((s) => s.data.some((v) => v !== null && typeof v === "object"));
      const lines = points
        ? [["series", "name", "x", "y"], ...d.datasets.flatMap((s) => s.data.filter((v) => v).map((v) => [quoted(s.label), quoted(v.name || ""), v.x, v.y]))]
        : [["name", ...d.datasets.map((s) => quoted(s.label))], ...d.labels.map((l, i) => [quoted(l), ...d.datasets.map((s) => s.data[i] ?? "")])];
      return "data:text/csv;charset=utf-8," + encodeURIComponent(lines.map((l) => l.join(",")).join("\n") + "\n");
    };
    const svg = () => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgOf(chart()));
    return make("p", { class: "save" }, button("Save SVG", "svg", svg), " ", button("Save PNG", "png", () => chart().toBase64Image()), " ",
      button("Save CSV", "csv", csv));
  }

  /* A line for each row and each text that the series share, over the swept parameter. */
  function sweptLines(figure, shown, columns) {
    const sets = new Map(), texts = [...new Set(figure.series.map((s) => s.line))].filter((t) => t !== null);
    for (const r of shown.rows) for (const c of columns) {
      const s = figure.series[c.k], row = figure.rows.length > 1 || !s.line ? figure.rows[r] : "";
      const label = [row, s.line].filter(Boolean).join(", ") + (c.paper ? ", paper" : "");
      const colour = colours[(r * texts.length + texts.indexOf(s.line)) % colours.length];
      if (!sets.has(label)) sets.set(label, { label, data: [], backgroundColor: colour, borderColor: colour, borderWidth: 2,
        borderDash: c.paper ? [6, 4] : [], pointRadius: 3 });
      sets.get(label).data.push({ x: s.at, y: c.values[r][c.k] });
    }
    const list = [...sets.values()];
    list.forEach((set, i) => Object.assign(set, shape(i)).data.sort((a, b) => a.x - b.x));
    return list;
  }

  function drawChart(part, figure, m, shown, columns) {
    if (typeof Chart === "undefined") {
      part.box.hidden = part.save.hidden = true;
      return;
    }
    const metric = figure.metrics[m], unit = metric.unit ? " " + metric.unit : "";
    const sweep = figure.sweep.length > 0, whole = shown.rows.length === figure.rows.length && shown.rows.length > 1;
    /* Every series that is shown is a value of a swept parameter. */
    const swept = figure.series.every((s, k) => !figure.shows[m][k] || s.line !== null) && figure.shows[m].some((s) => s);
    const mean = !sweep && !swept && whole && columns.some((c) => !c.paper && figure.means[m][c.k][0] !== null);
    const datasets = swept ? sweptLines(figure, shown, columns) : columns.map((c) => {
      const colour = c.paper && !sweep ? pale[c.k % pale.length] : colours[c.k % colours.length];
      const values = shown.rows.map((r) => c.values[r][c.k]);
      const set = { label: c.label, data: mean ? [...values, null, figure.means[m][c.k][c.paper ? 1 : 0]] : values,
        backgroundColor: colour, borderColor: colours[c.k % colours.length], borderWidth: c.paper ? 1 : 0 };
      if (sweep) Object.assign(set, shape(columns.indexOf(c)), { data: values.map((y, i) => ({ x: figure.sweep[shown.rows[i]], y })), borderWidth: 2,
        borderDash: c.paper ? [6, 4] : [], pointRadius: 3 });
      return set;
    });
    const labels = [...shown.rows.map((r) => figure.rows[r]), ...(mean ? ["", figure.arithmetic ? "arithmetic mean" : "geometric mean"] : [])];
    if (!part.chart) {
      part.chart = new Chart(part.canvas, {
        type: sweep || swept ? "line" : "bar", data: { labels, datasets }, plugins: [valuesOnBars],
        options: {
          maintainAspectRatio: false, animation: false, interaction: { mode: "index", intersect: false },
          plugins: {
            legend: { position: "bottom", ...(sweep || swept ? { labels: legendOfShapes } : {}) },
            tooltip: { callbacks: { label: (t) => `${t.dataset.label}: ${number(t.raw !== null && typeof t.raw === "object" ? t.raw.y : t.raw, metric)}${unit}` } }
          },
          scales: { x: { ...(sweep || swept ? { type: "linear" } : {}), grid: { display: false },
            ...(swept ? { title: { display: true, text: (figure.series.find((s) => s.axis) || {}).axis || "" } } : {}) }, y: { beginAtZero: true, title: { display: true, text: metric.label + (metric.unit ? ", " + metric.unit : "") } } }
        }
      });
      charts.push(part.chart);
    } else {
      part.chart.data = { labels, datasets };
    }
    paint(part.chart);
    part.chart.update();
  }

  function paint(chart) {
    const o = chart.options;
    o.color = css("--fg");
    for (const axis of ["x", "y"]) {
      o.scales[axis].ticks = { ...o.scales[axis].ticks, color: css("--fg") };
      o.scales[axis].grid = { ...o.scales[axis].grid, color: css("--grid") };
    }
    for (const axis of ["x", "y"]) if (o.scales[axis].title) o.scales[axis].title.color = css("--fg");
    if (o.plugins.title) o.plugins.title.color = css("--fg");
    o.plugins.legend.labels = { ...o.plugins.legend.labels, color: css("--fg") };
  }

  function buildFigure(figure, n) {
    const section = make("section", { id: "figure-" + n, "aria-labelledby": `figure-${n}-title`, class: "figure" });
    section.append(make("h2", { id: `figure-${n}-title` }, figure.title), make("p", { class: "source" }, figure.name + (figure.source ? " · " + figure.source : "")));
    const parts = figure.metrics.map((metric, m) => {
      const canvas = make("canvas", { role: "img", "aria-label": `Chart: ${figure.title}: ${metric.label}. The table below holds the same values.` });
      const box = make("div", { class: "chart" }, canvas);
      const id = `figure-${n}-${m}`;
      const table = make("table", { "aria-labelledby": id });
      const part = { canvas, box, table, chart: null };
      part.save = downloads(figure.name + "-" + metric.name, () => part.chart);
      section.append(make("h3", { id }, metric.label + (metric.unit ? ", " + metric.unit : "")), box, part.save,
        make("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id }, table));
      if (figure.verdicts[m]) section.append(make("p", { class: "verdict" }, figure.verdicts[m]));
      return part;
    });
    if (figure.checks.length) {
      const list = make("ul", { class: "checks" });
      for (const c of figure.checks) {
        const word = c.holds === 1 ? "holds" : c.holds === 0 ? "not so" : "unknown";
        list.append(make("li", {}, make("span", { class: c.holds === 1 ? "holds" : c.holds === 0 ? "fails" : "" }, word), ": " + c.says));
      }
      section.append(make("h3", {}, "What the text states"), list);
    }
    if (figure.note) section.append(make("p", { class: "note" }, figure.note));
    $("figures").append(section);
    const link = make("li", {}, make("a", { href: "#figure-" + n }, figure.title));
    $("toc").append(link);
    figures.push({ figure, section, parts, link });
  }

  function showFigure(f, filter) {
    const shown = left(f.figure, filter);
    let any = false;
    f.parts.forEach((part, m) => {
      const columns = columnsOf(f.figure, m, shown), metric = f.figure.metrics[m];
      const empty = !shown.rows.length || !columns.length;
      part.box.hidden = part.save.hidden = part.table.hidden = empty;
      if (empty) return;
      any = true;
      drawChart(part, f.figure, m, shown, columns);
      fillTable(part.table, [{ title: "workload", text: true }, ...columns.map((c) => ({ title: c.label, cls: c.paper ? "paper" : "" }))],
        shown.rows.map((r) => [{ show: f.figure.rows[r], value: f.figure.rows[r] },
          ...columns.map((c) => ({ show: number(c.values[r][c.k], metric), value: c.values[r][c.k] }))]));
    });
    f.section.hidden = f.link.hidden = !any;
    return any;
  }

  /* -- charts of kernels: stall causes, roofline, occupancy, as src/report/chart.h describes -- */

  function describe(spec) {
    const xy = spec.kind === "lines" || spec.kind === "scatter", stack = spec.kind === "stack";
    const datasets = spec.series.map((s) => {
      const colour = (s.pale ? pale : colours)[s.colour], line = spec.kind === "lines" || s.line;
      const points = s.values.map((y, i) => (y === null ? null : { x: spec.x[i], y, name: spec.groups[i] })).filter((v) => v);
      return { label: s.label, data: xy ? points : s.values, backgroundColor: colour, borderColor: colour,
        ...(xy ? { showLine: line, borderWidth: 2, pointRadius: line ? 0 : 4, stepped: line && spec.steps ? "after" : false, pointStyle: line ? "line" : "circle" } : {}) };
    });
    return { type: xy ? "scatter" : "bar", data: { labels: spec.groups, datasets }, plugins: [spec.kind === "scatter" && !spec.steps ? namesOfPoints : valuesOnBars],
      options: { maintainAspectRatio: false, animation: false, interaction: { mode: xy ? "nearest" : "index", intersect: false },
        plugins: { legend: { position: stack ? "right" : "bottom", reverse: stack, ...(xy ? { labels: legendOfShapes } : {}) }, title: { display: true, text: spec.title },
          tooltip: { callbacks: { label: (t) => xy ? `${t.raw.name || t.dataset.label}: ${t.raw.x.toPrecision(4)}, ${t.raw.y.toPrecision(4)}`
            : `${t.dataset.label}: ${t.raw === null ? "–" : t.raw.toPrecision(4)}` } } },
        scales: { x: { type: xy ? (spec.log_x ? "logarithmic" : "linear") : "category", stacked: stack, grid: { display: xy },
          ticks: { autoSkip: xy, ...(spec.log_x ? { callback: decades } : {}) },
          title: { display: Boolean(spec.xlabel), text: spec.xlabel } },
        y: { type: spec.log_y ? "logarithmic" : "linear", stacked: stack, beginAtZero: !spec.log_y, ...(spec.steps ? { ticks: { precision: 0 } } : {}),
          ...(spec.log_y ? { ticks: { callback: decades }, suggestedMax: 2 * Math.max(...spec.series.flatMap((s) => s.values)) } : {}), ...(stack ? { max: 100 } : {}),
          title: { display: true, text: spec.ylabel } } } } };
  }

  function buildCharts(group, n) {
    if (!group.charts.length || typeof Chart === "undefined") return;
    const id = "charts-" + n, section = make("section", { id, "aria-labelledby": id + "-title", class: "figure" },
      make("h2", { id: id + "-title" }, group.title), make("p", {}, group.note));
    $("charts").append(section);
    for (const spec of group.charts) {
      const canvas = make("canvas", { role: "img", "aria-label": `${group.title}: ${spec.title}: ${spec.ylabel}` });
      section.append(make("div", { class: spec.steps ? "chart" : "chart tall" }, canvas));
      const chart = new Chart(canvas, describe(spec));
      section.append(downloads(spec.title, () => chart));
      charts.push(chart);
    }
    $("toc").append(make("li", {}, make("a", { href: "#" + id }, group.title)));
  }

  /* -- runs -- */

  const runColumns = [["run", "id"], ["workload", "workload", true], ["kernel", "kernel", true], ["machine", "machine", true],
    ["settings", "settings", true, "wide"], ["launches", "launches"], ["blocks/SM", "resident_blocks"], ["cycles", "cycles"],
    ["IPC", "ipc"], ["L1 miss rate", "l1d_miss_rate"], ["L2 miss rate", "l2_miss_rate"], ["DRAM use", "dram_use"], ["started", "started", true]];

  /* Key, title: what makes an energy's bar. */
  const energyColumns = [["energy_register_file", "register file"], ["energy_caches", "caches"], ["energy_scratchpad", "scratchpad"],
    ["energy_units", "execution units"], ["energy_pipeline", "pipeline"], ["energy_constant", "constant part"],
    ["energy_icnt", "interconnect"], ["energy_l2", "L2"], ["energy_dram", "DRAM"]];
  const energyColours = [...colours, "#bbbbbb", "#332288", "#999933"];
  let energyChart = null;

  function showEnergy(runs) {
    const some = runs.filter((r) => typeof r.energy === "number");
    $("energy").hidden = !some.length;
    if (!some.length) return;
    const text = (v) => v.toPrecision(4);
    fillTable($("energy-table"), [{ title: "run" }, { title: "kernel", text: true }, { title: "machine", text: true },
      { title: "calibrated", text: true }, ...energyColumns.map(([, title]) => ({ title: title + ", J" })), { title: "all, J" },
      { title: "W" }, { title: "nJ a warp instruction" }, { title: "J s" }],
      some.map((r) => [{ show: String(r.id), value: r.id }, { show: r.kernel, value: r.kernel }, { show: r.machine, value: r.machine },
        { show: r.energy_calibrated ? "yes" : "no", value: r.energy_calibrated ? "yes" : "no" },
        ...[...energyColumns.map(([key]) => key), "energy", "power", "energy_per_instruction", "energy_delay"]
          .map((key) => ({ show: text(r[key]), value: r[key] }))]));
    $("energy-box").hidden = typeof Chart === "undefined";
    if (typeof Chart === "undefined") return;
    const bars = some.slice(0, 40);
    const chartData = { labels: bars.map((r) => `${r.id} ${r.kernel}`),
      datasets: energyColumns.map(([key, title], i) => ({ label: title, data: bars.map((r) => r[key]), backgroundColor: energyColours[i] })) };
    if (!energyChart) {
      energyChart = new Chart($("energy-canvas"), { type: "bar", data: chartData, plugins: [valuesOnBars],
        options: { maintainAspectRatio: false, animation: false, interaction: { mode: "index", intersect: false },
          plugins: { legend: { position: "bottom" } },
          scales: { x: { stacked: true, grid: { display: false }, ticks: { autoSkip: false } }, y: { stacked: true, beginAtZero: true, title: { display: true, text: "energy, J" } } } } });
      charts.push(energyChart);
      $("energy-box").after(downloads("energy", () => energyChart));
    } else {
      energyChart.data = chartData;
    }
    paint(energyChart);
    energyChart.update();
  }

  function showRuns(f) {
    const lines = data.runs.filter((r) => (!f.workload || r.workload === f.workload) && (!f.machine || r.machine === f.machine) &&
      (!f.variant || r.variants.includes(f.variant)) &&
      (!f.text || `${r.workload} ${r.kernel} ${r.machine} ${r.settings}`.toLowerCase().includes(f.text)));
    fillTable($("runs-table"), runColumns.map(([title, , text, cls]) => ({ title, text, cls })),
      lines.map((r) => runColumns.map(([, key]) => {
        const v = r[key];
        return { value: v === undefined ? null : v,
          show: typeof v === "number" ? v.toLocaleString("en", { maximumFractionDigits: Math.abs(v) < 10 ? 4 : 2 }) : v === undefined ? "–" : v };
      })));
    showEnergy(lines);
    return lines.length;
  }

  /* -- the page -- */

  function refresh() {
    const f = chosen();
    const shown = figures.filter((x) => showFigure(x, f)).length;
    const runs = showRuns(f);
    $("f-count").textContent = `${shown} of ${figures.length} figures, ${runs} of ${data.runs.length} lines`;
  }

  function options(id, values) {
    $(id).append(make("option", { value: "" }, "all"), ...[...new Set(values)].filter(Boolean)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true })).map((v) => make("option", { value: v }, v)));
  }

  function isDark() {
    const root = document.documentElement.classList;
    return root.contains("dark") || (!root.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  function recolour() {
    $("theme").setAttribute("aria-pressed", String(isDark()));
    for (const c of charts) {
      paint(c);
      c.update();
    }
  }

  $("f-values").addEventListener("change", () => charts.forEach((c) => {
    if (c.config.type === "bar" && !c.options.scales.y.stacked) c.options.scales.y.grace = $("f-values").checked ? "12%" : 0;
    c.update();
  }));
  $("about").textContent = data.about;
  options("f-workload", [...data.figures.flatMap((f) => f.workloads), ...data.runs.map((r) => r.workload)]);
  options("f-machine", [...data.figures.flatMap((f) => f.series.map((s) => s.machine)), ...data.runs.map((r) => r.machine)]);
  options("f-variant", [...data.figures.flatMap((f) => f.series.map((s) => s.variant)), ...data.runs.flatMap((r) => r.variants)]);
  data.figures.forEach(buildFigure);
  for (const id of ["f-workload", "f-machine", "f-variant"]) $(id).addEventListener("change", refresh);
  $("f-text").addEventListener("input", refresh);
  $("filters").addEventListener("reset", () => setTimeout(refresh));
  $("theme").addEventListener("click", () => {
    const dark = isDark();
    document.documentElement.classList.toggle("dark", !dark);
    document.documentElement.classList.toggle("light", dark);
    recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  /* Paper is white, and its width is not the window's. */
  let before = null;
  function toPaper() {
    if (before !== null) return;
    before = document.documentElement.className;
    document.documentElement.className = "light";
    recolour();
    for (const c of charts) c.resize(680, c.canvas.parentNode.classList.contains("tall") ? 420 : 280);
  }
  function fromPaper() {
    if (before === null) return;
    document.documentElement.className = before;
    before = null;
    recolour();
    for (const c of charts) c.resize();
  }
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  matchMedia("print").addEventListener("change", (e) => (e.matches ? toPaper() : fromPaper()));
  data.charts.forEach(buildCharts);
  refresh();
  recolour();
})();
