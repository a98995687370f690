// The pictures: who has what of the link, who fills the queue, what each flow gets, whose packets are dropped and why.

import { fairShares, ofEach, percent, rate, times } from "./measures.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 190;
// More flows than that are no bars any more.
const MOST_FLOWS = 400;
const POLITE = ["blue", "green", "sky", "olive", "slate"];
const STUBBORN = ["vermillion", "orange", "purple"];
const CAUSES = ["purple", "green", "orange", "sky", "olive", "blue", "slate", "vermillion"];

export function element(name, attributes = {}, ...inside) {
  const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

// A colour for each group; who does not back off is hatched as well.
export function looks(groups, backsOff) {
  const next = { polite: 0, stubborn: 0 };
  return new Map(groups.map(group => {
    const kind = backsOff(group) ? "polite" : "stubborn";
    const colours = kind === "polite" ? POLITE : STUBBORN;
    return [group.name, { kind, colour: `var(--${colours[next[kind]++ % colours.length]})` }];
  }));
}

function key(look, ...inside) {
  return element("li", {}, element("i", { class: `key ${look.kind || ""}`, style: `--colour: ${look.colour}` }), ...inside);
}

const flowsIn = group => group.flows === 1 ? group.name : `${group.flows} ${group.name}`;

function bar(parts, label) {
  const made = element("div", { class: "bar", role: "img", "aria-label": label });
  for (const { look, fraction, mark } of parts) {
    made.append(mark === undefined
      ? element("span", { class: `part ${look.kind || ""}`, style: `--colour: ${look.colour}; width: ${Math.min(100, fraction * 100)}%` })
      : element("span", { class: "mark", style: `left: ${mark * 100}%` }));
  }
  return made;
}

// One bar for the link: stubborn groups first, and where their fair share ends.
export function shares(figure, { run, backsOff, title }) {
  const look = looks(run.groups, backsOff);
  const fair = fairShares(run, backsOff);
  const ordered = run.groups.toSorted((one, other) => Number(backsOff(one)) - Number(backsOff(other)));
  const stubborn = ordered.filter(group => !backsOff(group));
  const edge = stubborn.reduce((sum, group) => sum + fair.get(group.name) * group.flows, 0) / run.link_rate_bps;
  const parts = ordered.map(group => ({ look: look.get(group.name), fraction: group.share }));
  if (stubborn.length && edge < 1) parts.push({ mark: edge });
  const words = ordered.map(group => `${flowsIn(group)} ${percent(group.share)}`);
  const idle = Math.max(0, 1 - run.groups.reduce((sum, group) => sum + group.share, 0));
  const keys = ordered.map(group => key(look.get(group.name), `${flowsIn(group)}: `, element("b", {}, percent(group.share)),
    ` of the link, ${times(ofEach(group) / fair.get(group.name))} a fair share`));
  if (idle >= 0.005) keys.push(key({ kind: "idle", colour: "transparent" }, "idle: ", element("b", {}, percent(idle))));
  if (stubborn.length && edge < 1) keys.push(element("li", {}, element("i", { class: "key line" }), `fair for ${stubborn.map(group => group.name).join(", ")}: ${percent(edge)}`));
  figure.replaceChildren(element("figcaption", {}, title || "Who has what of the link"), bar(parts, `Shares of the link: ${words.join(", ")}`), element("ul", { class: "keys" }, ...keys));
}

// Whose packets are dropped, and why: of each group's arrivals at the first queue.
export function drops(figure, { run }) {
  const queue = run.queues[0];
  const causes = Object.keys(queue.drops).filter(cause => queue.drops[cause] > 0);
  const look = new Map(causes.map((cause, at) => [cause, { colour: `var(--${CAUSES[at % CAUSES.length]})`, kind: at % 2 ? "dotted" : "" }]));
  const rows = queue.groups.filter(group => group.arrived.packets > 0).map(group => {
    const part = cause => (group.drops[cause] || 0) / group.arrived.packets;
    const words = causes.filter(cause => part(cause) > 0).map(cause => `${named(cause)} ${percent(part(cause))}`);
    const label = `${group.name}: ${percent(group.drop_fraction)} of its packets dropped`;
    return element("div", { class: "row" }, element("span", {}, `${group.name}: `, element("b", {}, percent(group.drop_fraction))),
      bar(causes.map(cause => ({ look: look.get(cause), fraction: part(cause) })), [label, ...words].join(", ")));
  });
  const keys = causes.map(cause => key(look.get(cause), `${named(cause)}: ${queue.drops[cause].toLocaleString("en")} packets`));
  figure.replaceChildren(element("figcaption", {}, "Dropped, of each sender's packets, and why"), ...rows, element("ul", { class: "keys" }, ...keys));
}

const named = cause => cause.replaceAll("_", " ");

// Steps of 1, 2 or 5 times a power of ten, about `count` of them.
function ticks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => at * step);
}

// An empty chart as wide as its figure; `x` and `y` give places of values.
function chart(figure, { label, right, most, xWords, yWords, xTicks = true }) {
  const width = Math.max(240, figure.clientWidth), edge = { left: 66, right: 10, top: 8, bottom: 34 };
  const x = value => edge.left + value / right * (width - edge.left - edge.right);
  const y = value => edge.top + (1 - value / most) * (HEIGHT - edge.top - edge.bottom);
  const svg = element("svg:svg", { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT });
  for (const tick of ticks(most, 4)) {
    svg.append(element("svg:line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick) }),
      element("svg:text", { x: edge.left - 6, y: y(tick) + 4, "text-anchor": "end" }, yWords(tick)));
  }
  if (xTicks) for (const tick of ticks(right, width < 420 ? 4 : 6)) {
    svg.append(element("svg:text", { x: x(tick), y: HEIGHT - edge.bottom + 15, "text-anchor": "middle" }, String(tick)));
  }
  svg.append(element("svg:text", { class: "axis", x: (edge.left + width - edge.right) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, xWords));
  return { svg, x, y, width: width - edge.left - edge.right };
}

function hatch(id, colour) {
  const pattern = element("svg:pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(element("svg:rect", { width: 6, height: 6, style: `fill: ${colour}` }), element("svg:line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" }));
  return pattern;
}

function fills(svg, figure, look) {
  const found = new Map();
  let number = 0;
  for (const [name, { kind, colour }] of look) {
    const id = `${figure.id}-hatch-${number++}`;
    if (kind === "stubborn") svg.append(element("svg:defs", {}, hatch(id, colour)));
    found.set(name, kind === "stubborn" ? `url(#${id})` : colour);
  }
  return found;
}

// Waiting packets over time, by group, on top of each other.
export function queue(figure, { run, backsOff }) {
  const { series, groups, mean_packets: mean, sojourn_s: waits } = run.queues[0];
  const caption = element("figcaption", {}, "Packets in the queue");
  if (!series.t_s.length) {
    figure.replaceChildren(caption, element("p", { class: "empty" }, "The scenario has no `sample`, so the queue was not recorded."));
    return;
  }
  const look = looks(run.groups, backsOff), end = series.t_s.at(-1);
  const label = `Packets in the queue over time: ${mean.toFixed(1)} on average, which wait ${(waits.mean * 1e3).toFixed(0)} ms`;
  const { svg, x, y } = chart(figure, {
    label, right: end, most: Math.max(1, ...series.packets) * 1.05, xWords: "time, s", yWords: String,
  });
  const fill = fills(svg, figure, look);
  let below = series.t_s.map(() => 0);
  for (const [name, packets] of Object.entries(series.packets_by_group)) {
    const above = below.map((value, at) => value + packets[at]);
    const edge = values => series.t_s.map((t, at) => `${x(t).toFixed(1)},${y(values[at]).toFixed(1)}`);
    svg.append(element("svg:path", { class: "area", d: `M${edge(above).join("L")}L${edge(below).reverse().join("L")}Z`, style: `fill: ${fill.get(name)}` }));
    below = above;
  }
  svg.append(element("svg:line", { class: "limit", x1: x(run.measured_from_s), x2: x(run.measured_from_s), y1: y(0), y2: 8 }),
    element("svg:text", { x: x(run.measured_from_s) + 4, y: 18 }, "measured from here"));
  const keys = groups.map(group => key(look.get(group.name), `${group.name}: ${group.mean_packets.toFixed(1)} packets on average`));
  figure.replaceChildren(caption, svg, element("ul", { class: "keys" }, ...keys));
}

// What each flow gets of its fair share of the link.
export function flows(figure, { run, backsOff }) {
  const shown = run.flows.slice(0, MOST_FLOWS), look = looks(run.groups, backsOff);
  const most = Math.max(run.fair_share_bps * 1.5, ...shown.map(flow => flow.throughput_bps)) * 1.05;
  const { svg, x, y, width } = chart(figure, {
    label: `Throughput of each of ${shown.length} flows; ${rate(run.fair_share_bps)} is an equal share`,
    right: shown.length, most, xWords: `${shown.length} flows`, yWords: rate, xTicks: false,
  });
  const fill = fills(svg, figure, look), step = width / shown.length;
  shown.forEach((flow, at) => {
    const top = y(flow.throughput_bps);
    svg.append(element("svg:rect", { x: x(at) + step * 0.1, y: top, width: step * 0.8, height: y(0) - top, style: `fill: ${fill.get(flow.group)}` },
      element("svg:title", {}, `${flow.name}: ${rate(flow.throughput_bps)}`)));
  });
  const fair = y(run.fair_share_bps);
  svg.append(element("svg:line", { class: "limit", x1: x(0), x2: x(shown.length), y1: fair, y2: fair }));
  const keys = run.groups.map(group => key(look.get(group.name), group.name));
  keys.push(element("li", {}, element("i", { class: "key line across" }), `an equal share: ${rate(run.fair_share_bps)}`));
  figure.replaceChildren(element("figcaption", {}, "What each flow gets"), svg, element("ul", { class: "keys" }, ...keys));
}

export const FIGURES = { shares, queue, flows, drops };
