// The one filter of all views, and the strip of time.
import { Fragment, h } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { endOfBin, ofPeak, processName, timeOfBin, useReport, wholeOf } from '../context.js';
import { CHANGES, LEAK_KINDS, isMetricKnown, stackModules, usedSizes } from '../data/selection.js';
import { threadName } from '../data/names.js';
import { isNoExpression, partsOf } from '../data/text_filter.js';
import * as format from '../format.js';
import { Choice } from './bar.jsx';
import { TimeStrip } from './time_strip.jsx';

// The filters that are chosen from lists.
export const CHOSEN = ['thread', 'module', 'size', 'age', 'kind', 'process', 'change', 'floor', 'figure'];

const KIND_LABELS = {
  leaked: 'leaked (definitely or indirectly)', definite: 'definitely lost', indirect: 'indirectly lost', possible: 'possibly lost',
  reachable: 'still reachable', suppressed: 'suppressed', unknown: 'unknown',
};

// "33 … 64 B", "1.0 … 2.0 KiB".
export function sizeLabel({ lowest, highest }) {
  if (!format.isKnown(highest)) return `≥ ${format.bytes(lowest)}`;
  if (lowest === highest) return format.bytes(lowest);
  if (highest < 1024) return `${lowest} … ${highest} B`;
  const [from, to] = [format.bytes(lowest), format.bytes(highest % 2 === 1 ? highest + 1 : highest)];
  return from.endsWith(to.slice(-4)) ? `${from.slice(0, -4)} … ${to}` : `${from} … ${to}`;
}

function modulesOf(model) {
  const counts = new Map();
  stackModules(model).forEach((module) => counts.set(module, (counts.get(module) ?? 0) + 1));
  return [...counts].sort((left, right) => right[1] - left[1]).map(([module]) => model.strings[module]).filter(Boolean);
}

// Ages that fall between bins, so that a block is on one side for certain.
function agesOf({ bins }) {
  const steps = [...new Set([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9].map((part) => Math.round(part * bins.count)))];
  return steps.filter((step) => step > 0 && step < bins.count);
}

export function TextFilter({ value, change }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => change({ text }), 120);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <label class="choice text">
      <input id="filter-text" type="search" placeholder="Function, file, module (/)" title="Part of a function, file or module of any frame, or of a tag or pool, or a regular expression (parse|format); -part: stacks without it"
        aria-label="Filter by text: function, file or module" spellcheck={false} autocomplete="off" value={text} aria-invalid={isNoExpression(partsOf(text).wanted) ? 'true' : undefined}
        onInput={(event) => setText(event.currentTarget.value)} onChange={(event) => change({ text: event.currentTarget.value })} />
    </label>
  );
}

const processText = (model, { filter }) => (filter.process === null ? 'all processes' : processName(model.processes[filter.process]));

function rangeText(model, selection) {
  const { from, to, moment } = selection;
  const whole = from === 0 && to === model.bins.count - 1;
  const range = whole ? wholeOf(model) : `${format.duration(timeOfBin(model, from))} … ${format.duration(endOfBin(model, to))}`;
  return `${range}${moment === to ? '' : `, live at ${format.duration(endOfBin(model, moment))}`}`;
}

const ageText = (model, age) => `${age > 0 ? 'older' : 'younger'} than ${format.duration(Math.abs(age) * model.bins.width)}`;

// What the lists are set to, in words: they may be folded away.
function chosenText(model, { thread, module, size, age, kind, memory }) {
  return [
    memory === null ? '' : memory === 'mmap' ? 'mmap' : 'malloc and mmap',
    thread === null ? '' : `thread ${threadName(model, thread)}`, module === null ? '' : format.safeText(format.baseName(module)),
    size === null ? '' : sizeLabel(model.sizeClasses[size]), age === null ? '' : ageText(model, age), kind === null ? '' : KIND_LABELS[kind],
  ].filter(Boolean).map((part) => `, ${format.clipped(part, 40)}`).join('');
}

// Of compared recordings: sums of the selection in the first and in the last one. Mappings stand beside, as in the recordings' totals.
function ComparedTotals({ model, selection }) {
  const { figure, before, after, change } = selection.compared;
  const { mapping, pooled } = model.stacks;
  const sum = (values, isOne) => values.reduce((total, value, stack) => total + (selection.stackIsWanted[stack] && isOne(stack) ? value : 0), 0);
  const isBlock = (stack) => !mapping[stack] && !pooled[stack];
  const isMapping = (stack) => mapping[stack] === 1;
  const text = figure.unit === 'bytes' ? format.bytes : format.count;
  const all = sum(change, isBlock);
  const count = selection.stackIsWanted.reduce((total, wanted) => total + wanted, 0);
  const hasMapped = [before, after].some((values) => sum(values, isMapping) > 0);
  return (
    <p class="totals" role="status" aria-live="polite">
      <span>{figure.word}: <b id="selected-before">{text(sum(before, isBlock))}</b> before, <b id="selected-after">{text(sum(after, isBlock))}</b> after, <b id="selected-change">{format.signed(text(all), all)}</b></span>
      <span>{hasMapped ? [`by mmap: `, <b key="before" id="selected-mapped-before">{text(sum(before, isMapping))}</b>, ' before, ', <b key="after" id="selected-mapped-after">{text(sum(after, isMapping))}</b>, ' after · '] : null}<b id="selected-rows">{format.count(count)}</b> {count === 1 ? 'row' : 'rows'}</span>
    </p>
  );
}

// What the report is about, before what is live.
function FocusTotal({ model, selection }) {
  const { totals } = selection;
  if (model.focus === 'peak' && isMetricKnown(model, 'peak', selection)) return <><b id="total-peak">{format.bytes(totals.peak)}</b> at the peak{ofPeak(model)} · </>;
  if (model.focus === 'temporary') return <><b id="total-temporary">{format.count(totals.temporary)}</b> temporary · </>;
  return null;
}

function nounOf({ memory }, count) {
  if (memory === null) return count === 1 ? 'block' : 'blocks';
  return memory === 'mmap' ? (count === 1 ? 'mapping' : 'mappings') : 'blocks and mappings';
}

function Totals({ model, selection }) {
  const { totals } = selection;
  if (selection.compared) return <ComparedTotals model={model} selection={selection} />;
  const live = model.knowsReleases ? format.bytes(totals.live) : format.UNKNOWN;
  const blocks = model.knowsReleases ? format.count(totals.live_blocks) : format.UNKNOWN;
  const range = `${model.isRun ? processText(model, selection) : rangeText(model, selection)}${chosenText(model, selection.filter)}`;
  return (
    <p class="totals" role="status" aria-live="polite">
      <span><FocusTotal model={model} selection={selection} /><b id="total-live">{live}</b> live in <b id="total-live-blocks">{blocks}</b> {nounOf(selection.filter, totals.live_blocks)} · <b id="total-allocations">{format.count(totals.allocations)}</b> {selection.filter.memory === null ? (totals.allocations === 1 ? 'allocation' : 'allocations') : totals.allocations === 1 ? 'call' : 'calls'} of <b id="total-allocated">{format.bytes(totals.allocated)}</b></span>
      <span id="total-range" title={range}>{range}</span>
    </p>
  );
}

const TIMES_AND_KINDS = ['from', 'to', 'moment', 'thread', 'size', 'age', 'kind', 'process'];

// A note for views without time, thread, size or age, shown if such a filter is set. `stacks`: whether the view is by stack; `parts`: which
// parts of it are. `of`: what the view has instead. `except`: a filter that it does follow.
export function FilterLimit({ stacks = true, parts, of, except }) {
  const { model, state } = useReport();
  const unknown = TIMES_AND_KINDS.some((name) => name !== except && state[name] !== null);
  const ignored = (!stacks || parts) && (state.text !== '' || state.module !== null);
  if (!unknown && !ignored) return null;
  return (
    <p class="note filter-limit" role="note">
      {format.capitalized(of ?? wholeOf(model))}: {stacks ? `only the filters by text and module apply${parts ? `, and to ${parts} alone` : ' here'}.` : 'filters don\'t apply here.'}
    </p>
  );
}

const FLOORS = [1 << 10, 1 << 12, 1 << 16, 1 << 20, 1 << 24];
const FLOORS_OF_COUNTS = [10, 100, 1000, 10_000];
const CHANGE_LABELS = { new: '+ new', grown: '▲ grown', shrunk: '▼ shrunk', gone: '− gone', same: '= same', unknown: '? unknown' };
export const changeLabel = (state) => CHANGE_LABELS[state] ?? state;

// Filters of compared recordings: figure, state of a stack, minimum change.
function ComparedChoices() {
  const { model, selection, state, change } = useReport();
  const { figure } = selection.compared;
  const [floors, text] = figure.unit === 'bytes' ? [FLOORS, format.bytes] : [FLOORS_OF_COUNTS, format.count];
  return [
    <Choice label="By" id="filter-figure" value={figure.key} onChange={(key) => change({ figure: key === model.difference.sort ? null : key, floor: null })}
      options={model.difference.figures.map(({ key, word }) => [key, word])} />,
    <Choice isBare id="filter-change" label="Change" value={state.change ?? ''} onChange={(value) => change({ change: value || null })}
      options={[['', 'Any change'], ...CHANGES.map((one) => [one, changeLabel(one)])]} />,
    <Choice isBare id="filter-floor" label="At least" value={state.floor === null ? '' : String(state.floor)} onChange={(value) => change({ floor: value === '' ? null : Number(value) })}
      options={[['', 'Any amount'], ...[...new Set([...floors, ...(state.floor === null ? [] : [state.floor])])].sort((one, other) => one - other).map((floor) => [String(floor), `at least ${text(floor)}`])]} />,
  ];
}

function Choices({ isShown }) {
  const { model, selection, state, change } = useReport();
  const modules = useMemo(() => modulesOf(model), [model]);
  const sizes = useMemo(() => usedSizes(model, selection.filter), [model, selection.filter.memory]);
  const number = (text) => (text === '' ? null : Number(text));
  const any = (what) => ['', `Any ${what}`];
  return (
    <div class="choices" id="filter-choices" hidden={!isShown}>
      {model.difference ? <ComparedChoices /> : null}
      {model.isRun && model.cells.process && model.processes.length > 1 ? (
        <Choice isBare id="filter-process" label="Process" value={state.process === null ? '' : String(state.process)} onChange={(text) => change({ process: number(text), thread: null })}
          options={[any('process'), ...model.processes.map((process, row) => [String(row), processName(process)])]} />
      ) : null}
      {model.hasCells && model.threads.length > 1 ? (
        <Choice isBare id="filter-thread" label="Thread" value={state.thread === null ? '' : String(state.thread)} onChange={(text) => change({ thread: number(text) })}
          options={[any('thread'), ...model.threads.filter(({ process }) => state.process === null || process === undefined || process === state.process)
            .map((thread) => [String(thread.number), format.clipped(threadName(model, thread.number), 40)])]} />
      ) : null}
      {modules.length > 1 ? (
        <Choice isBare id="filter-module" label="Module" value={state.module ?? ''} onChange={(text) => change({ module: text || null })}
          options={[any('module'), ...modules.map((module) => [module, format.clipped(format.safeText(format.baseName(module)), 40)])]} />
      ) : null}
      {model.hasCells && sizes.length > 1 ? (
        <Choice isBare id="filter-size" label="Size" value={state.size === null ? '' : String(state.size)} onChange={(text) => change({ size: number(text) })}
          options={[any('size'), ...sizes.map((index) => [String(index), sizeLabel(model.sizeClasses[index])])]} />
      ) : null}
      {model.hasTimes && model.left.count > 0 && model.bins.count > 1 ? (
        <Choice isBare id="filter-age" label="Age" value={state.age === null ? '' : String(state.age)} onChange={(text) => change({ age: number(text) })}
          options={[any('age'), ...[...agesOf(model), ...agesOf(model).map((age) => -age)].map((age) => [String(age), ageText(model, age)])]} />
      ) : null}
      {model.isScanned && model.left.count > 0 ? (
        <Choice isBare id="filter-kind" label="Leak kind" value={state.kind ?? ''} onChange={(text) => change({ kind: text || null })}
          options={[any('leak kind'), ...LEAK_KINDS.map((kind) => [kind, KIND_LABELS[kind]])]} />
      ) : null}
    </div>
  );
}

// A text that looks like a regular expression, and is none, still selects: as part of a name.
function NoExpression() {
  const { wanted } = partsOf(useReport().state.text);
  if (!isNoExpression(wanted)) return null;
  return <p class="note filter-limit" id="filter-problem" role="alert">“{format.clipped(format.safeText(wanted), 60)}” is not a regular expression: taken as part of a name.</p>;
}

export function FilterBar({ hasFilters }) {
  const { model, selection } = useReport();
  return (
    <section class="filters" aria-label="Filter">
      {model.hasTimes ? <TimeStrip /> : <Choices isShown />}
      <Totals model={model} selection={selection} />
      {model.hasTimes ? <Choices isShown={hasFilters} /> : null}
      <NoExpression />
    </section>
  );
}
