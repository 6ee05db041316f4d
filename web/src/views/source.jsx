// Source files with the allocations of each line: of all stacks through the line.
import { h } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { currentMetric, metricText, useReport } from '../context.js';
import { METRICS } from '../data/selection.js';
import * as format from '../format.js';
import { Choice } from '../parts/bar.jsx';
import { MetricChoice } from './sites.jsx';

// Map from path to Map from line to amount. A stack counts once for a line, however often it goes through it.
function sumsByLine(model, values) {
  const wanted = new Set(Object.keys(model.sources));
  const sums = new Map([...wanted].map((path) => [path, new Map()]));
  const isWanted = model.strings.map((string) => wanted.has(string));
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    if (values[stack] === 0) continue;
    const seen = new Set();
    for (let node = model.stacks.node[stack]; node >= 0; node = model.nodes.parent[node]) {
      const frame = model.nodes.frame[node];
      const file = model.frames.file[frame];
      const key = `${file}:${model.frames.line[frame]}`;
      if (!isWanted[file] || seen.has(key)) continue;
      seen.add(key);
      const lines = sums.get(model.strings[file]);
      const line = model.frames.line[frame];
      lines.set(line, (lines.get(line) ?? 0) + values[stack]);
    }
  }
  return sums;
}

const totalOf = (lines) => [...lines.values()].reduce((most, value) => Math.max(most, Math.abs(value)), 0);

function chosenPlace(text, paths) {
  const match = /^(.*):(\d+)$/.exec(text ?? '');
  if (match && paths.includes(match[1])) return { path: match[1], line: Number(match[2]) };
  return { path: paths.includes(text) ? text : paths[0], line: 0 };
}

export function SourceView() {
  const report = useReport();
  const { model, selection, state, change } = report;
  const metric = currentMetric(report);
  const sums = useMemo(() => sumsByLine(model, METRICS[metric].of(selection)), [model, selection, metric]);
  const paths = [...sums].sort((left, right) => totalOf(right[1]) - totalOf(left[1])).map(([path]) => path);
  const { path, line: chosen } = chosenPlace(state.file, paths);
  const lines = sums.get(path);
  const most = totalOf(lines);
  const list = useRef(null);
  useEffect(() => { list.current?.querySelector('.chosen')?.scrollIntoView({ block: 'center' }); }, [path, chosen]);
  return (
    <div class="page wide">
      <div class="toolbar">
        <Choice id="source-file" label="File" value={path} onChange={(file) => change({ file })} options={paths.map((one) => [one, format.clipped(format.safeText(one), 80)])} />
        <MetricChoice />
      </div>
      <ol class="source" ref={list} aria-label={format.safeText(path)}>
        {model.sources[path].map((text, index) => {
          const amount = lines.get(index + 1);
          const share = amount && most > 0 ? Math.abs(amount) / most : 0;
          return (
            <li key={index} class={index + 1 === chosen ? 'chosen' : ''}>
              <span class="gutter amount" style={share > 0 ? { opacity: 0.55 + 0.45 * share } : undefined}>{amount === undefined ? '' : metricText(metric, amount)}</span>
              <span class="gutter line-number">{index + 1}</span>
              <code class={share > 0 ? 'hot' : ''}>{format.clipped(format.safeText(text.replace(/\t/g, '    ')), 500)}</code>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
