//! The simulator as a module of WebAssembly, which imports nothing: the page writes a request, JSON text, into the module's
//! memory, and reads the answer there.
//!
//! ```js
//! const { memory, fairdrop_request, fairdrop_answer, fairdrop_answer_at } = instance.exports;
//! const request = new TextEncoder().encode('{"ask": "catalogue"}');
//! new Uint8Array(memory.buffer, fairdrop_request(request.length), request.length).set(request);
//! const length = fairdrop_answer();
//! const answer = new TextDecoder().decode(new Uint8Array(memory.buffer, fairdrop_answer_at(), length));
//! ```

mod answer;
mod exports;
mod request;
