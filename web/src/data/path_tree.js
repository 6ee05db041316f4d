// Paths from roots to blocks as trees: by root, and below it each step that several paths share once.

const withoutOffset = (line) => line.replace(/ \+\d+$/, '');
// Blocks of the same kind from the same stack are one step, wherever they point from.
const keyOf = (line) => line.replace(/#b\d+\s*/g, '').replace(/, at \+\d+$/, '');

function stepOf(line) {
  return { line, blocks: new Set(), steps: new Map(), holders: [] };
}

// Holders {stack, text: [root, step…], blocks, bytes} -> [{name, bytes, blocks, stacks, steps, holders}], largest first. A step is
// {line: of the first path, blocks: their numbers, steps: Map, holders: those whose path ends here}.
export function pathTrees(holders) {
  const roots = new Map();
  for (const holder of holders) {
    const name = withoutOffset(holder.text[0] ?? '');
    if (!roots.has(name)) roots.set(name, { ...stepOf(name), name, bytes: 0, blockCount: 0, stacks: 0 });
    const root = roots.get(name);
    root.bytes += holder.bytes ?? 0;
    root.blockCount += holder.blocks ?? 0;
    ++root.stacks;
    let at = root;
    for (const text of holder.text.slice(1)) {
      const line = text.trim();
      const key = keyOf(line);
      if (!at.steps.has(key)) at.steps.set(key, stepOf(line));
      at = at.steps.get(key);
      for (const [block] of line.matchAll(/#b\d+/g)) at.blocks.add(block);
    }
    at.holders.push(holder);
  }
  return [...roots.values()].sort((one, other) => other.bytes - one.bytes);
}
