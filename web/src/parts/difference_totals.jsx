// The compared recordings and their totals.
import { h } from 'preact';
import * as format from '../format.js';
import { Name } from './text.jsx';

const textOf = ({ unit }) => (unit === 'bytes' ? format.bytes : format.count);
const number = (value) => value ?? NaN;

export function DifferenceTotals({ difference }) {
  const { recordings, figures } = difference;
  const label = (index) => (recordings.length === 2 ? ['Before', 'After'][index] : String(index + 1));
  return (
    <div class="totals-table">
      <table id="difference-totals">
        <thead>
          <tr><th scope="col">Totals</th>{recordings.map((recording, index) => <th scope="col" key={index}>{label(index)}</th>)}<th scope="col">Change</th><th scope="col">%</th></tr>
          <tr class="names"><th scope="row">Recording</th>{recordings.map((recording, index) => (
            <td key={index}><Name text={recording.name} most={60} /><span class="note"> <Name text={recording.program} most={40} /> (pid {recording.pid}), <Name text={recording.end} most={60} /></span></td>
          ))}<td /><td /></tr>
        </thead>
        <tbody>
          {figures.map((figure) => {
            const values = recordings.map(({ totals }) => number(totals[figure.key]));
            const change = values.at(-1) - values[0];
            const text = textOf(figure);
            return (
              <tr key={figure.key} data-figure={figure.key}>
                <th scope="row">{figure.word}</th>{values.map((value, index) => <td key={index}>{text(value)}</td>)}
                <td class={change > 0 ? 'more' : ''}>{format.signed(text(change), change)}</td>
                <td>{Number.isNaN(change) ? format.UNKNOWN : change === 0 ? '' : format.signed(format.percent(change, values[0]), change)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// How stacks were matched, and which ones aren't listed.
export function MatchingNotes({ difference }) {
  const { stack_count: counts, unmatched_modules: unmatched, remarks, recordings } = difference;
  const ofMoments = recordings[0].at_ns !== null;
  return (
    <section class="notes" id="matching" aria-labelledby="matching-title">
      <h2 id="matching-title">How stacks were matched</h2>
      <ul>
        <li>{ofMoments ? 'Two moments of one trace: stacks are matched by number.'
          : 'Frames of a module with the same build-id in both recordings by offset; others by function, file and line. Lines that moved are matched in their order.'}</li>
        <li>{`${format.counted(counts.all, 'stack')}: ${format.count(counts.new)} new, ${format.count(counts.gone)} gone, ${format.count(counts.grown)} grown, ${format.count(counts.shrunk)} shrunk, ${format.count(counts.same)} the same${counts.unknown > 0 ? `, ${format.count(counts.unknown)} unknown` : ''}; ${format.count(counts.moved)} moved.`}</li>
        <li>{`Listed: ${format.count(counts.listed)}. Not listed: ${format.count(counts.unchanged)} unchanged (--unchanged lists them), ${format.counted(counts.below_floor, 'change')} below --min-bytes or --min-percent.`}</li>
        {unmatched.map((module) => <li key={module}>No stack through <Name text={module} most={120} /> could be matched: it differs, and its functions have no names.</li>)}
        {remarks.map((remark, index) => <li key={index}><bdi>{format.clipped(format.safeText(remark), 2000)}</bdi></li>)}
      </ul>
    </section>
  );
}
