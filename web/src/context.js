// Context of all components: the model, the filter's selection, the state, and its setter.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { METRICS, isMetricKnown } from './data/selection.js';
import * as format from './format.js';

export const ReportContext = createContext(null);
export const useReport = () => useContext(ReportContext);

// What the report is about: live bytes, the peak, temporary allocations; else the first metric with data in this report.
export function firstMetric({ model, selection }) {
  const isUseful = (name) => isMetricKnown(model, name, selection) && METRICS[name].of(selection).some((value) => value > 0);
  return [model.focus, 'live', 'peak', 'allocated'].filter((name) => name in METRICS).find(isUseful) ?? 'allocated';
}

// The selected metric, or the first one.
export function currentMetric({ model, selection, state }) {
  if (model.difference) return 'change';
  return state.metric !== null && isMetricKnown(model, state.metric, selection) ? state.metric : firstMetric({ model, selection });
}

// `selection`: of recordings that are compared the figure is in it.
export function metricText(name, value, selection) {
  const unit = selection?.compared?.figure.unit ?? METRICS[name].unit;
  const text = unit === 'bytes' ? format.bytes(value) : format.count(value);
  return name === 'change' ? format.signed(text, value) : text;
}
// With what is told beside it: "3.1 KiB in 4 blocks", "4 of 3.1 KiB".
export function pairText(name, value, other, selection) {
  const text = metricText(name, value, selection);
  const pair = METRICS[name].other;
  if (selection.compared || Number.isNaN(other)) return text;
  const nouns = { block: { mmap: 'mapping', both: 'block or mapping' }, allocation: { mmap: 'call', both: 'call' } }[pair.noun];
  const noun = nouns?.[selection.filter.memory] ?? pair.noun;
  return pair.noun ? `${text} ${pair.word ?? 'in'} ${noun === 'block or mapping' ? format.counted(other, noun, 'blocks and mappings') : format.counted(other, noun)}` : `${text} of ${format.bytes(other)}`;
}
export const metricLabel = (name, selection) => (selection?.compared ? `Change of ${selection.compared.figure.word}` : METRICS[name].label);

// Of several processes: the one whose peak is shown.
export const processName = ({ program, pid, folded }) => (folded > 0 ? program : `${format.clipped(format.safeText(program ?? ''), 60)} (pid ${pid ?? format.UNKNOWN})`);
export const ofPeak = (model) => (model.isRun && model.processes[model.peakProcess] ? ` of ${processName(model.processes[model.peakProcess])}` : '');
export const labelOfMetric = (name, model, selection) => `${metricLabel(name, selection)}${name === 'peak' ? ofPeak(model) : ''}`;

// What the report was written of: all, or what a filter of the command line left of it.
const reportedOf = ({ summary: { filter } }) => format.clipped(format.safeText(filter), 120);
export const wholeOf = (model) => (model.summary.filter ? `all that is reported (${reportedOf(model)})` : 'whole recording');
export const endOf = (model) => (model.summary.filter ? `the end of what is reported (${reportedOf(model)})` : 'the end of the recording');

export const timeOfBin = (model, bin) => model.bins.start + bin * model.bins.width;
export const endOfBin = (model, bin) => timeOfBin(model, bin + 1);
