// A report that heaptap wrote of a program: the page has the figures that `heaptap show` has. Made by tests/web/report_shell.py.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { go, noFaults, openBrowser, settled, shellText, text } from '../browser.mjs';
import { bytesText, countText, figures } from '../expected.mjs';

const directory = new URL('../../recorded/', import.meta.url);
const report = readFileSync(new URL('words.html', directory), 'utf8');
const { totals, leaks, notes } = JSON.parse(readFileSync(new URL('summary.json', directory), 'utf8'));
const packed = /<script id="heaptap-data"[^>]*>([^<]*)</.exec(report)[1];
const document = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')));

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

test('heaptap has the shell that is in the sources', () => {
  const policy = (html) => /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
  assert.equal(policy(report), policy(shellText()));
  assert.doesNotMatch(report, /\{\{(title|noscript|data)\}\}/);
});

test('the verdict page has the figures of `heaptap show summary`', async () => {
  const page = await browser.show(report);
  assert.equal(leaks.scanned, true);
  assert.equal(await text(page, '#figure-leaked'), bytesText(leaks.definite.bytes + leaks.indirect.bytes));
  assert.equal(await text(page, '#figure-live'), bytesText(totals.live_bytes));
  assert.equal(await text(page, '#figure-peak'), bytesText(totals.peak_live_bytes));
  assert.equal(await text(page, '#figure-allocations'), countText(totals.allocations));
  for (const note of notes) assert.ok((await text(page, '#notes')).includes(note.text));
  assert.equal((await page.locator('.sentence').count()), document.verdict.length);
  noFaults(page);
});

test('the sums of its cells are the totals', async () => {
  const page = await browser.show(report);
  assert.equal(await text(page, '#total-live'), bytesText(totals.live_bytes));
  assert.equal(await text(page, '#total-live-blocks'), countText(totals.live_blocks));
  assert.equal(await text(page, '#total-allocations'), countText(totals.allocations));
  assert.equal(await text(page, '#total-allocated'), bytesText(totals.allocated_bytes));
  await go(page, 'kind=leaked');
  assert.equal(await text(page, '#total-live'), bytesText(leaks.definite.bytes + leaks.indirect.bytes));
  const middle = Math.floor(document.bins.count / 2);
  const from = Math.min(3, middle); // a fast run has few bins
  await go(page, `from=${from}&to=${middle}&q=words.cc`);
  const wanted = figures(document, { from, to: middle, text: 'words.cc' });
  assert.equal(await text(page, '#total-live'), bytesText(wanted.live));
  assert.equal(await text(page, '#total-allocations'), countText(wanted.allocations));
  noFaults(page);
});

test('resident memory is what `heaptap show fragmentation` prints', async () => {
  const printed = readFileSync(new URL('fragmentation.txt', directory), 'utf8');
  const page = await browser.show(report, { hash: 'v=address' });
  const heading = await text(page, '#resident-title');
  if (heading === 'Resident memory') { // an older kernel
    assert.ok(printed.includes(await text(page, '#resident-unknown')));
    return;
  }
  const parts = await page.locator('.parts li').evaluateAll((items) => items.map((item) => Array.from(item.childNodes).slice(1, -1).map((node) => node.textContent).join('').trim()));
  const unit = heading.split(' ')[1];
  const line = parts.map((part) => part.replace(` ${unit} `, ' ')).join(', ');
  assert.ok(printed.includes(`\n${heading.replace(/ \(after .*/, '')}: ${line}\n`), `${heading}: ${line}\n${printed}`);
  const figuresOf = (name, from, to) => page.getByRole('grid', { name, exact: true }).locator('.rows [role=row]').evaluateAll((rows, [first, last]) => rows.map((row) => Array.from(row.children).slice(first, last).map((cell) => cell.innerText).join(' ')), [from, to]);
  const words = printed.replace(/ +/g, ' ');
  for (const row of await figuresOf('Memory by arena', 0, 6)) assert.ok(words.includes(`\n ${row}\n`), row);
  for (const row of (await figuresOf('Stacks that keep memory resident', 1, 5)).slice(0, 3)) assert.ok(words.includes(`\n ${row} `) || words.includes(`\n ${row}\n`), `${row}\n${words}`);
  assert.ok(printed.includes(`\n${await text(page, '#kept')}\n`));
  noFaults(page);
});

test('every view opens', async () => {
  const page = await browser.show(report);
  const tabs = await page.locator('[role=tab]').evaluateAll((elements) => elements.map(({ id }) => id.slice(4)));
  for (const view of ['verdict', 'timeline', 'flame', 'leaks', 'sites', 'sizes']) assert.ok(tabs.includes(view), view);
  for (const view of tabs) {
    await go(page, `v=${view}&stack=0`);
    await settled(page);
    assert.ok((await page.locator('#view').innerText()).length > 20, view);
  }
  noFaults(page);
});

test('without scripts the summary can be read', async () => {
  const page = await browser.show(report, { javaScriptEnabled: false, wanted: 'noscript h1' });
  const shown = await page.locator('body').innerText();
  assert.ok(shown.includes(document.verdict[0].text), shown.slice(0, 300));
});
