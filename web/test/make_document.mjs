// Makes documents as the writer does (docs/report-data.md), from a seed: the same seed gives the same document. What is in it is
// consistent: of each stack, thread and size the allocations less the releases are what is left.
//   node make_document.mjs KIND OUT.html [SHELL]      KIND: see KINDS
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

// mulberry32: small, and the same everywhere.
export function randomOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, below: (limit) => Math.floor(next() * limit), pick: (list) => list[Math.floor(next() * list.length)] };
}

const SIZES = [16, 24, 48, 120, 256, 1000, 4000, 20000];
const CLASSES = SIZES.map((_, index) => ({ lowest: index === 0 ? 0 : 2 ** (index + 3) + 1, highest: 2 ** (index + 4) })).map((one, index) => (index < 5 ? one : [
  { lowest: 257, highest: 1024 }, { lowest: 1025, highest: 4096 }, { lowest: 4097, highest: null }][index - 5]));
const STATES = { none: 0, reachable: 1, definite: 2, indirect: 3, possible: 4, suppressed: 5 };

class Strings {
  constructor() {
    this.list = [''];
    this.index = new Map([['', 0]]);
  }

  of(text) {
    if (!this.index.has(text)) {
      this.index.set(text, this.list.length);
      this.list.push(text);
    }
    return this.index.get(text);
  }
}

// The call tree: frames are given as [function, module, file, line, kind, inlined].
class CallTree {
  constructor(strings) {
    this.strings = strings;
    this.frames = { function: [], module: [], offset: [], file: [], line: [], inlined: [], kind: [] };
    this.nodes = { parent: [], frame: [] };
    this.known = new Map();
  }

  frame([name, module, file, line, kind = 0, inlined = 0]) {
    const row = this.frames.function.length;
    this.frames.function.push(this.strings.of(name));
    this.frames.module.push(this.strings.of(module));
    this.frames.offset.push(0x1000 + row * 16);
    this.frames.file.push(this.strings.of(file));
    this.frames.line.push(line);
    this.frames.inlined.push(inlined);
    this.frames.kind.push(kind);
    return row;
  }

  node(parent, frame) {
    const key = parent * 2 ** 24 + frame;
    if (!this.known.has(key)) {
      this.known.set(key, this.nodes.parent.length);
      this.nodes.parent.push(parent);
      this.nodes.frame.push(frame);
    }
    return this.known.get(key);
  }

  // The node of a stack whose frames are given from the outermost in.
  stack(frames) {
    return frames.reduce((parent, frame) => this.node(parent, frame), -1);
  }
}

const columnNames = 'id node function variant label mapping of_libraries pooled telling folded allocations frees allocated_bytes live_blocks live_bytes reserved_bytes peak_bytes temporary_allocations lifetime_ns definite_blocks definite_bytes indirect_blocks indirect_bytes possible_blocks possible_bytes reachable_blocks reachable_bytes suppressed_blocks suppressed_bytes below_blocks below_bytes cycle_blocks'.split(' ');

// How the blocks of a stack come and go.
const PATTERNS = {
  leak: { keep: 1, state: STATES.definite },
  below: { keep: 1, state: STATES.indirect },
  cache: { keep: 0.9, state: STATES.reachable },
  possible: { keep: 0.8, state: STATES.possible },
  churn: { keep: 0, state: STATES.reachable },
  work: { keep: 0.3, state: STATES.reachable },
};

// Fills the tables of facts for one stack: in each bin some allocations, and releases of what was allocated before, oldest first.
function liveThrough(random, { row, threads, sizes, rate, pattern, bins, isScanned }, tables) {
  const { cells, left } = tables;
  const figures = { allocations: 0, frees: 0, allocated_bytes: 0, live_blocks: 0, live_bytes: 0, temporary: 0, left: {} };
  for (const thread of threads) {
    for (const size of sizes) {
      const bytes = SIZES[size];
      const queue = [];
      for (let bin = 0; bin < bins; ++bin) {
        const allocations = random.below(rate + 1);
        if (allocations > 0) queue.push({ bin, blocks: allocations });
        const held = queue.reduce((sum, { blocks }) => sum + blocks, 0);
        let frees = Math.floor(held * (1 - pattern.keep) * random.next() * (bin % 7 === 3 ? 1 : 0.5));
        if (pattern.keep === 0 && bin === bins - 1) frees = held;
        for (let todo = frees; todo > 0;) {
          const part = Math.min(todo, queue[0].blocks);
          queue[0].blocks -= part;
          todo -= part;
          if (queue[0].blocks === 0) queue.shift();
        }
        const temporary = pattern.keep < 0.5 ? Math.floor(Math.min(allocations, frees) * 0.6) : 0;
        if (allocations + frees > 0) cells.push({ bin, stack: row, thread, size, allocations, allocated_bytes: allocations * bytes, frees, freed_bytes: frees * bytes, temporary });
        figures.allocations += allocations;
        figures.frees += frees;
        figures.allocated_bytes += allocations * bytes;
        figures.temporary += temporary;
      }
      const state = isScanned ? pattern.state : STATES.none;
      for (const { bin, blocks } of queue) {
        left.push({ bin, stack: row, thread, size, state, blocks, bytes: blocks * bytes });
        figures.live_blocks += blocks;
        figures.live_bytes += blocks * bytes;
        figures.left[state] ??= { blocks: 0, bytes: 0 };
        figures.left[state].blocks += blocks;
        figures.left[state].bytes += blocks * bytes;
      }
    }
  }
  return figures;
}

const toColumns = (rows, names) => Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])]));

function stackRow(tree, { node, allocator, telling, folded = 0 }, figures, id, isScanned) {
  const of = (state, what) => (isScanned ? figures.left[state]?.[what] ?? 0 : null);
  const row = {
    id, node, function: tree.strings.of(allocator), variant: 0, label: 0, mapping: 0, of_libraries: 0, pooled: 0, telling, folded,
    allocations: figures.allocations, frees: figures.frees, allocated_bytes: figures.allocated_bytes, live_blocks: figures.live_blocks,
    live_bytes: figures.live_bytes, reserved_bytes: 0, peak_bytes: 0, temporary_allocations: figures.temporary, lifetime_ns: figures.frees > 0 ? 1500000 : null,
    below_blocks: isScanned ? 0 : null, below_bytes: isScanned ? 0 : null, cycle_blocks: isScanned ? 0 : null,
  };
  for (const name of ['definite', 'indirect', 'possible', 'reachable', 'suppressed']) {
    row[`${name}_blocks`] = of(STATES[name], 'blocks');
    row[`${name}_bytes`] = of(STATES[name], 'bytes');
  }
  return row;
}

function timelineOf(cells, bins, widthNs) {
  const parts = 3; // of a bin: the timeline is finer
  const count = bins * parts;
  const zero = () => new Array(count).fill(0);
  const timeline = { start_ns: 0, width_ns: widthNs / parts, live_bytes: zero(), live_blocks: zero(), peak_live_bytes: zero(), allocations: zero(), frees: zero(), mapped_bytes: zero(), mapped_memory_bytes: zero() };
  for (const cell of cells) {
    const at = cell.bin * parts + parts - 1;
    timeline.live_bytes[at] += cell.allocated_bytes - cell.freed_bytes;
    timeline.live_blocks[at] += cell.allocations - cell.frees;
    timeline.allocations[at] += cell.allocations;
    timeline.frees[at] += cell.frees;
  }
  for (let at = 1; at < count; ++at) {
    timeline.live_bytes[at] += timeline.live_bytes[at - 1];
    timeline.live_blocks[at] += timeline.live_blocks[at - 1];
  }
  timeline.live_bytes.forEach((live, at) => { timeline.peak_live_bytes[at] = Math.max(live, timeline.live_bytes[at - 1] ?? 0); });
  return timeline;
}

// What each stack holds when all together hold most.
function putPeaks(stacks, cells, bins) {
  const net = ({ allocated_bytes: allocated, freed_bytes: freed }) => allocated - freed;
  const lives = new Float64Array(bins);
  cells.forEach((cell) => { for (let bin = cell.bin; bin < bins; ++bin) lives[bin] += net(cell); });
  const peakBin = lives.indexOf(Math.max(...lives));
  stacks.forEach((stack) => { stack.peak_bytes = 0; });
  cells.filter(({ bin }) => bin <= peakBin).forEach((cell) => { stacks[cell.stack].peak_bytes += net(cell); });
}

function summaryOf({ stacks, left, timeline, isScanned, durationNs, command, notes }) {
  const sum = (name) => stacks.reduce((total, row) => total + row[name], 0);
  const state = (number) => {
    if (!isScanned) return { blocks: null, bytes: null };
    const rows = left.filter((row) => row.state === number);
    return { blocks: rows.reduce((total, row) => total + row.blocks, 0), bytes: rows.reduce((total, row) => total + row.bytes, 0) };
  };
  const peak = Math.max(...timeline.peak_live_bytes);
  return {
    format: 'heaptap-summary', version: 1,
    target: { command, executable: command[0], pid: 4711, parent_pid: 0, host: null, arch: 'x86_64', exit: { code: 0 } },
    capture: { via: 'agent', complete: true, from_start: true, start_unix_ns: 0, duration_ns: durationNs, lost_events: 0, notes: [] },
    notes, filter: null,
    totals: {
      allocations: sum('allocations'), frees: sum('frees'), allocated_bytes: sum('allocated_bytes'), temporary_allocations: sum('temporary_allocations'),
      live_blocks: sum('live_blocks'), live_bytes: sum('live_bytes'), peak_live_bytes: peak, peak_live_blocks: Math.max(...timeline.live_blocks),
      peak_time_ns: (timeline.peak_live_bytes.indexOf(peak) + 1) * timeline.width_ns, mapped_live_bytes: 0, peak_mapped_bytes: 0,
      bad_frees: 0, double_frees: 1, mismatched_frees: 1, unknown_frees: 0, unseen_frees: 0,
    },
    leaks: { scanned: isScanned, definite: state(2), indirect: state(3), possible: state(4), reachable: state(1), suppressed: state(5), unknown: { blocks: isScanned ? 0 : null, bytes: isScanned ? 0 : null } },
  };
}

// Puts the tables together; `given`: the stacks as {node, allocator, telling, pattern, threads, sizes, rate}.
function assemble(random, tree, given, options) {
  const { bins, isScanned = true, title, command, notes = [], durationNs = 12_000_000_000 } = options;
  const tables = { cells: [], left: [] };
  const stacks = given.map((stack, row) => {
    const figures = liveThrough(random, { ...stack, row, bins, isScanned, pattern: PATTERNS[stack.pattern] }, tables);
    return stackRow(tree, stack, figures, row + 1, isScanned);
  });
  tables.cells.sort((one, other) => one.bin - other.bin);
  tables.left.sort((one, other) => one.bin - other.bin);
  const timeline = timelineOf(tables.cells, bins, durationNs / bins);
  putPeaks(stacks, tables.cells, bins);
  const threads = options.threads.map((name, index) => {
    const own = tables.cells.filter(({ thread }) => thread === index + 1);
    const sum = (key) => own.reduce((total, cell) => total + cell[key], 0);
    return { number: index + 1, kernel_id: 4711 + index, name: tree.strings.of(name), allocations: sum('allocations'), frees: sum('frees'), allocated_bytes: sum('allocated_bytes') };
  });
  const bySize = SIZES.map((size, index) => ({
    size, allocations: tables.cells.reduce((total, cell) => total + (cell.size === index ? cell.allocations : 0), 0),
    live_blocks: tables.left.reduce((total, row) => total + (row.size === index ? row.blocks : 0), 0),
  })).sort((one, other) => other.allocations - one.allocations);
  return {
    format: 'heaptap-report', version: 1, title, focus: 'live',
    summary: summaryOf({ stacks, left: tables.left, timeline, isScanned, durationNs, command, notes }),
    verdict: [], strings: tree.strings.list, frames: tree.frames, nodes: tree.nodes, stacks: toColumns(stacks, columnNames),
    threads: toColumns(threads, ['number', 'kernel_id', 'name', 'allocations', 'frees', 'allocated_bytes']),
    size_classes: toColumns(CLASSES, ['lowest', 'highest']),
    bins: { start_ns: 0, width_ns: durationNs / bins, count: bins },
    cells: toColumns(tables.cells, ['stack', 'thread', 'size', 'bin', 'allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary']),
    left: toColumns(tables.left, ['stack', 'thread', 'size', 'bin', 'state', 'blocks', 'bytes']),
    timeline, marks: [], sizes: toColumns(bySize, ['size', 'allocations', 'live_blocks']),
    lifetimes: { lowest_ns: [0, 1e3, 1e6, 1e9], highest_ns: [1e3, 1e6, 1e9, null], blocks: [812, 4200, 950, 31], bytes: [90_000, 310_000, 88_000, 12_000] },
    errors: [], holders: [], globals: [], retained: [], graph: null, address_space: null, processes: [], difference: null, suppressions: {}, sources: {}, folded: null,
  };
}

const APP = '/opt/shop/bin/shop';
const LIBSTDCXX = '/usr/lib/x86_64-linux-gnu/libstdc++.so.6';
const LIBC = '/usr/lib/x86_64-linux-gnu/libc.so.6';

// A server as one would record it: leaks, a cache that grows, containers, churn. All views have something to show.
export function shopDocument({ seed = 7, isScanned = true } = {}) {
  const random = randomOf(seed);
  const tree = new CallTree(new Strings());
  const f = (...frame) => tree.frame(frame);
  const start = f('_start', APP, '', 0, 2);
  const thread = f('start_thread', LIBC, 'pthread_create.c', 442, 2);
  const main = f('main', APP, '/src/shop/main.cc', 70);
  const serve = f('shop::Server::serve(int)', APP, '/src/shop/serve.cc', 12);
  const handle = f('shop::handle(shop::Request const&)', APP, '/src/shop/handle.cc', 48);
  const session = f('shop::Session::Session(std::basic_string_view<char, std::char_traits<char> >)', APP, '/src/shop/session.cc', 10);
  const parse = f('shop::parse_order(std::basic_string_view<char, std::char_traits<char> >)', APP, '/src/shop/parse.cc', 101);
  const push = f('std::vector<shop::Order, std::allocator<shop::Order> >::push_back(shop::Order const&)', APP, '/usr/include/c++/12/bits/stl_vector.h', 1280, 1, 1);
  const allocate = f('std::__new_allocator<shop::Order>::allocate(unsigned long, void const*)', APP, '/usr/include/c++/12/bits/new_allocator.h', 137, 1, 1);
  const format = f('shop::format_price(long)', APP, '/src/shop/price.cc', 33);
  const formatLater = f('shop::format_price(long)', APP, '/src/shop/price.cc', 41);
  const stringNew = f('std::string::_M_create(unsigned long&, unsigned long)', LIBSTDCXX, '', 0, 1);
  const log = f('shop::log(char const*)', APP, '/src/shop/log.cc', 21);
  const strdup = f('strdup', LIBC, 'strdup.c', 42, 1);
  const worker = f('shop::Worker::run()', APP, '/src/shop/worker.cc', 88);
  const compress = f('shop::compress(std::vector<unsigned char, std::allocator<unsigned char> > const&)', '/opt/shop/lib/libpack.so', '/src/pack/compress.cc', 55);
  const unnamed = f('', '/opt/shop/lib/libpack.so', '', 0);
  const buffer = f('make_buffer', APP, '/src/shop/leak.cc', 11);
  const process = f('process', APP, '/src/shop/leak.cc', 12);
  const below = f('fill_buffer', APP, '/src/shop/leak.cc', 29);
  const given = [];
  const stack = (frames, telling, pattern, rate, sizes, threads, allocator = 'malloc') => given.push({ node: tree.stack(frames), telling, pattern, rate, sizes, threads, allocator });
  stack([start, main, serve, handle, process, buffer], buffer, 'leak', 9, [5], [1]);
  stack([start, main, serve, handle, process, buffer, below], below, 'below', 5, [2, 3], [1]);
  stack([start, main, serve, handle, session], session, 'cache', 30, [4, 6], [1, 2, 3], 'operator new');
  stack([start, main, serve, handle, session, stringNew], session, 'cache', 40, [2], [1, 2, 3], 'operator new');
  stack([start, main, serve, handle, parse, push, allocate], parse, 'work', 60, [3, 5], [1, 2], 'operator new');
  stack([start, main, serve, handle, format, stringNew], format, 'churn', 200, [2], [1, 2], 'operator new');
  stack([start, main, serve, handle, formatLater, stringNew], formatLater, 'churn', 50, [2], [1, 2], 'operator new');
  stack([start, main, serve, log, strdup], log, 'leak', 1, [1], [1]);
  stack([thread, worker, compress], compress, 'churn', 12, [7], [2, 3, 4]);
  stack([thread, worker, compress, unnamed], unnamed, 'possible', 2, [4], [4]);
  stack([thread, worker, parse, push, allocate], parse, 'work', 20, [3], [2, 3, 4], 'operator new');
  stack([start, main], main, 'cache', 1, [7], [1]);
  const walk = [90, 91].map((line) => f('shop::walk(int)', APP, '/src/shop/walk.cc', line)); // calls itself
  stack([start, main, walk[0], walk[1], walk[1], strdup], walk[1], 'work', 6, [1], [1]);
  stack([start, strdup], strdup, 'cache', 1, [6], [1]);
  for (let index = 0; index < 60; ++index) {
    const own = f(`shop::rules::Rule${index}::apply(shop::Order&)`, APP, `/src/shop/rules/rule${index % 9}.cc`, 10 + index);
    const inner = f(`shop::rules::match<${index % 5}>(shop::Order const&, int)`, APP, '/src/shop/rules/match.h', 80 + (index % 5));
    stack([start, main, serve, handle, parse, own, inner], own, random.pick(['churn', 'work', 'work', 'cache']), 1 + random.below(14), [random.below(5)], [1 + random.below(4)]);
  }
  const document = assemble(random, tree, given, {
    bins: 120, isScanned, title: 'shop (pid 4711)', command: ['./shop', '--port', '80'], threads: ['shop', 'worker-1', 'worker-2', 'pack'],
    notes: [{ kind: 'module_without_symbols', text: 'libpack.so is stripped: install libpack-dbgsym' }, { kind: 'children_unreached', text: '2 forked children were not recorded' }],
  });
  return decorate(document, { buffer, process, serve, main, session, parse }, isScanned);
}

const amount = (column, row) => column[row];

function decorate(document, frames, isScanned) {
  const { stacks } = document;
  const definite = isScanned ? document.summary.leaks : null;
  document.verdict = isScanned ? [
    { severity: 'bad', kind: 'leaks', text: `Leaked ${definite.definite.bytes + definite.indirect.bytes} bytes in ${definite.definite.blocks + definite.indirect.blocks} blocks; most by make_buffer at leak.cc:11`, stack: 0 },
    { severity: 'warning', kind: 'growth', text: 'Still growing at the end: session.cc:10 holds more with every interval', stack: 2 },
    { severity: 'warning', kind: 'error', text: '1 double free at leak.cc:12', stack: null },
    { severity: 'info', kind: 'temporary', text: 'Many temporary allocations by format_price at price.cc:33; a buffer that is reused would do', stack: 5 },
  ] : [{ severity: 'warning', kind: 'no_scan', text: 'No leak scan was made: what was not freed may still be in use', stack: null }];
  document.marks = [{ name: 'startup done', time_ns: 900_000_000 }, { name: 'config reload', time_ns: 7_000_000_000 }];
  document.suppressions = { 0: 'leak:make_buffer\n', 7: 'leak:shop::log\n' };
  document.errors = [
    { kind: 'double', function: 'free', address: '0x5555abc0', count: 1, frames: [frames.process, frames.serve, frames.main], allocated: { function: 'malloc', size: 24, frames: [frames.buffer, frames.main] }, released: { function: 'free', frames: [frames.process, frames.main] } },
    { kind: 'mismatched', function: 'operator delete', address: '0x5555abf0', count: 3, frames: [frames.serve, frames.main], allocated: { function: 'malloc', size: 64, frames: [frames.session] }, released: null },
  ];
  document.sources = { '/src/shop/leak.cc': Array.from({ length: 34 }, (_, line) => ({ 10: '  char* buffer = static_cast<char*>(malloc(1000));', 11: '  return make_buffer(request);  // never freed', 28: '  buffer->text = strdup(text);' }[line] ?? (line % 6 === 5 ? '}' : '  // …'))) };
  document.sources['/src/shop/walk.cc'] = Array.from({ length: 95 }, (_, line) => (line < 88 ? '' : '  walk(depth - 1);'));
  if (!isScanned) return document;
  document.holders = [
    { stack: 2, text: ['global sessions (session.cc:7)', '-> #b12 std::map node, 96 B', '-> #b88 Session, 256 B'], blocks: amount(stacks.live_blocks, 2), bytes: amount(stacks.live_bytes, 2) },
    { stack: 4, text: ['stack of thread 1: handle (handle.cc:48)', '-> #b31 vector of Order'], blocks: amount(stacks.live_blocks, 4), bytes: amount(stacks.live_bytes, 4) },
  ];
  document.globals = [
    { name: 'shop::sessions', file: '/src/shop/session.cc', line: 7, direct_bytes: 96, direct_blocks: 1, retained_bytes: amount(stacks.live_bytes, 2), retained_blocks: amount(stacks.live_blocks, 2) },
    { name: 'shop::config', file: '/src/shop/config.cc', line: 4, direct_bytes: 20000, direct_blocks: 1, retained_bytes: 20000, retained_blocks: 1 },
    { name: 'stdout_buffer', file: '', line: 0, direct_bytes: null, direct_blocks: null, retained_bytes: 1024, retained_blocks: 1 },
  ];
  document.retained = [2, 3, 4, 11].map((stack) => ({ stack, own_blocks: amount(stacks.live_blocks, stack), own_bytes: amount(stacks.live_bytes, stack), retained_blocks: amount(stacks.live_blocks, stack) * 2, retained_bytes: amount(stacks.live_bytes, stack) * 2 }));
  const label = (text) => { document.strings.push(text); return document.strings.length - 1; };
  const nodes = [['global shop::sessions', 'root', -1], ['stack of thread 1', 'root', -1], ['global shop::config', 'root', -1], ['Session::Session session.cc:10', 'stack', 2], ['std::string session.cc:10', 'stack', 3], ['parse_order parse.cc:101', 'stack', 4], ['main main.cc:70', 'stack', 11], ['make_buffer leak.cc:11', 'stack', 0], ['fill_buffer leak.cc:29', 'stack', 1]];
  document.graph = {
    nodes: { label: nodes.map(([text]) => label(text)), kind: nodes.map(([, kind]) => kind), stack: nodes.map(([,, stack]) => stack), blocks: nodes.map(([,, stack]) => (stack < 0 ? 0 : stacks.live_blocks[stack])), bytes: nodes.map(([,, stack]) => (stack < 0 ? 0 : stacks.live_bytes[stack])), retained_bytes: nodes.map(([,, stack]) => (stack < 0 ? stacks.live_bytes[2] : stacks.live_bytes[stack])) },
    edges: { from: [0, 3, 1, 2, 7, 3, 5], to: [3, 4, 5, 6, 8, 5, 3], count: [400, 380, 30, 1, 50, 12, 4] },
  };
  const random = randomOf(3);
  const pages = Array.from({ length: 900 }, (_, page) => ({ address: `0x${(0x555500000000 + (page + (page > 300 ? 40 : 0) + (page > 700 ? 9000 : 0)) * 4096).toString(16)}`, live_bytes: random.below(page % 5 === 0 ? 4096 : 900) + 16, blocks: 1 + random.below(20), stack: random.below(12) }));
  const span = (start, length, live_bytes, blocks, touched_bytes) => ({ start, length, live_bytes, blocks, touched_bytes });
  document.address_space = {
    page_bytes: 4096, pages: toColumns(pages, ['address', 'live_bytes', 'blocks', 'stack']), max_gap_bytes: 1 << 20,
    spans: toColumns([span('0x555500000000', 3_800_000, 600_000, 812, 2_867_200), span('0x7f0000000000', 64 << 20, 60 << 20, 40, 64 << 20)], ['start', 'length', 'live_bytes', 'blocks', 'touched_bytes']),
  };
  document.processes = [
    { program: 'shop', pid: 4711, exit: 'exited with 0', peak_live_bytes: document.summary.totals.peak_live_bytes, live_bytes: document.summary.totals.live_bytes, definite_bytes: definite.definite.bytes, definite_blocks: definite.definite.blocks, trace: 'heaptap.shop.4711.htap' },
    { program: 'shop-worker', pid: 4712, exit: 'killed by SIGKILL', peak_live_bytes: 1 << 20, live_bytes: 900_000, definite_bytes: null, definite_blocks: null, trace: 'heaptap.shop-worker.4712.htap' },
    { program: 'sh', pid: 4713, exit: 'exited with 0', peak_live_bytes: null, live_bytes: null, definite_bytes: null, definite_blocks: null, trace: 'heaptap.sh.4713.htap' },
  ];
  return document;
}

// The shop's resident memory at its last scan, with two arenas. The first two stacks keep most of what is free.
export function residentDocument() {
  const document = shopDocument();
  const part = (kind, name, bytes, tenths) => ({ kind, name, bytes, tenths });
  const arena = (name, resident_bytes, live_bytes, live_blocks, unused_page_bytes, of_glibc = true) => ({ name, of_glibc, resident_bytes, live_bytes, live_blocks, unused_page_bytes });
  document.resident = {
    moment: 'the end', time_ns: 1_990_000_000, bytes: 22_333_440, knows_all_blocks: true,
    parts: [part('live', 'live', 640_000, 6), part('free', 'free inside the allocator', 19_611_648, 187), part('globals', 'global variables', 204_800, 2), part('files', 'files', 1_228_800, 12), part('other', 'other', 648_192, 6)],
    arenas: [arena('main arena', 20_000_000, 600_000, 700, 17_000_000), arena('arena 1', 251_648, 40_000, 21, 200_000)],
    unused_page_bytes: 17_200_000, kept_bytes: 2_411_648,
    stacks: { stack: [3, 1, 0], live_bytes: [500_000, 100_000, 40_000], live_blocks: [600, 100, 21], pages: [620, 90, null], kept_bytes: [2_000_000, 400_000, 11_648] },
  };
  document.summary.totals.mapped = { memory: { live_bytes: 80 << 20, peak_bytes: 160 << 20 }, reserved: { live_bytes: 2 ** 38, peak_bytes: 2 ** 38 } };
  return document;
}

// A program that maps 160 MiB by two calls of its main, gives half of them back, and reserves addresses besides.
export function mappedDocument() {
  const document = shopDocument();
  const { stacks, cells } = document;
  const [main, row] = [11, stacks.id.length];
  const made = { ...Object.fromEntries(Object.keys(stacks).map((name) => [name, stacks[name][main]])), id: row + 1, function: document.strings.push('mmap') - 1, mapping: 1,
    allocations: 2, frees: 1, allocated_bytes: 160 << 20, live_blocks: 1, live_bytes: 80 << 20, reserved_bytes: 2 ** 38, peak_bytes: 80 << 20, temporary_allocations: 0 };
  for (const name of ['definite', 'indirect', 'possible', 'reachable', 'suppressed', 'below']) Object.assign(made, { [`${name}_blocks`]: null, [`${name}_bytes`]: null });
  for (const name of Object.keys(stacks)) stacks[name].push(made[name]);
  const put = (bin, more) => {
    const cell = { stack: row, thread: 1, size: 7, bin, allocations: 0, allocated_bytes: 0, frees: 0, freed_bytes: 0, temporary: 0, ...more };
    const place = cells.bin.findIndex((other) => other > bin);
    for (const name of Object.keys(cells)) cells[name].splice(place, 0, cell[name]);
  };
  put(3, { allocations: 2, allocated_bytes: 160 << 20 });
  put(60, { frees: 1, freed_bytes: 80 << 20 });
  return document;
}

const FIGURES = [['live_bytes', 'live', 'bytes'], ['live_blocks', 'blocks', 'count'], ['peak_bytes', 'peak', 'bytes'], ['allocated_bytes', 'allocated', 'bytes'],
  ['allocations', 'allocations', 'count'], ['freed_bytes', 'freed', 'bytes'], ['frees', 'frees', 'count'], ['temporary_allocations', 'temporary', 'count'],
  ['leaked_bytes', 'leaked', 'bytes'], ['leaked_blocks', 'leaked-blocks', 'count']].map(([key, word, unit]) => ({ key, word, unit }));

// Recordings that are compared: each later one has more of some stacks and less of others. The peak isn't known of the first one.
export function differenceDocument({ seed = 7, recordings: count = 2 } = {}) {
  const document = shopDocument({ seed });
  const { stacks } = document;
  const random = randomOf(seed + count);
  const base = stacks.id.map((_, row) => ({
    live_bytes: stacks.live_bytes[row], live_blocks: stacks.live_blocks[row], peak_bytes: stacks.peak_bytes[row], allocated_bytes: stacks.allocated_bytes[row], allocations: stacks.allocations[row],
    freed_bytes: stacks.allocated_bytes[row] - stacks.live_bytes[row], frees: stacks.frees[row], temporary_allocations: stacks.temporary_allocations[row],
    leaked_bytes: stacks.definite_bytes[row] + stacks.indirect_bytes[row], leaked_blocks: stacks.definite_blocks[row] + stacks.indirect_blocks[row],
  }));
  const kinds = stacks.id.map((_, row) => ['grown', 'shrunk', 'new', 'gone', 'same'][row % 5]);
  const factor = (row, index) => ({ grown: 1 + index, shrunk: count - index, new: index === 0 ? 0 : 1, gone: index === count - 1 ? 0 : 1, same: 1 }[kinds[row]]);
  const values = Array.from({ length: count }, (_, index) => Object.fromEntries(FIGURES.map(({ key }) => [key, base.map((figures, row) =>
    (key === 'peak_bytes' && index === 0 ? null : figures[key] * factor(row, index)))])));
  const sums = values.map((one) => Object.fromEntries(FIGURES.map(({ key }) => [key, one[key].includes(null) ? null : one[key].reduce((sum, value) => sum + value, 0)])));
  const state = kinds.map((kind, row) => { const change = values.at(-1).live_bytes[row] - values[0].live_bytes[row]; return ['new', 'gone'].includes(kind) ? kind : change > 0 ? 'grown' : change < 0 ? 'shrunk' : 'same'; });
  const counts = Object.fromEntries(['new', 'gone', 'grown', 'shrunk', 'same', 'unknown'].map((name) => [name, state.filter((one) => one === name).length]));
  const nothing = (table) => Object.fromEntries(Object.keys(table).map((key) => [key, []]));
  return {
    ...document, title: 'monday.htap \u2192 tuesday.htap', of_run: false,
    verdict: [{ severity: 'warning', kind: 'total', text: 'live: grew', stack: null }, { severity: 'warning', kind: 'change', text: '+1.0 KiB live, new, allocated in make_buffer (leak.cc:11).', stack: 2 }],
    cells: nothing(document.cells), left: nothing(document.left), bins: { start_ns: 0, width_ns: 0, count: 0 },
    timeline: null, sizes: null, lifetimes: null, marks: [], errors: [], holders: [], globals: [], retained: [], graph: null, address_space: null, processes: [], suppressions: {}, sources: {},
    difference: {
      recordings: sums.map((totals, index) => ({ name: `day${index}.htap`, program: 'shop', pid: 4600 + index, end: 'exited with 0', trace: `/var/day${index}.htap`, at_ns: null, totals })),
      figures: FIGURES, sort: 'live_bytes',
      stack_count: { all: stacks.id.length + 20, ...counts, moved: 2, listed: stacks.id.length, unchanged: 13, below_floor: 7 },
      unmatched_modules: ['/opt/shop/lib/libpack.so'], remarks: ['before: 3 events were lost: the numbers are not exact'],
      state, moved: state.map((one, row) => (one === 'grown' && row < 11 ? 1 : 0)), growing: kinds.map((kind, row) => (count > 2 && kind === 'grown' && base[row].live_bytes > 0 ? 1 : 0)),
      ids: values.map((_, index) => kinds.map((kind, row) => (factor(row, index) === 0 ? [] : row === 5 ? [row + 1, row + 101] : [row + 1 + 10 * index + random.below(1)]))),
      values, frames_before: Object.fromEntries(state.flatMap((one, row) => (one === 'grown' && row < 11 ? [[row, framesOf(document, row).map((frame) => Math.max(0, frame - 1))]] : []))),
    },
  };
}

function framesOf(document, stack) {
  const frames = [];
  for (let node = document.stacks.node[stack]; node >= 0; node = document.nodes.parent[node]) frames.push(document.nodes.frame[node]);
  return frames;
}

// Several processes together: what shop does, done by three of them (the last one's trace can't be read); threads belong to processes.
export function runDocument({ seed = 7 } = {}) {
  const document = shopDocument({ seed });
  const ofThread = { 1: 0, 2: 1, 3: 1, 4: 2 };
  const process = ({ thread }) => thread.map((number) => ofThread[number]);
  const live = [0, 1, 2].map((index) => document.left.bytes.reduce((sum, bytes, row) => sum + (ofThread[document.left.thread[row]] === index ? bytes : 0), 0));
  const course = (scale) => Array.from({ length: 40 }, (_, part) => Math.floor(scale * Math.abs(Math.sin(part / 9))));
  const made = (program, pid, index, more) => ({
    program, pid, parent_pid: 4700, exit: 'exited with 0', duration_ns: 2e9, allocations: 1000 * (index + 1), peak_live_bytes: live[index], live_bytes: live[index],
    definite_bytes: 1000 * index, definite_blocks: index, indirect_bytes: 10 * index, indirect_blocks: index, course: course(live[index]), trace: `heaptap.${program}.${pid}.htap`, folded: 0, ...more });
  const peaks = document.stacks.id.map(() => 0); // of the second process alone
  document.left.bytes.forEach((bytes, row) => { if (ofThread[document.left.thread[row]] === 1) peaks[document.left.stack[row]] += bytes; });
  const unread = Object.fromEntries(['duration_ns', 'allocations', 'peak_live_bytes', 'live_bytes', 'definite_bytes', 'definite_blocks', 'indirect_bytes', 'indirect_blocks', 'course'].map((key) => [key, null]));
  return {
    ...document, title: 'sh (pid 4711) and 3 more processes', of_run: true,
    bins: { start_ns: 0, width_ns: 2e9, count: 1 },
    cells: { ...document.cells, bin: document.cells.bin.map(() => 0), process: process(document.cells) },
    left: { ...document.left, bin: document.left.bin.map(() => 0), process: process(document.left) },
    threads: { ...document.threads, process: document.threads.number.map((number) => ofThread[number]) },
    stacks: { ...document.stacks, peak_bytes: peaks, lifetime_ns: document.stacks.id.map(() => null) },
    summary: { ...document.summary, totals: { ...document.summary.totals, peak_live_bytes: null, peak_live_blocks: null, peak_time_ns: null } },
    processes: [made('sh', 4711, 0, { parent_pid: null }), made('shop', 4712, 1, { exit: 'killed by SIGKILL' }), made('pack', 4713, 2), made('lost', 4714, 0, { ...unread, exit: 'there is no such file' })],
    peak_process: 1,
    timeline: null, sizes: null, lifetimes: null, marks: [], holders: [], globals: [], retained: [], graph: null, address_space: null,
  };
}

// So many nodes as the call tree of a large program has.
export function largeDocument({ seed = 11, nodes = 440_000, stacks = 60_000 } = {}) {
  const random = randomOf(seed);
  const tree = new CallTree(new Strings());
  const frames = Array.from({ length: 30_000 }, (_, index) => tree.frame([`engine::part${index % 300}::step_${index}(engine::Context&, unsigned long)`, index % 7 === 0 ? '/opt/engine/lib/libcore.so' : '/opt/engine/bin/engine', `/src/engine/part${index % 300}.cc`, 1 + (index % 900), index % 11 === 0 ? 1 : 0]));
  const leaves = [tree.node(-1, frames[1])];
  while (tree.nodes.parent.length < nodes) {
    let node = leaves[Math.floor(random.next() ** 2 * leaves.length)];
    for (let depth = 4 + random.below(20); depth > 0; --depth) node = tree.node(node, frames[random.below(frames.length)]);
    leaves.push(node);
  }
  const step = Math.max(1, Math.floor(tree.nodes.parent.length / stacks));
  const given = Array.from({ length: stacks }, (_, index) => {
    const node = tree.nodes.parent.length - 1 - index * step;
    return { node: Math.max(0, node), telling: -1, allocator: 'malloc', pattern: random.pick(['churn', 'work', 'cache', 'leak']), rate: 1 + random.below(3), sizes: [random.below(6)], threads: [1 + random.below(3)] };
  });
  const document = assemble(random, tree, given, { bins: 12, title: 'engine (pid 99)', command: ['./engine'], threads: ['engine', 'io', 'render'] });
  document.verdict = [{ severity: 'bad', kind: 'leaks', text: 'Leaked much in many places', stack: 0 }];
  return document;
}

export const HOSTILE = {
  html: '<img src=x onerror="globalThis.broken=1"><script>globalThis.broken=1</script></script><!--',
  terminal: 'evil\u001b[31m\u0007name',
  bidi: 'admin\u202egnp.exe\u2066x\u2069',
  long: `T<${'very_long_name::'.repeat(640)}>`,
  replaced: 'bad\ufffdbytes',
  quote: `"'\`&lt;&#x3c;{{data}}\${alert(1)}$&`,
  newline: 'two\nlines\u2028three',
};

// Every text that comes of the target is hostile.
export function hostileDocument() {
  const document = shopDocument({ seed: 5 });
  const texts = Object.values(HOSTILE);
  const keep = new Set([...document.graph.nodes.label.map(() => -1)]);
  document.strings = document.strings.map((text, index) => (index === 0 || keep.has(index) ? text : `${texts[index % texts.length]}${index}`));
  document.title = HOSTILE.html;
  document.summary.target.command = texts;
  document.summary.target.host = HOSTILE.bidi;
  document.summary.notes = texts.map((text) => ({ kind: 'text', text }));
  document.verdict = texts.map((text, index) => ({ severity: 'bad', kind: 'leaks', text, stack: index }));
  document.marks = texts.map((name, index) => ({ name, time_ns: (index + 1) * 1e9 }));
  document.errors.forEach((error) => { error.function = HOSTILE.html; error.address = HOSTILE.terminal; });
  document.holders.forEach((holder) => { holder.text = texts; });
  document.globals.forEach((one, index) => { one.name = texts[index]; one.file = HOSTILE.html; });
  document.processes.forEach((one) => { one.program = HOSTILE.html; one.exit = HOSTILE.bidi; one.trace = HOSTILE.long; });
  document.suppressions = { 0: `leak:${HOSTILE.html}\n` };
  document.sources = { [document.strings[document.frames.file[2]]]: texts };
  return document;
}

// What a recording of totals has: no times, no releases, no scan. Unknown everywhere it may be.
export function nullsDocument() {
  const document = shopDocument({ seed: 9, isScanned: false });
  const unknown = document.stacks.id.map(() => null);
  for (const name of ['frees', 'live_blocks', 'live_bytes', 'peak_bytes', 'temporary_allocations', 'lifetime_ns']) document.stacks[name] = unknown;
  for (const table of [document.cells, document.left]) Object.keys(table).forEach((key) => { table[key] = []; });
  document.bins = { start_ns: 0, width_ns: 0, count: 0 };
  document.summary.totals = { ...document.summary.totals, live_bytes: null, live_blocks: null, peak_live_bytes: null, peak_time_ns: null, temporary_allocations: null, bad_frees: null };
  return { ...document, timeline: null, marks: [], sizes: null, lifetimes: null, errors: [], sources: {} };
}

export function emptyDocument() {
  const document = nullsDocument();
  for (const table of [document.frames, document.nodes, document.stacks, document.threads, document.size_classes]) Object.keys(table).forEach((key) => { table[key] = []; });
  return { ...document, verdict: [{ severity: 'good', kind: 'nothing', text: 'No allocation was seen', stack: null }], suppressions: {} };
}

const KINDS = { shop: shopDocument, difference: differenceDocument, series: () => differenceDocument({ recordings: 4 }), run: runDocument, resident: residentDocument, large: largeDocument, hostile: hostileDocument, nulls: nullsDocument, empty: emptyDocument };

const escaped = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

// What the writer does: puts a document into the shell.
export function putIntoShell(shell, document) {
  const data = gzipSync(JSON.stringify(document)).toString('base64');
  return shell.replace('{{title}}', () => escaped(document.title)).replace('{{noscript}}', () => '<p>summary</p>').replace('{{data}}', () => data);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [kind, out, shell = new URL('../../src/views/html/shell.html', import.meta.url)] = process.argv.slice(2);
  writeFileSync(out, putIntoShell(readFileSync(shell, 'utf8'), KINDS[kind]()));
}
