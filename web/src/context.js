// Context of all components: the model, the filter's selection, the state, and its setter.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { METRICS, isMetricKnown } from './data/selection.js';
import * as format from './format.js';

export const ReportContext = createContext(null);
export const useReport = () => useContext(ReportContext);

// The selected metric, or the first one with data in this report.
export function currentMetric({ model, selection, state }) {
  if (model.difference) return 'change';
  if (state.metric !== null && isMetricKnown(model, state.metric)) return state.metric;
  const isUseful = (name) => isMetricKnown(model, name) && METRICS[name].of(selection).some((value) => value > 0);
  return ['live', 'peak', 'allocated'].find(isUseful) ?? 'allocated';
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
  if (selection.compared) return text;
  return pair.noun ? `${text} ${pair.word ?? 'in'} ${format.counted(other, pair.noun)}` : `${text} of ${format.bytes(other)}`;
}
export const metricLabel = (name, selection) => (selection?.compared ? `Change of ${selection.compared.figure.word}` : METRICS[name].label);

export const timeOfBin = (model, bin) => model.bins.start + bin * model.bins.width;
export const endOfBin = (model, bin) => timeOfBin(model, bin + 1);
