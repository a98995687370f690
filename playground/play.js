// The free playground. The text of the scenario is all that it knows: controls are settings that the simulator writes into it.

import { FIGURES, element } from "./draw.js";
import { duration, percent, rate, verdict } from "./measures.js";
import { packed, unpacked } from "./share.js";

const SCENARIOS = ["headline", "understanding-choke", "packet-sizes", "ward", "chokew", "choke-chain", "web", "floods"];
// Rates that the slider reaches, as parts of the link's.
const SLOWEST = 0.02, FASTEST = 10;

const part = id => document.getElementById(id);

export class Playground {
  #engine;
  #backsOff;
  #textOf;
  #document = null;

  constructor({ engine, catalogue, backsOff, textOf }) {
    this.#engine = engine;
    this.#backsOff = backsOff;
    this.#textOf = textOf;
    part("scenario").append(...SCENARIOS.map(name => element("option", { value: name }, name)));
    const families = Map.groupBy(catalogue.disciplines, discipline => discipline.family);
    for (const [family, disciplines] of families) {
      const options = disciplines.map(discipline => element("option", { value: discipline.name }, discipline.title));
      part("discipline").append(element("optgroup", { label: family }, ...options));
    }
    this.#listen();
  }

  async begin() {
    if (await this.#restore()) return;
    await this.#choose("headline");
  }

  // The scenario of a panel, under the first discipline that it compares.
  async open(found) {
    part("toml").value = found.scenario_source;
    await this.#run([`queue.discipline=${found.runs[0].discipline}`]);
    part("play").scrollIntoView();
    part("toml").focus({ preventScroll: true });
  }

  #listen() {
    part("controls").addEventListener("submit", event => event.preventDefault());
    part("scenario").addEventListener("input", () => this.#choose(part("scenario").value));
    part("discipline").addEventListener("input", () => this.#run([`queue.discipline=${part("discipline").value}`]));
    part("seed").addEventListener("input", () => this.#run([`seed=${part("seed").value}`]));
    part("sender").addEventListener("input", () => this.#showRate());
    part("rate").addEventListener("input", () => this.#setRate());
    part("toml").addEventListener("input", () => this.#run([]));
    part("toml").addEventListener("scroll", () => { part("lines").scrollTop = part("toml").scrollTop; });
    part("share").addEventListener("click", () => this.#share());
    window.addEventListener("hashchange", () => this.#restore());
    new ResizeObserver(() => this.#draw()).observe(part("play"));
  }

  async #choose(name) {
    part("toml").value = await this.#textOf(name);
    part("scenario").value = name;
    await this.#run([]);
  }

  async #restore() {
    try {
      const text = await unpacked(location.hash);
      if (text === null) return false;
      part("toml").value = text;
      await this.#run([]);
      part("play").scrollIntoView();
      return true;
    } catch (error) {
      part("shared").textContent = `This link holds no scenario: ${error.message}`;
      return false;
    }
  }

  async #share() {
    history.replaceState(null, "", await packed(part("toml").value));
    let words = "The link is in the address bar.";
    try {
      await navigator.clipboard.writeText(location.href);
      words = "The link is copied, and in the address bar.";
    } catch {
      // The browser may forbid it; the address bar has the link in any case.
    }
    part("shared").textContent = words;
  }

  async #run(settings) {
    const text = part("toml").value;
    this.#numberLines();
    const found = await this.#engine.run("play", { text, settings });
    if (!found) return;
    // Somebody may have typed meanwhile: that text has a run of its own.
    if (part("toml").value !== text) return;
    this.#showProblems(found.problems || []);
    if (found.problems) return;
    this.#document = found;
    if (found.scenario_source !== text) this.#write(found.scenario_source);
    part("shared").textContent = "";
    this.#show();
  }

  // Settings come back in the text; the place where one reads stays.
  #write(text) {
    const area = part("toml"), { scrollTop } = area;
    area.value = text;
    area.scrollTop = scrollTop;
    this.#numberLines();
  }

  #numberLines(wrong = []) {
    const count = part("toml").value.split("\n").length;
    const lines = Array.from({ length: count }, (_, at) => {
      const number = `${at + 1}\n`;
      return wrong.includes(at + 1) ? element("b", {}, number) : number;
    });
    part("lines").replaceChildren(...lines);
    part("lines").scrollTop = part("toml").scrollTop;
  }

  #showProblems(problems) {
    const shown = problems.map(({ line, text }) => {
      if (line === null) return element("p", {}, text);
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => this.#goTo(line));
      return button;
    });
    part("problems").replaceChildren(...shown);
    part("toml").setAttribute("aria-invalid", String(problems.length > 0));
    part("play").classList.toggle("stale", problems.length > 0);
    this.#numberLines(problems.map(({ line }) => line));
  }

  #goTo(line) {
    const area = part("toml"), lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1] || "").length);
    area.scrollTop = (line - 5) * area.scrollHeight / lines.length;
  }

  #show() {
    const { scenario, runs: [run], warnings, title, ms } = this.#document;
    part("discipline").value = scenario.queue.discipline;
    part("seed").value = scenario.seed;
    part("about").textContent = title;
    this.#showSenders(scenario.groups.filter(group => group.settings.rate_bps).map(group => group.name));
    const found = verdict(run, this.#backsOff);
    part("verdict").textContent = found?.text ?? `The link is ${percent(run.utilisation)} busy.`;
    part("verdict").dataset.ended = found?.ended ?? "";
    part("warnings").replaceChildren(...[...run.problems, ...warnings].map(text => element("li", {}, text)));
    part("warnings").hidden = !part("warnings").children.length;
    part("took").textContent =
      `${duration(scenario.duration_s)} with ${run.events.toLocaleString("en")} events, simulated in ${ms.toFixed(0)} ms.`;
    this.#offer("save-scenario", this.#document.scenario_source, "text/plain");
    this.#offer("save-result", this.#document.json, "application/json");
    this.#draw();
  }

  #showSenders(names) {
    const chosen = names.includes(part("sender").value) ? part("sender").value : names[0];
    part("sender").replaceChildren(...names.map(name => element("option", { value: name }, name)));
    part("sender").value = chosen;
    for (const id of ["sender", "rate"]) part(id).disabled = !names.length;
    this.#showRate();
  }

  #offer(id, text, type) {
    URL.revokeObjectURL(part(id).href);
    part(id).href = URL.createObjectURL(new Blob([text], { type }));
  }

  #draw() {
    if (!this.#document) return;
    for (const [id, draw] of Object.entries(FIGURES)) draw(part(id), { run: this.#document.runs[0], backsOff: this.#backsOff });
  }

  // The slider's places are powers: each step changes the rate by the same factor.
  #showRate() {
    const group = this.#document.scenario.groups.find(group => group.name === part("sender").value);
    const bps = group?.settings.rate_bps, link = this.#document.runs[0].link_rate_bps;
    part("rate-words").textContent = bps ? rate(bps) : "–";
    part("rate").setAttribute("aria-valuetext", part("rate-words").textContent);
    if (bps && document.activeElement !== part("rate")) {
      part("rate").value = Math.log(bps / link / SLOWEST) / Math.log(FASTEST / SLOWEST) * 100;
    }
  }

  #setRate() {
    const link = this.#document.runs[0].link_rate_bps;
    const bps = Number((link * SLOWEST * (FASTEST / SLOWEST) ** (part("rate").value / 100)).toPrecision(2));
    part("rate-words").textContent = rate(bps);
    part("rate").setAttribute("aria-valuetext", part("rate-words").textContent);
    this.#run([`groups.${part("sender").value}.rate=${bps / 1000}kbit`]);
  }
}
