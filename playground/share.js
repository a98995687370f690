// A scenario in the fragment of a link: its text, deflated, in base64url.

const KEY = "s=";
// Of a scenario's text, more than any link holds.
const MOST_BYTES = 1 << 20;

async function through(bytes, stream) {
  const parts = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > MOST_BYTES) throw new Error("the scenario in this link is too long");
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const base64 = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
  return `#${KEY}${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// The scenario in a fragment; null where there is none.
export async function unpacked(fragment) {
  if (!fragment.startsWith(`#${KEY}`)) return null;
  const base64 = fragment.slice(1 + KEY.length).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}
