// Changes by stack: between two moments of the recording (the ends of the range), or against an earlier trace.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { endOfBin, timeOfBin, useReport } from '../context.js';
import { longPathText, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { CHANGES } from '../data/selection.js';
import { Bar, Card } from '../parts/bar.jsx';
import { DifferenceTotals, MatchingNotes } from '../parts/difference_totals.jsx';
import { changeLabel } from '../parts/filter_bar.jsx';
import { Sparkline } from '../parts/sparkline.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

function momentRows(model, { stacks }) {
  const rows = [];
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const row = {
      stack, before: stacks.before[stack], after: stacks.before[stack] + stacks.change[stack],
      before_blocks: stacks.before_blocks[stack], after_blocks: stacks.before_blocks[stack] + stacks.change_blocks[stack],
    };
    if (row.before !== 0 || row.after !== 0) rows.push({ ...row, change: row.after - row.before, blocks: row.after_blocks - row.before_blocks });
  }
  return rows;
}

// A row for each stack that passes the filter, with its figures in all recordings.
const PAIRS = { live_bytes: 'live_blocks', allocated_bytes: 'allocations', freed_bytes: 'frees', leaked_bytes: 'leaked_blocks' };

function traceRows({ difference }, { compared, stackIsWanted }) {
  const rows = [];
  const pair = PAIRS[compared.figure.key];
  const [first, last] = [difference.values[0][pair], difference.values.at(-1)[pair]];
  for (let stack = 0; stack < stackIsWanted.length; ++stack) {
    if (!stackIsWanted[stack]) continue;
    rows.push({
      stack, before: compared.before[stack], after: compared.after[stack], change: compared.change[stack], state: compared.states[stack],
      blocks: pair ? last[stack] - first[stack] : NaN, values: difference.values.map((values) => values[compared.figure.key][stack]),
    });
  }
  return rows;
}

const stackColumn = (model) => (
  { key: 'stack', label: 'Stack', cell: (row) => [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={longPathText(model, row.stack)} />] });

const widest = (rows, of, text, sign) => (text === format.bytes ? bytesUpTo : countUpTo)(rows.reduce((best, row) => Math.max(best, Math.abs(of(row)) || 0), 0), sign);

function changeColumn(rows, text) {
  const most = rows.reduce((best, { change }) => Math.max(best, Math.abs(change) || 0), 0);
  return { key: 'change', label: 'Change', align: 'right', hasBar: true, holds: [format.UNKNOWN, widest(rows, (row) => row.change, text, '+')], sort: (row) => row.change,
    cell: ({ change }) => <Bar part={change || 0} whole={most} text={format.signed(text(change), change)} kind={change < 0 ? 'less' : 'more'} /> };
}

const figureColumn = (rows, key, label, of, text) => ({ key, label, align: 'right', holds: [format.UNKNOWN, widest(rows, of, text, text === signedCount ? '+' : '')], sort: of, cell: (row) => text(of(row)) });
const signedCount = (value) => format.signed(format.count(value), value);

const momentColumns = (model, rows) => [
  stackColumn(model), changeColumn(rows, format.bytes), figureColumn(rows, 'before', 'Before', (row) => row.before, format.bytes),
  figureColumn(rows, 'after', 'After', (row) => row.after, format.bytes), figureColumn(rows, 'blocks', 'Blocks', (row) => row.blocks, signedCount),
];

const stateText = ({ difference }, stack, state) => `${changeLabel(state)}${difference.moved[stack] ? ', moved' : ''}`;

function traceColumns(model, rows, { figure }) {
  const text = figure.unit === 'bytes' ? format.bytes : format.count;
  const { recordings } = model.difference;
  const isSeries = recordings.length > 2;
  const label = (index) => (isSeries ? String(index + 1) : ['Before', 'After'][index]);
  return [
    stackColumn(model),
    { key: 'state', label: 'State', holds: rows.map(({ stack, state }) => stateText(model, stack, state)), sort: (row) => CHANGES.indexOf(row.state), cell: ({ stack, state }) => <span class={`state ${state}`}>{stateText(model, stack, state)}</span> },
    changeColumn(rows, text),
    ...recordings.map((recording, index) => ({ ...figureColumn(rows, `value-${index}`, label(index), (row) => row.values[index], text), title: format.safeText(recording.name) })),
    ...(PAIRS[figure.key] ? [figureColumn(rows, 'blocks', figure.key === 'live_bytes' || figure.key === 'leaked_bytes' ? 'Blocks' : 'Count', (row) => row.blocks, signedCount)] : []),
    ...(isSeries ? [{ key: 'growth', label: 'Growth', width: '8.5rem', sort: ({ stack }) => model.difference.growing[stack], cell: ({ stack, values }) => (
      <span class="growth">{values.some(Number.isNaN) ? format.UNKNOWN : <Sparkline values={values} width={76} height={20} label={`From recording to recording: ${values.map(text).join(', ')}`} kind={model.difference.growing[stack] ? 'bad' : ''} />}
        {model.difference.growing[stack] ? <span class="note"> grows</span> : null}</span>) }] : []),
  ];
}

// The ends of the range as sliders.
function Moments() {
  const { model, selection, change } = useReport();
  const slider = (label, value, onInput, text) => (
    <label class="moment"><span>{label}</span><input type="range" min={0} max={model.bins.count - 1} value={value} aria-label={label} aria-valuetext={text} onInput={(event) => onInput(Number(event.currentTarget.value))} /><b>{text}</b></label>
  );
  return (
    <div class="moments">
      {slider('Before', selection.from, (from) => change({ from, to: Math.max(from, selection.to), moment: null }), format.duration(timeOfBin(model, selection.from)))}
      {slider('After', selection.to, (to) => change({ to, from: Math.min(to, selection.from), moment: null }), format.duration(endOfBin(model, selection.to)))}
    </div>
  );
}

function OfMoments() {
  const { model, selection, state, change } = useReport();
  const rows = useMemo(() => momentRows(model, selection), [model, selection]);
  const columns = useMemo(() => momentColumns(model, rows), [model, rows]);
  const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
  const [before, after] = [sum('before'), sum('after')];
  return (
    <div class="page wide fill-height">
      <div class="toolbar"><Moments /></div>
      <div class="cards">
        <Card label="Live before" value={<span id="difference-before">{format.bytes(before)}</span>} detail={format.counted(sum('before_blocks'), 'block')} />
        <Card label="Live after" value={<span id="difference-after">{format.bytes(after)}</span>} detail={format.counted(sum('after_blocks'), 'block')} />
        <Card label="Change" value={<span id="difference-change">{format.signed(format.bytes(after - before), after - before)}</span>} detail={before > 0 ? `${format.signed(format.percent(after - before, before), after - before)} of before` : ''} kind={after > before ? 'warning' : ''} />
      </div>
      <Table label="Difference by stack" columns={columns} rows={rows} initialSort="change" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} keyOf={(row) => row.stack} />
    </div>
  );
}

function OfTraces() {
  const { model, selection, state, change } = useReport();
  const rows = useMemo(() => traceRows(model, selection), [model, selection]);
  const columns = useMemo(() => traceColumns(model, rows, selection.compared), [model, rows, selection.compared]);
  return (
    <div class="page wide">
      <DifferenceTotals difference={model.difference} />
      <h2>{`Stacks by change of ${selection.compared.figure.word}`}</h2>
      <Table label="Difference by stack" columns={columns} rows={rows} initialSort="change" height="max(20rem, 60vh)" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} keyOf={(row) => row.stack}
        empty={model.stacks.count === 0 ? 'No stack changed.' : undefined} />
      <MatchingNotes difference={model.difference} />
    </div>
  );
}

export function DifferenceView() {
  const { model } = useReport();
  return model.difference ? <OfTraces /> : <OfMoments />;
}
