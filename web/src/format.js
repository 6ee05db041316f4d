// Numbers as heaptap's text has them (src/common/base/units.cc), and text of the target as it may be shown (src/common/base/safe_text.cc).
// An unknown number is null or NaN, and is never written as 0.

export const UNKNOWN = 'unknown';
export const isKnown = (value) => value !== null && value !== undefined && !Number.isNaN(value);

// Like printf: a number that is exactly between two is rounded to the even digit. toFixed rounds it up.
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const isTie = Number.isInteger(value * 2 ** (digits + 1)) && scaled % 1 === 0.5;
  return isTie && Math.floor(scaled) % 2 === 0 ? (Math.floor(scaled) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

const BYTE_UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export function bytes(count) {
  if (!isKnown(count)) return UNKNOWN;
  if (count < 0) return `-${bytes(-count)}`;
  if (count < 1024) return `${Math.round(count)} B`;
  let value = count / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit + 1 < BYTE_UNITS.length) {
    value /= 1024;
    ++unit;
  }
  return `${fixed(value, 1)} ${BYTE_UNITS[unit]}`;
}

export function count(number) {
  if (!isKnown(number)) return UNKNOWN;
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function duration(nanoseconds) {
  if (!isKnown(nanoseconds)) return UNKNOWN;
  if (nanoseconds < 0) return `-${duration(-nanoseconds)}`;
  if (nanoseconds < 1e3) return `${Math.round(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${fixed(nanoseconds / 1e3, 1)} us`;
  if (nanoseconds < 1e9) return `${fixed(nanoseconds / 1e6, 1)} ms`;
  if (nanoseconds < 60e9) return `${fixed(nanoseconds / 1e9, 2)} s`;
  const seconds = Math.floor(nanoseconds / 1e9);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function percent(part, whole) {
  if (!isKnown(part) || !isKnown(whole)) return UNKNOWN;
  return whole === 0 ? '-' : `${fixed((100 * part) / whole, 1)}%`;
}

export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);
export const signed = (text, value) => (value > 0 ? `+${text}` : text);
export const counted = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const encoder = new TextEncoder();

// Control characters and those that change the direction of writing become \xNN, as in heaptap's text.
export function safeText(text) {
  return text.replace(HARMFUL, (character) =>
    Array.from(encoder.encode(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''));
}

// At most so many characters, with the middle left out.
export function clipped(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

function operatorLength(text, place) {
  if (!text.startsWith('operator', place)) return 0;
  let length = 8;
  if (text.startsWith('()', place + length)) return length + 2;
  while ('<>=-!'.includes(text[place + length] ?? ' ')) ++length;
  return length;
}

// Replaces what is between the outermost `open` and `close` by three dots.
function collapse(name, open, close) {
  let result = '';
  let depth = 0;
  for (let place = 0; place < name.length;) {
    const length = operatorLength(name, place);
    if (length > 0) {
      if (depth === 0) result += name.slice(place, place + length);
      place += length;
      continue;
    }
    const character = name[place++];
    if (character === close && depth > 0) --depth;
    if (depth === 0) result += character;
    if (character === open && depth++ === 0 && place < name.length && name[place] !== close) result += '…';
  }
  return result;
}

// A function's name where there is little room: without its parameters and template arguments, then without its outer namespaces.
export function shortName(name, most) {
  let result = name.length > 4000 ? clipped(name, 4000) : name;
  if (result.length > most) result = collapse(result, '(', ')');
  if (result.length > most) result = collapse(result, '<', '>');
  const whole = result;
  while (result.length >= most && result.includes('::')) result = result.slice(result.indexOf('::') + 2);
  return clipped(result === whole ? result : `…${result}`, most);
}

// The same for very little room: drops the namespaces first, then the name's end.
export function tightName(name, most) {
  const short = shortName(name, Math.max(most, 200));
  if (short.length <= most) return short;
  let result = collapse(collapse(short, '(', ')'), '<', '>').replace(/\(…?\)$/, '');
  while (result.length > most && result.includes('::')) result = result.slice(result.indexOf('::') + 2);
  return result.length <= most ? result : `${result.slice(0, Math.max(0, most - 1))}…`;
}

export const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);
