// Names of programs, frames and stacks, as escaped text.
import { baseName, safeText, shortName } from '../format.js';

// The row in which lists have it.
export const LIBRARIES_TEXT = '(memory of system libraries)';

// What the root of a flame graph stands for.
export function programOf({ isRun, difference, title, summary }) {
  const { executable, command } = summary.target ?? {};
  if (isRun || difference) return safeText(title ?? '');
  return safeText(baseName(command?.[0] ?? '') || baseName(executable ?? '') || (title ?? ''));
}

// What a box of stacks has whose frames are all hidden: [libraries, start-up].
export const hiddenName = ([hasLibraries, hasStartup]) => [hasLibraries ? 'libraries' : '', hasStartup ? 'start-up' : ''].filter(Boolean).join(' and ') || '(no call stack)';

export function functionOf(model, frame) {
  if (frame < 0) return '(no call stack)';
  const name = model.strings[model.frames.function[frame]];
  if (name) return safeText(name);
  const module = baseName(model.strings[model.frames.module[frame]] ?? '') || '(unknown code)';
  return `${safeText(module)}+0x${model.frames.offset[frame].toString(16)}`;
}

export function placeOf(model, frame) {
  if (frame < 0) return '';
  const file = model.strings[model.frames.file[frame]];
  if (!file) return '';
  const line = model.frames.line[frame];
  return line > 0 ? `${safeText(baseName(file))}:${line}` : safeText(baseName(file));
}

export function fullPlaceOf(model, frame) {
  if (frame < 0) return '';
  const file = model.strings[model.frames.file[frame]];
  return file ? `${safeText(file)}${model.frames.line[frame] > 0 ? `:${model.frames.line[frame]}` : ''}` : '';
}

export const moduleOf = (model, frame) => (frame < 0 ? '' : safeText(baseName(model.strings[model.frames.module[frame]] ?? '')));

// The frames of a stack, innermost first.
export function framesOf(model, stack) {
  const frames = [];
  for (let node = model.stacks.node[stack]; node >= 0; node = model.nodes.parent[node]) frames.push(model.nodes.frame[node]);
  return frames;
}

// The most informative frame of a stack: as the writer chose it, else the innermost one.
export function tellingFrame(model, stack) {
  const telling = model.stacks.telling[stack];
  if (telling >= 0) return telling;
  const node = model.stacks.node[stack];
  return node >= 0 ? model.nodes.frame[node] : -1;
}

// The numbers of a stack in the first and in the last of the compared recordings: "#3 → #5".
function comparedNumber({ difference }, stack) {
  const parts = [difference.ids[0][stack], difference.ids.at(-1)[stack]].map((ids) => (ids.length === 0 ? '' : `#${ids[0]}${ids.length > 1 ? '…' : ''}`));
  return parts[0] && parts[1] && parts[0] !== parts[1] ? parts.join(' → ') : parts[0] || parts[1];
}

export function stackNumber(model, stack) {
  if (model.stacks.folded[stack] > 0) return `${model.stacks.folded[stack]} stacks`;
  return model.difference ? comparedNumber(model, stack) : `#${model.stacks.id[stack]}`;
}

// "make_buffer leak.cc:11 < process leak.cc:12 < main leak.cc:19", beginning at the most informative frame.
export function pathText(model, stack, most = 3, nameLength = 60) {
  const frames = framesOf(model, stack);
  const telling = model.stacks.telling[stack];
  const begin = Math.max(0, telling < 0 ? 0 : frames.indexOf(telling));
  const parts = frames.slice(begin).filter((frame, index) => index === 0 || model.frames.kind[frame] === 0).slice(0, most)
    .map((frame) => `${shortName(functionOf(model, frame), nameLength)} ${placeOf(model, frame)}`.trim());
  return parts.length > 0 ? parts.join(' < ') : '(no call stack)';
}

// The same for a column of a table, which has more room.
export const longPathText = (model, stack) => pathText(model, stack, 6);

export function allocatorOf(model, stack) {
  const name = safeText(model.strings[model.stacks.function[stack]] ?? '');
  const variant = safeText(model.strings[model.stacks.variant[stack]] ?? '');
  return variant ? `${name} (${variant})` : name;
}

// The program's label of a stack's blocks: its tags, or its pool; "": none.
export const labelOf = (model, stack) => safeText(model.strings[model.stacks.label[stack]] ?? '');

export function threadName(model, number) {
  const thread = model.threads.find((one) => one.number === number);
  const name = thread ? safeText(model.strings[thread.name] ?? '') : '';
  return name ? `${number} ${name}` : `${number}`;
}
