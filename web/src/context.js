// What every part needs: the model, the selection that the filter makes, the state, and how to change it.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { METRICS, isMetricKnown } from './data/selection.js';
import * as format from './format.js';

export const ReportContext = createContext(null);
export const useReport = () => useContext(ReportContext);

// The metric that is chosen, or the first that says something of this report.
export function currentMetric({ model, selection, state }) {
  if (state.metric !== null && isMetricKnown(model, state.metric)) return state.metric;
  const isUseful = (name) => isMetricKnown(model, name) && METRICS[name].of(selection).some((value) => value > 0);
  return ['live', 'peak', 'allocated'].find(isUseful) ?? 'allocated';
}

export const metricText = (name, value) => (METRICS[name].unit === 'bytes' ? format.bytes(value) : format.count(value));

export const timeOfBin = (model, bin) => model.bins.start + bin * model.bins.width;
export const endOfBin = (model, bin) => timeOfBin(model, bin + 1);
