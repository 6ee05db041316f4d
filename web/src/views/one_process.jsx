// Placeholder for a view of single processes: the reason, and the command that shows it.
import { h } from 'preact';
import { processName, useReport } from '../context.js';
import { NO_FILTER } from '../data/selection.js';
import * as format from '../format.js';
import { Name } from '../parts/text.jsx';

const MOST = 40;

function OneProcess({ why }) {
  const { model, state, change } = useReport();
  const wanted = state.process === null ? model.processes : [model.processes[state.process]];
  const listed = wanted.filter(({ folded, trace }) => !(folded > 0) && trace).slice(0, MOST);
  return (
    <div class="page">
      <p class="lead" id="one-process">{why}</p>
      <p class="note">The reports of single processes have it:</p>
      <ul class="commands">
        {listed.map((process, index) => <li key={index}><span class="note">{processName(process)}</span> <code>heaptap report <Name text={process.trace} most={200} /></code></li>)}
      </ul>
      {wanted.length > listed.length ? <p class="note">{format.counted(wanted.length - listed.length, 'more process', 'more processes')}</p> : null}
      {state.process !== null ? <button type="button" onClick={() => change({ ...NO_FILTER })}>All processes</button> : null}
    </div>
  );
}

export const NoTimeline = () => <OneProcess why="The clocks of these processes were not compared: there is no common timeline. The view Processes has one for each." />;
export const NoAddressSpace = () => <OneProcess why="Each of these processes has its own address space." />;
export const NoHolders = () => <OneProcess why="Paths and retained sizes are per process; they are not in a report of several processes." />;
