// The flame graph in a browser: what is hovered and clicked, and how it takes the call tree of a large program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, noFaults, openBrowser, settled, text } from './browser.mjs';
import { bytesText, framesOfStack } from './expected.mjs';
import { largeDocument, shopDocument } from './make_document.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const document = shopDocument();
const BOX_HEIGHT = 19;

// Bytes of all stacks that go through these functions from main on, of frames that aren't folded.
function bytesThrough(path) {
  return document.stacks.node.reduce((sum, _, stack) => {
    const names = framesOfStack(document, stack).reverse().filter((frame) => document.frames.kind[frame] === 0).map((frame) => document.strings[document.frames.function[frame]]);
    return path.every((name, index) => names[index] === name) ? sum + document.stacks.allocated_bytes[stack] : sum;
  }, 0);
}

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

test('hovering a box shows its function, place and figures; clicking zooms; clicking again shows its largest stack', async () => {
  const page = await browser.show(document, { hash: 'v=flame&metric=allocated' });
  for (let depth = 1; depth <= PATH.length; ++depth) {
    const path = PATH.slice(0, depth);
    const { x, y } = await placeOf(page, path);
    await page.mouse.move(x, y);
    await settled(page);
    const tooltip = await text(page, '.tooltip');
    assert.ok(tooltip.startsWith(path.at(-1)), `${tooltip} instead of ${path}`);
    assert.ok(tooltip.includes(bytesText(bytesThrough(path))), tooltip);
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
