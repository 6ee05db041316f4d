// A filter by text, as the command line's --function: part of a name, or a regular expression where the text is one.

const SPECIAL = /[\\^$.[\]|()*+?{}]/;
const LONGEST_NAME = 4096;

// Null: it is plain text, or no expression.
function expressionOf(text) {
  try {
    return SPECIAL.test(text) ? new RegExp(text, 'i') : null;
  } catch {
    return null;
  }
}

// Looks like a regular expression, and is none.
export const isNoExpression = (text) => SPECIAL.test(text) && expressionOf(text) === null;

// Ignores case. What is no expression ("operator[") is plain text.
export function matcherOf(text) {
  const wanted = text.toLowerCase();
  const expression = expressionOf(text);
  return (name) => name.toLowerCase().includes(wanted) || (expression !== null && name.length <= LONGEST_NAME && expression.test(name));
}

// A filter's text without the "-" that turns it round.
export const partsOf = (text) => {
  const trimmed = text.trim();
  const isExcluding = trimmed.startsWith('-');
  return { isExcluding, wanted: isExcluding ? trimmed.slice(1) : trimmed };
};
