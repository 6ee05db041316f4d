// The details of one stack, beside any view.
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { currentMetric, endOfBin, metricLabel, metricText, timeOfBin, useReport } from '../context.js';
import { frameOfBox, hiddenKinds, optionsOf, stacksOfBox } from '../data/flame_tree.js';
import { METRICS, STATES, growthOf } from '../data/selection.js';
import { allocatorOf, framesOf, fullPlaceOf, functionOf, hiddenName, labelOf, moduleOf, pathText, programOf, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { Sparkline } from './sparkline.jsx';

export function CopyButton({ text, label }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from a file may have no access to the clipboard: the old API needs no permission.
      const field = document.createElement('textarea');
      field.value = text;
      field.className = 'offscreen';
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <button type="button" class="copy" onClick={(event) => { event.stopPropagation(); copy(); }} title={format.safeText(text.trim())}>{isDone ? 'Copied' : label}</button>;
}

// A long list of frames begins at the most informative one, and shows the rest on demand.
const MOST_FRAMES = 60;

export function Frames({ frames, telling = -1 }) {
  const { model, change } = useReport();
  const [isWhole, setWhole] = useState(false);
  const [showAll, setShowAll] = useState(false);
  const kinds = frames.map((frame) => model.frames.kind[frame]);
  const shown = showAll || frames.every((_, index) => kinds[index] !== 0) ? frames : frames.filter((_, index) => kinds[index] === 0);
  const part = isWhole ? shown : shown.slice(0, MOST_FRAMES);
  return (
    <div class="frames">
      <ol>
        {part.map((frame, index) => (
          <li key={index} class={`kind-${model.frames.kind[frame]} ${frame === telling ? 'telling' : ''}`}>
            <bdi class="function" title={functionOf(model, frame)}>{format.clipped(functionOf(model, frame), 2000)}</bdi>
            {model.frames.inlined[frame] ? <span class="note"> (inlined)</span> : null}
            <div class="place">
              <SourceLink frame={frame} />
              <bdi class="module">{moduleOf(model, frame)}</bdi>
            </div>
          </li>
        ))}
      </ol>
      {shown.length > part.length ? <button type="button" onClick={() => setWhole(true)}>{`${shown.length - part.length} more frames`}</button> : null}
      {shown.length < frames.length ? <button type="button" class="link" onClick={() => setShowAll(true)}>{`Show ${format.counted(frames.length - shown.length, 'library frame')}`}</button> : null}
    </div>
  );
}

function SourceLink({ frame }) {
  const { model, change } = useReport();
  const place = fullPlaceOf(model, frame);
  const file = model.strings[model.frames.file[frame]];
  if (!place) return null;
  if (!Object.hasOwn(model.sources, file)) return <bdi title={place}>{place}</bdi>;
  return <button type="button" class="link" onClick={() => change({ view: 'source', file: `${file}:${model.frames.line[frame]}` })}><bdi>{place}</bdi></button>;
}

// Figures in each of the compared recordings.
function ComparedFigures({ model: { difference }, stack }) {
  const number = (index) => (difference.recordings.length === 2 ? ['before', 'after'][index] : String(index + 1));
  return (
    <div class="totals-table"><table>
      <thead><tr><th scope="col" />{difference.recordings.map((_, index) => <th scope="col" key={index}>{number(index)}</th>)}<th scope="col">change</th></tr></thead>
      <tbody>
        {difference.figures.map(({ key, word, unit }) => {
          const values = difference.values.map((one) => one[key][stack]);
          const text = unit === 'bytes' ? format.bytes : format.count;
          const change = values.at(-1) - values[0];
          return <tr key={key} data-figure={key}><th scope="row">{word}</th>{values.map((value, index) => <td key={index}>{text(value)}</td>)}<td>{format.signed(text(change), change)}</td></tr>;
        })}
        <tr><th scope="row">stack</th>{difference.ids.map((ids, index) => <td key={index}>{ids[stack].length > 0 ? format.clipped(ids[stack].map((id) => `#${id}`).join(' '), 60) : '–'}</td>)}<td>{difference.state[stack]}{difference.moved[stack] ? ', moved' : ''}</td></tr>
      </tbody>
    </table></div>
  );
}

// A mean below the resolution of the times is not known any better.
function lifetimeText({ stacks, summary }, stack) {
  if (!(stacks.frees[stack] > 0)) return Number.isNaN(stacks.frees[stack]) ? format.UNKNOWN : '-';
  const mean = stacks.lifetime_ns[stack] / stacks.frees[stack];
  const resolution = summary.capture?.time_resolution_ns ?? 0;
  return mean < resolution ? `below ${format.duration(resolution)}` : format.duration(mean);
}

function figuresOf({ model, selection }, stack) {
  const { stacks } = model;
  const sums = selection.stacks;
  const figures = [
    ['live', model.knowsReleases ? `${format.bytes(sums.live[stack])} in ${format.counted(sums.live_blocks[stack], 'block')}` : format.UNKNOWN],
    ...(stacks.reserved_bytes[stack] > 0 ? [['also reserved', `${format.bytes(stacks.reserved_bytes[stack])} at the end`]] : []),
    ['allocated', `${format.bytes(sums.allocated[stack])} in ${format.counted(sums.allocations[stack], 'allocation')}`],
    ['own peak', format.bytes(stacks.peak_bytes[stack])],
    ['temporary', `${format.count(stacks.temporary_allocations[stack])}`],
    ['mean lifetime', lifetimeText(model, stack)],
  ];
  selection.left.bytes.forEach((bytes, state) => {
    if (state > 0 && bytes[stack] > 0) figures.push([STATES[state], `${format.bytes(bytes[stack])} in ${format.counted(selection.left.blocks[state][stack], 'block')}`]);
  });
  if (stacks.below_bytes[stack] > 0) figures.push(['indirectly lost below', `${format.bytes(stacks.below_bytes[stack])} in ${format.counted(stacks.below_blocks[stack], 'block')}`]);
  const retained = model.retained.find((one) => one.stack === stack);
  if (retained) figures.push(['retained', `${format.bytes(retained.retained_bytes)} in ${format.counted(retained.retained_blocks, 'block')}`]);
  return figures;
}

// All stacks of the flame graph's box that was clicked, by its metric.
const MOST_STACKS = 200;

function BoxStacks({ stack }) {
  const report = useReport();
  const { model, selection, state, change } = report;
  const metric = currentMetric(report);
  const options = optionsOf(state);
  const values = METRICS[metric].of(selection);
  const stacks = useMemo(() => stacksOfBox(model, options, state.box, values), [model, values, state.box, state.unfolded, state.startup, state.byLine]);
  if (stacks.length < 2) return null;
  const frame = frameOfBox(model, options, state.box);
  const name = frame >= 0 ? functionOf(model, frame) : state.box === 'all' ? programOf(model) : hiddenName(hiddenKinds(model, options, values));
  return (
    <section class="box-stacks" aria-label="Stacks of the box">
      <h3>{format.counted(stacks.length, 'stack')} of <bdi class="function" title={name}>{format.shortName(name, 60)}</bdi>, by {metricLabel(metric, selection).toLowerCase()}</h3>
      <ul>{stacks.slice(0, MOST_STACKS).map((one) => (
        <li key={one}><button type="button" class="link" aria-current={one === stack ? 'true' : undefined} onClick={() => change({ stack: one, box: state.box })}>
          <b>{metricText(metric, values[one], selection)}</b> <span class="id">{stackNumber(model, one)}</span> <bdi class="name">{pathText(model, one, 4)}</bdi>
        </button></li>
      ))}</ul>
      {stacks.length > MOST_STACKS ? <p class="note">{format.count(stacks.length - MOST_STACKS)} smaller ones</p> : null}
    </section>
  );
}

// The stack's own curve, with its highest point in words.
function Growth({ model, values }) {
  const at = values.indexOf(Math.max(...values));
  return (
    <figure class="growth-curve">
      <figcaption class="note">Live bytes over time: at most <b>{format.bytes(values[at])}</b> at {format.duration(endOfBin(model, at))}, <b>{format.bytes(values.at(-1))}</b> at the end</figcaption>
      <Sparkline values={values} label="Live bytes of this stack over time" width={360} height={64} />
    </figure>
  );
}

export function StackPanel({ stack }) {
  const report = useReport();
  const { model, selection, state, change } = report;
  const panel = useRef(null);
  useEffect(() => { panel.current.scrollTop = 0; }, [stack]);
  const growth = useMemo(() => growthOf(model, selection, stack), [model, selection, stack]);
  const frames = framesOf(model, stack);
  const { firstBin } = selection.left;
  const node = model.stacks.node[stack];
  const suppression = model.suppressions[stack];
  const before = model.difference?.frames_before[stack];
  const holders = model.holders.filter((holder) => holder.stack === stack);
  return (
    <aside class="panel" aria-label={`Stack ${stackNumber(model, stack)}`} ref={panel}>
      <div class="panel-head">
        <h2>{model.stacks.folded[stack] > 0 ? `${format.count(model.stacks.folded[stack])} smaller stacks` : `Stack ${stackNumber(model, stack)}`}</h2>
        <span class="note">{model.stacks.mapping[stack] ? 'mapped by' : 'allocated by'} <bdi>{format.clipped(allocatorOf(model, stack), 60)}</bdi></span>
        {labelOf(model, stack) ? <span class="note label"><bdi>{format.clipped(labelOf(model, stack), 200)}</bdi></span> : null}
        <button type="button" class="quiet" onClick={() => change({ stack: null })} aria-label="Close the details" title="Esc">✕</button>
      </div>
      {state.box === null ? null : <BoxStacks stack={stack} />}
      {model.difference ? <ComparedFigures model={model} stack={stack} /> : <dl class="figures">{figuresOf(report, stack).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd>{value}</dd>])}
        {model.hasTimes && firstBin[stack] >= 0 ? [<dt>first lost block</dt>, <dd>{`allocated before ${format.duration(timeOfBin(model, firstBin[stack] + 1))}`}</dd>] : null}
      </dl>}
      {model.hasTimes && model.knowsReleases ? <Growth model={model} values={growth} /> : null}
      <div class="actions">
        {node >= 0 ? <button type="button" onClick={() => change({ view: 'flame', zoom: node, invert: false })}>Flame graph</button> : null}
        {suppression ? <CopyButton text={suppression} label="Copy suppression" /> : null}
      </div>
      <h3>Call stack</h3>
      {frames.length > 0 ? <Frames key={stack} frames={frames} telling={model.stacks.telling[stack]} /> : <p class="note">No frames are known.</p>}
      {before ? [<h3>Call stack before</h3>, <Frames key={`before${stack}`} frames={before} />] : null}
      {holders.length > 0 ? <h3>Shortest path to it</h3> : null}
      {holders.map((holder, index) => <ol class="path" key={index}>{holder.text.map((line) => <li><bdi>{format.clipped(format.safeText(line), 2000)}</bdi></li>)}</ol>)}
    </aside>
  );
}
