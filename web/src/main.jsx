// The report's entry: reads the data that the writer put into the page and draws it.
import { h, render } from 'preact';
import { App } from './app.jsx';
import { decode, readDocument } from './data/decode.js';

function Failure({ error }) {
  return (
    <main class="failure" role="alert">
      <h1>This report can't be shown</h1>
      <p>{String(error?.message ?? error)}</p>
      <p>A browser of 2023 or later is needed: Firefox 115, Chromium 115, Safari 16.4.</p>
    </main>
  );
}

async function start() {
  const place = document.getElementById('app');
  try {
    const began = performance.now();
    const data = document.getElementById('heaptap-data');
    const model = decode(await readDocument(data.textContent));
    data.remove();
    place.textContent = '';
    render(<App model={model} />, place);
    globalThis.heaptapReport = { model, startMs: performance.now() - began };
  } catch (error) {
    place.textContent = '';
    render(<Failure error={error} />, place);
  }
}

start();
