// Allocation sites by stack, line, function, file, module or thread; callers and callees.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { currentMetric, firstMetric, labelOfMetric, metricText, useReport } from '../context.js';
import { neighboursOf, functionsOf, sumsByFunction } from '../data/functions.js';
import { LIBRARIES_TEXT, functionOf, labelOf, longPathText, placeOf, stackNumber, tellingFrame, threadName } from '../data/names.js';
import { METRICS, isMetricKnown, stackModules, sumsBy } from '../data/selection.js';
import * as format from '../format.js';
import { Bar, Choice, Toggle } from '../parts/bar.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { FrameLine, Name } from '../parts/text.jsx';

const GROUPS = [['stack', 'Stack'], ['place', 'Place (file:line)'], ['function', 'Function'], ['file', 'File'], ['module', 'Module'], ['thread', 'Thread']];
const BY_LABEL = ['label', 'Tag or pool'];
const MEASURES = [
  ['live', 'Live', 'bytes'], ['live_blocks', 'Blocks', 'count'], ['peak', 'At peak', 'bytes'], ['allocated', 'Allocated', 'bytes'],
  ['allocations', 'Count', 'count'], ['temporary', 'Temporary', 'count'], ['change', 'Change', 'bytes'],
];

// Rows {title, stack?, sums…} of stacks that have the same key.
function groupStacks(model, sums, wanted, keyOf, titleOf) {
  const groups = new Map();
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    if (!wanted[stack]) continue;
    const key = keyOf(stack);
    let group = groups.get(key);
    if (!group) {
      group = { key, stack, stacks: 0, title: titleOf(stack) };
      MEASURES.forEach(([name]) => { group[name] = 0; });
      groups.set(key, group);
    }
    ++group.stacks;
    MEASURES.forEach(([name]) => { group[name] += sums[name][stack]; });
  }
  return [...groups.values()].filter((group) => MEASURES.some(([name]) => group[name] !== 0));
}

function threadRows(model, selection) {
  const count = model.threads.reduce((most, { number }) => Math.max(most, number), 0) + 1;
  const sums = sumsBy(selection, 'thread', count);
  return model.threads.map(({ number }) => ({
    key: number, stack: null, title: <Name text={`thread ${threadName(model, number)}`} />, sort: String(number),
    ...Object.fromEntries(MEASURES.map(([name]) => [name, sums[name][number]])),
  }));
}

// Start-up calls everything, and so would be on top.
function functionRows(model, selection, functions, hasStartup) {
  const tables = MEASURES.map(([name]) => [name, sumsByFunction(model, functions, selection.stacks[name])]);
  return Array.from({ length: functions.count }, (_, number) => ({
    key: number, function: number, stack: null, title: <FrameLine model={model} frame={functions.first[number]} />,
    ...Object.fromEntries(tables.map(([name, { total }]) => [name, total[number]])),
    self: tables[3][1].self[number],
  })).filter((row) => MEASURES.some(([name]) => row[name] !== 0) && (hasStartup || model.frames.kind[functions.first[row.key]] !== 2));
}

function rowsOf(model, selection, group, functions, hasStartup) {
  const { frames, strings } = model;
  const telling = (stack) => tellingFrame(model, stack);
  const file = (stack) => (telling(stack) < 0 ? 0 : frames.file[telling(stack)]);
  const grouped = (keyOf, titleOf) => groupStacks(model, selection.stacks, selection.stackIsWanted, keyOf, titleOf);
  if (group === 'thread') return threadRows(model, selection);
  if (group === 'function') return functionRows(model, selection, functions, hasStartup);
  if (group === 'place') return grouped((stack) => `${functionOf(model, telling(stack))} ${placeOf(model, telling(stack))}`, (stack) => <FrameLine model={model} frame={telling(stack)} />);
  if (group === 'file') return grouped(file, (stack) => <Name text={strings[file(stack)] || '(file unknown)'} />);
  if (group === 'module') {
    const modules = stackModules(model);
    return grouped((stack) => modules[stack], (stack) => <Name text={strings[modules[stack]] || '(module unknown)'} />);
  }
  if (group === 'label') return grouped((stack) => model.stacks.label[stack], (stack) => <Name text={labelOf(model, stack) || '(no tag)'} />);
  const isOfLibraries = (stack) => model.stacks.of_libraries[stack] === 1;
  return grouped((stack) => (isOfLibraries(stack) ? -1 : stack), (stack) => isOfLibraries(stack) ? LIBRARIES_TEXT : [<span class="id">{stackNumber(model, stack)}</span>, ' ', <Name text={longPathText(model, stack)} />]);
}

// Few programs use tags or pools.
const groupsOf = (model) => (model.stacks.label.some((label) => label !== 0) ? [...GROUPS, BY_LABEL] : GROUPS);

function columnsOf({ model, selection }, group, rows) {
  const isKnown = { live: 'live', live_blocks: 'live_blocks', peak: 'peak', temporary: 'temporary', change: 'change' };
  const highest = (name) => rows.reduce((best, row) => Math.max(best, Math.abs(row[name])), 0);
  const title = { key: 'title', label: groupsOf(model).find(([name]) => name === group)[1], cell: (row) => row.title };
  // Of the whole recording the change is what is live.
  const isRange = selection.from > 0 || selection.to < model.bins.count - 1;
  return [title, ...MEASURES.filter(([name]) => name !== 'change' || isRange).map(([name, label, unit]) => {
    const most = highest(name);
    const known = !isKnown[name] || isMetricKnown(model, isKnown[name], selection);
    const holds = !known ? format.UNKNOWN : unit === 'bytes' ? bytesUpTo(most, name === 'change' ? '+' : '') : countUpTo(most);
    const text = (value) => (known ? format.signed(unit === 'bytes' ? format.bytes(value) : format.count(value), name === 'change' ? value : 0) : format.UNKNOWN);
    return {
      key: name, label, align: 'right', hasBar: true, holds, title: group === 'function' ? `${label}, including called functions` : name === 'peak' ? (selection.hasExactPeaks ? labelOfMetric('peak', model, selection) : 'Live at the end of the interval with the most') : METRICS[name].label,
      sort: (row) => (known ? row[name] : NaN),
      cell: (row) => <Bar part={known ? row[name] : 0} whole={most} text={text(row[name])} kind={name === 'change' && row[name] < 0 ? 'less' : ''} />,
    };
  })];
}

function Neighbours({ title, list, total, metric, functions }) {
  const { model, change } = useReport();
  return (
    <section class="neighbours" aria-label={title}><h3>{title}</h3>
      <ul>{list.slice(0, 40).map(({ number, amount }) => (
        <li key={number}>
          <Bar part={amount} whole={total} text={metricText(metric, amount)} />
          {number < 0 ? <span class="note">{title === 'Callers' ? '(outermost)' : '(allocates itself)'}</span>
            : <button type="button" class="link" onClick={() => change({ function: number })}><FrameLine model={model} frame={functions.first[number]} most={70} /></button>}
        </li>
      ))}</ul>
      {list.length > 40 ? <p class="note">{list.length - 40} more</p> : null}
    </section>
  );
}

function FunctionDetails({ functions, number }) {
  const report = useReport();
  const { model, selection, change } = report;
  const metric = currentMetric(report);
  const values = METRICS[metric].of(selection);
  const { callers, callees } = useMemo(() => neighboursOf(model, functions, values, number), [model, functions, values, number]);
  const total = useMemo(() => sumsByFunction(model, functions, values).total[number], [model, functions, values, number]);
  const frame = functions.first[number];
  return (
    <section class="function-details" aria-label="Callers and callees">
      <div class="panel-head"><h2><FrameLine model={model} frame={frame} /></h2>
        <b>{metricText(metric, total)}</b><span class="note">{METRICS[metric].label.toLowerCase()}</span>
        <button type="button" class="quiet" aria-label="Close callers and callees" onClick={() => change({ function: null })}>✕</button></div>
      <div class="columns">
        <Neighbours title="Callers" list={callers} total={total} metric={metric} functions={functions} />
        <Neighbours title="Callees" list={callees} total={total} metric={metric} functions={functions} />
      </div>
    </section>
  );
}

export function MetricChoice() {
  const report = useReport();
  const { model, selection, change } = report;
  return <Choice id="metric" label="Metric" value={currentMetric(report)} onChange={(metric) => change({ metric })}
    options={Object.entries(METRICS).map(([name, { label }]) => [name, isMetricKnown(model, name, selection) ? label : `${label} (unknown)`, !isMetricKnown(model, name, selection)])} />;
}

const MEMORY = [['', 'malloc'], ['mmap', 'mmap'], ['both', 'both']];

// Blocks of the allocator, or what the program mapped itself; what is only reserved is no memory, and stands beside.
export function MemoryChoice() {
  const { model, selection, change } = useReport();
  const { memory } = selection.filter;
  if (!model.hasMapped || model.difference) return null;
  const { reserved_bytes: bytes } = model.stacks;
  const reserved = memory === null ? 0 : bytes.reduce((sum, value, stack) => sum + (selection.stackIsWanted[stack] && value > 0 ? value : 0), 0);
  return [
    <Choice key="memory" id="memory" label="Memory" value={memory ?? ''} onChange={(chosen) => change({ memory: chosen || (model.firstMemory === null ? null : 'malloc'), zoom: null })} options={MEMORY} />,
    reserved > 0 ? <span key="reserved" class="note" id="reserved">besides {format.bytes(reserved)} only reserved</span> : null,
  ];
}

export function SitesView() {
  const report = useReport();
  const { model, selection, state, change } = report;
  const groups = groupsOf(model);
  const group = groups.some(([name]) => name === state.group) ? state.group : 'stack';
  const functions = useMemo(() => functionsOf(model), [model]);
  const rows = useMemo(() => rowsOf(model, selection, group, functions, state.startup), [model, selection, group, functions, state.startup]);
  const columns = useMemo(() => columnsOf(report, group, rows), [model, selection, group, rows]);
  const number = state.function !== null && state.function < functions.count ? state.function : null;
  const open = (row) => (group === 'function' ? change({ function: row.function }) : group === 'stack' || row.stacks === 1 ? change({ stack: row.stack })
    : group === 'thread' ? change({ thread: row.key }) : change({ stack: row.stack }));
  return (
    <div class="page wide fill-height">
      <div class="toolbar">
        <Choice id="sites-group" label="By" value={group} onChange={(by) => change({ group: by, function: null })} options={groups} />
        <MemoryChoice />
        {group === 'function' ? [<MetricChoice key="metric" />, <Toggle key="startup" label="Start-up" title="List functions below main and of thread starts" value={state.startup} onChange={(startup) => change({ startup })} />] : null}
        <span class="note">{format.counted(rows.length, 'row')}</span>
      </div>
      {group === 'function' && number !== null ? <FunctionDetails functions={functions} number={number} /> : null}
      <Table label={`Sites by ${group}`} columns={columns} rows={rows} initialSort={firstMetric(report)} onOpen={open} keyOf={(row) => row.key}
        isOpen={(row) => (group === 'function' ? row.function === number : row.stack !== null && row.stack === state.stack)} />
    </div>
  );
}
