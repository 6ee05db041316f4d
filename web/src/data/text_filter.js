// A filter by text, as the command line's --function: part of a name, or a regular expression where the text is one.

const SPECIAL = /[\\^$.[\]|()*+?{}]/;
const LONGEST_NAME = 4096;

// Ignores case. An invalid expression ("operator[") is plain text.
export function matcherOf(text) {
  const wanted = text.toLowerCase();
  let expression = null;
  try {
    if (SPECIAL.test(text)) expression = new RegExp(text, 'i');
  } catch {
    expression = null;
  }
  return (name) => name.toLowerCase().includes(wanted) || (expression !== null && name.length <= LONGEST_NAME && expression.test(name));
}
