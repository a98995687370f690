// Loads the simulator and the scenarios, then the story, panel by panel, then the free playground.

import { Engine } from "./engine.js";
import { Panel } from "./panel.js";
import { Playground } from "./play.js";

const state = document.getElementById("state");

const texts = new Map();

function textOf(name) {
  if (!texts.has(name)) texts.set(name, fetched(`scenarios/${name}.toml`));
  return texts.get(name);
}

async function fetched(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response.text();
}

async function begin() {
  const engine = await Engine.load();
  const catalogue = await engine.catalogue();
  const reacts = new Map(catalogue.transports.map(transport => [transport.name, transport.backs_off]));
  const backsOff = group => reacts.get(group.transport);
  const playground = new Playground({ engine, catalogue, backsOff, textOf });
  const open = found => playground.open(found);
  for (const section of document.querySelectorAll(".panel")) {
    const panel = new Panel(section, { engine, text: await textOf(section.dataset.scenario), backsOff, open });
    await panel.update();
    state.hidden = true;
  }
  await playground.begin();
  // Pictures have moved what the address names.
  if (/^#[\w-]+$/.test(location.hash)) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  document.documentElement.dataset.ready = "";
}

begin().catch(error => {
  state.hidden = false;
  state.className = "notice";
  state.textContent = `The simulator did not start: ${error.message}`;
});
