// The flame graph in a browser: what is hovered and clicked, and how it takes the call tree of a large program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from './browser.mjs';
import { bytesText, countText, framesOfStack } from './expected.mjs';
import { mappedDocument, differenceDocument, largeDocument, shopDocument } from './make_document.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const document = shopDocument();
const BOX_HEIGHT = 19;

const ownFrames = (stack) => framesOfStack(document, stack).filter((frame) => document.frames.kind[frame] === 0);
const namesOf = (frames) => frames.map((frame) => document.strings[document.frames.function[frame]]);
const beginsWith = (names, path) => path.every((name, index) => names[index] === name);
const rows = document.stacks.node.map((_, stack) => stack);
const sumOf = (key, stacks) => stacks.reduce((sum, stack) => sum + document.stacks[key][stack], 0);

// All stacks that go through these functions from main on, of frames that aren't folded; largest first.
const stacksThrough = (path) => rows.filter((stack) => beginsWith(namesOf(ownFrames(stack).reverse()), path))
  .sort((one, other) => document.stacks.allocated_bytes[other] - document.stacks.allocated_bytes[one] || one - other);
const bytesThrough = (path) => sumOf('allocated_bytes', stacksThrough(path));

const PATH = ['main', 'shop::Server::serve(int)', 'shop::handle(shop::Request const&)', 'process', 'make_buffer'];

// The middle of the box of these functions, where a plain computation places it: siblings stand by size, largest first.
async function placeOf(page, path) {
  const box = await page.locator('#flame').boundingBox();
  let [from, width] = [0, 1];
  let whole = document.stacks.allocated_bytes.reduce((sum, value) => sum + value, 0);
  path.forEach((name, depth) => {
    const siblings = new Map();
    document.stacks.node.forEach((_, stack) => {
      const names = framesOfStack(document, stack).reverse().filter((frame) => document.frames.kind[frame] === 0);
      const name = (index) => { const frame = names[index]; return frame === undefined ? undefined : document.strings[document.frames.function[frame]] || `+${frame}`; };
      if (path.slice(0, depth).every((one, index) => name(index) === one) && name(depth) !== undefined) siblings.set(name(depth), (siblings.get(name(depth)) ?? 0) + document.stacks.allocated_bytes[stack]);
    });
    const larger = [...siblings].filter(([, bytes]) => bytes > siblings.get(name)).reduce((sum, [, bytes]) => sum + bytes, 0);
    from += (width * larger) / whole;
    width *= siblings.get(name) / whole;
    whole = siblings.get(name);
  });
  return { x: box.x + (from + width / 2) * box.width, y: box.y + (path.length + 0.5) * BOX_HEIGHT };
}

test('hovering a box shows its function, place, bytes, blocks and share; clicking zooms; clicking again shows its stacks', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  for (let depth = 1; depth <= PATH.length; ++depth) {
    const path = PATH.slice(0, depth);
    const { x, y } = await placeOf(page, path);
    await page.mouse.move(x, y);
    await settled(page);
    const tooltip = await text(page, '.tooltip');
    assert.ok(tooltip.startsWith(path.at(-1)), `${tooltip} instead of ${path}`);
    const [bytes, whole] = [bytesThrough(path), sumOf('allocated_bytes', rows)];
    assert.ok(tooltip.includes(`${bytesText(bytes)} in ${countText(sumOf('allocations', stacksThrough(path)))} allocations (${((100 * bytes) / whole).toFixed(1)}%)`), tooltip);
  }
  assert.match(await text(page, '.tooltip'), /\/src\/shop\/leak\.cc:11/);
  const { x, y } = await placeOf(page, PATH);
  await page.mouse.click(x, y);
  await settled(page);
  assert.match(new URL(page.url()).hash, /zoom=\d+/);
  const drawn = await page.evaluate(() => { const { flame } = globalThis.document.getElementById('flame'); return flame.drawn.rows.map((row) => [row.length, Math.round(row[0].width)]); });
  const { width } = await page.locator('#flame').boundingBox();
  drawn.slice(0, PATH.length + 1).forEach(([boxes, wide]) => assert.deepEqual([boxes, wide], [1, Math.round(width)]));
  await page.mouse.click(x, y);
  await settled(page);
  assert.equal(await text(page, '.panel h2'), 'Stack #1');
  noFaults(page);
});

const listOf = (page) => page.locator('.box-stacks li').evaluateAll((items) => items.map((item) => [item.querySelector('b').textContent, Number(item.querySelector('.id').textContent.slice(1))]));

test('all stacks of a box are listed, largest first, and one that is chosen is shown below', async () => {
  const path = PATH.slice(0, 3);
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  const { x, y } = await placeOf(page, path);
  await page.keyboard.down('Shift');
  await page.mouse.click(x, y);
  await page.keyboard.up('Shift');
  await settled(page);
  const wanted = stacksThrough(path).map((stack) => [bytesText(document.stacks.allocated_bytes[stack]), document.stacks.id[stack]]);
  assert.ok(wanted.length > 20);
  assert.deepEqual(await listOf(page), wanted);
  assert.equal(await text(page, '.panel h2'), `Stack #${wanted[0][1]}`);
  await page.locator('.box-stacks li button').nth(4).click();
  await settled(page);
  assert.equal(await text(page, '.panel h2'), `Stack #${wanted[4][1]}`);
  assert.deepEqual(await listOf(page), wanted);
  await page.reload();
  await page.waitForSelector('.box-stacks');
  assert.deepEqual(await listOf(page), wanted);
  await go(page, 'v=flame&metric=allocated&stack=4');
  assert.equal(await page.locator('.box-stacks').count(), 0);
  noFaults(page);
});

test('a box of the inverted graph lists the stacks that end in its frames', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated&invert=1' });
  const chain = ['shop::handle(shop::Request const&)', 'shop::format_price(long)'];
  await page.locator('#flame').focus();
  const wanted = rows.filter((stack) => beginsWith(namesOf(ownFrames(stack)), [...chain].reverse()));
  assert.ok(wanted.length > 1);
  const box = await page.evaluate((names) => {
    const { tree } = globalThis.document.getElementById('flame').flame;
    const { model } = globalThis.heaptapReport;
    const nameOf = (box) => model.strings[model.frames.function[tree.frame[box]]];
    return tree.frame.findIndex((_, box) => tree.depth[box] === 2 && nameOf(box) === names[0] && nameOf(tree.parent[box]) === names[1]);
  }, chain);
  const place = await page.evaluate((box) => { const { drawn } = globalThis.document.getElementById('flame').flame; return drawn.rows[2].find((one) => one.box === box); }, box);
  const area = await page.locator('#flame').boundingBox();
  await page.mouse.move(area.x + place.x + place.width / 2, area.y + 2.5 * BOX_HEIGHT);
  await page.keyboard.down('Shift');
  await page.mouse.down();
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await settled(page);
  assert.deepEqual((await listOf(page)).map(([, id]) => id).sort(), wanted.map((stack) => document.stacks.id[stack]).sort());
  noFaults(page);
});

test('the root is the program, and what has no frame of it says so', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  assert.match(await text(page, '#flame-status'), /^shop Allocated bytes/);
  const other = await browser.show(differenceDocument(), { hash: 'v=flame', isBeside: true });
  assert.match(await text(other, '#flame-status'), /^monday\.htap → tuesday\.htap/);
  await page.locator('#flame').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  const hidden = rows.filter((stack) => ownFrames(stack).length === 0);
  assert.ok(hidden.length > 0);
  for (let tries = 0; tries < 8 && !(await text(page, '#flame-status')).startsWith('libraries'); ++tries) await page.keyboard.press('ArrowRight');
  assert.match(await text(page, '#flame-status'), /^libraries and start-up No frame of the program is in these stacks; "Libraries" and "Start-up" above shows? theirs/);
  assert.ok((await text(page, '#flame-status')).includes(bytesText(sumOf('allocated_bytes', hidden))));
  await page.keyboard.press('Shift+Enter');
  await settled(page);
  assert.equal(await text(page, '.panel h2'), `Stack #${document.stacks.id[hidden[0]]}`);
  noFaults(page);
});

// Hues of the points of a canvas, and of a swatch of the legend.
const huesOf = (colours) => colours.map((colour) => {
  const [red, green, blue] = colour;
  const [most, least] = [Math.max(...colour), Math.min(...colour)];
  if (most === least) return null;
  const sixth = most === red ? (green - blue) / (most - least) : most === green ? 2 + (blue - red) / (most - least) : 4 + (red - green) / (most - least);
  return (60 * sixth + 360) % 360;
});

test('boxes have the colours of the legend, in both themes', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.show(document, { hash: 'v=flame&metric=allocated&libraries=1&startup=1', colorScheme });
    const swatches = await page.locator('.swatch').evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundImage.match(/\d+, \d+, \d+/g).map((part) => part.split(', ').map(Number))));
    const [own, library, start] = swatches.map((colours) => huesOf(colours));
    const points = await page.evaluate(() => {
      const canvas = globalThis.document.getElementById('flame');
      const { drawn, tree } = canvas.flame;
      const { model } = globalThis.heaptapReport;
      return drawn.rows.flatMap((row, depth) => row.filter((one) => one.box > 1 && one.width > 8).map((one) => [model.frames.kind[tree.frame[one.box]],
        [...canvas.getContext('2d').getImageData(Math.floor(one.x + 2), depth * 19 + 2, 1, 1).data].slice(0, 3)]));
    });
    for (const kind of [0, 1, 2]) assert.ok(points.some(([one]) => one === kind), `a box of kind ${kind}`);
    for (const [kind, colour] of points) {
      const [hue] = huesOf([colour]);
      const [from, to] = [own, library, start][kind];
      assert.ok(hue > from - 6 && hue < to + 6, `${hue} is not from ${from} to ${to}`);
    }
  }
});

test('the graph stays where it is when it is zoomed, on a phone as well', async () => {
  for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
    const page = await browser.show(document, { hash: 'v=flame&metric=allocated', viewport });
    const before = await page.locator('#flame').boundingBox();
    assert.equal(await page.locator('#flame-reset').isDisabled(), true);
    const { x, y } = await placeOf(page, PATH.slice(0, 2));
    await page.mouse.click(x, y);
    await settled(page);
    assert.match(new URL(page.url()).hash, /zoom=/);
    assert.deepEqual(await page.locator('#flame').boundingBox(), before);
    await page.locator('#flame-reset').click();
    await settled(page);
    assert.doesNotMatch(new URL(page.url()).hash, /zoom=/);
  }
});

test('nothing is drawn where the filter selects nothing', async () => {
  const page = await browser.show(document, { hash: 'v=flame&q=nosuchfunction' });
  assert.equal(await page.locator('#flame').getAttribute('data-painted'), '0');
  assert.match(await text(page, '.empty'), /Nothing is selected/);
  noFaults(page);
});

test('arrows move through the boxes, Enter zooms, Escape goes back', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  await page.locator('#flame').focus();
  // The largest box comes first; main is the one beside it.
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await settled(page);
  assert.ok((await text(page, '#flame-status')).startsWith('shop::handle(shop::Request const&)'));
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(new URL(page.url()).hash, /zoom=/);
  await page.keyboard.press('Escape');
  await settled(page);
  assert.doesNotMatch(new URL(page.url()).hash, /zoom=/);
  await page.keyboard.press('i');
  await settled(page);
  assert.match(new URL(page.url()).hash, /invert=1/);
  noFaults(page);
});

test('highlighting tells how much of the metric it is', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  await page.locator('#flame-find').fill('process');
  await settled(page);
  const whole = document.stacks.allocated_bytes.reduce((sum, value) => sum + value, 0);
  assert.equal(await text(page, '#flame-found'), `1 box, ${((100 * bytesThrough(PATH.slice(0, 4))) / whole).toFixed(1)}%`);
});

test('a switch shows what was mapped, in the flame graph, the sites and the totals; what is reserved is beside', async () => {
  const mapped = mappedDocument();
  const page = await browser.show(mapped, { hash: 'v=flame' });
  const blocks = await text(page, '#total-live');
  assert.equal(await page.locator('#reserved').count(), 0);
  await page.locator('#memory').selectOption('mmap');
  await settled(page);
  assert.equal(await text(page, '#total-live'), '80.0 MiB');
  assert.match(await text(page, '.totals'), /80\.0 MiB live in 1 mapping · 2 calls of 160\.0 MiB/);
  assert.match(await text(page, '#flame-status'), /Live bytes: 80\.0 MiB in 1 mapping \(100\.0%\)/);
  assert.equal(await text(page, '#reserved'), 'besides 256.0 GiB only reserved');
  await go(page, 'v=sites&memory=mmap');
  assert.equal(await page.locator('.rows [role=row]').count(), 1);
  assert.match(await page.locator('.rows [role=row]').innerText(), /80\.0 MiB/);
  await go(page, 'v=leaks&memory=mmap');
  assert.ok(await page.locator('#view .empty').count() === 0, 'leaks are of blocks');
  await page.locator('#tab-flame').click();
  await page.locator('#memory').selectOption('');
  await settled(page);
  assert.equal(await text(page, '#total-live'), blocks);
  noFaults(page);
  const plain = await browser.show(document, { hash: 'v=flame' });
  assert.equal(await plain.locator('#memory').count(), 0);
});

test('where more was mapped than allocated, flame graph and sites begin with both; a chosen one stays', async () => {
  const page = await browser.show({ ...mappedDocument(), memory: 'both' }, { hash: 'v=flame' });
  const blocks = await text(await browser.show(mappedDocument(), { hash: 'v=flame', isBeside: true }), '#total-live');
  assert.equal(await page.locator('#memory').inputValue(), 'both');
  assert.match(await text(page, '.totals'), /blocks and mappings/);
  assert.equal(await page.locator('#filter-reset').count(), 0, 'nothing is chosen');
  await page.locator('#memory').selectOption('');
  await settled(page);
  assert.equal(await text(page, '#total-live'), blocks);
  await page.locator('#tab-sites').click();
  assert.equal(await page.locator('#memory').inputValue(), '');
  await page.locator('#filter-reset').click();
  assert.equal(await page.locator('#memory').inputValue(), 'both');
  await page.locator('#tab-leaks').click();
  await settled(page);
  assert.equal(await text(page, '#total-live'), blocks, 'other views are about blocks');
  noFaults(page);
});

test('every metric draws', async () => {
  const page = await browser.show(document);
  for (const metric of ['live', 'live_blocks', 'peak', 'allocated', 'allocations', 'temporary', 'leaked', 'change']) {
    for (const more of ['', '&invert=1', '&libraries=1&startup=1&lines=1']) {
      await go(page, `v=flame&metric=${metric}&from=20&to=70${more}`);
      assert.ok(Number(await page.locator('#flame').getAttribute('data-painted')) > 3, `${metric}${more}`);
    }
  }
  noFaults(page);
});

test('a tree of 440,000 nodes is drawn by what can be seen of it, in bounded memory', async (context) => {
  const large = largeDocument();
  const page = await browser.show(large, { hash: 'v=flame&metric=allocated' });
  await page.waitForSelector('#flame[data-painted]');
  await settled(page);
  const flame = page.locator('#flame');
  const boxes = Number(await flame.getAttribute('data-boxes'));
  const painted = Number(await flame.getAttribute('data-painted'));
  assert.ok(large.nodes.parent.length >= 440_000);
  assert.ok(boxes > 300_000, `${boxes} boxes`);
  assert.ok(painted > 500 && painted < 40_000, `${painted} boxes were painted`);
  const whole = large.stacks.allocated_bytes.reduce((sum, value) => sum + value, 0);
  assert.ok((await text(page, '#flame-status')).includes(bytesText(whole)));
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
  assert.ok(heap < 600 * 2 ** 20, `${heap} bytes of JavaScript heap`);
  const begin = Date.now();
  await go(page, 'v=flame&metric=live');
  const metricMs = Date.now() - begin;
  const start = await page.evaluate(() => globalThis.heaptapReport.startMs);
  context.diagnostic(`start ${start.toFixed(0)} ms, change of metric ${metricMs} ms, last drawing ${await flame.getAttribute('data-draw-ms')} ms, ${painted} of ${boxes} boxes painted, ${(heap / 2 ** 20).toFixed(0)} MiB of heap`);
  await go(page, 'v=flame&metric=live&invert=1');
  assert.ok(Number(await flame.getAttribute('data-painted')) > 100);
  noFaults(page);
});
