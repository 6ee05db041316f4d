// Gives a page a file, as a person does, and prints the page's title and text when `WORDS` are in one of them:
//   node open_page.mjs PAGE FILE WORDS
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(path.join(process.env.NODE_DIRECTORY, 'package.json'))('playwright-core');
const [page, file, words] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--allow-file-access-from-files'],
});
try {
  const tab = await browser.newPage();
  const errors = [];
  tab.on('pageerror', error => errors.push(String(error)));
  await tab.goto(pathToFileURL(page).href);
  await tab.locator('input[type=file]').first().setInputFiles(file);
  await tab.waitForFunction(wanted => `${document.title}\n${document.body.innerText}`.includes(wanted), words, { timeout: 60000 });
  console.log(JSON.stringify({ title: await tab.title(), text: await tab.evaluate(() => document.body.innerText), errors }));
} finally {
  await browser.close();
}
