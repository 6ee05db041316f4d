// The top line: program, way of recording, exit.
import { h } from 'preact';
import { useReport } from '../context.js';
import { NO_FILTER } from '../data/selection.js';
import * as format from '../format.js';
import { CHOSEN, TextFilter } from './filter_bar.jsx';

const SIGNALS = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 5: 'SIGTRAP', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM' };

const WAYS = { agent: 'recorded with the agent', core: 'from a core file' };

function exitText(exit) {
  if (Number.isInteger(exit?.signal)) return `killed by signal ${exit.signal}${SIGNALS[exit.signal] ? ` (${SIGNALS[exit.signal]})` : ''}`;
  if (Number.isInteger(exit?.code)) return exit.code === 0 ? 'exited with 0' : `exit code ${exit.code}`;
  return null;
}

// "2026-11-28 05:04 UTC"
const dateText = (unixNs) => `${new Date(unixNs / 1e6).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

export function factsOfTarget({ target, capture }, title) {
  const facts = [];
  if (target?.pid && !title.includes(`pid ${target.pid}`)) facts.push(`pid ${target.pid}`);
  if (capture?.start_unix_ns > 0) facts.push(dateText(capture.start_unix_ns));
  if (capture?.duration_ns) facts.push(format.duration(capture.duration_ns));
  const exit = exitText(target?.exit);
  if (exit) facts.push(exit);
  if (target?.host) facts.push(`on ${target.host}`);
  if (target?.arch) facts.push(target.arch);
  if (capture?.via) facts.push(WAYS[capture.via] ?? `recorded with ${capture.via}`);
  if (capture?.heaptap_version) facts.push(`heaptap ${capture.heaptap_version}`);
  return facts.map((fact) => format.safeText(String(fact)));
}

// Folds the filters that are lists away, and tells how many of them are set.
function FilterButton({ isOpen, onClick }) {
  const { state } = useReport();
  const count = CHOSEN.filter((name) => state[name] !== null).length;
  return (
    <button type="button" id="filter-toggle" class={`toggle ${count > 0 ? 'is-set' : ''}`} aria-expanded={isOpen} aria-controls="filter-choices" onClick={onClick}>
      Filters{count > 0 ? <span class="badge">{count}</span> : null}
    </button>
  );
}

export function Header({ theme, onTheme, onHelp, hasFilters, onFilters }) {
  const { model, state, change } = useReport();
  const title = format.safeText(model.title ?? '');
  const facts = model.difference ? [] : factsOfTarget(model.summary, title);
  const command = format.safeText((model.summary.target?.command ?? []).join(' '));
  return (
    <header class={`top ${hasFilters ? 'with-filters' : ''}`}>
      <span class="brand">heaptap</span>
      <h1 class="title" title={command || title}>{format.clipped(title, 200)}</h1>
      <span class="facts" title={facts.join('\n')}>{facts.map((fact) => <span key={fact}>{format.clipped(fact, 80)}</span>)}</span>
      <TextFilter value={state.text} change={change} />
      {model.hasTimes ? <FilterButton isOpen={hasFilters} onClick={onFilters} /> : null}
      {Object.keys(NO_FILTER).every((name) => state[name] === NO_FILTER[name]) ? null : (
        <button type="button" id="filter-reset" title="Remove all filters, the range and the moment" onClick={() => change({ ...NO_FILTER })}>Reset</button>
      )}
      <button type="button" class="quiet" onClick={onTheme} aria-label={`Use the ${theme === 'dark' ? 'light' : 'dark'} theme`} title="Theme (t)">
        {theme === 'dark' ? '☀' : '☾'}
      </button>
      <button type="button" class="quiet" onClick={onHelp} aria-label="Help" title="Help (?)">?</button>
    </header>
  );
}
