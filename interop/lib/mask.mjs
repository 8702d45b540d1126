// What a turn looks like without what differs from run to run: ids, times, paths, hashes, versions.
//
// An id becomes its kind and a number, the same number wherever it stands again, so that a test still
// sees which message a part belongs to.

/** Hashes of git, ids of calls that the server makes, dates of HTTP. */
const KINDS = {
  '\\b[0-9a-f]{40}\\b': 'HASH',
  '\\b01[0-9A-HJKMNP-TV-Z]{24}\\b': 'CALL',
  '\\w{3}, \\d\\d \\w{3} \\d{4} [\\d:]+ GMT': 'DATE',
};

const ID = /\b(ses|msg|prt|per|que)_[0-9a-zA-Z]{20,}/g;

/** @param {Record<string, string>} names of what is replaced: paths, addresses */
export function masker(names) {
  /** @type {Map<string, string>} */
  const ids = new Map();
  /** @type {Record<string, number>} */
  const count = {};
  const known = (/** @type {string} */ id) => {
    const kind = id.slice(0, 3);
    if (!ids.has(id)) ids.set(id, `${kind}${(count[kind] = (count[kind] ?? 0) + 1)}`);
    return /** @type {string} */ (ids.get(id));
  };
  const text = (/** @type {string} */ whole) => {
    for (const [found, name] of Object.entries(names)) whole = whole.replaceAll(found, name);
    for (const [kind, name] of Object.entries(KINDS)) whole = whole.replace(new RegExp(kind, 'g'), name);
    return whole.replace(ID, known);
  };
  /** @param {any} value @param {string} [key] @returns {any} */
  const mask = (value, key) => {
    if (key === 'slug' || key === 'version') return key.toUpperCase();
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return value > 1e12 ? 'TIME' : value;
    if (Array.isArray(value)) return value.map((one) => mask(one));
    if (value === null || typeof value !== 'object') return value;
    // What a call saw of files is inodes and times, for the server alone.
    const names = Object.keys(value).filter((name) => name !== 'sturdy.seen');
    return Object.fromEntries(names.sort().map((name) => [name, mask(value[name], name)]));
  };
  return mask;
}

/**
 * The events of a stream, one line each. How a text was cut into pieces, and how often a running
 * command was looked at, depends on the machine: pieces are joined, and a running call is shown once
 * for each thing it says of itself beside its output.
 * @param {import('./sse.mjs').Frame[]} frames @param {ReturnType<typeof masker>} mask
 */
export function lines(frames, mask) {
  /** @type {{ type: string, properties: any }[]} */
  const events = [];
  const seen = new Set();
  for (const { event } of frames) {
    if (event.type === 'server.connected' || event.type === 'server.heartbeat') continue;
    const { type, properties } = { type: event.type, properties: mask(event.properties) };
    const last = events.at(-1);
    if (type === 'message.part.delta' && last?.type === type && last.properties.partID === properties.partID) {
      last.properties.delta += properties.delta;
      continue;
    }
    const state = properties.part?.state;
    if (state?.status === 'running') {
      if (state.metadata) delete state.metadata.output;
      const line = JSON.stringify(properties);
      if (seen.has(line)) continue;
      seen.add(line);
    }
    events.push({ type, properties });
  }
  // Sessions write beside each other; within one there is one order.
  const sessions = [...new Set(events.map(({ properties }) => properties.sessionID ?? ''))];
  const sorted = sessions.flatMap((id) => events.filter(({ properties }) => (properties.sessionID ?? '') === id));
  return sorted.map(({ type, properties }) => `${type} ${JSON.stringify(properties)}`);
}
