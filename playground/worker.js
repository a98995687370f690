// The simulator, off the page's own thread. The first message is the compiled module; each other one is a request.

let simulator = null;

function answer(request) {
  const { memory, fairdrop_request, fairdrop_answer, fairdrop_answer_at } = simulator;
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = fairdrop_request(bytes.length);
  // The memory may have moved while it grew: look for it anew each time.
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const length = fairdrop_answer();
  return new TextDecoder().decode(new Uint8Array(memory.buffer, fairdrop_answer_at(), length));
}

self.onmessage = ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    simulator = new WebAssembly.Instance(data).exports;
    return;
  }
  const began = performance.now();
  try {
    const text = answer(data);
    self.postMessage({ text, ms: performance.now() - began });
  } catch (error) {
    // A panic or a lack of memory ends in a trap, after which nothing in the module is to be trusted.
    self.postMessage({ trapped: String(error.message) });
  }
};
