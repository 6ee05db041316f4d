// A browser that shows a document in the shell, and notes whatever a report must not do.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { putIntoShell } from './make_document.mjs';

const here = dirname(fileURLToPath(import.meta.url));
// The one that was just built of these sources; in web/ itself the committed one.
const shellPath = [join(here, '../shell.html'), join(here, '../../src/views/html/shell.html')].find(existsSync);
const options = {
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
};

export const shellText = () => readFileSync(shellPath, 'utf8');

export async function openBrowser() {
  const directory = mkdtempSync(join(tmpdir(), 'heaptap-report-'));
  const browser = await chromium.launch(options);
  let count = 0;
  let shown = null;
  return {
    // A page that shows the document (or a whole report, as text), in place of the one before; `page.faults` are requests, refused content and errors.
    async show(document, { hash = '', isBeside = false, wanted = '#view, .failure', ...more } = {}) {
      const file = join(directory, `report${++count}.html`);
      writeFileSync(file, typeof document === 'string' ? document : putIntoShell(shellText(), document));
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...more });
      if (!isBeside) await shown?.close();
      shown = context;
      const page = await context.newPage();
      const address = pathToFileURL(file).href;
      page.faults = [];
      page.on('request', (request) => request.url().split('#')[0] !== address && page.faults.push(`request of ${request.url()}`));
      page.on('pageerror', (error) => page.faults.push(`error: ${error.stack}`));
      page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.faults.push(`console: ${message.text()}`));
      await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`refused by policy: ${event.violatedDirective}`)));
      page.address = address;
      await page.goto(`${address}#${hash}`);
      await page.waitForSelector(wanted);
      return page;
    },
    async close() {
      await browser.close();
      rmSync(directory, { recursive: true });
    },
  };
}

export const text = (page, selector) => page.locator(selector).first().innerText();
export const noFaults = (page) => assert.deepEqual(page.faults, []);

// Sets the state as a person who opens an address does.
export async function go(page, hash) {
  await page.evaluate((wanted) => { location.hash = wanted; }, hash);
  await page.waitForFunction((wanted) => location.hash.slice(1) === wanted, hash);
  await settled(page);
}

// After what was asked for has been drawn: preact draws in the next frame.
export const settled = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))); }));
