// The data document (docs/report-data.md) as typed columns. Unknown numbers are NaN.

const INTEGERS = Int32Array;

function column(values, Kind = Float64Array) {
  const list = values ?? [];
  const result = new Kind(list.length);
  for (let row = 0; row < list.length; ++row) {
    result[row] = list[row] === null ? NaN : list[row];
  }
  return result;
}

function columns(table, kinds) {
  const result = {};
  for (const [name, Kind] of Object.entries(kinds)) {
    result[name] = column(table?.[name], Kind);
  }
  const [first] = Object.values(result);
  result.count = first.length;
  return result;
}

const numbers = (names) => Object.fromEntries(names.split(' ').map((name) => [name, Float64Array]));

const FRAMES = { function: INTEGERS, module: INTEGERS, offset: Float64Array, file: INTEGERS, line: INTEGERS, inlined: Uint8Array, kind: Uint8Array };
const STACKS = {
  node: INTEGERS, id: Float64Array, function: INTEGERS, variant: INTEGERS, label: INTEGERS, mapping: Uint8Array, of_libraries: Uint8Array, pooled: Uint8Array, telling: INTEGERS, folded: Float64Array,
  ...numbers('allocations frees allocated_bytes live_blocks live_bytes reserved_bytes peak_bytes temporary_allocations lifetime_ns definite_blocks ' +
    'definite_bytes indirect_blocks indirect_bytes possible_blocks possible_bytes reachable_blocks reachable_bytes ' +
    'suppressed_blocks suppressed_bytes below_blocks below_bytes cycle_blocks'),
};
const KEYS = { stack: INTEGERS, thread: INTEGERS, size: INTEGERS, bin: INTEGERS, process: INTEGERS };
const CELLS = { ...KEYS, ...numbers('allocations allocated_bytes frees freed_bytes temporary') };
const LEFT = { ...KEYS, state: Uint8Array, ...numbers('blocks bytes') };

function rows(table) {
  const names = Object.keys(table ?? {});
  return names.length === 0 ? [] : table[names[0]].map((_, row) => Object.fromEntries(names.map((name) => [name, table[name][row]])));
}

// Of a report without cells the stacks' totals are the facts: all of them in one bin, of no thread and no size.
function cellsOfTotals(stacks) {
  const known = (value) => (Number.isNaN(value) ? 0 : value);
  const each = (of, Kind = Float64Array) => Kind.from({ length: stacks.count }, (_, row) => of(row));
  return {
    count: stacks.count,
    stack: each((row) => row, INTEGERS), thread: each(() => -1, INTEGERS), size: each(() => -1, INTEGERS), bin: each(() => 0, INTEGERS),
    allocations: each((row) => known(stacks.allocations[row])),
    allocated_bytes: each((row) => known(stacks.allocated_bytes[row])),
    frees: each((row) => known(stacks.allocations[row] - stacks.live_blocks[row])),
    freed_bytes: each((row) => known(stacks.allocated_bytes[row] - stacks.live_bytes[row])),
    temporary: each((row) => known(stacks.temporary_allocations[row])),
  };
}

// Of recordings that are compared: the figures of each row in each of them.
function decodeDifference(difference) {
  if (!difference) return null;
  const figures = difference.figures ?? [];
  return {
    ...difference, figures,
    values: difference.values.map((values) => Object.fromEntries(figures.map(({ key }) => [key, column(values[key])]))),
  };
}

function binsOf(bins, cells) {
  const isUsable = bins && bins.count > 0 && bins.width_ns > 0 && cells.count > 0;
  return isUsable ? { start: bins.start_ns, width: bins.width_ns, count: bins.count } : null;
}

// Whether the program mapped memory itself, or addresses.
function hasMapped(stacks, cells) {
  const isMapping = (stack) => stacks.mapping[stack] === 1;
  if (cells?.stack.some((stack, row) => isMapping(stack) && cells.allocated_bytes[row] > 0)) return true;
  return stacks.mapping.some((_, stack) => isMapping(stack) && (stacks.live_bytes[stack] > 0 || stacks.reserved_bytes[stack] > 0));
}

function depthsOf(nodes) {
  const depths = new Int32Array(nodes.count);
  for (let node = 0; node < nodes.count; ++node) {
    const parent = nodes.parent[node];
    if (parent >= node) throw new Error('damaged data: a caller comes after what it calls');
    depths[node] = parent < 0 ? 0 : depths[parent] + 1;
  }
  return depths;
}

function checkIndexes(model) {
  const limits = [
    ['frames.function', model.frames.function, model.strings.length], ['frames.file', model.frames.file, model.strings.length],
    ['frames.module', model.frames.module, model.strings.length], ['nodes.frame', model.nodes.frame, model.frames.count],
    ['stacks.node', model.stacks.node, model.nodes.count], ['stacks.label', model.stacks.label, model.strings.length], ['cells.stack', model.cells.stack, model.stacks.count],
    ['left.stack', model.left.stack, model.stacks.count], ['cells.bin', model.cells.bin, model.bins.count],
    ['left.bin', model.left.bin, model.bins.count],
    ...(model.isRun ? [['cells.process', model.cells.process ?? [], model.processes.length], ['left.process', model.left.process, model.processes.length]] : []),
    ...Object.values(model.difference?.frames_before ?? {}).map((frames) => ['frames_before', frames, model.frames.count]),
  ];
  for (const [name, values, limit] of limits) {
    for (let row = 0; row < values.length; ++row) {
      if (values[row] >= limit) throw new Error(`damaged data: ${name} ${values[row]} of ${limit}`);
    }
  }
}

// mapped: memory that the program may touch; of older recordings only addresses are known.
function timelineOf(timeline) {
  if (!timeline) return null;
  const isKnown = timeline.mapped_memory_bytes?.every((value) => value !== null);
  return { ...timeline, mapped: isKnown ? timeline.mapped_memory_bytes : timeline.mapped_bytes };
}

export function decode(document) {
  if (document.format !== 'heaptap-report') throw new Error('the data is not of a heaptap report');
  if (document.version !== 1) throw new Error(`the data is of version ${document.version}; this shell reads version 1`);
  const stacks = columns(document.stacks, STACKS);
  const cells = columns(document.cells, CELLS);
  const bins = binsOf(document.bins, cells);
  const duration = document.summary?.capture?.duration_ns || 1;
  const nodes = columns(document.nodes, { parent: INTEGERS, frame: INTEGERS });
  const model = {
    title: document.title, focus: document.focus ?? 'live', summary: document.summary ?? {}, verdict: document.verdict ?? [], strings: document.strings ?? [''],
    frames: columns(document.frames, FRAMES),
    nodes: { ...nodes, depth: depthsOf(nodes) },
    stacks,
    threads: rows(document.threads),
    sizeClasses: rows(document.size_classes),
    hasCells: bins !== null,
    hasTimes: bins !== null && document.of_run !== true, // of several processes nobody compared the times
    bins: bins ?? { start: 0, width: duration, count: 1 },
    cells: bins ? cells : cellsOfTotals(stacks),
    left: columns(document.left, LEFT),
    timeline: timelineOf(document.timeline), marks: document.marks ?? [], moreMarks: document.more_marks ?? 0,
    sizes: document.sizes ?? null, lifetimes: document.lifetimes ?? null, errors: document.errors ?? [],
    holders: document.holders ?? [], globals: document.globals ?? [], retained: document.retained ?? [], graph: document.graph ?? null,
    addressSpace: document.address_space ?? null, resident: document.resident ?? null, processes: document.processes ?? [], peakProcess: document.peak_process ?? null, difference: decodeDifference(document.difference), isRun: document.of_run === true,
    suppressions: document.suppressions ?? {}, sources: document.sources ?? {}, folded: document.folded ?? null,
    hasMapped: hasMapped(stacks, bins ? cells : null),
    firstMemory: document.memory === 'both' && !document.difference && hasMapped(stacks, bins ? cells : null) ? 'both' : null,
    isScanned: document.summary?.leaks?.scanned === true,
    knowsReleases: !stacks.live_bytes.some(Number.isNaN),
    knowsPeaks: stacks.count > 0 && !stacks.peak_bytes.some(Number.isNaN),
  };
  checkIndexes(model);
  return model;
}

// The document that the writer put into the page: base64 of gzip'd JSON.
export async function readDocument(text) {
  const packed = atob(text.replace(/\s+/g, ''));
  const packedBytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; ++place) packedBytes[place] = packed.charCodeAt(place);
  const stream = new Blob([packedBytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}
