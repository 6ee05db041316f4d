// The user's choices, and their form in the address after '#': the same text gives the same state.
import { isBoxName } from './data/flame_tree.js';
import { CHANGES, LEAK_KINDS, METRICS, NO_FILTER } from './data/selection.js';

export const NO_STATE = {
  ...NO_FILTER,
  view: 'verdict', stack: null, box: null, metric: null,
  find: '', invert: false, unfolded: false, startup: false, byLine: false, zoom: null,
  group: 'stack', function: null, theme: null, file: null, figure: null,
};

const KEYS = {
  view: ['v', 'text'], from: ['from', 'number'], to: ['to', 'number'], moment: ['at', 'number'], thread: ['thread', 'number'],
  module: ['module', 'text'], size: ['size', 'number'], age: ['age', 'number'], text: ['q', 'text'], kind: ['kind', 'text'], memory: ['memory', 'text'],
  stack: ['stack', 'number'], box: ['box', 'text'], metric: ['metric', 'text'], find: ['find', 'text'], invert: ['invert', 'flag'],
  unfolded: ['libraries', 'flag'], startup: ['startup', 'flag'], byLine: ['lines', 'flag'], zoom: ['zoom', 'number'],
  group: ['by', 'text'], function: ['function', 'number'], theme: ['theme', 'text'], file: ['file', 'text'],
  process: ['process', 'number'], change: ['change', 'text'], floor: ['floor', 'number'], figure: ['figure', 'text'],
};
const CHOICES = { kind: LEAK_KINDS, memory: ['malloc', 'mmap', 'both'], metric: Object.keys(METRICS), theme: ['light', 'dark'], change: CHANGES };

function parseValue(name, kind, text) {
  if (kind === 'flag') return text === '1';
  if (kind === 'number') {
    const value = Number(text);
    return text !== '' && Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : NO_STATE[name];
  }
  return CHOICES[name] && !CHOICES[name].includes(text) ? NO_STATE[name] : text;
}

export function parseState(hash) {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const state = { ...NO_STATE };
  for (const [name, [key, kind]] of Object.entries(KEYS)) {
    if (parameters.has(key)) state[name] = parseValue(name, kind, parameters.get(key));
  }
  return state;
}

export function formatState(state) {
  const parameters = new URLSearchParams();
  for (const [name, [key, kind]] of Object.entries(KEYS)) {
    if (state[name] !== NO_STATE[name]) parameters.set(key, kind === 'flag' ? '1' : String(state[name]));
  }
  return parameters.toString();
}

// The state without references that this report doesn't have: an address may be from another one.
export function fitState(state, model) {
  const fitted = { ...state };
  if (fitted.stack !== null && !(fitted.stack >= 0 && fitted.stack < model.stacks.count)) fitted.stack = null;
  if (fitted.box !== null && (fitted.stack === null || !isBoxName(model, fitted.box))) fitted.box = null;
  if (fitted.zoom !== null && !(fitted.zoom >= 0 && fitted.zoom < model.nodes.count)) fitted.zoom = null;
  if (fitted.size !== null && !(fitted.size >= 0 && fitted.size < model.sizeClasses.length)) fitted.size = null;
  if (fitted.thread !== null && !model.threads.some(({ number }) => number === fitted.thread)) fitted.thread = null;
  if (fitted.process !== null && !(model.isRun && model.cells.process && fitted.process >= 0 && fitted.process < model.processes.length)) fitted.process = null;
  if (!model.hasMapped) fitted.memory = null;
  if (!model.difference) Object.assign(fitted, { change: null, floor: null, figure: null });
  if (fitted.function !== null && !(fitted.function >= 0 && fitted.function < model.frames.count)) fitted.function = null;
  return fitted;
}
