// A filter is a selection of rows of one fact table; every figure of every view is a sum over the rows selected.
//
// The facts are `cells`. Where the filter asks for an age or a leak kind, they are `left` (what is alive at the end): age and state are
// known of these blocks alone, so all figures then speak of them: allocated in their bin, and never released.

import { matcherOf, partsOf } from './text_filter.js';

export const STATES = ['not scanned', 'still reachable', 'definitely lost', 'indirectly lost', 'possibly lost', 'suppressed', 'unknown'];
const STATES_OF_KIND = {
  leaked: [2, 3], definite: [2], indirect: [3], possible: [4], reachable: [1], suppressed: [5], unknown: [0, 6],
};
export const LEAK_KINDS = Object.keys(STATES_OF_KIND);

// process: row of the processes of a run. change: state of a stack, floor: bytes, of compared recordings.
// memory: null: that of allocations; 'mmap': what the program mapped itself; 'both'. See memoryOf().
// text: part of a function, file, module, or of a tag or pool, or a regular expression; "-text": stacks without it. age: bins, > 0: at least so old, < 0: younger than that
export const NO_FILTER = { from: null, to: null, moment: null, thread: null, module: null, size: null, age: null, text: '', kind: null, memory: null,
  process: null, change: null, floor: null };

function factsOf(model, filter) {
  if (filter.kind === null && filter.age === null) return model.cells;
  const { left } = model;
  const nothing = new Float64Array(left.count);
  return { ...left, allocations: left.blocks, allocated_bytes: left.bytes, frees: nothing, freed_bytes: nothing, temporary: nothing };
}

// For each stack whether the text is in one of its frames or in its label.
function stacksWithText(model, text) {
  const matches = matcherOf(text);
  const strings = Uint8Array.from(model.strings, (string) => (matches(string) ? 1 : 0));
  const { frames, stacks } = model;
  const isWanted = Uint8Array.from({ length: frames.count }, (_, frame) =>
    strings[frames.function[frame]] | strings[frames.file[frame]] | strings[frames.module[frame]]);
  return stacksWithFrame(model, isWanted).map((isIn, stack) => isIn | strings[stacks.label[stack]]);
}

// For each stack whether one of its frames matches.
export function stacksWithFrame(model, isWanted) {
  const { nodes, stacks } = model;
  const reached = new Uint8Array(nodes.count);
  for (let node = 0; node < nodes.count; ++node) {
    const parent = nodes.parent[node];
    reached[node] = isWanted[nodes.frame[node]] | (parent < 0 ? 0 : reached[parent]);
  }
  return Uint8Array.from({ length: stacks.count }, (_, stack) => (stacks.node[stack] < 0 ? 0 : reached[stacks.node[stack]]));
}

// The module to which a stack's allocations are attributed: that of the most informative frame.
export function stackModules(model) {
  return Int32Array.from({ length: model.stacks.count }, (_, stack) => {
    const telling = model.stacks.telling[stack];
    const frame = telling >= 0 ? telling : model.stacks.node[stack] < 0 ? -1 : model.nodes.frame[model.stacks.node[stack]];
    return frame < 0 ? 0 : model.frames.module[frame];
  });
}

function stackMask(model, filter) {
  const mask = new Uint8Array(model.stacks.count).fill(1);
  const { isExcluding, wanted } = partsOf(filter.text);
  if (wanted) {
    const matches = stacksWithText(model, wanted);
    mask.forEach((_, stack) => { mask[stack] = matches[stack] ^ (isExcluding ? 1 : 0); });
  }
  if (filter.module !== null) {
    stackModules(model).forEach((module, stack) => { mask[stack] &= model.strings[module] === filter.module ? 1 : 0; });
  }
  return mask;
}

// The memory that was chosen. Views of sites show both first, where the program mapped more itself than it allocated.
export function memoryOf({ firstMemory }, { memory, view }) {
  if (memory === null) return ['flame', 'sites'].includes(view) ? firstMemory : null;
  return memory === 'malloc' ? null : memory;
}

// For each stack whether it is of the chosen memory. Pools lie within it.
export function memoryMask({ stacks }, { memory }) {
  return Uint8Array.from({ length: stacks.count }, (_, stack) => (!stacks.pooled[stack] && (memory === 'both' || stacks.mapping[stack] === (memory === 'mmap' ? 1 : 0)) ? 1 : 0));
}

// For each row of the facts whether it is selected, whatever its time.
function rowMask(model, filter, facts, stackIsWanted) {
  const isOfMemory = facts.state ? null : memoryMask(model, filter); // what is left are blocks
  const wanted = filter.kind === null ? null : Uint8Array.from(STATES, (_, state) => (STATES_OF_KIND[filter.kind].includes(state) ? 1 : 0));
  const oldest = model.bins.count - Math.abs(filter.age ?? 0); // bins below this one are at least so old
  const mask = new Uint8Array(facts.count);
  for (let row = 0; row < facts.count; ++row) {
    if (!stackIsWanted[facts.stack[row]] || (isOfMemory && !isOfMemory[facts.stack[row]])) continue;
    if (filter.thread !== null && facts.thread[row] !== filter.thread) continue;
    if (filter.size !== null && facts.size[row] !== filter.size) continue;
    if (filter.process !== null && facts.process && facts.process[row] !== filter.process) continue;
    if (wanted !== null && !wanted[facts.state[row]]) continue;
    if (filter.age !== null && facts.bin[row] < oldest !== filter.age > 0) continue;
    mask[row] = 1;
  }
  return mask;
}

// A stack's state by a figure: new and gone as the writer has them, the others by the figure's change.
export function stateOf(state, change) {
  if (state === 'new' || state === 'gone') return state;
  return Number.isNaN(change) ? 'unknown' : change > 0 ? 'grown' : change < 0 ? 'shrunk' : 'same';
}

export const figureOf = (model, filter) => model.difference.figures.find(({ key }) => key === filter.figure) ?? model.difference.figures.find(({ key }) => key === model.difference.sort);

// Of compared recordings: a figure in the first and the last one, by row. Rows that don't pass the filter are removed from the mask.
function compare(model, filter, stackIsWanted) {
  const { difference } = model;
  const figure = figureOf(model, filter);
  const before = difference.values[0][figure.key];
  const after = difference.values.at(-1)[figure.key];
  const change = after.map((value, stack) => value - before[stack]);
  const states = Array.from(change, (value, stack) => stateOf(difference.state[stack], value));
  states.forEach((state, stack) => {
    if (filter.change !== null && state !== filter.change) stackIsWanted[stack] = 0;
    if (filter.floor !== null && Math.abs(change[stack]) < filter.floor) stackIsWanted[stack] = 0;
  });
  return { figure, before, after, change, states };
}

export const CHANGES = ['new', 'grown', 'shrunk', 'gone', 'same', 'unknown'];

function clampBin(value, fallback, limit) {
  return value === null ? fallback : Math.max(0, Math.min(limit - 1, value));
}

function sumsByBin(count, facts, mask) {
  const names = ['live_bytes', 'live_blocks', 'allocations', 'frees', 'allocated_bytes', 'freed_bytes', 'temporary'];
  const sums = Object.fromEntries(names.map((name) => [name, new Float64Array(count)]));
  for (const name of names.slice(2)) {
    const [sum, values] = [sums[name], facts[name]];
    for (let row = 0; row < facts.count; ++row) {
      if (mask[row]) sum[facts.bin[row]] += values[row];
    }
  }
  let [liveBytes, liveBlocks] = [0, 0];
  for (let bin = 0; bin < count; ++bin) {
    sums.live_bytes[bin] = liveBytes += sums.allocated_bytes[bin] - sums.freed_bytes[bin];
    sums.live_blocks[bin] = liveBlocks += sums.allocations[bin] - sums.frees[bin];
  }
  return sums;
}

const MEASURES = ['live', 'live_blocks', 'peak', 'peak_blocks', 'allocated', 'allocations', 'frees', 'temporary', 'change', 'change_blocks', 'before', 'before_blocks'];

// The figures of each value of one key of the facts (a stack, a thread, a size class).
export function sumsBy(selection, key, count) {
  const { facts, mask, from, to, moment, peakBin } = selection;
  const sums = Object.fromEntries(MEASURES.map((name) => [name, new Float64Array(count)]));
  for (let row = 0; row < facts.count; ++row) {
    const index = key === null ? 0 : facts[key][row];
    if (!mask[row] || index < 0) continue;
    const bin = facts.bin[row];
    const net = facts.allocated_bytes[row] - facts.freed_bytes[row];
    const netBlocks = facts.allocations[row] - facts.frees[row];
    if (bin <= moment) {
      sums.live[index] += net;
      sums.live_blocks[index] += netBlocks;
    }
    if (bin <= peakBin) {
      sums.peak[index] += net;
      sums.peak_blocks[index] += netBlocks;
    }
    if (bin < from) {
      sums.before[index] += net;
      sums.before_blocks[index] += netBlocks;
    } else if (bin <= to) {
      sums.allocated[index] += facts.allocated_bytes[row];
      sums.allocations[index] += facts.allocations[row];
      sums.frees[index] += facts.frees[row];
      sums.temporary[index] += facts.temporary[row];
      sums.change[index] += net;
      sums.change_blocks[index] += netBlocks;
    }
  }
  return sums;
}

// Blocks live at the end, by state and stack: bytes[state][stack], blocks[state][stack]; of the range's bins.
function leftByState(model, selection, stackIsWanted) {
  const { left } = model;
  const { filter } = selection;
  const make = () => STATES.map(() => new Float64Array(model.stacks.count));
  const result = { bytes: make(), blocks: make(), firstBin: new Int32Array(model.stacks.count).fill(-1), lastBin: new Int32Array(model.stacks.count).fill(-1) };
  const mask = selection.facts.state ? selection.mask : rowMask(model, filter, left, stackIsWanted);
  for (let row = 0; row < left.count; ++row) {
    const bin = left.bin[row];
    if (!mask[row] || bin < selection.from || bin > selection.to) continue;
    const stack = left.stack[row];
    result.bytes[left.state[row]][stack] += left.bytes[row];
    result.blocks[left.state[row]][stack] += left.blocks[row];
    if (left.state[row] >= 2 && left.state[row] <= 4) {
      if (result.firstBin[stack] < 0 || bin < result.firstBin[stack]) result.firstBin[stack] = bin;
      if (bin > result.lastBin[stack]) result.lastBin[stack] = bin;
    }
  }
  return result;
}

// Of several processes the stacks' peaks are those of the one with the largest peak, and a filter by name selects among them. Else the cells
// have the peak of what a filter selects.
function hasExactPeaks(model, { filter, isAll, isWhole }) {
  if (!model.knowsPeaks || model.difference) return false;
  if (!model.isRun) return isWhole;
  const isOfOthers = OF_ROWS.some((name) => !['module', 'process'].includes(name) && filter[name] !== null);
  return isAll || (!isOfOthers && (filter.process === null || filter.process === model.peakProcess));
}

// What each stack held at the peak: exact, while the cells know the ends of intervals only. In how many
// blocks isn't known. Mappings and pools are beside.
function putPeaks(model, selection) {
  selection.hasExactPeaks = true;
  const isIn = (stack) => selection.stackIsWanted[stack] && !model.stacks.mapping[stack] && !model.stacks.pooled[stack];
  selection.stacks.peak = model.stacks.peak_bytes.map((bytes, stack) => (isIn(stack) ? bytes : 0));
  selection.stacks.peak_blocks = new Float64Array(model.stacks.count).fill(NaN);
  const sum = selection.stacks.peak.reduce((total, bytes) => total + bytes, 0);
  const process = model.processes[model.isRun ? model.peakProcess : -1];
  const all = process ? process.peak_live_bytes : model.summary.totals?.peak_live_bytes;
  selection.totals.peak = selection.isAll && !model.summary.filter ? all ?? sum : sum;
}

const OF_ROWS = ['thread', 'module', 'size', 'age', 'kind', 'process', 'change', 'floor', 'memory'];

function highestBin(values, from, to) {
  let best = from;
  for (let bin = from; bin <= to; ++bin) {
    if (values[bin] > values[best]) best = bin;
  }
  return best;
}

export function select(model, filter) {
  const facts = factsOf(model, filter);
  const stackIsWanted = stackMask(model, filter);
  const compared = model.difference ? compare(model, filter, stackIsWanted) : null;
  const mask = rowMask(model, filter, facts, stackIsWanted);
  const from = clampBin(filter.from, 0, model.bins.count);
  const to = Math.max(from, clampBin(filter.to, model.bins.count - 1, model.bins.count));
  const moment = clampBin(filter.moment, to, model.bins.count);
  const bins = sumsByBin(model.bins.count, facts, mask);
  const selection = { filter, facts, mask, stackIsWanted, from, to, moment, bins, peakBin: highestBin(bins.live_bytes, from, to), hasExactPeaks: false };
  // What is left are blocks, whatever memory is chosen.
  selection.isAllLeft = OF_ROWS.every((name) => name === 'memory' || filter[name] === null) && filter.text.trim() === '';
  selection.isAll = selection.isAllLeft && filter.memory === null;
  selection.isWhole = selection.isAll && from === 0 && to === model.bins.count - 1;
  selection.stacks = sumsBy(selection, 'stack', model.stacks.count);
  selection.totals = Object.fromEntries(Object.entries(sumsBy(selection, null, 1)).map(([name, values]) => [name, values[0]]));
  if (hasExactPeaks(model, selection)) putPeaks(model, selection);
  selection.left = leftByState(model, selection, stackIsWanted);
  if (compared) {
    selection.compared = compared;
    selection.stacks.change = compared.change.map((value, stack) => (stackIsWanted[stack] && !Number.isNaN(value) ? value : 0));
  }
  return selection;
}

// Live bytes of one stack at the end of each bin.
export function growthOf(model, selection, stack) {
  const growth = new Float64Array(model.bins.count);
  const { facts, mask } = selection;
  for (let row = 0; row < facts.count; ++row) {
    if (mask[row] && facts.stack[row] === stack) growth[facts.bin[row]] += facts.allocated_bytes[row] - facts.freed_bytes[row];
  }
  for (let bin = 1; bin < growth.length; ++bin) growth[bin] += growth[bin - 1];
  return growth;
}

// The same for several stacks in one pass: Map from stack to its line.
export function growthsOf(model, selection, stacks) {
  const growths = new Map(stacks.map((stack) => [stack, new Float64Array(model.bins.count)]));
  const { facts, mask } = selection;
  for (let row = 0; row < facts.count; ++row) {
    const growth = mask[row] ? growths.get(facts.stack[row]) : undefined;
    if (growth) growth[facts.bin[row]] += facts.allocated_bytes[row] - facts.freed_bytes[row];
  }
  for (const growth of growths.values()) {
    for (let bin = 1; bin < growth.length; ++bin) growth[bin] += growth[bin - 1];
  }
  return growths;
}

// The size classes of which there is a block or mapping, as indexes.
export const usedSizes = (model, filter) => {
  const isUsed = new Uint8Array(model.sizeClasses.length);
  const isOfMemory = memoryMask(model, filter);
  model.cells.size.forEach((size, row) => { if (size >= 0 && isOfMemory[model.cells.stack[row]]) isUsed[size] = 1; });
  return Array.from(isUsed.keys()).filter((size) => isUsed[size]);
};

const lostOf = (table) => table[2].map((definite, stack) => definite + table[3][stack]);

// The selectable metrics, in the order of the menu. `other`: what is told beside it: of bytes their blocks, of blocks their bytes.
export const METRICS = {
  live: { label: 'Live bytes', unit: 'bytes', of: ({ stacks }) => stacks.live, needs: 'releases', other: { noun: 'block', of: ({ stacks }) => stacks.live_blocks } },
  live_blocks: { label: 'Live blocks', unit: 'count', of: ({ stacks }) => stacks.live_blocks, needs: 'releases', other: { of: ({ stacks }) => stacks.live } },
  peak: { label: 'Live at the peak', unit: 'bytes', of: ({ stacks }) => stacks.peak, needs: 'peak', other: { noun: 'block', of: ({ stacks }) => stacks.peak_blocks } },
  allocated: { label: 'Allocated bytes', unit: 'bytes', of: ({ stacks }) => stacks.allocated, other: { noun: 'allocation', of: ({ stacks }) => stacks.allocations } },
  allocations: { label: 'Allocations', unit: 'count', of: ({ stacks }) => stacks.allocations, other: { of: ({ stacks }) => stacks.allocated } },
  temporary: { label: 'Temporary allocations', unit: 'count', of: ({ stacks }) => stacks.temporary, needs: 'temporary', other: { noun: 'allocation', word: 'of', of: ({ stacks }) => stacks.allocations } },
  leaked: { label: 'Leaked bytes', unit: 'bytes', needs: 'scan', of: ({ left }) => lostOf(left.bytes), other: { noun: 'block', of: ({ left }) => lostOf(left.blocks) } },
  change: { label: 'Change in the range', unit: 'bytes', of: ({ stacks }) => stacks.change, needs: 'cells', other: { noun: 'block', of: ({ stacks }) => stacks.change_blocks } },
};

// Of compared recordings only the change; of several processes, whose clocks differ, no moment before the end.
export function isMetricKnown(model, name, selection) {
  const { needs } = METRICS[name];
  if (model.difference) return name === 'change';
  if (needs === 'peak' && selection.hasExactPeaks) return true;
  if (model.isRun && ['cells', 'peak'].includes(needs)) return false;
  if (needs === 'scan') return model.isScanned && selection.filter.memory !== 'mmap';
  if (needs === 'releases') return model.knowsReleases;
  if (needs === 'cells' || needs === 'peak') return model.hasCells && model.knowsReleases;
  if (needs === 'temporary') return !model.stacks.temporary_allocations.some(Number.isNaN);
  return true;
}
