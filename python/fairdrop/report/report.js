// What the report gains where script runs: disciplines switched on and off, tables sorted by a column, and charts of the
// queue over time. Without it, and on paper, the page is whole.
"use strict";
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const hidden = new Set();
  const charts = [];

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const button = (label, click, attributes = {}) => {
    const made = element("button", { type: "button", ...attributes }, label);
    made.addEventListener("click", click);
    return made;
  };

  // Disciplines

  function disciplineSwitches() {
    const state = element("span", { "aria-live": "polite" });
    const boxes = data.disciplines.map(() => element("input", { type: "checkbox" }));
    const update = () => {
      boxes.forEach((box, d) => box.checked ? hidden.delete(d) : hidden.add(d));
      state.textContent = `${boxes.length - hidden.size} of ${boxes.length}`;
      for (const one of document.querySelectorAll("[data-d]"))
        one.classList.toggle("off", one.dataset.d.split(" ").every(d => hidden.has(Number(d))));
    };
    const all = shown => () => { for (const box of boxes) box.checked = shown; update(); };
    for (const box of boxes) { box.checked = true; box.addEventListener("change", update); }
    const group = element("div", { role: "group", "aria-label": "Disciplines shown" },
      ...boxes.map((box, d) => element("label", {}, box, data.disciplines[d])),
      button("All", all(true)), button("None", all(false)));
    const folder = element("details", { class: "switches" }, element("summary", {}, "Disciplines shown: ", state), group);
    folder.open = boxes.length <= 6 && innerWidth > 800;
    document.querySelector(".support").after(folder);
    update();
  }

  // Tables

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells], bodies = [...table.tBodies], home = bodies.map(body => [...body.rows]);
    const rows = home.flat().filter(row => !row.classList.contains("block"));
    for (const [place, body] of bodies.entries()) {
      const name = home[place][0].classList.contains("block") && home[place][0].cells[0].textContent;
      for (const row of body.rows)
        if (name && !row.classList.contains("block")) row.cells[0].append(element("small", { class: "whose" }, name));
    }
    const compare = at => (one, other) => {
      const [a, b] = [one.cells[at], other.cells[at]];
      return a.tagName === "TH" ? a.textContent.localeCompare(b.textContent) : a.dataset.v - b.dataset.v;
    };
    const known = at => row => row.cells[at].tagName === "TH" || row.cells[at].dataset.v !== undefined;
    const order = (at, down) => {
      const sorted = rows.filter(known(at)).sort(compare(at));
      return [...(down ? sorted.reverse() : sorted), ...rows.filter(row => !known(at)(row))];
    };
    const sort = at => {
      const next = { ascending: "descending", descending: null }[heads[at].getAttribute("aria-sort")];
      for (const head of heads) head.removeAttribute("aria-sort");
      table.classList.toggle("flat", next !== null);
      if (next === null) return bodies.forEach((body, place) => body.append(...home[place]));
      heads[at].setAttribute("aria-sort", next ?? "ascending");
      bodies[0].append(...order(at, next === "descending"));
    };
    heads.forEach((head, at) => {
      const label = [...head.childNodes];
      head.append(button("", () => sort(at)));
      head.lastChild.append(...label);
    });
    table.classList.add("sortable");
  }

  // Charts

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--fd-${name}`).trim();
  const number = value => value.toLocaleString("en", { maximumSignificantDigits: value < 1000 ? 4 : 15 });
  const AXES = "packets waiting, by time in s";
  const font = size => `${size}px system-ui, sans-serif`;

  // Lines of a chart by their place in the legend, from the back to the front: groups from the top down, the average.
  const linesOf = chart => {
    const groups = [...chart.groups.keys()].filter(group => chart.groups[group]).reverse();
    return chart.average ? [...groups, chart.groups.length] : groups;
  };

  // What uPlot draws: of each group the sum of the groups up to it.
  function columns(chart, off) {
    const sums = [];
    let below = chart.t.map(() => 0);
    chart.groups.forEach((part, group) => {
      if (part && !off.has(group)) below = below.map((sum, at) => sum + part[at]);
      sums.push(below);
    });
    return [chart.t, ...linesOf(chart).map(line => sums[line] ?? chart.average)];
  }

  function series(queue, chart, off) {
    const hidden = { points: { show: false } };
    const group = ({ name, hue }) => ({ ...hidden, label: name, fill: () => colour(hue), width: 0 });
    const average = { ...hidden, label: "average", stroke: () => colour("ink"), width: 1.5 };
    return [{}, ...linesOf(chart).map(line => ({ ...(queue.groups[line] ? group(queue.groups[line]) : average), show: !off.has(line) }))];
  }

  // Whether a chart shows a warm-up, which is not counted.
  const warms = (queue, chart) => chart.t[0] < queue.from && queue.from < chart.t.at(-1);

  // The warm-up, and the discipline's thresholds.
  function marks(u, queue, chart) {
    const { left, top, width, height } = u.bbox, { ctx } = u, px = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    if (warms(queue, chart)) {
      ctx.fillStyle = colour("paper");
      ctx.globalAlpha = 0.55;
      ctx.fillRect(left, top, u.valToPos(queue.from, "x", true) - left, height);
      ctx.globalAlpha = 1;
    }
    // Names stand side by side where lines are too near to have them at one edge.
    const aside = height < 100 * px ? 84 * px : 0;
    chart.levels.forEach(({ name, at }, place) => {
      const y = Math.round(u.valToPos(at, "y", true));
      level(ctx, u.bbox, y, `${name} ${number(at)}`, left + width - 4 * px - place * aside, px);
    });
    ctx.restore();
  }

  // A dashed line with its name above it, or below where there is no room.
  function level(ctx, { left, top, width }, y, label, x, px) {
    ctx.strokeStyle = ctx.fillStyle = colour("ink");
    ctx.lineWidth = px;
    ctx.setLineDash([3 * px, 3 * px]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = font(11 * px);
    ctx.textAlign = "right";
    ctx.strokeStyle = colour("paper");
    ctx.lineWidth = 4 * px;
    const at = [label, x, y - top < 14 * px ? y + 12 * px : y - 4 * px];
    ctx.strokeText(...at);
    ctx.fillText(...at);
  }

  // What stands at the cursor, in words.
  function values(queue, chart, at, off) {
    const parts = queue.groups.map(({ name }, group) =>
      chart.groups[group] && !off.has(group) ? `${name} ${number(chart.groups[group][at])}` : null);
    const mean = chart.average && !off.has(queue.groups.length) ? chart.average[at] : null;
    if (mean !== null) parts.push(`average ${number(mean)}`);
    return `${number(chart.t[at])} s: ${parts.filter(part => part !== null).join(", ")} packets`;
  }

  function draw(place, readout, queue, chart, off, zoom, shown, height) {
    const axis = { stroke: () => colour("muted"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false }, font: font(12) };
    const options = {
      width: place.clientWidth, height,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: (u, low, high) => u.status === 1 ? [low, high] : shown() }, y: { range: [0, queue.top * 1.12] } },
      axes: [{ ...axis, size: 28 }, { ...axis, size: 46, space: 26 }],
      cursor: {
        y: false, points: { show: false }, sync: { key: "queue", scales: ["x", null] }, drag: { x: true, y: false },
        bind: { dblclick: () => () => { zoom(...whole(queue)); return null; } },
      },
      series: series(queue, chart, off),
      hooks: {
        draw: [u => marks(u, queue, chart)],
        setCursor: [({ cursor: { idx } }) => { readout.textContent = idx == null ? AXES : values(queue, chart, idx, off); }],
        setScale: [(u, key) => { if (key === "x" && u.status === 1) zoom(u.scales.x.min, u.scales.x.max); }],
      },
    };
    return new uPlot(options, columns(chart, off), place);
  }

  const whole = queue => [Math.min(...queue.charts.map(chart => chart.t[0])), Math.max(queue.to, ...queue.charts.map(chart => chart.t.at(-1)))];

  function queueCharts(queue) {
    const figure = document.getElementById("queue").closest("figure");
    const height = queue.charts.length > 6 ? 110 : 170, off = new Set();
    const range = element("output", { class: "range" });
    let [from, to] = whole(queue);
    const zoom = (low, high) => {
      const [first, last] = whole(queue), width = Math.min(high - low, last - first);
      if (!(width > 0)) return;
      low = Math.min(Math.max(low, first), last - width);
      if (low === from && low + width === to && range.textContent) return;
      [from, to] = [low, low + width];
      range.textContent = `${number(from)} s to ${number(to)} s`;
      for (const { u } of charts) u?.setScale("x", { min: from, max: to });
    };
    const scaled = factor => () => { const middle = (from + to) / 2, half = (to - from) * factor / 2; zoom(middle - half, middle + half); };
    const moved = part => () => zoom(from + part * (to - from), to + part * (to - from));
    const tools = element("div", { class: "tools", role: "group", "aria-label": "Time shown" },
      button("Zoom in", scaled(0.5)), button("Zoom out", scaled(2)), button("Earlier", moved(-0.5)), button("Later", moved(0.5)),
      button("Whole run", () => zoom(...whole(queue))), range);
    const box = element("div", { class: "charts" }, legend(queue, off), tools,
      ...queue.charts.map(chart => chartOf(queue, chart, off, zoom, () => [from, to], height)),
      element("p", { class: "note" }, note(queue)));
    figure.querySelector("figcaption").after(box);
    figure.classList.add("charted");
    zoom(from, to);
  }

  function legend(queue, off) {
    const names = [...queue.groups, ...(queue.charts.some(chart => chart.average) ? [{ name: "average that RED goes by", hue: "ink" }] : [])];
    const switched = (line, event) => {
      const on = off.has(line);
      on ? off.delete(line) : off.add(line);
      event.currentTarget.setAttribute("aria-pressed", on);
      for (const { u, chart } of charts) if (u) refresh(u, chart, off);
    };
    return element("div", { class: "legend", role: "group", "aria-label": "Lines" }, ...names.map(({ name, hue }, line) => {
      const made = button(name, event => switched(line, event), { "aria-pressed": "true" });
      made.prepend(element("span", { class: "key", style: `background: var(--fd-${hue})` }));
      return made;
    }));
  }

  function refresh(u, chart, off) {
    u.batch(() => {
      u.setData(columns(chart, off), false);
      linesOf(chart).forEach((line, place) => u.setSeries(place + 1, { show: !off.has(line) }));
      u.redraw(true);
    });
  }

  // Built when its place has a width, which it has not while folded.
  function chartOf(queue, chart, off, zoom, shown, height) {
    const name = data.disciplines[chart.d], readout = element("span", { class: "readout" }, AXES);
    const place = element("div", { class: "chart", tabindex: "0", role: "application",
      "aria-label": `Queue over time under ${name}: left and right move the cursor, plus and minus zoom, 0 shows the whole run` });
    const entry = { chart, place, u: null };
    charts.push(entry);
    new ResizeObserver(() => {
      const width = place.clientWidth;
      if (width > 0 && !entry.u) {
        entry.u = draw(place, readout, queue, chart, off, zoom, shown, height);
      } else if (width > 0 && width !== entry.u.width) entry.u.setSize({ width, height });
    }).observe(place);
    // Of charts whose cursors move together, the one in use is read aloud.
    place.addEventListener("focus", () => readout.setAttribute("aria-live", "polite"));
    place.addEventListener("blur", () => readout.removeAttribute("aria-live"));
    place.addEventListener("keydown", event => keyed(event, entry.u, queue, zoom, shown()));
    return element("div", { class: "panel", "data-d": chart.d }, element("p", {}, element("strong", {}, name), " ", readout), place);
  }

  function keyed(event, u, queue, zoom, [low, high]) {
    if (!u || event.ctrlKey || event.altKey || event.metaKey) return;
    const times = u.data[0], step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], middle = (low + high) / 2, quarter = (high - low) / 4;
    if (step) {
      const first = times.findIndex(time => time >= low), last = times.findLastIndex(time => time <= high);
      const at = Math.min(Math.max((u.cursor.idx ?? (step > 0 ? first - 1 : last + 1)) + step, first), last);
      u.setCursor({ left: u.valToPos(times[at], "x"), top: 1 }, true, true);
    } else if (event.key === "+" || event.key === "=") zoom(middle - quarter, middle + quarter);
    else if (event.key === "-") zoom(middle - 4 * quarter, middle + 4 * quarter);
    else if (event.key === "0") zoom(...whole(queue));
    else return;
    event.preventDefault();
  }

  function note(queue) {
    const warm = queue.charts.some(chart => warms(queue, chart)) ? ` Pale: warm-up until ${number(queue.from)} s, not counted in the numbers.` : "";
    const thinned = queue.thinned ? " Of each stretch of time, the samples in which a line is lowest or highest." : "";
    return `Waiting packets in the run with seed ${queue.seed}.${thinned}${warm} Drag over a chart to zoom, double-click for the whole run.`;
  }

  document.documentElement.classList.add("script");
  if (data.queue) queueCharts(data.queue);
  for (const table of document.querySelectorAll("main table")) sortable(table);
  if (data.disciplines.length > 1) disciplineSwitches();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const { u } of charts) u?.redraw(true, true); });
}
