// The first page: the findings as sentences, and the limitations.
import { h } from 'preact';
import { processName, timeOfBin, useReport } from '../context.js';
import { pathText, stackNumber } from '../data/names.js';
import { isMetricKnown } from '../data/selection.js';
import * as format from '../format.js';
import { Card } from '../parts/bar.jsx';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { factsOfTarget } from '../parts/header.jsx';
import { DifferenceTotals, MatchingNotes } from '../parts/difference_totals.jsx';
import { Name } from '../parts/text.jsx';
import { Sparkline } from '../parts/sparkline.jsx';

const SIGNS = { bad: ['✕', 'Problem'], warning: ['!', 'Warning'], info: ['i', 'Note'], good: ['✓', 'Good'] };

function Sentence({ sentence, isFirst }) {
  const { model, change } = useReport();
  const [sign, word] = SIGNS[sentence.severity] ?? SIGNS.info;
  const stack = sentence.stack ?? null;
  const text = format.safeText(sentence.text ?? '');
  const content = [
    <span class="sign" role="img" aria-label={word}>{sign}</span>,
    <span class="sentence-text"><bdi title={text}>{format.clipped(text, 600)}</bdi>
      {stack !== null && stack < model.stacks.count ? (
        <span class="where"><Name text={pathText(model, stack)} /><span class="number">{stackNumber(model, stack)}</span></span>
      ) : null}
    </span>,
  ];
  const kind = `sentence ${sentence.severity} ${isFirst ? 'first' : ''}`;
  return (
    <li class={kind}>
      {stack === null ? <div class="sentence-body">{content}</div>
        : <button type="button" class="sentence-body" onClick={() => change({ stack })}>{content}<span class="go" aria-hidden="true">›</span></button>}
    </li>
  );
}

// The writer's order is by importance; the most severe sentence is shown large, without moving it.
const SEVERITIES = ['bad', 'warning', 'good', 'info'];

function headlineOf(verdict) {
  const rank = (sentence) => (SEVERITIES.includes(sentence.severity) ? SEVERITIES.indexOf(sentence.severity) : SEVERITIES.length);
  return verdict.reduce((best, sentence, index) => (rank(sentence) < rank(verdict[best]) ? index : best), 0);
}

// As grave as the verdict's sentence about all leaks.
function leakedOf({ verdict, summary: { leaks } }) {
  if (!leaks?.scanned) return { text: format.UNKNOWN, detail: 'no leak scan was made', kind: '' };
  const [definite, indirect] = [leaks.definite?.bytes, leaks.indirect?.bytes];
  const total = format.isKnown(definite) && format.isKnown(indirect) ? definite + indirect : null;
  const blocks = format.isKnown(leaks.definite?.blocks) && format.isKnown(leaks.indirect?.blocks) ? leaks.definite.blocks + leaks.indirect.blocks : null;
  return { text: format.bytes(total), detail: `in ${format.counted(blocks, 'block')}`, kind: total > 0 ? (verdict.find(({ kind }) => kind === 'leaks')?.severity ?? 'bad') : total === 0 ? 'good' : '' };
}

// Of several processes, whose clocks differ, the one with the highest peak.
function peakOf({ isRun, processes, peakProcess, summary: { totals = {} } }) {
  const after = format.isKnown(totals.peak_time_ns) ? `after ${format.duration(totals.peak_time_ns)}` : '';
  const own = { label: 'Peak', bytes: totals.peak_live_bytes, detail: totals.peak_error_bytes > 0 ? `give or take ${format.bytes(totals.peak_error_bytes)}` : after };
  if (!isRun || format.isKnown(totals.peak_live_bytes)) return own;
  const largest = processes[peakProcess];
  if (!largest) return own;
  return { label: 'Largest peak', bytes: largest.peak_live_bytes, detail: `of ${processName(largest)}${largest.peak_error_bytes > 0 ? `, give or take ${format.bytes(largest.peak_error_bytes)}` : ''}; together unknown` };
}

function Cards({ model }) {
  const peak = peakOf(model);
  const { selection, change } = useReport();
  const { totals = {} } = model.summary;
  const leaked = leakedOf(model);
  const errors = ['double_frees', 'bad_frees', 'mismatched_frees'].map((name) => totals[name]);
  const errorText = ['double', 'invalid', 'mismatched'].map((word, index) => (errors[index] > 0 ? `${format.count(errors[index])} ${word}` : '')).filter(Boolean).join(', ');
  const errorCount = errors.every(format.isKnown) ? errors.reduce((sum, number) => sum + number, 0) : null;
  const opens = (isThere, state) => (isThere ? () => change(state) : undefined);
  const hasStacks = model.stacks.count > 0;
  const figure = (name, text) => <span id={`figure-${name}`}>{text}</span>;
  return (
    <div class="cards" id="figures">
      <Card label="Leaked" value={figure('leaked', leaked.text)} detail={leaked.detail} kind={leaked.kind} onOpen={opens(model.left.count > 0, { view: 'leaks' })} />
      <Card label="Not freed" value={figure('live', format.bytes(totals.live_bytes))} detail={`in ${format.counted(totals.live_blocks, 'block')}`}
        onOpen={opens(hasStacks && model.knowsReleases, { view: 'flame', metric: 'live' })} />
      <Card label={peak.label} value={figure('peak', format.bytes(peak.bytes))} detail={peak.detail}
        onOpen={opens(isMetricKnown(model, 'peak', selection), { view: 'flame', metric: 'peak' })} />
      <Card label="Allocations" value={figure('allocations', format.count(totals.allocations))} detail={`${format.bytes(totals.allocated_bytes)} in total`} onOpen={opens(hasStacks, { view: 'flame', metric: 'allocated' })} />
      <Card label="Temporary" value={figure('temporary', format.percent(totals.temporary_allocations, totals.allocations))} detail={format.counted(totals.temporary_allocations, 'allocation')}
        onOpen={opens(hasStacks && isMetricKnown(model, 'temporary', selection), { view: 'flame', metric: 'temporary' })} />
      {model.resident?.bytes > 0 ? <Card label="Resident" value={figure('resident', format.bytes(model.resident.bytes))} detail={`at ${model.resident.moment}`} onOpen={() => change({ view: 'address' })} /> : null}
      {errorCount === 0 ? null : <Card label="Errors" value={figure('errors', format.count(errorCount))} detail={errorText} kind={errorCount > 0 ? 'bad' : ''} onOpen={opens(model.errors.length > 0, { view: 'errors' })} />}
    </div>
  );
}

function Overview({ model, change }) {
  const values = model.timeline?.live_bytes;
  if (!values || values.length < 2 || !values.every(format.isKnown)) return null;
  return (
    <button type="button" class="overview" onClick={() => change({ view: 'timeline' })}>
      <span>Live bytes over {format.duration(timeOfBin(model, model.bins.count))}</span>
      <Sparkline values={values} label="Live bytes over time" width={900} height={72} />
    </button>
  );
}

// Limitations of the report: uncertain figures, gaps of the recording, and the notes.
function limitsOf({ capture = {}, leaks = {}, notes = [] }) {
  const limits = [];
  const uncertain = [leaks.scanned && capture.known?.leaks === false ? 'lost blocks' : '', capture.known?.releases === false ? 'bad releases' : ''].filter(Boolean);
  if (uncertain.length > 0) limits.push(`Not all are known: ${uncertain.join(', ')}`);
  if (leaks.scanned === false) limits.push('No leak scan was made: lost blocks are unknown');
  if (capture.events_kept === false) limits.push('Recorded as totals (--aggregate): times and threads are unknown');
  if (capture.lost_events > 0) limits.push(`${format.counted(capture.lost_events, 'event')} lost: the numbers are not exact`);
  if (capture.running) limits.push(`It was ${capture.damage || 'still being recorded'}`);
  else if (capture.truncated || capture.damage) limits.push(`The recording is incomplete${capture.damage ? `: ${capture.damage}` : ': it was interrupted'}`);
  if (capture.from_start === false) limits.push('Recording began while the program ran: earlier allocations are unknown');
  return [...limits, ...notes.map((note) => note.text ?? note.kind ?? '')];
}

function Notes({ notes }) {
  if (notes.length === 0) return <p class="note" id="notes">No limitations.</p>;
  return (
    <section class="notes" id="notes" aria-labelledby="notes-title">
      <h2 id="notes-title">Limitations <span class="badge">{notes.length}</span></h2>
      <ul>{notes.map((note, index) => <li key={index}><bdi>{format.clipped(format.safeText(note), 2000)}</bdi></li>)}</ul>
    </section>
  );
}

// Stacks that --ignore leaves out of the lists. They count in the totals.
function Ignored({ ignored }) {
  if (!ignored) return null;
  return (
    <section id="ignored" aria-labelledby="ignored-title">
      <h2 id="ignored-title">Ignored: in the totals, not in the lists <span class="badge">{format.counted(ignored.stacks, 'stack')}</span></h2>
      <div class="totals-table"><table>
        <thead><tr><th scope="col">Rule</th><th scope="col">Stacks</th><th scope="col">Live</th><th scope="col">Allocated</th><th scope="col">Allocations</th></tr></thead>
        <tbody>
          {ignored.rules.map((rule, index) => (
            <tr key={index}>
              <th scope="row"><bdi title={format.safeText(rule.place)}>{format.clipped(format.safeText(rule.pattern), 300)}</bdi></th>
              <td>{format.count(rule.stacks)}</td><td>{format.bytes(rule.live_bytes)}</td>
              <td>{format.bytes(rule.allocated_bytes)}</td><td>{format.count(rule.allocations)}</td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </section>
  );
}

// Data left out to keep the file small, in the order of docs/report-data.md.
function leftOut({ stacks, bytes, processes, names, cells, suppressions }) {
  const parts = [];
  if (stacks > 0) parts.push(`${format.counted(stacks, 'small stack')} with ${format.bytes(bytes)} ${stacks === 1 ? 'is' : 'are'} folded into their callers`);
  if (processes > 0) parts.push(`${format.count(processes)} small processes are folded into one row`);
  if (names > 0) parts.push(`${format.counted(names, 'long name')} ${names === 1 ? 'is' : 'are'} truncated`);
  if (cells) parts.push('times and threads of events are left out');
  if (suppressions) parts.push('suppressions are left out');
  return parts.join(', ');
}

export function VerdictView() {
  const { model, change } = useReport();
  const { summary, folded } = model;
  const notes = limitsOf(summary);
  const command = model.difference ? '' : (summary.target?.command ?? []).join(' ');
  const headline = headlineOf(model.verdict);
  return (
    <div class="page">
      <FilterLimit stacks={false} />
      {command ? <p class="command"><bdi title={format.safeText(command)}>{format.clipped(format.safeText(command), 300)}</bdi></p> : null}
      {model.difference ? null : <p class="note facts-line">{factsOfTarget(summary, '').map((fact) => format.clipped(fact, 80)).join(' · ')}</p>}
      <ol class="sentences" aria-label="Summary">
        {model.verdict.map((sentence, index) => <Sentence key={index} sentence={sentence} isFirst={index === headline} />)}
        {model.verdict.length === 0 ? <li class="sentence info"><div class="sentence-body">No findings.</div></li> : null}
      </ol>
      {model.difference ? [<DifferenceTotals difference={model.difference} />, <MatchingNotes difference={model.difference} />]
        : [<Cards model={model} />, <Overview model={model} change={change} />, <Ignored ignored={summary.ignored} />, <Notes notes={notes} />]}
      {folded ? <p class="note">To keep this file small, {leftOut(folded)}; <code>--full</code> writes everything.</p> : null}
      {summary.filter ? <p class="note">The report was written with a filter ({format.clipped(format.safeText(summary.filter), 120)}); this file has no other data.</p> : null}
    </div>
  );
}
