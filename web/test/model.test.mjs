// The model without a browser: numbers as text, filters as sums, trees, state in the address.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { decode } from '../src/data/decode.js';
import { bottomUpTree, childrenOf, topDownShape, topDownTree } from '../src/data/flame_tree.js';
import { functionsOf, neighboursOf, sumsByFunction } from '../src/data/functions.js';
import { growthBySite, meanRates } from '../src/data/growth.js';
import { placeNodes } from '../src/data/layers.js';
import { functionOf } from '../src/data/names.js';
import { pathTrees } from '../src/data/path_tree.js';
import { NO_FILTER, select } from '../src/data/selection.js';
import { isNoExpression, matcherOf } from '../src/data/text_filter.js';
import * as format from '../src/format.js';
import { shadeColour } from '../src/flame/painter.js';
import { NO_STATE, fitState, formatState, parseState } from '../src/state.js';
import { figures, framesOfStack } from './expected.mjs';
import { mappedDocument, emptyDocument, nullsDocument, shopDocument } from './make_document.mjs';

const document = shopDocument();
const model = decode(document);
const chosen = (filter) => select(model, { ...NO_FILTER, ...filter });

test('numbers are written as heaptap writes them', () => {
  const cases = [[0, '0 B'], [1023, '1023 B'], [1024, '1.0 KiB'], [1280, '1.2 KiB'], [1792, '1.8 KiB'], [22439526, '21.4 MiB'], [1048524, '1023.9 KiB'], [1048525, '1.0 MiB'],
    [-1280, '-1.2 KiB'], [null, 'unknown'], [NaN, 'unknown'], [2 ** 52, '4.0 PiB']];
  for (const [number, text] of cases) assert.equal(format.bytes(number), text);
  for (const [number, text] of [[0, '0'], [999, '999'], [1234, '1,234'], [1234567, '1,234,567'], [-1234, '-1,234'], [null, 'unknown']]) assert.equal(format.count(number), text);
  for (const [number, text] of [[999, '999 ns'], [1250, '1.2 us'], [1e6, '1.0 ms'], [12340000000, '12.34 s'], [1125000000, '1.12 s'], [61e9, '1 min 1 s'], [null, 'unknown']]) assert.equal(format.duration(number), text);
  assert.equal(format.percent(42, 600), '7.0%');
  assert.equal(format.percent(0, 0), '-');
  assert.equal(format.percent(null, 3), 'unknown');
});

test('what is mapped over time is memory, where that is known', () => {
  const timeline = { ...document.timeline, mapped_bytes: [1 << 30], mapped_memory_bytes: [4096] };
  const mapped = (more) => decode({ ...document, timeline: { ...timeline, ...more } }).timeline.mapped;
  assert.deepEqual(mapped({}), [4096]);
  assert.deepEqual(mapped({ mapped_memory_bytes: [null] }), [1 << 30]);
});

test('text that controls something is made visible', () => {
  assert.equal(format.safeText('a\u001b[31m\u202eb\n'), 'a\\x1b[31m\\xe2\\x80\\xaeb\\x0a');
  assert.equal(format.safeText('größe 漢'), 'größe 漢');
});

test('names are shortened as in the text', () => {
  assert.equal(format.shortName('std::vector<shop::Order, std::allocator<shop::Order> >::push_back(shop::Order const&)', 60), 'std::vector<…>::push_back(…)');
  assert.equal(format.shortName('operator<<(std::ostream&, shop::Order const&)', 20), 'operator<<(…)');
  assert.equal(format.shortName('short(int)', 20), 'short(int)');
  assert.equal(format.shortName('engine::detail::policies::Scheduler<int>::dispatch(Task&)', 30), '…Scheduler<…>::dispatch(…)');
  assert.equal(format.clipped('0123456789', 5), '01…89');
  assert.equal(format.tightName('engine::part15::step_15915(engine::Context&, unsigned long)', 60), 'engine::part15::step_15915(engine::Context&, unsigned long)');
  assert.equal(format.tightName('engine::part15::step_15915(engine::Context&, unsigned long)', 20), 'part15::step_15915');
  assert.equal(format.tightName('engine::part15::step_15915(engine::Context&, unsigned long)', 6), 'step_…');
});

const FILTERS = [
  {}, { from: 30, to: 60 }, { from: 30, to: 60, moment: 45 }, { thread: 2 }, { size: 2 }, { module: '/opt/shop/lib/libpack.so' }, { text: 'Session' }, { text: '-session' },
  { kind: 'leaked' }, { kind: 'definite', from: 20 }, { age: 30 }, { age: -30 }, { age: 12, kind: 'reachable', thread: 1 },
  { from: 10, to: 90, moment: 50, thread: 1, size: 3, text: 'parse' }, { from: 5, to: 100, thread: 2, text: 'rules', kind: 'reachable', age: 12, size: 1 }, { text: 'no such name' }, { text: 'format_price|make_buffer' }, { text: '-Session|parse' },
];

for (const filter of FILTERS) {
  test(`a filter selects exactly what a plain sum does: ${JSON.stringify(filter)}`, () => {
    const { moment, ...rest } = filter;
    const wanted = figures(document, Object.fromEntries(Object.entries({ ...rest, at: moment }).filter(([, value]) => value !== undefined)));
    const selection = chosen(filter);
    const { totals } = selection;
    assert.deepEqual([totals.live, totals.live_blocks, totals.allocations, totals.allocated, totals.temporary, totals.before],
      [wanted.live, wanted.liveBlocks, wanted.allocations, wanted.allocated, wanted.temporary, wanted.before]);
    for (let stack = 0; stack < model.stacks.count; ++stack) assert.equal(selection.stacks.live[stack], wanted.byStack.get(stack) ?? 0);
  });
}

test('what was allocated less what was released is what is left, of each stack and in all', () => {
  const selection = chosen({});
  const left = selection.left.bytes.reduce((total, values) => total + values.reduce((sum, value) => sum + value, 0), 0);
  assert.equal(selection.totals.live, left);
  assert.deepEqual(Array.from(selection.stacks.live), document.stacks.live_bytes);
});

test('parts of a filter add up to the whole', () => {
  const sum = (filters) => filters.reduce((total, filter) => total + chosen(filter).totals.allocated, 0);
  const whole = chosen({}).totals.allocated;
  assert.equal(sum(document.threads.number.map((thread) => ({ thread }))), whole);
  assert.equal(sum(document.size_classes.lowest.map((_, size) => ({ size }))), whole);
  assert.equal(sum([{ text: 'parse' }, { text: '-parse' }]), whole);
  assert.equal(sum([{ to: 40 }, { from: 41 }]), whole);
  assert.equal(chosen({ age: 30 }).totals.live + chosen({ age: -30 }).totals.live, chosen({}).totals.live);
});

test('a flame tree keeps every byte, folded or not, and inverted', () => {
  const values = chosen({}).stacks.allocated;
  const whole = values.reduce((sum, value) => sum + value, 0);
  for (const options of [{ foldLibraries: true }, { foldLibraries: false, showStartup: true }, { byLine: true, foldLibraries: true }]) {
    const tree = topDownTree(model, topDownShape(model, options), values);
    assert.equal(tree.value[0], whole);
    assert.equal(tree.self[0], 0); // what has no frame in sight is a box, too
    assert.equal(tree.self.reduce((sum, value) => sum + value, 0), whole);
    for (let box = 0; box < tree.count; ++box) {
      const below = childrenOf(tree, box).reduce((sum, child) => sum + tree.value[child], 0);
      assert.equal(tree.value[box], below + tree.self[box]);
    }
    assert.equal(bottomUpTree(model, options, values).value[0], whole);
  }
});

// Path of functions from the outermost in -> bytes, of the frames of these kinds.
function bytesByPath(kinds) {
  const paths = new Map([['', 0]]);
  document.stacks.node.forEach((_, stack) => {
    const names = framesOfStack(document, stack).reverse().filter((frame) => kinds.includes(document.frames.kind[frame])).map((frame) => functionOf(model, frame));
    if (names.length === 0) names.push(functionOf(model, -1));
    for (let depth = 0; depth <= names.length; ++depth) {
      const path = names.slice(0, depth).join('<');
      paths.set(path, (paths.get(path) ?? 0) + document.stacks.allocated_bytes[stack]);
    }
  });
  return paths;
}

test('every box has the sum of the stacks that go through its path', () => {
  const values = chosen({}).stacks.allocated;
  for (const [kinds, options] of [[[0], { foldLibraries: true }], [[0, 1], {}], [[0, 1, 2], { showStartup: true }]]) {
    const tree = topDownTree(model, topDownShape(model, options), values);
    const pathOf = (box) => (box === 0 ? [] : [...pathOf(tree.parent[box]), functionOf(model, tree.frame[box])]);
    const shown = new Map();
    for (let box = 0; box < tree.count; ++box) if (tree.weight[box] > 0) shown.set(pathOf(box).join('<'), tree.value[box]);
    assert.deepEqual(shown, new Map([...bytesByPath(kinds)].filter(([path]) => shown.has(path) || path !== '')));
  }
});

test('a function that calls itself has each stack once', () => {
  const functions = functionsOf(model);
  const number = functions.first.findIndex((frame) => functionOf(model, frame) === 'shop::walk(int)');
  const stack = document.stacks.node.findIndex((_, row) => framesOfStack(document, row).some((frame) => functionOf(model, frame) === 'shop::walk(int)'));
  assert.equal(sumsByFunction(model, functions, chosen({}).stacks.allocated).total[number], document.stacks.allocated_bytes[stack]);
});

test('start-up frames are hidden and libraries are folded unless asked for', () => {
  const values = chosen({}).stacks.allocated;
  const names = (options) => { const tree = topDownTree(model, topDownShape(model, options), values); return new Set(Array.from(tree.frame, (frame) => (frame < 0 ? '' : functionOf(model, frame)))); };
  assert.ok(!names({ foldLibraries: true }).has('_start') && !names({ foldLibraries: true }).has('strdup'));
  assert.ok(names({ foldLibraries: false, showStartup: true }).has('_start') && names({ foldLibraries: false }).has('strdup'));
});

test('lines of a function are one box, or one each', () => {
  const values = chosen({}).stacks.allocated;
  const boxes = (byLine) => { const tree = topDownTree(model, topDownShape(model, { byLine, foldLibraries: true }), values); return Array.from(tree.frame).filter((frame) => frame >= 0 && functionOf(model, frame) === 'shop::format_price(long)').length; };
  assert.deepEqual([boxes(false), boxes(true)], [1, 2]);
});

test('an inverted tree begins with what allocates', () => {
  const values = chosen({}).stacks.allocated;
  const tree = bottomUpTree(model, { foldLibraries: false, showStartup: true }, values);
  const wanted = new Map();
  document.stacks.node.forEach((node, stack) => {
    const name = functionOf(model, document.nodes.frame[node]);
    wanted.set(name, (wanted.get(name) ?? 0) + document.stacks.allocated_bytes[stack]);
  });
  for (const box of childrenOf(tree, 0)) assert.equal(tree.value[box], wanted.get(functionOf(model, tree.frame[box])));
});

test('callers and callees of a function', () => {
  const values = chosen({}).stacks.allocated;
  const functions = functionsOf(model);
  const number = functions.first.findIndex((frame) => functionOf(model, frame).startsWith('shop::parse_order'));
  const { callers, callees } = neighboursOf(model, functions, values, number);
  const byName = (list) => Object.fromEntries(list.map((one) => [one.number < 0 ? '' : functionOf(model, functions.first[one.number]), one.amount]));
  const through = (other) => document.stacks.node.reduce((sum, _, stack) => {
    const names = framesOfStack(document, stack).map((frame) => functionOf(model, frame));
    const at = names.findIndex((name) => name.startsWith('shop::parse_order'));
    return at >= 0 && names[at + 1] === other ? sum + document.stacks.allocated_bytes[stack] : sum;
  }, 0);
  assert.equal(byName(callers)['shop::Worker::run()'], through('shop::Worker::run()'));
  assert.equal(byName(callers)['shop::handle(shop::Request const&)'], through('shop::handle(shop::Request const&)'));
  const total = sumsByFunction(model, functions, values).total[number];
  assert.equal(callers.reduce((sum, { amount }) => sum + amount, 0), total);
  assert.equal(callees.reduce((sum, { amount }) => sum + amount, 0), total);
});

const totalOf = (values) => values.reduce((sum, value) => sum + value, 0);

test('live bytes by site: the largest sites and all others add up to what is live, at each time', () => {
  for (const filter of [{}, { from: 40, to: 70 }, { thread: 2 }, { text: 'parse' }, { kind: 'reachable' }]) {
    const selection = chosen(filter);
    const { sites, rest, others } = growthBySite(model, selection);
    assert.ok(sites.length > 0 && sites.length <= 8, JSON.stringify(filter));
    for (let bin = 0; bin < model.bins.count; ++bin) {
      assert.equal(totalOf(sites.map(({ values }) => values[bin])) + rest[bin], selection.bins.live_bytes[bin]);
    }
    const { from = 0, to = model.bins.count - 1 } = filter;
    sites.forEach(({ highest, values }) => assert.equal(highest, Math.max(...values.slice(from, to + 1))));
    assert.deepEqual(sites.map(({ highest }) => highest), sites.map(({ highest }) => highest).sort((one, other) => other - one));
    assert.ok(others === 0 || totalOf(rest) > 0);
  }
});

test('memory of system libraries is one site', () => {
  const kept = structuredClone(document);
  const largest = growthBySite(model, chosen({})).sites.slice(0, 2).map(({ stack }) => stack);
  for (const stack of largest) kept.stacks.of_libraries[stack] = 1;
  const of = decode(kept);
  const { sites } = growthBySite(of, select(of, NO_FILTER));
  assert.equal(sites.filter(({ stack }) => of.stacks.of_libraries[stack] === 1).length, 1);
});

test('a site is a function and its line, whatever calls it: the curve is the sum of its stacks', () => {
  const { sites } = growthBySite(model, chosen({}));
  const siteOf = (stack) => document.stacks.telling[stack];
  for (const { stack, values } of sites) {
    const own = document.stacks.id.map((_, row) => row).filter((row) => siteOf(row) === siteOf(stack));
    for (const bin of [10, 60, 119]) {
      const wanted = figures(document, { to: bin }).byStack;
      assert.equal(values[bin], totalOf(own.map((row) => wanted.get(row) ?? 0)));
    }
  }
  assert.ok(sites.some(({ stack }) => document.stacks.id.filter((_, row) => siteOf(row) === siteOf(stack)).length > 1));
});

test('rates are means of as many intervals as keep them from being a comb, and lose nothing', () => {
  const counts = Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? 100 : 0)); // of a program that works every other interval
  const { rates, together } = meanRates(counts, 5e6, 240);
  assert.equal(together, 5);
  assert.ok(rates.length <= 240);
  assert.ok(Math.max(...rates) <= 1.5 * Math.min(...rates), `${Math.min(...rates)} to ${Math.max(...rates)}`);
  assert.equal(totalOf(rates.map((rate) => (rate * 5 * 5e6) / 1e9)), totalOf(counts));
  assert.deepEqual(meanRates([3, 1, null, 7, 4], 1e9, 3), { rates: [2, null, 4], together: 2 });
  assert.deepEqual(meanRates([3, 5], 1e9, 240), { rates: [3, 5], together: 1 });
});

test('memory is that of allocations, what was mapped, or both; what is left are blocks whatever is chosen', () => {
  const mapped = decode(mappedDocument());
  const of = (memory, more = {}) => select(mapped, { ...NO_FILTER, memory, ...more });
  const plain = select(model, NO_FILTER);
  const [blocks, maps, both] = [of(null), of('mmap'), of('both')];
  assert.equal(mapped.hasMapped, true);
  assert.equal(model.hasMapped, false);
  assert.deepEqual(blocks.totals, plain.totals);
  assert.deepEqual([maps.totals.live, maps.totals.live_blocks, maps.totals.allocated, maps.totals.peak], [80 << 20, 1, 160 << 20, 160 << 20]);
  assert.equal(both.totals.live, blocks.totals.live + maps.totals.live);
  assert.equal(both.stacks.live[mapped.stacks.count - 1], 80 << 20);
  assert.ok(blocks.isAll && blocks.hasExactPeaks && !maps.isAll && !both.hasExactPeaks);
  assert.deepEqual(maps.left, blocks.left);
  assert.equal(of('mmap', { from: 10 }).totals.allocated, 0);
  assert.equal(fitState(parseState('#memory=mmap'), model).memory, null, 'another report may have none');
  assert.equal(fitState(parseState('#memory=mmap'), mapped).memory, 'mmap');
});

test('what looks like an expression and is none is told', () => {
  for (const text of ['operator[', 'f(', '*x', 'a\\']) assert.ok(isNoExpression(text), text);
  for (const text of ['plain', 'a|b', 'f\\(int\\)', 'x{2,}', 'std::vector<int*>']) assert.ok(!isNoExpression(text), text);
});

test('a filter by text is a part of a name, or a regular expression where it is one', () => {
  const cases = [['createClient|hdr_init', ['createClient', 'hdr_init_ex', 'CREATECLIENT'], ['create']], ['^main$', ['main'], ['domain', 'main2']],
    ['operator[', ['shop::operator[](int)'], ['operator']], ['parse(int)', ['shop::parse(int)', 'parseint'], ['parse(long)']], ['Rule.', ['Rule1', 'Rule.'], ['Rule']], ['rule1', ['Rule12'], ['Rule2']]];
  for (const [text, found, others] of cases) {
    found.forEach((name) => assert.ok(matcherOf(text)(name), `${text} in ${name}`));
    others.forEach((name) => assert.ok(!matcherOf(text)(name), `${text} not in ${name}`));
  }
});

test('paths to blocks: one tree for each root, with what several paths share once', () => {
  const holder = (stack, bytes, ...text) => ({ stack, bytes, blocks: 1, text });
  const trees = pathTrees([
    holder(0, 10, 'global server +88', '-> #b1  80 B  by malloc from create (stack #1), at +16', '-> #b2  10 B  by malloc from f (stack #2)'),
    holder(1, 500, 'global cache (a.cc:3)', '-> #b9  500 B  by malloc from g (stack #9)'),
    holder(2, 20, 'global server +88', '-> #b1  80 B  by malloc from create (stack #1), at +24', '-> #b4  20 B  by malloc from h (stack #3)'),
    holder(3, 30, 'global server +96', '-> #b7  80 B  by malloc from create (stack #1)'),
  ]);
  assert.deepEqual(trees.map(({ name, bytes, blockCount, stacks }) => [name, bytes, blockCount, stacks]), [['global cache (a.cc:3)', 500, 1, 1], ['global server', 60, 3, 3]]);
  const [create, ...none] = trees[1].steps.values();
  assert.equal(none.length, 0);
  assert.deepEqual([...create.blocks], ['#b1', '#b7']);
  assert.deepEqual(create.holders.map(({ stack }) => stack), [3]);
  assert.deepEqual([...create.steps.values()].map(({ line, holders }) => [line, holders[0].stack]), [['-> #b2  10 B  by malloc from f (stack #2)', 0], ['-> #b4  20 B  by malloc from h (stack #3)', 2]]);
});

// Relative luminance of red, green and blue from 0 to 1 (WCAG 2.1).
const luminance = (channels) => channels.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)).reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);

function channelsOf(hsl) {
  const [hue, saturation, lightness] = hsl.match(/[\d.]+/g).map(Number);
  const strength = (saturation / 100) * Math.min(lightness / 100, 1 - lightness / 100);
  return [0, 8, 4].map((shift) => { const part = (shift + hue / 30) % 12; return lightness / 100 - strength * Math.max(-1, Math.min(part - 3, 9 - part, 1)); });
}

test('names can be read on the boxes of the flame graph, in both themes', () => {
  const style = readFileSync(new URL('../src/style.css', import.meta.url), 'utf8');
  const [light, dark] = [...style.matchAll(/--text: #([0-9a-f]{6})/g)].map(([, text]) => luminance([0, 2, 4].map((place) => parseInt(text.slice(place, place + 2), 16) / 255)));
  for (const isDark of [false, true]) {
    for (const of of [{ kind: 0 }, { kind: 1 }, { kind: 2 }, { net: 1 }, { net: -1 }, { net: 0.2 }]) {
      for (const shade of [0, 0.5, 1]) {
        const [low, high] = [luminance(channelsOf(shadeColour({ ...of, shade, isDark }))), isDark ? dark : light].sort((one, other) => one - other);
        const contrast = (high + 0.05) / (low + 0.05);
        assert.ok(contrast >= 4.5, `${contrast.toFixed(2)} of ${JSON.stringify(of)}, shade ${shade}, ${isDark ? 'dark' : 'light'}`);
      }
    }
  }
});

test('layers: who points stands left of what it points to, cycles end', () => {
  const { layer, layers } = placeNodes(5, [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 1 }, { from: 0, to: 3 }, { from: 3, to: 2 }, { from: 4, to: 4 }]);
  assert.ok(layer[0] < layer[1] && layer[1] < layer[2] && layer[0] < layer[3] && layer[3] < layer[2]);
  assert.equal(layers, 3);
});

test('a state is the same after a round trip through the address', () => {
  const state = { ...NO_STATE, view: 'flame', from: 3, to: 70, moment: 20, thread: 2, module: '/opt/a b&c=#.so', size: 3, age: -12, text: '-é <&#%', kind: 'definite', stack: 4,
    metric: 'peak', find: 'x y', invert: true, unfolded: true, startup: true, byLine: true, zoom: 5, group: 'function', function: 3, theme: 'dark', file: '/a/b.cc:12' };
  assert.deepEqual(parseState(`#${formatState(state)}`), state);
  assert.deepEqual(parseState(''), NO_STATE);
  assert.equal(formatState(NO_STATE), '');
});

test('an address that means nothing here changes nothing', () => {
  const state = fitState(parseState('#stack=9999999&zoom=-1&thread=77&size=99&kind=no&metric=no&theme=no&from=x&function=1e9&at=1.5'), model);
  assert.deepEqual(state, NO_STATE);
});

test('what is not known stays unknown', () => {
  const unknown = decode(nullsDocument());
  assert.equal(unknown.knowsReleases, false);
  assert.equal(unknown.hasCells, false);
  assert.ok(Number.isNaN(unknown.stacks.live_bytes[0]));
  assert.equal(select(unknown, NO_FILTER).totals.allocations, unknown.stacks.allocations.reduce((sum, value) => sum + value, 0));
  assert.equal(decode(emptyDocument()).stacks.count, 0);
});

test('data that is not of a report, of another version or damaged is refused', () => {
  assert.throws(() => decode({ format: 'other' }), /not of a heaptap report/);
  assert.throws(() => decode({ ...document, version: 2 }), /version 2/);
  assert.throws(() => decode({ ...document, nodes: { parent: [0], frame: [0] } }), /damaged/);
  assert.throws(() => decode({ ...document, left: { ...document.left, stack: document.left.stack.map(() => 1e6) } }), /damaged/);
});
