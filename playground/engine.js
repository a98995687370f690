// Asks the simulator. Of what is asked under one name while it is busy, the newest is answered and the rest forgotten.

const PATIENCE_MS = 400;
const FILE = "scenario.toml";

export class Engine {
  #module;
  #worker = null;
  #waiting = new Map();
  #busy = null;

  constructor(module) {
    this.#module = module;
    this.#start();
  }

  static async load() {
    const response = await fetch(new URL("fairdrop.wasm", import.meta.url));
    if (!response.ok) throw new Error(`fairdrop.wasm: ${response.status} ${response.statusText}`);
    return new Engine(await WebAssembly.compile(await response.arrayBuffer()));
  }

  // The answer as text, with how long it took; null where a newer question under the same name has come.
  ask(name, request) {
    return new Promise(resolve => {
      this.#waiting.get(name)?.resolve(null);
      this.#waiting.set(name, { name, request, resolve });
      if (this.#busy?.name === name && performance.now() - this.#busy.since > PATIENCE_MS) this.#restart(null);
      this.#next();
    });
  }

  // The result document of a scenario, or what is wrong with it.
  async run(name, { text, settings = [], disciplines = null, seeds = 1 }) {
    const found = await this.ask(name, { ask: "run", file: FILE, text, settings, disciplines, seeds });
    return found && { ...JSON.parse(found.text), json: found.text, ms: found.ms };
  }

  async catalogue() {
    return JSON.parse((await this.ask("catalogue", { ask: "catalogue" })).text);
  }

  #start() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => {
      if (data.trapped === undefined) this.#settle(data);
      else this.#restart(failure(data.trapped));
    };
    this.#worker.onerror = event => this.#restart(failure(event.message));
    this.#worker.postMessage(this.#module);
  }

  #restart(found) {
    this.#worker.terminate();
    this.#start();
    this.#settle(found);
  }

  #settle(found) {
    const answered = this.#busy;
    this.#busy = null;
    answered?.resolve(found);
    this.#next();
  }

  #next() {
    const next = this.#busy ? undefined : this.#waiting.values().next().value;
    if (next === undefined) return;
    this.#waiting.delete(next.name);
    this.#busy = { ...next, since: performance.now() };
    this.#worker.postMessage(next.request);
  }
}

function failure(why) {
  const text = `the simulator stopped (${why}); valid: a scenario that needs less memory, or the command, fairdrop run`;
  return { text: JSON.stringify({ problems: [{ line: null, text }] }), ms: 0 };
}
