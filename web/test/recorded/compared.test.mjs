// Files that heaptap wrote of two recordings that are compared, and of several processes: the page has the numbers of `--json`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from '../browser.mjs';
import { bytesText, countText } from '../expected.mjs';

const directory = new URL('../../recorded/', import.meta.url);
const html = (name) => readFileSync(new URL(`${name}.html`, directory), 'utf8');
const json = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, directory), 'utf8'));
const cellsOf = (page, label) => page.getByRole('grid', { name: label }).locator('.rows [role=row]').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
const signed = (write, value) => `${value > 0 ? '+' : ''}${write(value)}`;

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

test('a difference: totals, rows and counts are those of `heaptap diff --json`', async () => {
  const wanted = json('diff');
  const page = await browser.show(html('diff'), { hash: 'v=difference' });
  for (const [key, change] of Object.entries(wanted.totals.change)) {
    const write = key.endsWith('bytes') ? bytesText : countText;
    const cells = await page.locator(`#difference-totals [data-figure="${key}"] td`).allInnerTexts();
    const known = (value, of) => (value === null ? 'unknown' : of(value));
    assert.deepEqual(cells.slice(0, 3), [known(wanted.totals.before[key], write), known(wanted.totals.after[key], write), known(change, (value) => signed(write, value))], key);
  }
  const rows = await cellsOf(page, 'Difference by stack');
  assert.ok(rows.length > 3);
  const order = [...wanted.stacks.keys()].sort((one, other) => wanted.stacks[other].change.live_bytes - wanted.stacks[one].change.live_bytes || one - other);
  rows.forEach((cells, place) => {
    const { state, before: first, after: last, change } = wanted.stacks[order[place]];
    assert.ok(cells[1].includes(state), cells[1]);
    assert.deepEqual(cells.slice(2, 6), [signed(bytesText, change.live_bytes), bytesText(first.live_bytes), bytesText(last.live_bytes), signed(countText, change.live_blocks)]);
  });
  assert.ok((await text(page, '#matching')).includes(`Listed: ${countText(wanted.stack_count.listed)}.`));
  for (const view of ['verdict', 'flame']) {
    await go(page, `v=${view}&stack=0`);
    assert.ok((await text(page, '#view')).length > 20, view);
  }
  noFaults(page);
});

test('a run: the processes are those of `heaptap show summary --json`, and each can be chosen', async () => {
  const wanted = json('run');
  const page = await browser.show(html('run'), { hash: 'v=processes' });
  assert.equal(await text(page, '#total-allocations'), countText(wanted.totals.allocations));
  assert.equal(await text(page, '#total-live'), bytesText(wanted.totals.live_bytes));
  const rows = await cellsOf(page, 'Processes');
  assert.equal(rows.length, wanted.processes.length);
  for (const cells of rows) {
    const process = wanted.processes.find(({ target }) => String(target.pid) === cells[1]);
    assert.deepEqual([cells[2], cells[5], cells[6], cells[9]],
      [String(process.target.parent_pid), bytesText(process.totals.peak_live_bytes), bytesText(process.totals.live_bytes), countText(process.totals.allocations)]);
  }
  await page.getByRole('grid', { name: 'Processes' }).locator('.rows [role=row]').first().click();
  await settled(page);
  assert.equal(await text(page, '#total-allocations'), rows[0][9]);
  assert.equal(await text(page, '#total-live'), rows[0][6]);
  const tabs = await page.locator('[role=tab]').evaluateAll((elements) => elements.map(({ id }) => id.slice(4)));
  for (const view of tabs) {
    await go(page, `v=${view}`);
    assert.ok((await text(page, '#view')).length > 20, view);
  }
  noFaults(page);
});
