// Makes the shell of the HTML report: bundles src/ into one script and one style, and writes them into src/template.html together
// with a content security policy that permits these alone, by their hashes. The script is packed; src/loader.js unpacks it.
//   node build.mjs [SHELL]       SHELL: default ../src/views/html/shell.html; then ../tools/check_shell.py --write notes the hashes
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const shellPath = process.argv[2] ?? join(folder, '../src/views/html/shell.html');
const mostBytes = 150_000;
const places = ['{{title}}', '{{noscript}}', '{{data}}'];

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(folder, 'src', entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome115', 'firefox115', 'safari16.4'],
    jsxFactory: 'h',
    jsxFragment: 'Fragment',
    legalComments: 'none',
    charset: 'utf8',
  });
  return result.outputFiles[0].text.trim();
}

const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const script = await bundle('main.jsx');
const loader = await bundle('loader.js');
const style = await bundle('style.css');
if (/<\/(script|style)|<!--/i.test(loader + style)) {
  throw new Error('the bundle has text that would end its element');
}
const policy = `default-src 'none'; script-src ${hashOf(loader)} ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
// Functions: `$&` in a bundle is text.
const shell = readFileSync(join(folder, 'src/template.html'), 'utf8')
  .replace('@policy@', () => policy)
  .replace('@style@', () => style)
  .replace('@script@', () => gzipSync(script, { level: 9 }).toString('base64'))
  .replace('@loader@', () => loader);
for (const place of places) {
  if (shell.split(place).length !== 2) {
    throw new Error(`the shell must have ${place} once`);
  }
}
if (Buffer.byteLength(shell) > mostBytes) {
  throw new Error(`the shell has ${Buffer.byteLength(shell)} bytes, more than ${mostBytes}`);
}
writeFileSync(shellPath, shell);
console.log(`${shellPath}: ${Buffer.byteLength(shell)} bytes`);
