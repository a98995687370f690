// A panel of the story: its controls change settings of a scenario, and its pictures and numbers are those of the run.

import { FIGURES } from "./draw.js";
import { measured, verdict } from "./measures.js";

export class Panel {
  #section;
  #engine;
  #text;
  #backsOff;
  #document = null;

  constructor(section, { engine, text, backsOff, open }) {
    this.#section = section;
    this.#engine = engine;
    this.#text = text;
    this.#backsOff = backsOff;
    for (const input of this.#inputs()) input.addEventListener("input", () => this.update());
    section.querySelector("[data-open]")?.addEventListener("click", () => open(this.#document));
    new ResizeObserver(() => this.#draw()).observe(section);
  }

  #inputs() {
    return [...this.#section.querySelectorAll("[data-setting]")];
  }

  #settings() {
    const fixed = this.#section.dataset.settings?.split(" ") || [];
    return [...fixed, ...this.#inputs().map(input => `${input.dataset.setting}=${input.value}${input.dataset.unit || ""}`)];
  }

  async update() {
    for (const input of this.#inputs()) {
      const words = `${input.value} ${input.dataset.words || ""}`.trim();
      input.setAttribute("aria-valuetext", words);
      input.parentElement.querySelector("output").textContent = words;
    }
    const { disciplines, name } = this.#section.dataset;
    const found = await this.#engine.run(name, {
      text: this.#text, settings: this.#settings(), disciplines: disciplines.split(" "),
    });
    if (!found) return;
    if (found.problems) throw new Error(found.problems.map(problem => problem.text).join("\n"));
    this.#document = found;
    this.#draw();
    this.#report();
  }

  #draw() {
    if (!this.#document) return;
    for (const figure of this.#section.querySelectorAll("figure")) {
      const { figure: kind, run: discipline, title } = figure.dataset;
      const run = this.#document.runs.find(run => run.discipline === discipline) || this.#document.runs[0];
      FIGURES[kind](figure, { run, backsOff: this.#backsOff, title });
    }
  }

  #report() {
    for (const place of this.#section.querySelectorAll("[data-number]")) {
      place.textContent = measured(this.#document, place.dataset.number);
    }
    const state = this.#section.querySelector(".verdict");
    const found = state && verdict(this.#document.runs[0], this.#backsOff);
    if (!found) return;
    state.textContent = found.text;
    state.dataset.ended = found.ended;
  }
}
