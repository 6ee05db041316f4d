// What the page has to show, worked out of the document in the plainest way, by nothing that the page uses.

const rowsOf = (table) => table[Object.keys(table)[0]].map((_, row) => Object.fromEntries(Object.keys(table).map((key) => [key, table[key][row]])));

export function framesOfStack(document, stack) {
  const frames = [];
  for (let node = document.stacks.node[stack]; node >= 0; node = document.nodes.parent[node]) frames.push(document.nodes.frame[node]);
  return frames;
}

// "a|b": either of them.
function hasText(document, stack, text) {
  const parts = text.toLowerCase().split('|');
  return framesOfStack(document, stack).some((frame) => ['function', 'file', 'module']
    .some((name) => parts.some((part) => document.strings[document.frames[name][frame]].toLowerCase().includes(part))));
}

function moduleOf(document, stack) {
  const telling = document.stacks.telling[stack] >= 0 ? document.stacks.telling[stack] : framesOfStack(document, stack)[0];
  return document.strings[document.frames.module[telling]];
}

const KINDS = { leaked: [2, 3], definite: [2], indirect: [3], possible: [4], reachable: [1], suppressed: [5], unknown: [0, 6] };

export function figures(document, { from = 0, to = document.bins.count - 1, at = to, thread, module, size, text, kind, age } = {}) {
  const ofLeft = kind !== undefined || age !== undefined;
  const facts = ofLeft
    ? rowsOf(document.left).map((row) => ({ ...row, allocations: row.blocks, allocated_bytes: row.bytes, frees: 0, freed_bytes: 0, temporary: 0 }))
    : rowsOf(document.cells);
  const selected = facts.filter((row) => (thread === undefined || row.thread === thread) && (size === undefined || row.size === size) &&
    (module === undefined || moduleOf(document, row.stack) === module) &&
    (text === undefined || (text.startsWith('-') ? !hasText(document, row.stack, text.slice(1)) : hasText(document, row.stack, text))) &&
    (kind === undefined || KINDS[kind].includes(row.state)) &&
    (age === undefined || (age > 0 ? row.bin + 1 + age <= document.bins.count : row.bin + 1 - age > document.bins.count)));
  const inRange = selected.filter(({ bin }) => bin >= from && bin <= to);
  const sum = (rows, of) => rows.reduce((total, row) => total + of(row), 0);
  const live = (rows) => sum(rows, (row) => row.allocated_bytes - row.freed_bytes);
  const byStack = new Map();
  for (const row of selected.filter(({ bin }) => bin <= at)) byStack.set(row.stack, (byStack.get(row.stack) ?? 0) + row.allocated_bytes - row.freed_bytes);
  return {
    live: live(selected.filter(({ bin }) => bin <= at)),
    liveBlocks: sum(selected.filter(({ bin }) => bin <= at), (row) => row.allocations - row.frees),
    allocations: sum(inRange, (row) => row.allocations),
    allocated: sum(inRange, (row) => row.allocated_bytes),
    temporary: sum(inRange, (row) => row.temporary),
    before: live(selected.filter(({ bin }) => bin < from)),
    byStack,
  };
}

// Numbers as heaptap writes them, for figures that a test meets.
export function bytesText(bytes) {
  if (bytes < 0) return `-${bytesText(-bytes)}`;
  if (bytes < 1024) return `${bytes} B`;
  for (const [unit, factor] of [['KiB', 1024n], ['MiB', 1024n ** 2n], ['GiB', 1024n ** 3n]]) {
    // Tenths in whole numbers; a half is rounded to the even one.
    const twice = (BigInt(bytes) * 20n) / factor;
    const isExact = (BigInt(bytes) * 20n) % factor === 0n;
    const tenths = twice / 2n + (twice % 2n === 1n && !(isExact && (twice / 2n) % 2n === 0n) ? 1n : 0n);
    if (tenths < 10240n || unit === 'GiB') return `${tenths / 10n}.${tenths % 10n} ${unit}`;
  }
  return '';
}
export const countText = (count) => count.toLocaleString('en-US');
