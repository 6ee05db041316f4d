// Changes by stack: between two moments of the recording (the ends of the range), or against an earlier trace.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { endOfBin, timeOfBin, useReport } from '../context.js';
import { LIBRARIES_TEXT, longPathText, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { CHANGES, stateOf } from '../data/selection.js';
import { Bar, Card } from '../parts/bar.jsx';
import { DifferenceTotals, MatchingNotes } from '../parts/difference_totals.jsx';
import { changeLabel } from '../parts/filter_bar.jsx';
import { Sparkline } from '../parts/sparkline.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

const SUMS = ['before', 'after', 'before_blocks', 'after_blocks', 'change', 'blocks'];
const isGrowing = (values) => values.every((value, index) => index === 0 || value >= values[index - 1]) && values.at(-1) > values[0];

// Rows of which those of system libraries are one, or two if they mapped memory as well. Its stack is the first of theirs.
function withLibrariesSummedUp({ stacks }, rows) {
  const sums = new Map();
  return rows.filter((row) => {
    if (stacks.of_libraries[row.stack] !== 1) return true;
    const sum = sums.get(stacks.mapping[row.stack]);
    if (!sum) {
      row.ofLibraries = true;
      sums.set(stacks.mapping[row.stack], row);
      return true;
    }
    SUMS.filter((name) => name in row).forEach((name) => { sum[name] += row[name]; });
    if (row.state !== sum.state) sum.state = stateOf(null, sum.change);
    sum.values?.forEach((_, index) => { sum.values[index] += row.values[index]; });
    sum.growing = sum.values && isGrowing(sum.values);
    return false;
  });
}

function momentRows(model, { stacks }) {
  const rows = [];
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const row = {
      stack, before: stacks.before[stack], after: stacks.before[stack] + stacks.change[stack],
      before_blocks: stacks.before_blocks[stack], after_blocks: stacks.before_blocks[stack] + stacks.change_blocks[stack],
    };
    if (row.before !== 0 || row.after !== 0) rows.push({ ...row, change: row.after - row.before, blocks: row.after_blocks - row.before_blocks });
  }
  return withLibrariesSummedUp(model, rows);
}

// A row for each stack that passes the filter, with its figures in all recordings.
const PAIRS = { live_bytes: 'live_blocks', allocated_bytes: 'allocations', freed_bytes: 'frees', leaked_bytes: 'leaked_blocks' };

function traceRows(model, { compared, stackIsWanted }) {
  const { difference } = model;
  const rows = [];
  const pair = PAIRS[compared.figure.key];
  const [first, last] = [difference.values[0][pair], difference.values.at(-1)[pair]];
  for (let stack = 0; stack < stackIsWanted.length; ++stack) {
    if (!stackIsWanted[stack]) continue;
    rows.push({
      stack, before: compared.before[stack], after: compared.after[stack], change: compared.change[stack], state: compared.states[stack],
      blocks: pair ? last[stack] - first[stack] : NaN, values: difference.values.map((values) => values[compared.figure.key][stack]),
      moved: difference.moved[stack] === 1, growing: difference.growing[stack] === 1,
    });
  }
  return withLibrariesSummedUp(model, rows);
}

const stackColumn = (model) => (
  { key: 'stack', label: 'Stack', cell: (row) => (row.ofLibraries ? LIBRARIES_TEXT : [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={longPathText(model, row.stack)} />]) });

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

const stateText = ({ state, moved, ofLibraries }) => `${changeLabel(state)}${moved && !ofLibraries ? ', moved' : ''}`;

function traceColumns(model, rows, { figure }) {
  const text = figure.unit === 'bytes' ? format.bytes : format.count;
  const { recordings } = model.difference;
  const isSeries = recordings.length > 2;
  const label = (index) => (isSeries ? String(index + 1) : ['Before', 'After'][index]);
  return [
    stackColumn(model),
    { key: 'state', label: 'State', holds: rows.map(stateText), sort: (row) => CHANGES.indexOf(row.state), cell: (row) => <span class={`state ${row.state}`}>{stateText(row)}</span> },
    changeColumn(rows, text),
    ...recordings.map((recording, index) => ({ ...figureColumn(rows, `value-${index}`, label(index), (row) => row.values[index], text), title: format.safeText(recording.name) })),
    ...(PAIRS[figure.key] ? [figureColumn(rows, 'blocks', figure.key === 'live_bytes' || figure.key === 'leaked_bytes' ? 'Blocks' : 'Count', (row) => row.blocks, signedCount)] : []),
    ...(isSeries ? [{ key: 'growth', label: 'Growth', width: '8.5rem', sort: ({ growing }) => Number(growing), cell: ({ growing, values }) => (
      <span class="growth">{values.some(Number.isNaN) ? format.UNKNOWN : <Sparkline values={values} width={76} height={20} label={`From recording to recording: ${values.map(text).join(', ')}`} kind={growing ? 'bad' : ''} />}
        {growing ? <span class="note"> grows</span> : null}</span>) }] : []),
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
