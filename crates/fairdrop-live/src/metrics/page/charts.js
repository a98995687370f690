"use strict";
// Charts of the last minutes, in SVG: stacked areas and lines. Keys name every series and its value, now or where one points.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...inside) {
  const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    // The page's policy forbids styles in attributes.
    if (key === "style") made.style.cssText = value; else made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
}

// Steps of 1, 2 or 5 times a power of ten, about `count` of them.
function ticks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough * 0.999);
  const found = [];
  for (let at = 0; at <= most * 1.0001; at += step) found.push(at);
  return found;
}

class Chart {
  // `stacked`: areas on top of each other; otherwise lines. `format`: a value in words. `height` in CSS pixels.
  constructor(title, { stacked = false, format, height = 150 }) {
    Object.assign(this, { title, stacked, format, height, pointed: null, data: null });
    this.keys = element("figcaption");
    this.svg = element("svg:svg", { role: "img" });
    this.figure = element("figure", { class: "chart" }, this.keys, this.svg);
    this.svg.addEventListener("pointermove", event => this.point(event));
    this.svg.addEventListener("pointerleave", () => { this.pointed = null; this.redraw(); });
    new ResizeObserver(() => this.redraw()).observe(this.figure);
  }

  // `times` in s; `series`: [{name, colour, values}]; `limit`: a value marked by a line.
  draw(times, series, { limit = null } = {}) {
    // A minute at first, growing to what is kept.
    const seen = times.length ? times[times.length - 1] - times[0] : 0;
    const span = [60, 120, 180, 240, 300].find(span => seen <= span) || 300;
    this.data = { times, series, limit, span };
    this.redraw();
  }

  point(event) {
    if (!this.data || !this.data.times.length) return;
    const box = this.svg.getBoundingClientRect(), { left, right, width } = this.layout;
    const part = ((event.clientX - box.left) / box.width * width - left) / (width - left - right);
    const { times, span } = this.data, at = times[times.length - 1] - span * (1 - part);
    let nearest = 0;
    times.forEach((time, index) => { if (Math.abs(time - at) < Math.abs(times[nearest] - at)) nearest = index; });
    this.pointed = times[nearest];
    this.redraw();
  }

  redraw() {
    const width = this.figure.clientWidth;
    if (!this.data || !width) return;
    const { times, series, limit, span } = this.data, height = this.height;
    const layout = this.layout = { width, left: 72, right: 8, top: 6, bottom: height < 100 ? 6 : 18 };
    const end = times.length ? times[times.length - 1] : 0;
    const sums = times.map((_, at) => series.reduce((sum, one) => sum + (one.values[at] || 0), 0));
    const each = series.flatMap(one => one.values.filter(Number.isFinite));
    // A limit far above what happens would flatten it.
    const seen = Math.max(0, ...(this.stacked ? sums : each));
    const most = Math.max(seen * 1.08, limit !== null && limit < seen * 4 ? limit * 1.08 : 0) || 1;
    const x = time => layout.left + (time - end + span) / span * (width - layout.left - layout.right);
    const y = value => layout.top + (1 - value / most) * (height - layout.top - layout.bottom);
    const parts = [], lines = [];
    for (const tick of ticks(most, height < 100 ? 2 : 4)) {
      lines.push(element("svg:line", { class: "grid", x1: layout.left, x2: width - layout.right, y1: y(tick), y2: y(tick) }));
      parts.push(element("svg:text", { x: layout.left - 6, y: y(tick) + 4, "text-anchor": "end" }, this.format(tick)));
    }
    const step = span === 60 ? 20 : width < 480 ? Math.max(60, span / 2) : 60;
    if (height >= 100) for (let back = 0; back <= span; back += step) {
      const words = back ? (back % 60 ? `−${back} s` : `−${back / 60} min`) : "now", anchor = back ? "middle" : "end";
      parts.push(element("svg:text", { x: x(end - back), y: height - 4, "text-anchor": back === span ? "start" : anchor }, words));
    }
    let below = times.map(() => 0);
    for (const one of series) {
      const path = times.map((time, at) => Number.isFinite(one.values[at]) ? [x(time), one.values[at], at] : null);
      if (this.stacked) {
        const above = below.map((value, at) => value + (one.values[at] || 0));
        const up = times.map((time, at) => `${x(time).toFixed(1)},${y(above[at]).toFixed(1)}`);
        const down = times.map((time, at) => `${x(time).toFixed(1)},${y(below[at]).toFixed(1)}`).reverse();
        if (times.length) parts.push(element("svg:path", { class: "area", d: `M${up.join("L")}L${down.join("L")}Z`, style: `fill:${one.colour}` }));
        below = above;
      } else {
        let d = "", pen = "M";
        for (const point of path) {
          if (point) { d += `${pen}${point[0].toFixed(1)},${y(point[1]).toFixed(1)}`; pen = "L"; } else pen = "M";
        }
        if (d) parts.push(element("svg:path", { class: "line", d, style: `stroke:${one.colour};stroke-dasharray:${one.dash || "none"}` }));
      }
    }
    parts.push(...lines);
    if (limit !== null && limit <= most) {
      parts.push(element("svg:line", { class: "limit", x1: layout.left, x2: width - layout.right, y1: y(limit), y2: y(limit) }));
    }
    const index = this.pointed === null ? times.length - 1 : times.indexOf(this.pointed);
    if (this.pointed !== null && index >= 0) {
      parts.push(element("svg:line", { class: "cross", x1: x(times[index]), x2: x(times[index]), y1: layout.top, y2: height - layout.bottom }));
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", `${this.title}: ${series.map(one => `${one.name} ${this.value(one, index)}`).join(", ") || "nothing"}`);
    this.svg.replaceChildren(...parts);
    const when = this.pointed !== null && index >= 0 ? [`${Math.round(end - times[index])} s ago`] : [];
    this.keys.replaceChildren(element("b", {}, this.title), ...when, ...series.map(one =>
      element("span", { class: "key" }, element("i", { style: `background:${one.colour}` }), `${one.name} `, element("output", {}, this.value(one, index)))));
  }

  value(one, index) {
    const value = one.values[index];
    return Number.isFinite(value) ? this.format(value) : "–";
  }
}
