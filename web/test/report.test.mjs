// The report in a browser: figures, filters, state, keys, themes, hostile text.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from './browser.mjs';
import { bytesText, countText, figures } from './expected.mjs';
import { HOSTILE, differenceDocument, emptyDocument, hostileDocument, nullsDocument, runDocument, shopDocument } from './make_document.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const document = shopDocument();
const { totals, leaks } = document.summary;
const VIEWS = ['verdict', 'timeline', 'flame', 'leaks', 'errors', 'holders', 'sites', 'sizes', 'address', 'difference', 'processes', 'source'];

test('no view asks for anything, and the policy refuses nothing that it needs', async () => {
  const page = await browser.show(document);
  for (const view of VIEWS) {
    await go(page, `v=${view}&stack=2`);
    assert.equal(await page.locator(`#tab-${view}`).getAttribute('aria-selected'), 'true');
    assert.ok((await page.locator('#view').innerText()).length > 50, view);
  }
  noFaults(page);
});

test('the first page has the sentences, the figures of the summary, and the limitations', async () => {
  const page = await browser.show(document);
  const sentences = await page.locator('.sentence').allInnerTexts();
  assert.equal(sentences.length, document.verdict.length);
  document.verdict.forEach((sentence, index) => assert.ok(sentences[index].includes(sentence.text)));
  const ordered = structuredClone(document);
  ordered.verdict.unshift({ severity: 'info', kind: 'ending', text: 'It ended well', stack: null });
  const other = await browser.show(ordered, { isBeside: true });
  assert.deepEqual((await other.locator('.sentence-text > bdi:first-child').allInnerTexts()).slice(0, 2), ['It ended well', document.verdict[0].text]);
  assert.equal(await text(other, '.sentence.first bdi'), document.verdict[0].text);
  assert.match(sentences[0], /make_buffer\s+leak\.cc:11/);
  assert.equal(await text(page, '#figure-leaked'), bytesText(leaks.definite.bytes + leaks.indirect.bytes));
  const severity = { severity: 'warning', kind: 'leaks', text: 'LEAKED 7 bytes in 1 block.', stack: null };
  const little = await browser.show({ ...document, verdict: [severity] }, { isBeside: true });
  assert.equal(await little.locator('.card.warning #figure-leaked').count(), 1, 'as grave as the sentence');
  assert.equal(await text(page, '#figure-live'), bytesText(totals.live_bytes));
  assert.equal(await text(page, '#figure-peak'), bytesText(totals.peak_live_bytes));
  assert.equal(await text(page, '#figure-allocations'), countText(totals.allocations));
  for (const note of document.summary.notes) assert.ok((await text(page, '#notes')).includes(note.text));
  await page.locator('.sentence button').first().click();
  await settled(page);
  assert.equal(await text(page, '.panel h2'), 'Stack #1');
  assert.match(await text(page, '.panel .frames'), /make_buffer\s+\/src\/shop\/leak\.cc:11/);
  noFaults(page);
});

async function shownTotals(page) {
  const names = { live: 'total-live', liveBlocks: 'total-live-blocks', allocations: 'total-allocations', allocated: 'total-allocated' };
  return Object.fromEntries(await Promise.all(Object.entries(names).map(async ([name, id]) => [name, await text(page, `#${id}`)])));
}

const wantedTotals = (wanted) => ({ live: bytesText(wanted.live), liveBlocks: countText(wanted.liveBlocks), allocations: countText(wanted.allocations), allocated: bytesText(wanted.allocated) });

test('filters compose: what is shown is the sum of the rows that all of them select', async () => {
  const page = await browser.show(document);
  const steps = [
    ['#filter-thread', '2', { thread: 2 }],
    ['#filter-size', '3', { thread: 2, size: 3 }],
    ['#filter-module', '/opt/shop/bin/shop', { thread: 2, size: 3, module: '/opt/shop/bin/shop' }],
    ['#filter-kind', 'reachable', { thread: 2, size: 3, module: '/opt/shop/bin/shop', kind: 'reachable' }],
    ['#filter-age', '12', { thread: 2, size: 3, module: '/opt/shop/bin/shop', kind: 'reachable', age: 12 }],
  ];
  await page.locator('#filter-toggle').click();
  for (const [field, value, filter] of steps) {
    await page.locator(field).selectOption(value);
    await settled(page);
    assert.deepEqual(await shownTotals(page), wantedTotals(figures(document, filter)), JSON.stringify(filter));
  }
  const all = { thread: 2, size: 3, module: '/opt/shop/bin/shop', kind: 'reachable', age: 12, text: 'parse_order' };
  await page.locator('#filter-text').fill('parse_order');
  await page.waitForFunction(() => location.hash.includes('q=parse_order'));
  await settled(page);
  assert.deepEqual(await shownTotals(page), wantedTotals(figures(document, all)));
  assert.ok(figures(document, all).allocations > 0);
  await page.locator('#filter-reset').click();
  await settled(page);
  assert.deepEqual(await shownTotals(page), wantedTotals(figures(document)));
  assert.equal(await page.locator('#filter-text').inputValue(), '');
  noFaults(page);
});

test('a text that is no regular expression is said to be none, and selects as part of a name', async () => {
  const page = await browser.show(document, { hash: 'q=make_buffer%7Cparse_order' });
  const either = figures(document, { text: 'make_buffer' }).allocations + figures(document, { text: 'parse_order' }).allocations;
  assert.equal(await text(page, '#total-allocations'), countText(either));
  assert.equal(await page.locator('#filter-problem').count(), 0);
  await page.locator('#filter-text').fill('make_buffer(');
  await page.locator('#filter-problem').waitFor();
  assert.equal(await text(page, '#filter-problem'), '“make_buffer(” is not a regular expression: taken as part of a name.');
  assert.equal(await text(page, '#total-allocations'), countText(figures(document, { text: 'make_buffer(' }).allocations));
  noFaults(page);
});

test('the strip of a selection without anything is at 0', async () => {
  const page = await browser.show(document, { hash: 'q=nosuchfunction' });
  assert.equal(await page.locator('#time-strip').getAttribute('title'), 'At most 0 B');
  noFaults(page);
});

test('a drag over the strip chooses a range, a click a moment, and both are in the address', async () => {
  const page = await browser.show(document);
  const box = await page.locator('#time-strip').boundingBox();
  const x = (bin) => box.x + ((bin + 0.5) * box.width) / document.bins.count;
  await page.mouse.move(x(30), box.y + 20);
  await page.mouse.down();
  await page.mouse.move(x(50), box.y + 20);
  await page.mouse.move(x(60), box.y + 20);
  await page.mouse.up();
  await settled(page);
  assert.equal(new URL(page.url()).hash, '#from=30&to=60');
  assert.deepEqual(await shownTotals(page), wantedTotals(figures(document, { from: 30, to: 60 })));
  await page.mouse.click(x(45), box.y + 20);
  await settled(page);
  assert.equal(new URL(page.url()).hash, '#from=30&to=60&at=45');
  assert.deepEqual(await shownTotals(page), wantedTotals(figures(document, { from: 30, to: 60, at: 45 })));
  await page.locator('#time-strip').focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  assert.equal(new URL(page.url()).hash, '#from=30&to=60&at=46');
  noFaults(page);
});

test('dragging in the timeline chooses a range', async () => {
  const page = await browser.show(document, { hash: 'v=timeline' });
  const box = await page.locator('.u-over').first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50, { steps: 4 });
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const { from, to } = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
  assert.ok(Math.abs(from - 30) <= 1 && Math.abs(to - 60) <= 1, `${from} ${to}`);
  await page.mouse.click(box.x + box.width * 0.75, box.y + 50);
  await settled(page);
  const { at } = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
  assert.ok(Math.abs(at - 90) <= 1, at);
  noFaults(page);
});

const HEAD = { live: 'live_bytes', live_blocks: 'live_blocks', allocated: 'allocated_bytes', allocations: 'allocations', temporary: 'temporary_allocations' };

test('the table of sites has the figures of the stacks, is sorted, and draws only what is in sight', async () => {
  const page = await browser.show(document, { hash: 'v=sites' });
  const stacks = document.stacks.id.map((id, row) => ({ id, ...Object.fromEntries(Object.entries(HEAD).map(([name, key]) => [name, document.stacks[key][row]])) }));
  stacks.sort((one, other) => other.live - one.live || one.id - other.id);
  const rows = await page.locator('.table .rows [role=row]').evaluateAll((elements) => elements.slice(0, 10).map((element) => [...element.children].map((cell) => cell.innerText)));
  rows.forEach((cells, index) => {
    const stack = stacks[index];
    assert.ok(cells[0].startsWith(`#${stack.id} `), cells[0]);
    assert.deepEqual([cells[1], cells[2], cells[4], cells[5], cells[6]],
      [bytesText(stack.live), countText(stack.live_blocks), bytesText(stack.allocated), countText(stack.allocations), countText(stack.temporary)]);
  });
  assert.equal(await page.locator('.table').getAttribute('aria-rowcount'), String(document.stacks.id.length + 1));
  assert.ok(await page.locator('.table .rows [role=row]').count() < document.stacks.id.length);
  await page.getByRole('button', { name: 'Count' }).click();
  await settled(page);
  const most = Math.max(...document.stacks.allocations);
  assert.equal(await page.locator('.rows [role=row]').first().locator('[role=gridcell]').nth(5).innerText(), countText(most));
  await page.locator('.table').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await settled(page);
  const least = document.stacks.allocations.indexOf(Math.min(...document.stacks.allocations));
  assert.equal(document.stacks.allocations[Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('stack'))], document.stacks.allocations[least]);
  noFaults(page);
});

test('leaks: kinds and groups have the figures of what is left', async () => {
  const page = await browser.show(document, { hash: 'v=leaks' });
  for (const [state, name] of [[2, 'definite'], [3, 'indirect'], [4, 'possible'], [1, 'reachable']]) {
    assert.equal(await text(page, `#left-${state}`), bytesText(leaks[name].bytes));
  }
  const { stacks } = document;
  for (const stack of [0, 1, 9]) {
    const bytes = stacks.definite_bytes[stack] + stacks.indirect_bytes[stack] + stacks.possible_bytes[stack];
    assert.ok((await text(page, `.leak[data-stack="${stack}"] .leak-size`)).startsWith(bytesText(bytes)));
  }
  // As the summary's sentence: with what is lost by them.
  const below = structuredClone(document);
  [below.stacks.below_bytes[0], below.stacks.below_blocks[0]] = [64_000, 21];
  const other = await browser.show(below, { hash: 'v=leaks', isBeside: true });
  const leak = await text(other, '.leak[data-stack="0"]');
  assert.ok(leak.startsWith(bytesText(stacks.definite_bytes[0] + 64_000)), leak);
  assert.ok(leak.includes(`${countText(stacks.definite_blocks[0] + 21)} blocks`), leak);
  assert.ok(leak.includes(`${bytesText(stacks.definite_bytes[0])} direct, 62.5 KiB indirect in 21 blocks`), leak);
  assert.ok(!leak.includes('cycle'), leak);
  [below.stacks.cycle_blocks[0], below.stacks.cycle_blocks[1]] = [2, 1];
  const tied = await browser.show(below, { hash: 'v=leaks', isBeside: true });
  assert.ok((await text(tied, '.leak[data-stack="0"]')).includes('62.5 KiB indirect in 21 blocks (2 blocks in cycles)'));
  assert.match(await text(tied, '.leak[data-stack="1"]'), /\(1 block in a cycle\)/);
  const shown = await page.locator('.leak').evaluateAll((elements) => elements.map((element) => Number(element.dataset.stack)));
  const wanted = stacks.id.map((_, row) => row).filter((row) => stacks.definite_blocks[row] + stacks.indirect_blocks[row] + stacks.possible_blocks[row] > 0);
  assert.deepEqual([...shown].sort((one, other) => one - other), wanted);
  noFaults(page);
});

test('without leaks the view says so, and blames a filter only where there is one', async () => {
  const clean = structuredClone(document);
  clean.left.state = clean.left.state.map(() => 1);
  const page = await browser.show(clean, { hash: 'v=leaks' });
  assert.match(await text(page, '#view .empty'), /^No leaks\. /);
  await go(page, 'v=leaks&thread=2');
  assert.equal(await text(page, '#view .empty'), 'No leaks are selected by the filter.');
  noFaults(page);
});

test('a suppression is copied as it is in the data', async () => {
  const page = await browser.show(document, { hash: 'v=leaks', permissions: ['clipboard-read', 'clipboard-write'] });
  await page.locator('.leak[data-stack="0"] .copy').click();
  await page.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), document.suppressions[0]);
  assert.equal(new URL(page.url()).hash, '#v=leaks');
});

test('the difference of two moments', async () => {
  const page = await browser.show(document, { hash: 'v=difference&from=40&to=80' });
  assert.equal(await text(page, '#difference-before'), bytesText(figures(document, { to: 39 }).live));
  assert.equal(await text(page, '#difference-after'), bytesText(figures(document, { to: 80 }).live));
  noFaults(page);
});

test('sizes: what glibc adds to live blocks', async () => {
  const page = await browser.show(document, { hash: 'v=sizes' });
  const { size, live_blocks: live } = document.sizes;
  const waste = size.reduce((sum, bytes, row) => sum + (Math.max(32, (bytes + 8 + 15) & ~15) - bytes) * live[row], 0);
  assert.equal(await text(page, '#waste'), bytesText(waste));
});

test('the state is the same after a reload, and "back" returns to the view before', async () => {
  const hash = 'v=flame&from=20&to=90&thread=1&q=shop&metric=allocated&invert=1';
  const page = await browser.show(document, { hash });
  const wanted = figures(document, { from: 20, to: 90, thread: 1, text: 'shop' });
  assert.deepEqual(await shownTotals(page), wantedTotals(wanted));
  const status = await text(page, '#flame-status');
  await page.reload();
  await page.waitForSelector('#flame');
  await settled(page);
  assert.equal(await text(page, '#flame-status'), status);
  assert.ok(status.includes(bytesText(wanted.allocated)), status);
  assert.deepEqual(await shownTotals(page), wantedTotals(wanted));
  await page.locator('#tab-leaks').click();
  await settled(page);
  await page.goBack();
  await settled(page);
  assert.equal(await page.locator('#tab-flame').getAttribute('aria-selected'), 'true');
  noFaults(page);
});

test('keys: tabs, filter, help, theme, details', async () => {
  const page = await browser.show(document, { colorScheme: 'light' });
  const selected = () => page.locator('[role=tab][aria-selected=true]').getAttribute('id');
  await page.locator('#tab-verdict').focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  assert.equal(await selected(), 'tab-timeline');
  await page.keyboard.press('End');
  await settled(page);
  assert.equal(await selected(), 'tab-source');
  assert.equal(await page.evaluate(() => globalThis.document.activeElement.id), 'tab-source');
  await page.keyboard.press('4');
  await settled(page);
  assert.equal(await selected(), 'tab-leaks');
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => globalThis.document.activeElement.id), 'filter-text');
  await page.keyboard.type('t?4');
  assert.equal(await page.locator('#filter-text').inputValue(), 't?4');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.locator('dialog[open]').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  await page.keyboard.press('t');
  await settled(page);
  assert.equal(await page.evaluate(() => globalThis.document.documentElement.dataset.theme), 'dark');
  await go(page, 'v=leaks&stack=0');
  assert.equal(await page.locator('.panel').count(), 1);
  await page.keyboard.press('Escape');
  await settled(page);
  assert.equal(await page.locator('.panel').count(), 0);
  noFaults(page);
});

// What is held only within an interval: the cells, which know the ends of intervals, don't have it.
function freedDocument() {
  const freed = { ...structuredClone(document), focus: 'peak' };
  freed.stacks.peak_bytes[5] += 20 << 20;
  freed.summary.totals.peak_live_bytes += 20 << 20;
  return freed;
}

const sortOf = (page) => page.locator('[role=columnheader][aria-sort=descending]').innerText();

test('a report that is about its peak shows it first: in the flame graph, the sites and the totals, exactly', async () => {
  const freed = freedDocument();
  const peak = bytesText(freed.summary.totals.peak_live_bytes);
  const page = await browser.show(freed, { hash: 'v=flame' });
  assert.equal(await page.locator('#metric').inputValue(), 'peak');
  assert.match(await text(page, '#flame-status'), new RegExp(`Live at the peak: ${peak} \\(100\\.0%\\)$`));
  assert.equal(await text(page, '#total-peak'), peak);
  assert.equal(await text(page, '#total-live'), bytesText(totals.live_bytes));
  await go(page, 'v=sites');
  assert.match(await sortOf(page), /^At peak/);
  const first = await page.locator('.rows [role=row]').first().locator('[role=gridcell]').allInnerTexts();
  assert.ok(first[0].startsWith('#6 '), first[0]);
  assert.equal(first[3], bytesText(freed.stacks.peak_bytes[5]));
  await go(page, 'v=flame&metric=live');
  assert.equal(await page.locator('#metric').inputValue(), 'live', 'what the user chose stays');
  await go(page, 'v=timeline');
  const shown = await page.locator('.layers b').first().innerText();
  await go(page, 'v=timeline&at=0');
  assert.notEqual(await page.locator('.layers b').first().innerText(), shown, 'sites at the peak, until a moment is chosen');
  await go(page, 'v=timeline&thread=1');
  assert.notEqual(await text(page, '#total-peak'), peak);
  noFaults(page);
});

test('a report that is about temporary allocations shows these first', async () => {
  const page = await browser.show({ ...document, focus: 'temporary' }, { hash: 'v=flame' });
  assert.equal(await page.locator('#metric').inputValue(), 'temporary');
  assert.equal(await text(page, '#total-temporary'), countText(totals.temporary_allocations));
  await go(page, 'v=sites');
  assert.match(await sortOf(page), /^Temporary/);
  const live = await browser.show(document, { hash: 'v=sites' });
  assert.match(await sortOf(live), /^Live/);
  assert.equal(await live.locator('#total-peak, #total-temporary').count(), 0);
  noFaults(live);
});

test('light and dark follow the system until one is chosen', async () => {
  const background = (page) => page.evaluate(() => getComputedStyle(globalThis.document.body).backgroundColor);
  const dark = await browser.show(document, { colorScheme: 'dark' });
  const light = await browser.show(document, { colorScheme: 'light', isBeside: true });
  const [darkColour, lightColour] = [await background(dark), await background(light)];
  assert.notEqual(darkColour, lightColour);
  await dark.getByRole('button', { name: 'Use the light theme' }).click();
  await settled(dark);
  assert.equal(await background(dark), lightColour);
  await light.emulateMedia({ colorScheme: 'dark' });
  await settled(light);
  assert.equal(await background(light), darkColour);
});

test('hostile text stays text in every view', async () => {
  const hostile = hostileDocument();
  const page = await browser.show(hostile);
  for (const view of VIEWS) {
    await go(page, `v=${view}&stack=3`);
    assert.equal(await page.evaluate(() => globalThis.broken), undefined, view);
    assert.equal(await page.locator('#app img, #app script, #app iframe').count(), 0, view);
    const body = await page.evaluate(() => globalThis.document.body.innerText + [...globalThis.document.querySelectorAll('[title]')].map((one) => one.title.replace(/\n/g, '')).join(''));
    assert.doesNotMatch(body, /[\u001b\u0007\u202e\u2066]/, view);
    const lengths = await page.locator('#view .name').evaluateAll((elements) => elements.map((element) => element.textContent.length));
    assert.ok(Math.max(0, ...lengths) <= 300, `${view} shows ${Math.max(...lengths)} letters of a name`);
    const width = await page.evaluate(() => globalThis.document.documentElement.scrollWidth);
    assert.ok(width <= 1280, `${view} is ${width} wide`);
  }
  await go(page, 'v=verdict');
  assert.equal(await text(page, 'h1'), HOSTILE.html);
  assert.equal(await page.title(), HOSTILE.html);
  assert.ok((await text(page, '.sentences')).includes('evil\\x1b[31m\\x07name'));
  const long = page.locator('.sentence').nth(3).locator('bdi').first();
  assert.equal((await long.innerText()).length, 600);
  assert.equal(await long.getAttribute('title'), HOSTILE.long);
  noFaults(page);
});

test('what is unknown is never shown as 0', async () => {
  const page = await browser.show(nullsDocument());
  for (const id of ['leaked', 'live', 'peak', 'temporary', 'errors']) assert.equal(await text(page, `#figure-${id}`), 'unknown', id);
  assert.equal(await text(page, '#total-live'), 'unknown');
  const tabs = await page.locator('[role=tab]').evaluateAll((elements) => elements.map(({ id }) => id.slice(4)));
  assert.ok(!tabs.includes('leaks') && !tabs.includes('timeline') && !tabs.includes('difference'), tabs.join());
  await go(page, 'v=sites');
  const cells = await page.locator('.rows [role=row]').first().locator('[role=gridcell]').allInnerTexts();
  assert.deepEqual([cells[1], cells[2], cells[3], cells[6]], ['unknown', 'unknown', 'unknown', 'unknown']);
  assert.equal(cells.length, 7, 'no change of a range: none is chosen');
  await go(page, 'v=flame');
  assert.equal(await page.locator('#metric option[value=live]').getAttribute('disabled'), '');
  await go(page, 'v=verdict&stack=0');
  assert.match(await text(page, '.panel .figures'), /live\s+unknown/);
  noFaults(page);
});

test('a report of nothing says so', async () => {
  const page = await browser.show(emptyDocument());
  assert.match(await text(page, '.sentences'), /No allocation was seen/);
  noFaults(page);
});

const tops = (page) => page.evaluate(() => globalThis.document.getElementById('view').getBoundingClientRect().top);

test('what stands above a view is at most 110 pixels high, and says what is folded away', async () => {
  for (const [width, height] of [[1400, 900], [800, 600]]) {
    const page = await browser.show(document, { viewport: { width, height } });
    assert.ok(await tops(page) <= 110, `${await tops(page)} at ${width}`);
    assert.equal(await page.locator('#filter-thread').isVisible(), false);
    await page.locator('#filter-toggle').click();
    await page.locator('#filter-thread').selectOption('2');
    await page.locator('#filter-toggle').click();
    await settled(page);
    assert.ok(await tops(page) <= 110);
    assert.match(await text(page, '#filter-toggle'), /Filters\s*1/);
    assert.equal(await text(page, '#total-range'), 'whole recording, thread 2 worker-1');
    await page.reload();
    await page.locator('#filter-thread').waitFor({ state: 'visible' }); // a link to a filter shows it
    noFaults(page);
  }
  for (const compared of [differenceDocument(), runDocument()]) {
    const page = await browser.show(compared, { viewport: { width: 800, height: 600 } });
    assert.ok(await tops(page) <= 110);
  }
});

test('tabs that have no room are counted, and a click on the count shows them', async () => {
  const page = await browser.show(document, { viewport: { width: 800, height: 600 } });
  const hidden = () => page.locator('[role=tab]').evaluateAll((tabs) => tabs.filter((tab) => tab.getBoundingClientRect().left > innerWidth - 20).length);
  const count = await hidden();
  assert.ok(count > 0);
  assert.ok(Number(/\d+/.exec(await text(page, '.more-tabs.after'))[0]) >= count);
  assert.equal(await page.locator('.more-tabs.before').count(), 0);
  while (await page.locator('.more-tabs.after').count() > 0) {
    await page.locator('.more-tabs.after').click();
    await settled(page);
  }
  assert.equal(await hidden(), 0);
  assert.equal(await page.locator('.more-tabs.before').count(), 1);
  await page.locator('#tab-source').click();
  await settled(page);
  const other = await browser.show(document, { viewport: { width: 1400, height: 900 } });
  assert.equal(await other.locator('.more-tabs').count(), 0);
  noFaults(other);
});

test('on a phone the filter by text is among the filters, and "/" unfolds them', async () => {
  const page = await browser.show(document, { viewport: { width: 390, height: 844 } });
  assert.ok(await tops(page) <= 160);
  assert.equal(await page.locator('#filter-text').isVisible(), false);
  await page.keyboard.press('/');
  await page.waitForFunction(() => globalThis.document.activeElement.id === 'filter-text');
  await page.keyboard.type('parse_order');
  await page.waitForFunction(() => location.hash.includes('q=parse_order'));
  await settled(page);
  assert.equal(await text(page, '#total-allocations'), countText(figures(document, { text: 'parse_order' }).allocations));
  await page.locator('#filter-kind').selectOption('leaked');
  await settled(page);
  assert.match(new URL(page.url()).hash, /kind=leaked/);
  noFaults(page);
});

test('the peak is the same in the strip, the timeline and the summary, and is that of the moment', async () => {
  const spiky = structuredClone(document);
  const peak = 3 * totals.peak_live_bytes;
  spiky.timeline.peak_live_bytes[100] = peak;
  Object.assign(spiky.summary.totals, { peak_live_bytes: peak, peak_time_ns: 3_350_000_000 });
  const page = await browser.show(spiky, { hash: 'v=timeline' });
  assert.equal(await page.locator('#time-strip').getAttribute('title'), `At most ${bytesText(peak)}`);
  assert.ok((await text(page, '.lead')).startsWith(`Peak: ${bytesText(peak)} at 3.35 s.`));
  // The highest point of the strip is where the peak is, not at the end of an interval.
  const highest = await page.evaluate(() => {
    const canvas = globalThis.document.getElementById('time-strip');
    const row = canvas.getContext('2d').getImageData(0, 6, canvas.width, 1).data;
    return Array.from({ length: canvas.width }, (_, x) => (x > 80 && row[4 * x + 3] > 0 && row[4 * x + 2] > row[4 * x] + 40 ? x / canvas.width : 0)).filter(Boolean)[0];
  });
  assert.ok(Math.abs(highest - 100.5 / 360) < 0.02, highest);
  await go(page, 'v=timeline&thread=2');
  assert.match(await text(page, '.lead'), /^Highest at the end of an interval/);
});

test('the header has the date, and the summary all facts of the recording', async () => {
  const dated = structuredClone(document);
  Object.assign(dated.summary.capture, { start_unix_ns: 1795828659024205000, heaptap_version: '0.1.0' });
  const page = await browser.show(dated, { viewport: { width: 1400, height: 900 } });
  assert.match(await text(page, '.facts'), /2026-11-28 01:17 UTC/);
  const narrow = await browser.show(dated, { viewport: { width: 390, height: 844 } });
  const facts = await text(narrow, '.facts-line');
  for (const part of ['pid 4711', '2026-11-28 01:17 UTC', '12.00 s', 'exited with 0', 'x86_64', 'heaptap 0.1.0']) assert.ok(facts.includes(part), facts);
  assert.doesNotMatch(await text(await browser.show(document), '.facts-line'), /UTC/);
});

test('one of something is not several', async () => {
  const single = structuredClone(document);
  Object.assign(single.summary.totals, { temporary_allocations: 1 });
  Object.keys(single.cells).forEach((key) => { single.cells[key] = [{ stack: 0, thread: 1, size: 0, bin: 3, allocations: 1, allocated_bytes: 16, frees: 0, freed_bytes: 0, temporary: 0 }[key]]; });
  const page = await browser.show(single);
  assert.match(await text(page, '.totals'), /16 B live in 1 block · 1 allocation of 16 B/);
  assert.match(await text(page, '#figures'), /1 allocation$/m);
});

test('data that cannot be read is said, not drawn', async () => {
  const page = await browser.show({ ...document, version: 9 });
  assert.match(await text(page, '.failure'), /version 9/);
});

test('every control has a name, and the page no sideways scrolling on a narrow screen', async () => {
  const page = await browser.show(document, { viewport: { width: 400, height: 800 } });
  for (const view of VIEWS) {
    await go(page, `v=${view}`);
    const unnamed = await page.evaluate(() => [...globalThis.document.querySelectorAll('button, input, select, canvas, [role=img], [role=grid]')]
      .filter((one) => !(one.closest('[aria-label]') || one.innerText?.trim() || one.title)).map((one) => one.outerHTML.slice(0, 100)));
    assert.deepEqual(unnamed, [], view);
    assert.ok(await page.evaluate(() => globalThis.document.documentElement.scrollWidth) <= 400, view);
    assert.equal(await page.evaluate(() => { const main = globalThis.document.getElementById('view'); return main.scrollWidth - main.clientWidth; }), 0, view);
  }
  noFaults(page);
});

test('without scripts there is the summary, and nothing that waits for them', async () => {
  const page = await browser.show(document, { javaScriptEnabled: false, wanted: 'noscript p' });
  assert.equal((await page.locator('body').innerText()).trim(), 'summary');
});

test('lost events and a truncated recording are listed as limitations', async () => {
  const cut = structuredClone(document);
  Object.assign(cut.summary.capture, { lost_events: 1234, truncated: true, damage: 'a frame is cut off' });
  const page = await browser.show(cut);
  const notes = await text(page, '#notes');
  assert.match(notes, /1,234 events lost: the numbers are not exact/);
  assert.match(notes, /incomplete: a frame is cut off/);
});

test('of a recording that goes on there stands up to when it is known', async () => {
  const live = structuredClone(document);
  Object.assign(live.summary.capture, { truncated: true, running: true, damage: 'still being recorded: known up to 4.01 s' });
  const page = await browser.show(live);
  const notes = await text(page, '#notes');
  assert.match(notes, /It was still being recorded: known up to 4\.01 s/);
  assert.doesNotMatch(notes, /incomplete/);
});

test('what a recording of totals, or one without a scan, does not know stands there too', async () => {
  const limited = nullsDocument();
  Object.assign(limited.summary.capture, { events_kept: false, known: { leaks: false, releases: false } });
  limited.summary.notes = [];
  const page = await browser.show(limited);
  const notes = await text(page, '#notes');
  for (const wanted of [/lost blocks are unknown/, /Not all are known: bad releases/, /times and threads are unknown/]) assert.match(notes, wanted);
  limited.summary = { ...document.summary, notes: [] };
  assert.match(await text(await browser.show(limited), '#notes'), /No limitations/);
});

// The lightest and the darkest of a canvas's points that are drawn, as sums of red, green and blue.
const shades = (page, selector) => page.evaluate((name) => {
  const canvas = globalThis.document.querySelector(name);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  let count = 0;
  for (let place = 0; place < data.length; place += 4) {
    if (data[place + 3] < 200) continue;
    sum += data[place] + data[place + 1] + data[place + 2];
    ++count;
  }
  return sum / count;
}, selector);

test('on paper canvases are light, whatever the theme', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated&theme=dark' });
  await settled(page);
  const dark = await shades(page, '#flame');
  await page.emulateMedia({ media: 'print' });
  await settled(page);
  const light = await shades(page, '#flame');
  assert.ok(light > dark + 150, `${dark} on the screen, ${light} on paper`);
  await page.emulateMedia({ media: 'screen' });
  await settled(page);
  assert.ok(Math.abs(await shades(page, '#flame') - dark) < 20);
  // What a browser prints is taken at once, before another frame is drawn.
  const printed = await page.evaluate(() => {
    dispatchEvent(new Event('beforeprint'));
    const { theme } = globalThis.document.documentElement.dataset;
    const [red, green, blue] = globalThis.document.getElementById('flame').getContext('2d').getImageData(40, 9, 1, 1).data;
    dispatchEvent(new Event('afterprint'));
    return { theme, shade: red + green + blue, after: globalThis.document.documentElement.dataset.theme };
  });
  assert.equal(printed.theme, 'light');
  assert.equal(printed.after, 'dark');
  assert.ok(printed.shade > 400, printed.shade);
  assert.deepEqual(page.faults.filter((fault) => !fault.includes('willReadFrequently')), []); // the test's own reading
});

test('on paper there is the whole view without its controls', async () => {
  const page = await browser.show(document, { hash: 'v=leaks' });
  await page.emulateMedia({ media: 'print' });
  await settled(page);
  assert.equal(await page.locator('[role=tablist]').isVisible(), false);
  assert.equal(await page.locator('#filter-text').isVisible(), false);
  assert.equal(await page.locator('.copy').first().isVisible(), false);
  const last = await page.locator('.leak').last().boundingBox();
  const height = await page.evaluate(() => globalThis.document.documentElement.scrollHeight);
  assert.ok(last.y + last.height <= height);
  const main = await page.evaluate(() => { const view = globalThis.document.getElementById('view'); return view.scrollHeight - view.clientHeight; });
  assert.equal(main, 0);
});
