// The views whose figures stand on tables of their own: holders, graph, sizes, address space, processes, source, functions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from './browser.mjs';
import { bytesText, countText, figures, framesOfStack } from './expected.mjs';
import { differenceDocument, nullsDocument, residentDocument, runDocument, shopDocument } from './make_document.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const document = shopDocument();
const cellsOf = (page, label) => page.getByRole('grid', { name: label, exact: true }).locator('.rows [role=row]')
  .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText)));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const stackOf = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('stack');

test('global variables stand by what they retain; what is not known is said', async () => {
  const page = await browser.show(document, { hash: 'v=holders' });
  const wanted = [...document.globals].sort((one, other) => other.retained_bytes - one.retained_bytes).map((one) => [
    one.name, bytesText(one.retained_bytes), countText(one.retained_blocks), one.direct_bytes === null ? 'unknown' : bytesText(one.direct_bytes),
    one.direct_blocks === null ? 'unknown' : countText(one.direct_blocks), one.file ? `${one.file.split('/').at(-1)}:${one.line}` : 'unknown']);
  assert.deepEqual(await cellsOf(page, 'Global variables'), wanted);
  const paths = await page.locator('.holders > li').allInnerTexts();
  assert.equal(paths.length, document.holders.length); // each has a root of its own
  document.holders.forEach((holder) => {
    const path = paths.find((one) => one.startsWith(holder.text[0]));
    holder.text.forEach((line) => assert.ok(path.includes(line), line));
    assert.ok(path.includes(`${bytesText(holder.bytes)} in ${countText(holder.blocks)} blocks`), path);
  });
  await page.locator('.holders .held').first().click();
  await settled(page);
  assert.equal(stackOf(page), '2');
  noFaults(page);
});

test('what system libraries keep for themselves is one row', async () => {
  const own = structuredClone(document);
  own.globals.push({ name: 'stdout', file: '', line: 0, direct_bytes: 4096, direct_blocks: 1, retained_bytes: 4096, retained_blocks: 1, of_libraries: true },
    { name: 'emergency_pool', file: '', line: 0, direct_bytes: 72704, direct_blocks: 1, retained_bytes: 72704, retained_blocks: 1, of_libraries: true });
  const page = await browser.show(own, { hash: 'v=holders' });
  const rows = await cellsOf(page, 'Global variables');
  assert.equal(rows.length, document.globals.length + 1);
  const folded = rows.find(([name]) => name === '(memory of system libraries)');
  assert.deepEqual(folded.slice(1, 3), ['75.0 KiB', '2']);
  noFaults(page);
});

test('a graph without nodes is not drawn', async () => {
  const empty = structuredClone(document);
  empty.graph = { nodes: Object.fromEntries(Object.keys(empty.graph.nodes).map((name) => [name, []])), edges: { from: [], to: [], count: [] } };
  const page = await browser.show(empty, { hash: 'v=holders' });
  assert.equal(await page.getByText('Pointers between stacks').count(), 0);
  noFaults(page);
});

test('the graph draws who points to whom, up to 300 nodes, and is a table beyond', async () => {
  const page = await browser.show(document, { hash: 'v=holders' });
  assert.equal(await page.locator('.graph .node').count(), document.graph.nodes.label.length);
  assert.equal(await page.locator('.graph .edge').count(), document.graph.edges.from.length);
  await page.locator('.graph .node').nth(3).click();
  await settled(page);
  assert.equal(stackOf(page), String(document.graph.nodes.stack[3]));
  const large = structuredClone(document);
  const repeat = (values) => Array.from({ length: 301 }, (_, index) => values[index % values.length]);
  Object.keys(large.graph.nodes).forEach((name) => { large.graph.nodes[name] = repeat(large.graph.nodes[name]); });
  const other = await browser.show(large, { hash: 'v=holders' });
  assert.equal(await other.locator('.graph').count(), 0);
  assert.equal(await other.getByRole('grid', { name: 'Pointers between stacks' }).getAttribute('aria-rowcount'), '302');
  noFaults(other);
});

test('sizes are those of the cells that the filter selects, and a click on one filters for it', async () => {
  const page = await browser.show(document, { hash: 'v=sizes&thread=2&from=10&to=80' });
  const shown = await page.getByRole('region', { name: 'Allocations by size', exact: true }).locator('li').evaluateAll((rows) => rows.map((row) => [row.children[1].innerText, row.children[2].innerText]));
  const used = [...new Set(document.cells.size)].sort((one, other) => one - other);
  assert.deepEqual(shown, used.map((size) => { const { allocations, allocated } = figures(document, { thread: 2, from: 10, to: 80, size }); return [countText(allocations), bytesText(allocated)]; }));
  await page.getByRole('region', { name: 'Allocations by size', exact: true }).getByRole('button').nth(2).click();
  await settled(page);
  assert.equal(await text(page, '#total-allocations'), countText(figures(document, { thread: 2, from: 10, to: 80, size: used[2] }).allocations));
  noFaults(page);
});

test('lifetimes have their blocks', async () => {
  const page = await browser.show(document, { hash: 'v=sizes' });
  const shown = await page.getByRole('region', { name: 'Lifetimes of released blocks', exact: true }).locator('li').allInnerTexts();
  document.lifetimes.blocks.forEach((blocks, row) => assert.ok(shown[row].includes(countText(blocks)) && shown[row].includes(bytesText(document.lifetimes.bytes[row])), shown[row]));
});

test('pages: how full, how barely, and which one is under the pointer', async () => {
  const page = await browser.show(document, { hash: 'v=address' });
  const { page_bytes: size, pages } = document.address_space;
  const values = await page.locator('#view .card-value').allInnerTexts();
  const live = sum(pages.live_bytes);
  assert.ok((await text(page, '#view .cards')).includes(`${bytesText(sum(document.address_space.spans.live_bytes))} are live in all`));
  assert.deepEqual(values, [countText(pages.address.length), bytesText(live), bytesText(pages.address.length * size - live), countText(pages.live_bytes.filter((bytes) => bytes < size / 4).length)]);
  const counts = new Map();
  pages.stack.forEach((stack) => counts.set(stack, (counts.get(stack) ?? 0) + 1));
  const emptyOf = (wanted) => pages.live_bytes.reduce((total, bytes, row) => total + (pages.stack[row] === wanted && bytes < size / 4 ? size - bytes : 0), 0);
  const [[first, ...rest]] = await cellsOf(page, 'Stacks that pin pages');
  const stack = document.stacks.id.indexOf(Number(/^#(\d+)/.exec(first)[1]));
  assert.equal(emptyOf(stack), Math.max(...[...counts.keys()].map(emptyOf)), 'what keeps most of nothing first');
  const barely = pages.live_bytes.filter((bytes, row) => pages.stack[row] === stack && bytes < size / 4).length;
  assert.deepEqual(rest.slice(0, 4), [countText(counts.get(stack)), countText(barely), bytesText(emptyOf(stack)), bytesText(counts.get(stack) * size)]);
  const { spans } = document.address_space;
  const [span] = await cellsOf(page, 'Spans of live blocks');
  const largest = spans.touched_bytes.indexOf(Math.max(...spans.touched_bytes));
  assert.deepEqual([span[0], span[1], span[2], span[3], span[6]], [spans.start[largest], bytesText(spans.length[largest]), bytesText(spans.touched_bytes[largest]), bytesText(spans.live_bytes[largest]), countText(spans.blocks[largest])]);
  const box = await page.locator('.page-map canvas').boundingBox();
  await page.mouse.move(box.x + 9 * 4 + 4, box.y + 4);
  await settled(page);
  const status = await text(page, '.page-map .flame-status');
  assert.ok(status.startsWith(`${pages.address[4]}: ${bytesText(pages.live_bytes[4])} in `), status);
  await page.mouse.click(box.x + 9 * 4 + 4, box.y + 4);
  await settled(page);
  assert.equal(stackOf(page), String(pages.stack[4]));
  noFaults(page);
});

test('resident memory stands by kind, arena and stack, and adds up; addresses that are only reserved stand apart', async () => {
  const made = residentDocument();
  const { resident } = made;
  const page = await browser.show(made, { hash: 'v=address' });
  assert.equal(await text(page, '#resident-title'), '21.3 MiB resident at the end (after 1.99 s)');
  assert.deepEqual(await page.locator('.parts li').allInnerTexts(), ['0.6 MiB live 2.9%', '18.7 MiB free inside the allocator 87.8%', '0.2 MiB global variables 0.9%', '1.2 MiB files 5.5%', '0.6 MiB other 2.9%']);
  const widths = await page.locator('.parts-bar span').evaluateAll((spans) => spans.map((span) => span.getBoundingClientRect().width));
  resident.parts.forEach(({ bytes }, index) => assert.ok(Math.abs(widths[index] / sum(widths) - bytes / resident.bytes) < 0.01, `${widths}`));
  assert.deepEqual(await cellsOf(page, 'Memory by arena'), resident.arenas.map((arena) => [arena.name, bytesText(arena.resident_bytes), bytesText(arena.live_bytes),
    bytesText(arena.resident_bytes - arena.live_bytes), bytesText(arena.unused_page_bytes), countText(arena.live_blocks)]));
  assert.equal(await text(page, '#kept'), 'Free: 16.4 MiB in whole pages, 2.3 MiB in pages with live blocks, which keep them resident');
  const keeps = await cellsOf(page, 'Stacks that keep memory resident');
  assert.deepEqual(keeps.map((cells) => cells.slice(1)), [['1.9 MiB', '488.3 KiB', '600', '620'], ['390.6 KiB', '97.7 KiB', '100', '90'], ['11.4 KiB', '39.1 KiB', '21', 'unknown']]);
  assert.match(keeps[0][0], /^#4 /);
  assert.match(await text(page, '#mapped-apart'), /: 80\.0 MiB mapped, resident or not; besides 256\.0 GiB only reserved \(PROT_NONE\): addresses, not memory\.$/);
  assert.equal(await page.getByText('Which stacks pin pages').count(), 0, 'the same question, answered by less');
  assert.equal(await page.locator('.filter-limit').count(), 0);
  await go(page, 'v=address&at=20&q=make_buffer');
  assert.deepEqual(await page.locator('#resident .filter-limit').allInnerTexts(), ["The whole process, at the leak scan at the end: filters don't apply here.", 'The leak scan at the end: only the filters by text and module apply here.']);
  assert.equal(await text(page, '#resident-bytes'), '21.3 MiB');
  const wanted = resident.stacks.stack.filter((row) => framesOfStack(made, row).some((frame) => made.strings[made.frames.function[frame]] === 'make_buffer'));
  assert.equal((await cellsOf(page, 'Stacks that keep memory resident')).length, wanted.length);
  await go(page, 'v=verdict');
  await page.getByRole('button', { name: 'Resident 21.3 MiB' }).click();
  await settled(page);
  assert.match(page.url(), /v=address/);
  noFaults(page);
});

test('what memory of system libraries keeps resident is one row', async () => {
  const made = residentDocument();
  const { stacks } = made.resident;
  for (const row of stacks.stack.slice(1)) made.stacks.of_libraries[row] = 1;
  const page = await browser.show(made, { hash: 'v=address' });
  const rest = (name) => sum(stacks[name].slice(1));
  const expected = ['(memory of system libraries)', bytesText(rest('kept_bytes')), bytesText(rest('live_bytes')), countText(rest('live_blocks')), 'unknown'];
  assert.deepEqual((await cellsOf(page, 'Stacks that keep memory resident'))[1], expected);
  noFaults(page);
});

test('memory of system libraries is one row of the sites and one area of the timeline', async () => {
  const kept = shopDocument();
  const largest = kept.stacks.live_bytes.map((bytes, row) => [bytes, row]).sort(([one], [other]) => other - one).slice(0, 2).map(([, row]) => row);
  for (const row of largest) kept.stacks.of_libraries[row] = 1;
  const page = await browser.show(kept, { hash: 'v=sites' });
  const named = page.locator('.rows [role=row]').filter({ hasText: '(memory of system libraries)' });
  assert.equal(await named.count(), 1);
  assert.ok((await named.innerText()).includes(bytesText(largest.reduce((sum, row) => sum + kept.stacks.live_bytes[row], 0))));
  await go(page, 'v=timeline');
  assert.equal(await page.locator('.layers li').filter({ hasText: '(memory of system libraries)' }).count(), 1);
  noFaults(page);
});

test('where resident memory is unknown the view says why', async () => {
  const why = async (made) => text(await browser.show(made, { hash: 'v=address' }), '#resident-unknown');
  const withUnknown = shopDocument();
  withUnknown.resident = { unknown: 'Which pages are resident is unknown: an older kernel.' };
  assert.equal(await why(withUnknown), 'Which pages are resident is unknown: an older kernel.');
  assert.match(await why(shopDocument({ isScanned: false })), /while a leak scan has the program stopped, and this recording has none\.$/);
  const imported = shopDocument({ isScanned: false });
  imported.summary.capture.imported_from = 'heaptrack';
  assert.equal(await why(imported), "Which memory was resident is unknown: a file of heaptrack doesn't tell it.");
  assert.match(await why(nullsDocument()), /unknown/);
});

test('processes stand side by side', async () => {
  const page = await browser.show(document, { hash: 'v=processes' });
  const bytes = (value) => (value === null ? 'unknown' : bytesText(value));
  const wanted = document.processes.map((one) => [one.program, String(one.pid), 'unknown', one.exit, 'unknown', bytes(one.peak_live_bytes), bytes(one.live_bytes), bytes(one.definite_bytes), one.definite_blocks === null ? 'unknown' : countText(one.definite_blocks), 'unknown', one.trace]);
  assert.deepEqual(await cellsOf(page, 'Processes'), wanted);
});

test('a source line has what all stacks through it have, once each', async () => {
  const page = await browser.show(document, { hash: 'v=source&metric=allocated&from=20&to=60' });
  const through = (line, file = '/src/shop/leak.cc') => {
    const facts = document.cells;
    return sum(facts.stack.map((stack, row) => (facts.bin[row] >= 20 && facts.bin[row] <= 60 &&
      framesOfStack(document, stack).some((frame) => document.strings[document.frames.file[frame]] === file && document.frames.line[frame] === line) ? facts.allocated_bytes[row] : 0)));
  };
  for (const line of [11, 12, 29]) assert.equal(await page.locator('.source li').nth(line - 1).locator('.amount').innerText(), bytesText(through(line)));
  assert.equal(await page.locator('.source li').nth(0).locator('.amount').innerText(), '');
  await go(page, `v=source&metric=allocated&from=20&to=60&file=${encodeURIComponent('/src/shop/walk.cc')}`);
  assert.equal(await page.locator('.source li').nth(90).locator('.amount').innerText(), bytesText(through(91, '/src/shop/walk.cc')));
  await go(page, 'v=leaks&stack=0');
  await page.getByRole('button', { name: '/src/shop/leak.cc:11' }).click();
  await settled(page);
  assert.equal(await page.locator('.source li.chosen .line-number').innerText(), '11');
  noFaults(page);
});

test('sites by function, and its callers and callees', async () => {
  const page = await browser.show(document, { hash: 'v=sites&by=function&metric=allocated' });
  const nameOf = (frame) => document.strings[document.frames.function[frame]];
  const through = (name) => sum(document.stacks.allocated_bytes.filter((_, stack) => framesOfStack(document, stack).some((frame) => nameOf(frame) === name)));
  const name = 'shop::handle(shop::Request const&)';
  await page.locator('.rows [role=row]').filter({ hasText: name }).click();
  await settled(page);
  const details = page.locator('.function-details');
  assert.ok((await details.innerText()).includes(bytesText(through(name))));
  assert.match(await page.getByRole('region', { name: 'Callers', exact: true }).innerText(), /shop::Server::serve\(int\)/);
  const callees = await page.getByRole('region', { name: 'Callees', exact: true }).locator('li').allInnerTexts();
  const session = document.strings.find((one) => one.startsWith('shop::Session::Session'));
  assert.ok(callees.some((one) => one.includes('Session::Session') && one.includes(bytesText(through(session)))), callees.join('\n'));
  const names = () => page.locator('.rows .row .function').allInnerTexts();
  await go(page, 'v=sites&by=function&metric=allocated');
  assert.ok(!(await names()).includes('_start'));
  await page.getByRole('button', { name: 'Start-up' }).click();
  await settled(page);
  assert.ok((await names()).includes('_start'));
  await go(page, 'v=sites&by=thread');
  const threads = await cellsOf(page, 'Sites by thread');
  assert.equal(threads.length, document.threads.number.length);
  for (const [title, live] of threads) assert.equal(live, bytesText(figures(document, { thread: Number(/thread (\d+)/.exec(title)[1]) }).live));
  noFaults(page);
});

test('a view that a filter does not hold for says so, and only then', async () => {
  const page = await browser.show(document);
  for (const [view, withThread, withText] of [['verdict', 1, 1], ['holders', 1, 1], ['address', 2, 1], ['difference', 0, 0], ['errors', 1, 1], ['processes', 1, 1], ['leaks', 0, 0], ['flame', 0, 0]]) {
    for (const [filter, wanted] of [['', 0], ['&thread=2', withThread], ['&q=shop', withText]]) {
      await go(page, `v=${view}${filter}`);
      assert.equal(await page.locator('.filter-limit').count(), wanted, `${view}${filter}`);
    }
  }
  await go(page, 'v=holders&q=shop');
  assert.equal(await text(page, '.filter-limit'), 'The last leak scan: only the filters by text and module apply, and to paths and retained sizes alone.');
  await go(page, 'v=leaks&at=20');
  assert.equal(await text(page, '.filter-limit'), "The end of the recording: the chosen moment doesn't apply here.");
  await go(page, 'v=leaks&from=10&to=30');
  assert.equal(await text(page, '.filter-limit'), 'The end of the recording, of blocks allocated in the range.');
  await go(page, 'v=address&at=20');
  assert.match(await text(page, '.filter-limit'), /^The end of the recording: filters don't apply here/);
  const run = await browser.show(runDocument(), { hash: 'v=processes&process=1' });
  assert.equal(await run.locator('.filter-limit').count(), 0);
});

test('a report that was written with a filter never calls its part the whole recording, nor its end the end', async () => {
  const part = structuredClone(document);
  part.summary.filter = 'to 20.0 ms';
  const page = await browser.show(part);
  assert.equal(await text(page, '#total-range'), 'all that is reported (to 20.0 ms)');
  assert.match(await text(page, '#view'), /written with a filter \(to 20\.0 ms\)/);
  await go(page, 'v=address&thread=2');
  assert.equal(await text(page, '#pages-title'), 'Pages with live blocks at the end of what is reported (to 20.0 ms)');
  for (const view of ['verdict', 'address', 'errors', 'sizes', 'holders', 'processes']) {
    await go(page, `v=${view}&thread=2`);
    assert.doesNotMatch(await page.locator('#app').innerText(), /whole recording|end of the recording/i, view);
  }
  noFaults(page);
});

test('columns are as wide as their figures and headings, names have the rest and stay in sight', async () => {
  const cut = (page) => page.locator('.table .row > *').evaluateAll((cells) => cells.flatMap((cell) => [cell, ...cell.querySelectorAll('button, .bar')])
    .filter((one) => (one.closest('.head') || one.closest('.right')) && one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent));
  for (const [made, views] of [[document, ['sites', 'holders', 'sizes', 'address', 'difference', 'processes']], [differenceDocument({ recordings: 4 }), ['difference']], [runDocument(), ['sites', 'processes']]]) {
    for (const [width, height] of [[1400, 900], [800, 600], [390, 844]]) {
      const page = await browser.show(made, { viewport: { width, height } });
      for (const view of views) {
        await go(page, `v=${view}`);
        assert.deepEqual(await cut(page), [], `${view} at ${width}`);
      }
      noFaults(page);
    }
  }
  const wide = await browser.show(document, { hash: 'v=sites', viewport: { width: 1400, height: 900 } });
  const [first, all] = await wide.evaluate(() => ['.row.head > :first-child', '.table'].map((name) => globalThis.document.querySelector(name).getBoundingClientRect().width));
  assert.ok(first > 0.4 * all, `${first} of ${all}`);
  const narrow = await browser.show(document, { hash: 'v=sites', viewport: { width: 800, height: 600 } });
  const place = () => narrow.locator('.rows .row').first().evaluate((row) => [row.firstChild.getBoundingClientRect().left, row.lastChild.getBoundingClientRect().right]);
  const [name, figure] = await place();
  await narrow.locator('.table').evaluate((table) => { table.scrollLeft = 1000; });
  await settled(narrow);
  const [nameLater, figureLater] = await place();
  assert.equal(nameLater, name);
  assert.ok(figureLater < figure - 50 && figureLater <= 800);
});

test('the timeline has live bytes by site: a list of the largest at the moment, and areas in this order', async () => {
  const page = await browser.show(document, { hash: 'v=timeline&at=80' });
  const layers = page.locator('.layers li');
  const shown = await layers.evaluateAll((items) => items.map((item) => [item.querySelector('b').textContent, item.querySelector('.function, .note').textContent]));
  assert.equal(shown.length, 9);
  const wanted = figures(document, { to: 80 }).byStack;
  const ofSite = (telling) => sum(document.stacks.telling.map((one, stack) => (one === telling ? wanted.get(stack) ?? 0 : 0)));
  const buffer = document.strings.indexOf('make_buffer');
  const frame = document.frames.function.indexOf(buffer);
  assert.ok(shown.some(([bytes, name]) => name === 'make_buffer' && bytes === bytesText(ofSite(frame))), shown.join('\n'));
  assert.match(shown[8][1], /^\d+ other sites$/);
  // The colours of a column of pixels, from below.
  const [seen, swatches] = await page.evaluate(() => {
    const canvas = globalThis.document.querySelectorAll('.chart canvas')[1];
    const { data } = canvas.getContext('2d').getImageData(Math.floor(canvas.width * 0.69), 0, 1, canvas.height);
    const colours = [];
    for (let y = canvas.height - 1; y >= 0; --y) {
      const text = `rgb(${data[4 * y]}, ${data[4 * y + 1]}, ${data[4 * y + 2]})`;
      if (colours.at(-1) !== text) colours.push(text);
    }
    return [colours, [...globalThis.document.querySelectorAll('.layers .swatch')].map((one) => getComputedStyle(one).backgroundColor)];
  });
  const places = swatches.slice(0, 5).map((one) => seen.indexOf(one));
  assert.ok(places.every((place, index) => place >= 0 && (index === 0 || place > places[index - 1])), `${places} of ${seen}`);
  await layers.filter({ hasText: 'make_buffer' }).getByRole('button').click();
  await settled(page);
  assert.equal(stackOf(page), '0');
  const peak = document.stacks.live_bytes[0]; // nothing of it is freed
  assert.ok((await text(page, '.growth-curve figcaption')).includes(`at most ${bytesText(peak)} at`));
  const filtered = await browser.show(document, { hash: 'v=timeline&q=make_buffer' });
  assert.deepEqual(await filtered.locator('.layers li .function').allInnerTexts(), ['make_buffer', 'fill_buffer']);
  noFaults(filtered);
});

test('mapped memory has a chart of its own, if there is any', async () => {
  const titles = (page) => page.locator('.chart figcaption').allInnerTexts();
  const plain = await titles(await browser.show(document, { hash: 'v=timeline' }));
  assert.deepEqual(plain.slice(0, 3), ['Live bytes', 'Live bytes by site', 'Live blocks']);
  const mapping = structuredClone(document);
  mapping.timeline.mapped_memory_bytes = mapping.timeline.mapped_memory_bytes.map(() => 1 << 30);
  const page = await browser.show(mapping, { hash: 'v=timeline' });
  assert.deepEqual((await titles(page)).slice(0, 3), ['Live bytes', 'Live bytes by site', 'Mapped memory']);
  const chart = page.locator('.chart').filter({ hasText: 'Mapped memory' });
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await settled(page);
  assert.match(await chart.innerText(), /mapped\s*1\.0 GiB/);
  noFaults(page);
});

// A row of pixels through the first chart, below the names of marks.
const pixelsAcross = (page) => page.evaluate(() => {
  const canvas = globalThis.document.querySelector('.chart canvas');
  const { data } = canvas.getContext('2d').getImageData(0, Math.floor(canvas.height * .6), canvas.width, 1);
  return Array.from({ length: canvas.width }, (_, x) => data.slice(4 * x, 4 * x + 4).join());
});

test('resident memory is a line beside what is live, also where some of it is unknown', async () => {
  const resident = structuredClone(document);
  const { timeline } = resident;
  timeline.resident_bytes = timeline.live_bytes.map((bytes, at) => (at < 10 ? null : bytes + (20 << 20)));
  const page = await browser.show(resident, { hash: 'v=timeline' });
  const chart = page.locator('.chart', { hasText: 'Resident memory' });
  assert.equal(await chart.count(), 1);
  assert.deepEqual((await chart.locator('.u-legend .u-label').allInnerTexts()).slice(1), ['resident', 'live']);
  noFaults(page);
  timeline.mapped_memory_bytes = timeline.mapped_memory_bytes.map(() => 1 << 20);
  const both = await browser.show(resident, { hash: 'v=timeline' });
  assert.equal(await both.locator('figcaption', { hasText: 'Resident and mapped memory' }).count(), 1);
  noFaults(both);
});

test('marks are lines in the timeline, and a list of their times and names', async () => {
  const unmarked = await browser.show({ ...document, marks: [] }, { hash: 'v=timeline' });
  assert.equal(await unmarked.locator('.marks').count(), 0);
  const before = await pixelsAcross(unmarked);
  const page = await browser.show({ ...document, more_marks: 7 }, { hash: 'v=timeline' });
  assert.deepEqual(await page.locator('.marks li').allInnerTexts(), ['900.0 ms startup done', '7.00 s config reload']);
  assert.match(await page.locator('section:has(.marks) .note').innerText(), /7 marks before them are left out/);
  const changed = (await pixelsAcross(page)).flatMap((pixel, x) => (pixel === before[x] ? [] : [x]));
  const lines = changed.filter((x, index) => index === 0 || x > changed[index - 1] + 1);
  assert.equal(lines.length, 2, changed.join());
  noFaults(page);
});

test('what is ignored is a table by rule, and is in no other list', async () => {
  const count = { stacks: 3, allocations: 40, allocated_bytes: 5000, live_blocks: 2, live_bytes: 300, mapped_live_bytes: 0 };
  const ignoring = structuredClone(document);
  ignoring.summary.ignored = { ...count, rules: [{ ...count, place: '/etc/heaptap.conf:3', pattern: 'log.*\u001b' }] };
  const page = await browser.show(ignoring);
  assert.match(await text(page, '#ignored-title'), /Ignored: in the totals, not in the lists\s+3 stacks/);
  assert.deepEqual(await page.locator('#ignored tbody tr > *').allInnerTexts(), ['log.*\\x1b', '3', bytesText(300), bytesText(5000), '40']);
  assert.equal(await page.locator('#ignored tbody bdi').getAttribute('title'), '/etc/heaptap.conf:3');
  assert.equal(await (await browser.show(document)).locator('#ignored').count(), 0);
  noFaults(page);
});

test('a stack says what the program calls it: its tags, or its pool', async () => {
  const spoken = structuredClone(document);
  ['tag: request/parse', 'pool: arena'].forEach((label, stack) => {
    spoken.stacks.label[stack] = spoken.strings.length;
    spoken.strings.push(label);
  });
  const page = await browser.show(spoken, { hash: 'v=sites&stack=0' });
  assert.match(await text(page, '.panel'), /tag: request\/parse/);
  await go(page, 'v=sites&stack=1');
  assert.match(await text(page, '.panel'), /pool: arena/);
  await go(page, 'v=sites&stack=2');
  assert.doesNotMatch(await text(page, '.panel'), /tag:|pool:/);
  await go(page, 'v=sites&by=label');
  const rows = await page.locator('.row .name').allInnerTexts();
  for (const name of ['tag: request/parse', 'pool: arena', '(no tag)']) assert.ok(rows.includes(name), `${name} in ${rows}`);
  await go(page, 'v=sites&q=request%2Fparse');
  assert.match(await text(page, '.toolbar'), /1 row$/);
  noFaults(page);
});

test('a mean lifetime below the resolution of the times is not given closer', async () => {
  const coarse = structuredClone(document);
  coarse.summary.capture.time_resolution_ns = 100_000;
  const lifetime = (page) => page.locator('.panel .figures dt', { hasText: 'mean lifetime' }).evaluate((term) => term.nextElementSibling.innerText);
  const stack = document.stacks.lifetime_ns.findIndex((sum, row) => sum > 0 && sum / document.stacks.frees[row] < 100_000);
  const page = await browser.show(document, { hash: `v=sites&stack=${stack}` });
  assert.match(await lifetime(page), /^[\d.]+ (ns|us)$/);
  assert.equal(await lifetime(await browser.show(coarse, { hash: `v=sites&stack=${stack}` })), 'below 100.0 us');
});
