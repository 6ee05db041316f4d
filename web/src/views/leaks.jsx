// Blocks live at the end, by stack: definitely, indirectly and possibly lost; their growth, and suppressions.
import { h } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { endOf, timeOfBin, useReport } from '../context.js';
import { allocatorOf, framesOf, stackNumber, tellingFrame } from '../data/names.js';
import { growthsOf } from '../data/selection.js';
import * as format from '../format.js';
import { Bar, Card } from '../parts/bar.jsx';
import { Sparkline } from '../parts/sparkline.jsx';
import { CopyButton } from '../parts/stack_panel.jsx';
import { FrameLine } from '../parts/text.jsx';

const [NO_SCAN, REACHABLE, DEFINITE, INDIRECT, POSSIBLE, SUPPRESSED, UNSURE] = [0, 1, 2, 3, 4, 5, 6];
const PAGE = 100;

// Without a scan: blocks not freed. With one, and a filter by kind: that kind alone.
function groupsOf(model, { left, filter, isAllLeft }) {
  const sum = (table, states, stack) => states.reduce((total, state) => total + table[state][stack], 0);
  const listed = !model.isScanned ? [NO_SCAN, REACHABLE, SUPPRESSED, UNSURE]
    : ['reachable', 'suppressed', 'unknown'].includes(filter.kind) ? [NO_SCAN, REACHABLE, SUPPRESSED, UNSURE] : [DEFINITE, INDIRECT, POSSIBLE];
  const groups = [];
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const blocks = sum(left.blocks, listed, stack);
    if (blocks === 0) continue;
    groups.push({ stack, blocks, bytes: sum(left.bytes, listed, stack),
      definite: left.bytes[DEFINITE][stack], indirect: left.bytes[INDIRECT][stack], possible: left.bytes[POSSIBLE][stack] });
  }
  // Blocks indirectly lost by this stack's definitely lost ones; known of the whole scan only.
  const isWhole = isAllLeft && filter.from === null && filter.to === null;
  groups.forEach((group) => {
    group.below = isWhole && group.definite > 0 && model.stacks.below_bytes[group.stack] > 0 ? model.stacks.below_bytes[group.stack] : 0;
    // As in the summary's sentences: with what is lost by them.
    group.allBytes = group.bytes + group.below;
    group.allBlocks = group.blocks + (group.below > 0 ? model.stacks.below_blocks[group.stack] : 0);
  });
  const weightOf = (group) => [group.definite > 0 ? group.definite + group.below : 0, group.indirect, group.bytes];
  return groups.sort((one, other) => {
    const [left, right] = [weightOf(one), weightOf(other)];
    const place = left.findIndex((weight, index) => weight !== right[index]);
    return place < 0 ? one.stack - other.stack : right[place] - left[place];
  });
}

const totalOf = (values) => values.reduce((sum, value) => sum + value, 0);

function Totals({ model, left }) {
  const card = (label, state, kind) => {
    const bytes = totalOf(left.bytes[state]);
    return <Card key={label} label={label} value={<span id={`left-${state}`}>{format.bytes(bytes)}</span>} detail={`in ${format.counted(totalOf(left.blocks[state]), 'block')}`} kind={bytes > 0 ? kind : ''} />;
  };
  if (!model.isScanned) return <div class="cards">{card('Not freed', NO_SCAN, '')}</div>;
  return (
    <div class="cards">
      {card('Definitely lost', DEFINITE, 'bad')}{card('Indirectly lost', INDIRECT, 'bad')}{card('Possibly lost', POSSIBLE, 'warning')}
      {card('Still reachable', REACHABLE, '')}{totalOf(left.blocks[SUPPRESSED]) > 0 ? card('Suppressed', SUPPRESSED, '') : null}
      {totalOf(left.blocks[UNSURE]) > 0 ? card('Unknown', UNSURE, '') : null}
    </div>
  );
}

function kindText(model, group) {
  const inCycles = model.stacks.cycle_blocks[group.stack] > 0 ? ` (${format.counted(model.stacks.cycle_blocks[group.stack], 'block')} in ${model.stacks.cycle_blocks[group.stack] === 1 ? 'a cycle' : 'cycles'})` : '';
  return `${kindsText(model, group)}${inCycles}`.trim();
}

function kindsText(model, group) {
  if (group.below > 0) return `${format.bytes(group.definite)} direct, ${format.bytes(group.below)} indirect in ${format.counted(model.stacks.below_blocks[group.stack], 'block')}`;
  const parts = [[group.definite, 'direct'], [group.indirect, 'indirect'], [group.possible, 'possible']].filter(([bytes]) => bytes > 0);
  return parts.length > 1 || group.possible > 0 || group.indirect > 0 ? parts.map(([bytes, word]) => `${format.bytes(bytes)} ${word}`).join(', ') : '';
}

function ageText(model, { firstBin, lastBin }, stack) {
  if (firstBin[stack] < 0 || !model.hasTimes) return null;
  const end = timeOfBin(model, model.bins.count);
  const age = (bin) => format.duration(Math.max(0, end - timeOfBin(model, bin)));
  return lastBin[stack] === model.bins.count - 1 ? `age up to ${age(firstBin[stack])}` : `age ${age(lastBin[stack] + 1)} … ${age(firstBin[stack])}`;
}

function Leak({ group, growth, highest }) {
  const { model, selection, state, change } = useReport();
  const { stack } = group;
  const frames = framesOf(model, stack).filter((frame) => model.frames.kind[frame] === 0);
  const telling = tellingFrame(model, stack);
  const begin = Math.max(0, frames.indexOf(telling));
  const path = frames.length > 0 ? frames.slice(begin, begin + 3) : telling >= 0 ? [telling] : [];
  const suppression = model.suppressions[stack];
  const kind = group.definite > 0 ? 'bad' : group.indirect > 0 ? 'bad indirect' : group.possible > 0 ? 'warning' : '';
  return (
    <li class={`leak ${kind} ${state.stack === stack ? 'open' : ''}`} data-stack={stack}>
      <button type="button" class="leak-main" onClick={() => change({ stack })}>
        <span class="leak-size"><Bar part={group.allBytes} whole={highest} text={format.bytes(group.allBytes)} kind={kind} /><span class="note">{format.counted(group.allBlocks, 'block')}</span></span>
        <span class="leak-where">
          {path.map((frame, index) => <span key={index} class={index === 0 ? 'first' : 'caller'}>{index > 0 ? <span class="note">‹&nbsp;</span> : null}<FrameLine model={model} frame={frame} most={index === 0 ? 90 : 60} /></span>)}
          {path.length === 0 ? '(no call stack)' : null}
          <span class="note leak-facts">{[stackNumber(model, stack), format.clipped(allocatorOf(model, stack), 40), kindText(model, group), ageText(model, selection.left, stack)].filter(Boolean).join(' · ')}</span>
        </span>
      </button>
      <span class="leak-side">
        {growth ? <Sparkline values={growth} label="Live bytes of this stack over time" width={130} height={30} kind={kind} /> : null}
        {suppression ? <CopyButton text={suppression} label="Copy suppression" /> : null}
      </span>
    </li>
  );
}

// Leaks are known at the end; a range selects by the time of the allocation.
function OfWhichTime() {
  const { model, state } = useReport();
  const isRange = state.from !== null || state.to !== null;
  if (!isRange && state.moment === null) return null;
  return (
    <p class="note filter-limit" role="note">
      {format.capitalized(endOf(model))}{isRange ? ', of blocks allocated in the range' : ''}{state.moment === null ? '.' : ': the chosen moment doesn\'t apply here.'}
    </p>
  );
}

export function LeaksView() {
  const { model, selection } = useReport();
  const [shown, setShown] = useState(PAGE);
  const groups = useMemo(() => groupsOf(model, selection), [model, selection]);
  const isWhole = selection.isAllLeft && selection.filter.from === null && selection.filter.to === null;
  const page = groups.slice(0, shown);
  const growths = useMemo(() => (model.hasTimes && model.knowsReleases ? growthsOf(model, selection, page.map(({ stack }) => stack)) : new Map()), [model, selection, groups, shown]);
  const highest = groups.reduce((most, { allBytes }) => Math.max(most, allBytes), 0);
  return (
    <div class="page">
      {model.isScanned ? null : <p class="lead">No leak scan was made: these are all blocks that were not freed, whether reachable or not.</p>}
      <OfWhichTime />
      <Totals model={model} left={selection.left} />
      <ol class="leaks" aria-label="Leaks by stack">
        {page.map((group) => <Leak key={group.stack} group={group} growth={growths.get(group.stack)} highest={highest} />)}
      </ol>
      {groups.length === 0 ? <p class="empty">{!isWhole ? `${model.isScanned ? 'No leaks are' : 'Nothing is'} selected by the filter.` : model.isScanned ? 'No leaks. Sites and Retained by have what is still reachable.' : 'All blocks were freed.'}</p> : null}
      {groups.length > shown ? <button type="button" onClick={() => setShown(shown + PAGE)}>Show more ({groups.length - shown} left)</button> : null}
    </div>
  );
}
