// What changed, by stack: between two moments of the recording (the ends of the range), or against an earlier trace.
import { h } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { endOfBin, timeOfBin, useReport } from '../context.js';
import { pathText, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { Bar, Card, Choice } from '../parts/bar.jsx';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { Table } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

const FIGURES = ['before', 'after', 'before_blocks', 'after_blocks', 'before_count', 'after_count'];

function momentRows(model, { stacks }) {
  const rows = [];
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const row = {
      stack, before: stacks.before[stack], after: stacks.before[stack] + stacks.change[stack],
      before_blocks: stacks.before_blocks[stack], after_blocks: stacks.before_blocks[stack] + stacks.change_blocks[stack],
    };
    if (row.before !== 0 || row.after !== 0) rows.push(row);
  }
  return rows;
}

// Of stacks that the earlier trace doesn't have, its figures are 0: it was recorded, and they weren't in it.
function traceRows(model, { stackIsWanted }) {
  const { difference, stacks } = model;
  const place = new Map(difference.stack.map((stack, row) => [stack, row]));
  const rows = [];
  for (let stack = 0; stack < stacks.count; ++stack) {
    if (!stackIsWanted[stack]) continue;
    const row = place.get(stack);
    const before = (name) => (row === undefined ? 0 : difference[name][row] ?? NaN);
    const entry = {
      stack, before: before('before_live_bytes'), after: stacks.live_bytes[stack], before_blocks: before('before_live_blocks'), after_blocks: stacks.live_blocks[stack],
      before_count: before('before_allocations'), after_count: stacks.allocations[stack],
    };
    if (FIGURES.some((name) => entry[name] !== 0)) rows.push(entry);
  }
  return rows;
}

function columnsOf(model, rows, hasCounts) {
  const change = (row) => row.after - row.before;
  const most = rows.reduce((best, row) => Math.max(best, Math.abs(change(row)) || 0), 0);
  const figure = (key, label, of, text) => ({ key, label, align: 'right', width: 'minmax(5.5rem, 1fr)', sort: of, cell: (row) => text(of(row)) });
  const signedCount = (value) => format.signed(format.count(value), value);
  return [
    { key: 'stack', label: 'Stack', width: 'minmax(14rem, 3fr)', cell: (row) => [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={pathText(model, row.stack)} />] },
    { key: 'change', label: 'Change', align: 'right', width: 'minmax(7rem, 1.2fr)', sort: change, cell: (row) => <Bar part={change(row) || 0} whole={most} text={format.signed(format.bytes(change(row)), change(row))} kind={change(row) < 0 ? 'less' : 'more'} /> },
    figure('before', 'Before', (row) => row.before, format.bytes), figure('after', 'After', (row) => row.after, format.bytes),
    figure('blocks', 'Blocks', (row) => row.after_blocks - row.before_blocks, signedCount),
    ...(hasCounts ? [figure('count', 'Allocations', (row) => row.after_count - row.before_count, signedCount)] : []),
  ];
}

// The ends of the range as sliders: A before it, B at its end.
function Moments() {
  const { model, selection, change } = useReport();
  const slider = (label, value, onInput, text) => (
    <label class="moment"><span>{label}</span><input type="range" min={0} max={model.bins.count - 1} value={value} aria-label={label} aria-valuetext={text} onInput={(event) => onInput(Number(event.currentTarget.value))} /><b>{text}</b></label>
  );
  return (
    <div class="moments">
      {slider('A', selection.from, (from) => change({ from, to: Math.max(from, selection.to), moment: null }), format.duration(timeOfBin(model, selection.from)))}
      {slider('B', selection.to, (to) => change({ to, from: Math.min(to, selection.from), moment: null }), format.duration(endOfBin(model, selection.to)))}
    </div>
  );
}

export function DifferenceView() {
  const { model, selection, state, change } = useReport();
  const canMoments = model.hasCells && model.bins.count > 1 && model.knowsReleases;
  const [mode, setMode] = useState(model.difference ? 'traces' : 'moments');
  const rows = useMemo(() => (mode === 'traces' ? traceRows(model, selection) : momentRows(model, selection)), [model, selection, mode]);
  const columns = useMemo(() => columnsOf(model, rows, mode === 'traces'), [model, rows, mode]);
  const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
  const [before, after] = [sum('before'), sum('after')];
  return (
    <div class="page wide fill-height">
      <div class="toolbar">
        {model.difference && canMoments ? <Choice id="difference-mode" label="Compare" value={mode} onChange={setMode} options={[['traces', 'two traces'], ['moments', 'two moments']]} /> : null}
        {mode === 'moments' ? <Moments /> : <span class="note"><Name text={model.difference.before} most={80} /> → <Name text={model.difference.after} most={80} /></span>}
      </div>
      {mode === 'traces' ? <FilterLimit /> : null}
      <div class="cards">
        <Card label={mode === 'moments' ? 'Live at A' : 'Live before'} value={<span id="difference-before">{format.bytes(before)}</span>} detail={format.counted(sum('before_blocks'), 'block')} />
        <Card label={mode === 'moments' ? 'Live at B' : 'Live after'} value={<span id="difference-after">{format.bytes(after)}</span>} detail={format.counted(sum('after_blocks'), 'block')} />
        <Card label="Change" value={<span id="difference-change">{format.signed(format.bytes(after - before), after - before)}</span>} detail={before > 0 ? `${format.signed(format.percent(after - before, before), after - before)} of before` : ''} kind={after > before ? 'warning' : ''} />
      </div>
      <Table label="Difference by stack" columns={columns} rows={rows} initialSort="change" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} keyOf={(row) => row.stack} />
    </div>
  );
}
