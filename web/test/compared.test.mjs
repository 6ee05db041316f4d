// Recordings that are compared, and runs of several processes: the page has the numbers of the data.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from './browser.mjs';
import { bytesText, countText } from './expected.mjs';
import { HOSTILE, differenceDocument, runDocument } from './make_document.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const signed = (write, value) => (value === null ? 'unknown' : `${value > 0 ? '+' : ''}${write(value)}`);
const written = ({ unit }, value) => (value === null ? 'unknown' : unit === 'bytes' ? bytesText(value) : countText(value));
const rowsOf = (page, label) => page.getByRole('grid', { name: label }).locator('.rows [role=row]').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
const tabsOf = (page) => page.locator('[role=tab]').evaluateAll((elements) => elements.map(({ id }) => id.slice(4)));

for (const count of [2, 4]) {
  const document = differenceDocument({ recordings: count });
  const { difference } = document;
  const [first, last] = [difference.values[0], difference.values.at(-1)];

  test(`totals and rows of ${count} recordings have the numbers of the data`, async () => {
    const page = await browser.show(document, { hash: 'v=difference' });
    assert.deepEqual(await tabsOf(page), ['verdict', 'difference', 'flame']);
    for (const figure of difference.figures) {
      const totals = difference.recordings.map((recording) => recording.totals[figure.key]);
      const change = totals.includes(null) ? null : totals.at(-1) - totals[0];
      const cells = await page.locator(`#difference-totals [data-figure="${figure.key}"] td`).allInnerTexts();
      assert.deepEqual(cells.slice(0, count + 1), [...totals.map((value) => written(figure, value)), signed((value) => written(figure, value), change)], figure.key);
    }
    const order = difference.state.map((_, row) => row).sort((one, other) => (last.live_bytes[other] - first.live_bytes[other]) - (last.live_bytes[one] - first.live_bytes[one]) || one - other);
    const shown = await rowsOf(page, 'Difference by stack');
    assert.ok(shown.length > 8);
    shown.forEach((cells, place) => {
      const row = order[place];
      assert.match(cells[1], new RegExp(`\\b${difference.state[row]}\\b`), place);
      assert.equal(cells[1].includes('moved'), difference.moved[row] === 1);
      assert.equal(cells[2], signed(bytesText, last.live_bytes[row] - first.live_bytes[row]));
      assert.deepEqual(cells.slice(3, 3 + count), difference.values.map((values) => bytesText(values.live_bytes[row])));
      assert.equal(cells[3 + count], signed(countText, last.live_blocks[row] - first.live_blocks[row]));
      if (count > 2) assert.equal(cells[4 + count].includes('grows'), difference.growing[row] === 1);
    });
    const matching = await text(page, '#matching');
    for (const part of [`${difference.stack_count.below_floor} changes below`, `${countText(difference.stack_count.unchanged)} unchanged`, '/opt/shop/lib/libpack.so', difference.remarks[0]]) assert.ok(matching.includes(part), part);
    noFaults(page);
  });
}

test('memory of system libraries is one row, with the sums of its stacks', async () => {
  const kept = differenceDocument({ recordings: 4 });
  const { values, state } = kept.difference;
  const chosen = state.map((_, row) => row).filter((row) => values[0].live_bytes[row] > 0 && values.at(-1).live_bytes[row] > 0 && kept.stacks.mapping[row] === 0).slice(0, 2);
  assert.equal(chosen.length, 2);
  for (const row of chosen) kept.stacks.of_libraries[row] = 1;
  const page = await browser.show(kept, { hash: 'v=difference' });
  const shown = await rowsOf(page, 'Difference by stack');
  const named = shown.filter(([stack]) => stack === '(memory of system libraries)');
  assert.equal(named.length, 1);
  const sums = values.map(({ live_bytes }) => chosen.reduce((sum, row) => sum + live_bytes[row], 0));
  assert.equal(named[0][2], signed(bytesText, sums.at(-1) - sums[0]));
  assert.deepEqual(named[0].slice(3, 7), sums.map(bytesText));
  noFaults(page);
});

const document = differenceDocument();
const { difference } = document;
const [first, last] = difference.values;
const changeOf = (key, row) => last[key][row] - first[key][row];

test('what programs mapped stands beside the sums of blocks, as in the totals of recordings', async () => {
  const mapped = structuredClone(document);
  mapped.stacks.mapping[2] = 1;
  const page = await browser.show(mapped, { hash: 'v=difference' });
  const sum = (values, isMapping) => values.live_bytes.reduce((total, value, row) => total + ((row === 2) === isMapping ? value : 0), 0);
  assert.equal(await text(page, '#selected-before'), bytesText(sum(first, false)));
  assert.equal(await text(page, '#selected-after'), bytesText(sum(last, false)));
  assert.equal(await text(page, '#selected-mapped-before'), bytesText(sum(first, true)));
  assert.equal(await text(page, '#selected-mapped-after'), bytesText(sum(last, true)));
  assert.equal(await text(page, '#selected-rows'), countText(difference.state.length));
  assert.equal(await (await browser.show(document, { hash: 'v=difference' })).locator('#selected-mapped-before').count(), 0);
});

test('filters by what became of a stack, by amount and by figure are in the address', async () => {
  const page = await browser.show(document, { hash: 'v=difference' });
  await page.locator('#filter-change').selectOption('new');
  await settled(page);
  const fresh = difference.state.flatMap((state, row) => (state === 'new' ? [row] : []));
  assert.equal(await text(page, '#selected-rows'), countText(fresh.length));
  assert.equal(await text(page, '#selected-change'), signed(bytesText, fresh.reduce((sum, row) => sum + changeOf('live_bytes', row), 0)));
  assert.match(new URL(page.url()).hash, /change=new/);
  await page.locator('#filter-floor').selectOption('4096');
  await settled(page);
  assert.equal(await text(page, '#selected-rows'), countText(fresh.filter((row) => Math.abs(changeOf('live_bytes', row)) >= 4096).length));
  await page.locator('#filter-reset').click();
  await page.locator('#filter-figure').selectOption('allocations');
  await settled(page);
  assert.match(new URL(page.url()).hash, /figure=allocations/);
  assert.equal(await text(page, '#selected-change'), signed(countText, difference.state.reduce((sum, _, row) => sum + changeOf('allocations', row), 0)));
  await page.reload();
  await page.waitForSelector('#selected-change');
  assert.equal(await page.locator('#filter-figure').inputValue(), 'allocations');
  await go(page, 'v=difference&figure=peak_bytes');
  assert.equal(await text(page, '#selected-change'), 'unknown');
  assert.match((await rowsOf(page, 'Difference by stack'))[0].join(' '), /unknown/);
  await go(page, 'v=difference&q=make_buffer');
  assert.equal((await rowsOf(page, 'Difference by stack')).length, 2);
  await page.getByRole('columnheader', { name: 'Before' }).getByRole('button').click();
  await settled(page);
  noFaults(page);
});

test('a click or Enter opens a stack with its figures in each recording, and where it was before', async () => {
  const page = await browser.show(document, { hash: 'v=difference&stack=0' });
  for (const { key, unit } of difference.figures) {
    const cells = await page.locator(`.panel [data-figure="${key}"] td`).allInnerTexts();
    assert.deepEqual(cells.slice(0, 2), [first, last].map((values) => written({ unit }, values[key][0])), key);
  }
  assert.match(await text(page, '.panel'), /Call stack before/);
  await page.getByRole('grid', { name: 'Difference by stack' }).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await settled(page);
  const order = difference.state.map((_, row) => row).sort((one, other) => changeOf('live_bytes', other) - changeOf('live_bytes', one) || one - other);
  assert.match(new URL(page.url()).hash, new RegExp(`stack=${order[1]}\\b`));
  noFaults(page);
});

test('the flame graph is as wide as what changed, with signs and hatching besides colours', async () => {
  const page = await browser.show(document, { hash: 'v=flame' });
  assert.equal(await page.locator('#metric').count(), 0);
  const [value, weight] = await page.evaluate(() => { const { tree } = globalThis.document.getElementById('flame').flame; return [tree.value[0], tree.weight[0]]; });
  const changes = difference.state.map((_, row) => changeOf('live_bytes', row));
  assert.equal(value, changes.reduce((sum, change) => sum + change, 0));
  assert.equal(weight, changes.reduce((sum, change) => sum + Math.abs(change), 0));
  assert.match(await text(page, '.legend'), /\+ new, grown\s*− gone, shrunk/);
  await go(page, 'v=flame&change=gone');
  const less = await page.evaluate(() => globalThis.document.getElementById('flame').flame.tree.value[0]);
  assert.ok(less < 0);
  assert.match(await text(page, '#flame-status'), /Change of live: -/);
  noFaults(page);
});

const run = runDocument();
const sumOf = (table, key, isWanted) => table[key].reduce((sum, value, row) => sum + (isWanted(row) ? value : 0), 0);

test('a run: processes side by side, and all views for one of them', async () => {
  const page = await browser.show(run, { hash: 'v=processes' });
  const shown = await rowsOf(page, 'Processes');
  const order = [...run.processes.keys()].sort((one, other) => (run.processes[other].peak_live_bytes ?? -1) - (run.processes[one].peak_live_bytes ?? -1));
  const bytes = (value) => (value === null ? 'unknown' : bytesText(value));
  shown.forEach((cells, place) => {
    const process = run.processes[order[place]];
    assert.deepEqual([cells[0], cells[1], cells[3], cells[5], cells[6], cells[10]], [process.program, String(process.pid), process.exit, bytes(process.peak_live_bytes), bytes(process.live_bytes), process.trace]);
    assert.equal(cells[7], process.definite_bytes === null ? 'unknown' : bytesText(process.definite_bytes + process.indirect_bytes));
  });
  assert.equal(await page.locator('#view .sparkline').count(), 3);
  const wanted = order[0];
  await page.locator('.rows [role=row]').first().click();
  await settled(page);
  assert.match(new URL(page.url()).hash, new RegExp(`process=${wanted}`));
  const isOfIt = (row) => run.cells.process[row] === wanted;
  assert.equal(await text(page, '#total-allocations'), countText(sumOf(run.cells, 'allocations', isOfIt)));
  assert.equal(await text(page, '#total-live'), bytesText(sumOf(run.cells, 'allocated_bytes', isOfIt) - sumOf(run.cells, 'freed_bytes', isOfIt)));
  const threads = await page.locator('#filter-thread option').count();
  assert.equal(threads, 1 + run.threads.process.filter((process) => process === wanted).length);
  await go(page, `v=leaks&process=${wanted}`);
  assert.equal(await text(page, '#left-2'), bytesText(run.left.bytes.reduce((sum, value, row) => sum + (run.left.state[row] === 2 && run.left.process[row] === wanted ? value : 0), 0)));
  await page.locator('#filter-process').selectOption('');
  await settled(page);
  assert.equal(await text(page, '#left-2'), bytesText(run.left.bytes.reduce((sum, value, row) => sum + (run.left.state[row] === 2 ? value : 0), 0)));
  noFaults(page);
});

test('a run: bytes at the peak are of the process with the largest one, which is named', async () => {
  const about = { ...run, focus: 'peak' };
  const largest = run.processes[1];
  const name = `${largest.program} (pid ${largest.pid})`;
  const page = await browser.show(about, { hash: 'v=flame' });
  assert.equal(await page.locator('#metric').inputValue(), 'peak');
  assert.ok((await text(page, '#flame-status')).includes(`Live at the peak of ${name}: ${bytesText(largest.peak_live_bytes)} (100.0%)`), await text(page, '#flame-status'));
  assert.ok((await text(page, '.totals')).startsWith(`${bytesText(largest.peak_live_bytes)} at the peak of ${name} · `));
  // A filter by name selects among its stacks; of another process, or of threads, it is unknown.
  await go(page, 'v=flame&q=session.cc');
  assert.equal(await text(page, '#total-peak'), bytesText(run.stacks.peak_bytes[2] + run.stacks.peak_bytes[3]));
  await go(page, 'v=flame&process=1');
  assert.equal(await text(page, '#total-peak'), bytesText(largest.peak_live_bytes));
  for (const other of ['process=2', 'thread=2']) {
    await go(page, `v=flame&${other}`);
    assert.equal(await page.locator('#metric option[value=peak]').getAttribute('disabled'), '', other);
    assert.equal(await page.locator('#total-peak').count(), 0, other);
  }
  noFaults(page);
});

test('a run: what is of one process says so, and nothing of moments is made up', async () => {
  const page = await browser.show(run);
  const tabs = await tabsOf(page);
  assert.deepEqual(tabs.slice(0, 2), ['verdict', 'processes']);
  assert.ok(!tabs.includes('difference'));
  for (const view of ['timeline', 'holders', 'address']) {
    await go(page, `v=${view}`);
    assert.match(await text(page, '#one-process'), /clocks|address space|per process/);
    assert.equal(await page.locator('#view canvas').count(), 0);
    assert.ok((await text(page, '#view')).includes(`heaptap report ${run.processes[1].trace}`));
  }
  assert.equal(await page.locator('#time-strip').count(), 0);
  await go(page, 'v=flame');
  assert.equal(await page.locator('#metric option[value=change]').getAttribute('disabled'), '');
  await go(page, 'v=verdict&process=99');
  assert.doesNotMatch(await page.evaluate(() => globalThis.document.getElementById('filter-process').value), /9/);
  // Of all together it is unknown; the largest of one process isn't.
  const largest = run.processes[1];
  assert.equal(await text(page, '#figure-peak'), bytesText(largest.peak_live_bytes));
  assert.ok((await text(page, '#figures')).includes(`Largest peak\n${bytesText(largest.peak_live_bytes)}\nof ${largest.program} (pid ${largest.pid}); together unknown`), await text(page, '#figures'));
  noFaults(page);
});

test('hostile names of programs, recordings, modules and stacks that are gone stay text', async () => {
  const texts = Object.values(HOSTILE);
  const hostile = (document) => {
    const made = structuredClone(document);
    made.title = HOSTILE.html;
    made.strings = made.strings.map((one, index) => (index === 0 ? one : `${texts[index % texts.length]}${index}`));
    made.processes.forEach((one, index) => { one.program = texts[index]; one.exit = texts[index + 1]; one.trace = HOSTILE.html; });
    if (made.difference) {
      made.difference.recordings.forEach((one) => { one.name = HOSTILE.html; one.program = HOSTILE.long; one.end = HOSTILE.terminal; });
      made.difference.unmatched_modules = texts;
      made.difference.remarks = texts;
    }
    return made;
  };
  for (const [document, views] of [[hostile(differenceDocument({ recordings: 4 })), ['verdict', 'difference', 'flame']], [hostile(run), ['verdict', 'processes', 'flame', 'leaks', 'timeline', 'address', 'sites']]]) {
    for (const width of [1280, 400]) {
      const page = await browser.show(document, { viewport: { width, height: 800 } });
      for (const view of views) {
        await go(page, `v=${view}&stack=3`);
        assert.equal(await page.evaluate(() => globalThis.broken), undefined, view);
        assert.equal(await page.locator('#app img, #app script, #app iframe').count(), 0, view);
        assert.doesNotMatch(await page.evaluate(() => globalThis.document.body.innerText), /[\u001b\u0007\u202e\u2066]/, view);
        assert.ok(await page.evaluate(() => globalThis.document.documentElement.scrollWidth) <= width, `${view} at ${width}`);
      }
      noFaults(page);
    }
  }
});

test('every control of these views has a name, and a narrow screen no sideways scrolling', async () => {
  for (const document of [differenceDocument({ recordings: 4 }), run]) {
    const page = await browser.show(document, { viewport: { width: 400, height: 800 } });
    for (const view of await tabsOf(page)) {
      await go(page, `v=${view}`);
      const unnamed = await page.evaluate(() => [...globalThis.document.querySelectorAll('button, input, select, canvas, [role=img], [role=grid]')]
        .filter((one) => !(one.closest('[aria-label]') || one.innerText?.trim() || one.title)).map((one) => one.outerHTML.slice(0, 100)));
      assert.deepEqual(unnamed, [], view);
      assert.ok(await page.evaluate(() => globalThis.document.documentElement.scrollWidth) <= 400, view);
      assert.equal(await page.evaluate(() => { const main = globalThis.document.getElementById('view'); return main.scrollWidth - main.clientWidth; }), 0, view);
    }
    noFaults(page);
  }
});
