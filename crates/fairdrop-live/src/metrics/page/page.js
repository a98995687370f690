"use strict";
// What fairdropd sends once a second, as charts, numbers and a table.

const KEEP_S = 300;
const colour = name => `var(--${name})`;
const GROUPS = { tcp: "blue", udp: "vermillion", icmp: "orange", "other-ip": "olive", "non-ip": "grey" };
const CAUSES = {
  overflow: "grey", red_early: "pale-purple", red_forced: "purple", match_arriving: "pale-green", match_queued: "green", memory: "sky",
  ward_pair_queued: "orange", blue: "blue", codel: "olive", pie: "vermillion", longest_queue: "slate", dualpi2: "orange",
  link_loss: "ink", no_buffer: "vermillion", reconfigured: "olive", output: "blue", too_long: "sky", shutdown: "slate",
};
const SPARE = ["orange", "sky", "olive", "blue"];
const DIRECTIONS = { up: "to the outside", down: "from the outside" };

// "2.50 M", "340 k", "12": three digits and a prefix.
function short(value, unit = "") {
  if (value === 0) return `0${unit ? " " + unit : ""}`;
  const prefixes = ["n", "µ", "m", "", "k", "M", "G", "T"];
  let power = Math.min(4, Math.max(-3, Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-9)));
  let scaled = value / 1000 ** power;
  if (Math.abs(scaled) >= 999.5 && power < 4) { power += 1; scaled /= 1000; }
  const text = Math.abs(scaled) >= 100 ? scaled.toFixed(0) : String(Number(scaled.toPrecision(3)));
  const tail = prefixes[power + 3] + unit;
  return tail ? `${text} ${tail}` : text;
}
const bits = value => short(value, "bit/s");
const seconds = value => short(value, "s");
const packets = value => value >= 1000 ? short(value) : String(Number(value.toPrecision(3)));
const percent = value => `${(value * 100).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
const plain = value => Math.abs(value) >= 1e5 ? short(value) : String(Number(value.toPrecision(3)));

function duration(s) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].filter(([unit]) => s >= unit).slice(0, 2);
  return parts.map(([unit, name], at) => `${Math.floor(at ? s % parts[0][0] / unit : s / unit)} ${name}`).join(" ") || "0 s";
}

// Increase per second of a counter between two samples.
const rate = (before, after, of) => (of(after) - of(before)) / (after.uptime_s - before.uptime_s);
const total = amounts => Object.values(amounts).reduce((sum, amount) => sum + amount.packets, 0);

class Direction {
  constructor(name) {
    const part = document.getElementById("direction").content.cloneNode(true);
    this.section = part.querySelector("section");
    this.section.dataset.direction = name;
    this.section.querySelector(".name").textContent = `${name}, ${DIRECTIONS[name] || ""}`;
    this.tiles = this.section.querySelector(".tiles");
    this.internals = this.section.querySelector(".internals");
    this.rows = this.section.querySelector("tbody");
    this.charts = {
      rate: new Chart("Delivered", { stacked: true, format: bits }),
      queue: new Chart("Queue", { stacked: true, format: packets }),
      wait: new Chart("Wait", { format: seconds }),
      drops: new Chart("Dropped per second", { stacked: true, format: packets }),
    };
    this.section.querySelector(".charts").append(...Object.values(this.charts).map(chart => chart.figure));
    this.of_internals = {};
    this.samples = [];
    this.flows = new Map();
    document.getElementById("directions").append(part);
  }

  add(time, report) {
    const last = this.samples[this.samples.length - 1];
    if (last && report.uptime_s < last.uptime_s) this.samples = [];
    // The one that was kept is the newest once more, with more in it.
    if (last && report.uptime_s === last.uptime_s) this.samples.pop();
    this.samples.push(Object.assign(report, { time }));
    while (this.samples[0].time < time - KEEP_S) this.samples.shift();
  }

  // A series of rates begins at the second sample.
  over(names, palette, value) {
    return names.map((name, at) => ({
      name, colour: colour(palette[name] || SPARE[at % SPARE.length]),
      values: this.samples.slice(1).map((after, index) => value(this.samples[index], after, name)),
    }));
  }

  names(of) {
    return [...new Set(this.samples.flatMap(sample => Object.keys(sample[of])))];
  }

  draw() {
    const now = this.samples[this.samples.length - 1];
    if (!now) return;
    const before = this.samples[this.samples.length - 2] || null;
    const rate_words = now.rate_bps === null ? "no rate" : bits(now.rate_bps);
    this.section.querySelector(".what").textContent = `${now.discipline}, ${rate_words}, at most ${now.limit} packets`;
    const times = this.samples.slice(1).map(sample => sample.time);
    const groups = Object.keys(GROUPS).filter(name => this.names("groups").includes(name));
    const bytes = name => sample => sample.groups[name] ? sample.groups[name].delivered.bytes : 0;
    this.charts.rate.draw(times, this.over(groups, GROUPS, (a, b, name) => rate(a, b, bytes(name)) * 8), { limit: now.rate_bps });
    this.charts.queue.draw(times, this.over(groups, GROUPS, (_, b, name) => b.groups[name] ? b.groups[name].queued.packets : 0), { limit: now.limit });
    const wait = (name, colour_of, field, dash) => ({
      name, colour: colour(colour_of), dash,
      values: this.samples.slice(1).map(sample => sample.wait_last_second.packets ? sample.wait_last_second[field] : NaN),
    });
    this.charts.wait.draw(times, [wait("median", "green", "p50_s"), wait("99th percentile", "purple", "p99_s", "5 3")]);
    const causes = this.names("dropped");
    const dropped = name => sample => sample.dropped[name] ? sample.dropped[name].packets : 0;
    this.charts.drops.draw(times, this.over(causes, CAUSES, (a, b, name) => rate(a, b, dropped(name))));
    this.draw_tiles(now, before);
    this.draw_internals(times, now);
    if (now.flows) this.draw_flows(now);
  }

  draw_tiles(now, before) {
    const of = value => before ? rate(before, now, value) : 0;
    const delivered = of(sample => sample.delivered.bytes) * 8, arrived = of(sample => sample.arrived.packets);
    const drops = of(sample => total(sample.dropped)), marks = of(sample => sample.marked.packets);
    const queue_s = now.rate_bps ? now.queued.bytes * 8 / now.rate_bps : null;
    const wait = now.wait_last_second;
    const tiles = [
      ["Delivered", bits(delivered), now.rate_bps ? `${percent(delivered / now.rate_bps)} of the link` : "no limit"],
      ["Queue", `${now.queued.packets} packets`, queue_s === null ? short(now.queued.bytes, "B") : `${seconds(queue_s)} to send`],
      ["Wait", wait.packets ? seconds(wait.p50_s) : "–", wait.packets ? `99 %: ${seconds(wait.p99_s)}` : "nothing left the queue"],
      ["Dropped", `${packets(drops)} /s`, arrived ? `${percent(drops / arrived)} of arrivals` : "nothing arrives"],
      ["Marked", `${packets(marks)} /s`, arrived ? `${percent(marks / arrived)} of arrivals` : "nothing arrives"],
      ["Own error", seconds(now.lateness ? now.lateness.p99_s : 0), `lateness, 99 %; ${now.lost_before} lost unread, ${now.lost_behind} behind`],
    ];
    this.tiles.replaceChildren(...tiles.map(([name, value, more]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, more)))));
  }

  draw_internals(times, now) {
    const names = now.internals.map(([name]) => name);
    if (names.join() !== Object.keys(this.of_internals).join()) {
      this.of_internals = Object.fromEntries(names.map(name => [name, new Chart(name, { format: plain, height: 64 })]));
      const figures = Object.values(this.of_internals).map(chart => chart.figure);
      this.internals.replaceChildren(...(figures.length ? figures : [element("p", { class: "empty" }, "Nothing but whether there is room.")]));
    }
    for (const name of names) {
      const value = sample => (sample.internals.find(([of]) => of === name) || [name, NaN])[1];
      this.of_internals[name].draw(times, [{ name: "", colour: colour("slate"), values: this.samples.slice(1).map(value) }]);
    }
  }

  draw_flows(now) {
    const rows = now.flows.slice(0, 12).map(flow => {
      const seen = this.flows.get(flow.name);
      const known = seen && seen.since_s === flow.since_s && now.uptime_s > seen.at;
      const speed = known ? bits((flow.delivered.bytes - seen.bytes) * 8 / (now.uptime_s - seen.at)) : "–";
      const dropped = Object.values(flow.dropped).reduce((sum, count) => sum + count, 0);
      const why = Object.entries(flow.dropped).map(([cause, count]) => `${cause} ${count}`).join(", ");
      const group = GROUPS[flow.name.split(" ")[0]] || "slate";
      const bar = element("span", { class: "share" }, element("i", { style: `width:${(flow.share * 100).toFixed(1)}%;background:${colour(group)}` }));
      return element("tr", {}, element("td", { title: flow.name }, flow.name), element("td", {}, bar, percent(flow.share)),
        element("td", {}, speed), element("td", {}, short(flow.delivered.bytes, "B")), element("td", { title: why }, packets(dropped)));
    });
    this.flows = new Map(now.flows.map(flow => [flow.name, { since_s: flow.since_s, at: now.uptime_s, bytes: flow.delivered.bytes }]));
    const nobody = element("tr", {}, element("td", { colspan: 5, class: "empty" }, "Nobody yet."));
    this.rows.replaceChildren(...(rows.length ? rows : [nobody]));
  }
}

const directions = {};
let heard = 0, over = false;

function state(name, words) {
  const place = document.getElementById("state");
  if (place.dataset.state !== name || place.textContent !== words) { place.dataset.state = name; place.textContent = words; }
}

function add(sample) {
  document.getElementById("link").textContent = sample.link;
  document.title = `${sample.link} · fairdropd`;
  for (const [name, report] of Object.entries(sample.directions)) {
    directions[name] = directions[name] || new Direction(name);
    directions[name].add(sample.time_s, report);
    document.getElementById("uptime").textContent = `up for ${duration(report.uptime_s)}`;
  }
}

function draw() {
  heard = Date.now();
  state("live", "live");
  Object.values(directions).forEach(direction => direction.draw());
}

const events = new EventSource("events");
events.addEventListener("history", event => {
  Object.values(directions).forEach(direction => { direction.samples = []; });
  JSON.parse(event.data).forEach(add);
});
events.addEventListener("sample", event => { over = false; add(JSON.parse(event.data)); draw(); });
events.addEventListener("ended", () => { over = true; state("silent", "the link has ended"); });
setInterval(() => {
  const silent = Math.round((Date.now() - heard) / 1000);
  if (heard && !over && silent > 3) state("silent", `nothing heard for ${silent} s`);
}, 1000);
