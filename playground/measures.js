// What a run says, as numbers with units.

const UNITS = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function digits(value) {
  return value === 0 ? "0" : String(Number(value.toPrecision(3)));
}

export function rate(bps) {
  const [divisor, prefix] = UNITS.find(([divisor]) => Math.abs(bps) >= divisor) || UNITS[3];
  return `${digits(bps / divisor)} ${prefix}b/s`;
}

export function duration(seconds) {
  return seconds >= 1 ? `${digits(seconds)} s` : `${digits(seconds * 1e3)} ms`;
}

// As in the reports: one decimal, two digits of what is below 1 %.
export function percent(fraction) {
  const part = Math.abs(fraction) * 100;
  const places = part >= 1 || part < 0.005 ? 1 : 1 - Math.floor(Math.log10(part));
  return `${(fraction * 100).toFixed(places)} %`;
}

export function times(factor) {
  return `${factor >= 99.5 ? factor.toFixed(0) : factor.toFixed(factor >= 9.95 ? 1 : 2)} times`;
}

// Bits per second of each flow of a group, on average.
export function ofEach(group) {
  return group.throughput_bps / group.flows;
}

const atQueue = (run, group) => run.queues[0].groups.find(one => one.name === group.name);

const OF_GROUP = {
  share: (run, group) => percent(group.share),
  each: (run, group) => percent(ofEach(group) / run.link_rate_bps),
  fair: (run, group) => times(ofEach(group) / run.fair_share_bps),
  offered: (run, group) => rate(group.offered_bps),
  dropped: (run, group) => percent(group.drop_fraction),
  matched: (run, group) => percent(atQueue(run, group).match_fraction),
  queued: (run, group) => percent(run.queues[0].mean_packets ? atQueue(run, group).mean_packets / run.queues[0].mean_packets : 0),
  jain: (run, group) => group.jain_index === null ? "–" : group.jain_index.toFixed(2),
  flows: (run, group) => String(group.flows),
};

const OF_LINK = {
  rate: run => rate(run.link_rate_bps),
  used: run => percent(run.utilisation),
  fair: run => percent(run.fair_share_bps / run.link_rate_bps),
  wait: run => duration(run.queues[0].sojourn_s.mean),
  jain: run => run.jain_index === null ? "–" : run.jain_index.toFixed(2),
};

// `words`: a measure of the first run, or discipline and measure; a group before the measure where it is about one.
// "red udp share", "udp share", "red used", "used".
export function measured(document, words) {
  const parts = words.split(" ");
  const measure = parts.pop();
  const run = document.runs.find(run => run.discipline === parts[0]) || document.runs[0];
  const group = run.groups.find(group => group.name === parts.at(-1));
  return group ? OF_GROUP[measure](run, group) : OF_LINK[measure](run);
}

// The max-min fair share of each group's flows, bit/s: who does not slow down asks for what is offered, others for all.
export function fairShares(run, backsOff) {
  const asks = run.groups.map(group => ({ group, bps: backsOff(group) ? Infinity : group.offered_bps / group.flows }));
  const shares = new Map();
  let left = run.link_rate_bps, flows = run.groups.reduce((sum, group) => sum + group.flows, 0);
  for (const { group, bps } of asks.sort((one, other) => one.bps - other.bps)) {
    const share = Math.min(bps, left / flows);
    shares.set(group.name, share);
    left -= share * group.flows;
    flows -= group.flows;
  }
  return shares;
}

// Bounds of the verdict (docs/reference/verdict.md): greedy, near a share, what is theirs, a link in use.
const GREEDY = 1.2, NEAR = 1.5, THEIRS = 0.8, USED = 0.9;

// Whether the greedy sender is held, in a sentence; null where that is not the question.
export function verdict(run, backsOff) {
  if (run.queues.length !== 1 || run.groups.some(group => group.transfers)) return null;
  const fair = fairShares(run, backsOff);
  const part = group => ofEach(group) / fair.get(group.name);
  const equal = run.fair_share_bps;
  const isGreedy = group => !backsOff(group) && group.offered_bps / group.flows >= GREEDY * equal;
  const greedy = run.groups.filter(isGreedy), others = run.groups.filter(group => !isGreedy(group));
  const shares = groups => groups.map(group => `${group.name} gets ${times(part(group))} its fair share`).join(", ");
  if (!greedy.length) return { ended: true, text: `Nobody is greedy here: ${shares(run.groups)}.` };
  const most = greedy.reduce((one, other) => part(other) > part(one) ? other : one);
  const least = others.toSorted((one, other) => part(one) - part(other))[0];
  const text = `${shares(least ? [most, least] : [most])}; the link is ${percent(run.utilisation)} busy.`;
  const near = greedy.every(group => part(group) <= NEAR && part(group) >= 1 / NEAR);
  const ended = near && others.every(group => part(group) >= THEIRS) && run.utilisation >= USED;
  return { ended, text: `${ended ? "Ended" : "Not ended"}: ${text}` };
}
