// The trees that the flame graph draws, made of the data's call tree: frames that are folded or hidden are left out, and callers
// with the same callee function become one box. Columns, since a report may have several hundred thousand nodes.

const NO_NODE = -1;

// Key of a box: frames of the same function of the same module share one; with `byLine` those of the same line.
export function keysOf(model, byLine) {
  const { frames } = model;
  const keys = new Int32Array(frames.count);
  const seen = new Map();
  for (let frame = 0; frame < frames.count; ++frame) {
    const named = frames.function[frame] !== 0;
    const place = byLine ? `${frames.file[frame]}:${frames.line[frame]}` : '';
    const key = `${frames.module[frame]} ${named ? frames.function[frame] : `+${frames.offset[frame]}`} ${place}`;
    if (!seen.has(key)) seen.set(key, seen.size);
    keys[frame] = seen.get(key);
  }
  return keys;
}

// Which frames are in sight, of the choices in the address.
export const optionsOf = ({ unfolded, startup, byLine }) => ({ foldLibraries: !unfolded, showStartup: startup, byLine });

export function visibleKinds({ foldLibraries, showStartup }) {
  return [true, !foldLibraries, showStartup];
}

// Finds a child by (parent, key) in constant time: open addressing over the children's numbers.
class ChildTable {
  constructor(most) {
    let size = 16;
    while (size < most * 2) size *= 2;
    this.slots = new Int32Array(size).fill(NO_NODE);
    this.bits = size - 1;
  }

  // The slot that holds the child, or the empty one where it belongs.
  slotOf(parent, key, parents, keys) {
    let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & this.bits;
    while (this.slots[slot] !== NO_NODE && (parents[this.slots[slot]] !== parent || keys[this.slots[slot]] !== key)) {
      slot = (slot + 1) & this.bits;
    }
    return slot;
  }
}

// The shape of the top-down tree; node 0 is all of it. `boxOf[node]` is the box of a node of the call tree.
export function topDownShape(model, options) {
  const { nodes, frames } = model;
  const kinds = visibleKinds(options);
  const frameKeys = keysOf(model, options.byLine);
  const parent = new Int32Array(nodes.count + 2);
  const key = new Int32Array(nodes.count + 2);
  const frame = new Int32Array(nodes.count + 2);
  const depth = new Int32Array(nodes.count + 2);
  const boxOf = new Int32Array(nodes.count);
  const table = new ChildTable(nodes.count + 2);
  [parent[0], key[0], frame[0]] = [NO_NODE, NO_NODE, NO_NODE];
  [parent[1], key[1], frame[1], depth[1]] = [0, -2, NO_NODE, 1]; // of stacks without frames in sight
  let count = 2;
  for (let node = 0; node < nodes.count; ++node) {
    const above = nodes.parent[node] < 0 ? 0 : boxOf[nodes.parent[node]];
    if (!kinds[frames.kind[nodes.frame[node]]]) {
      boxOf[node] = above;
      continue;
    }
    const own = frameKeys[nodes.frame[node]];
    const slot = table.slotOf(above, own, parent, key);
    if (table.slots[slot] === NO_NODE) {
      table.slots[slot] = count;
      [parent[count], key[count], frame[count], depth[count]] = [above, own, nodes.frame[node], depth[above] + 1];
      ++count;
    }
    boxOf[node] = table.slots[slot];
  }
  return { count, parent: parent.subarray(0, count), frame: frame.subarray(0, count), depth: depth.subarray(0, count), boxOf };
}

// Children of each box in a list. Few boxes are ever seen: childrenOf sorts the lists that are asked for.
function linkChildren(tree) {
  const { count, parent, weight } = tree;
  tree.firstChild = new Int32Array(count).fill(NO_NODE);
  tree.nextSibling = new Int32Array(count).fill(NO_NODE);
  tree.sorted = new Map();
  for (let box = count - 1; box > 0; --box) {
    if (weight[box] === 0) continue;
    tree.nextSibling[box] = tree.firstChild[parent[box]];
    tree.firstChild[parent[box]] = box;
  }
  return tree;
}

// Largest first.
export function childrenOf(tree, box) {
  let children = tree.sorted.get(box);
  if (!children) {
    children = [];
    for (let child = tree.firstChild[box]; child !== NO_NODE; child = tree.nextSibling[child]) children.push(child);
    children.sort((left, right) => tree.weight[right] - tree.weight[left] || left - right);
    tree.sorted.set(box, children);
  }
  return children;
}

// Figures for a shape: `value` is the figure shown for a box, `weight` its width. They differ where values may be negative. `other`: a
// second figure of each box, of `otherValues`.
export function topDownTree(model, shape, stackValues, otherValues = stackValues) {
  const value = new Float64Array(shape.count);
  const other = new Float64Array(shape.count);
  const weight = new Float64Array(shape.count);
  const self = new Float64Array(shape.count);
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const node = model.stacks.node[stack];
    const box = node < 0 || shape.boxOf[node] === 0 ? 1 : shape.boxOf[node];
    self[box] += stackValues[stack];
    other[box] += otherValues[stack];
    weight[box] += Math.abs(stackValues[stack]);
  }
  value.set(self);
  for (let box = shape.count - 1; box > 0; --box) {
    value[shape.parent[box]] += value[box];
    other[shape.parent[box]] += other[box];
    weight[shape.parent[box]] += weight[box];
  }
  return linkChildren({ ...shape, value, other, weight, self });
}

// Stacks by the box of the frame that they have come to: [a frame of the box, its stacks]. On the first level those without any are one.
function partsOf(members, { isFirst, reached, nodes, frameKeys }) {
  const byKey = new Map();
  for (const stack of members) {
    if (reached[stack] < 0 && !isFirst) continue;
    const frame = reached[stack] < 0 ? NO_NODE : nodes.frame[reached[stack]];
    const key = frame < 0 ? NO_NODE : frameKeys[frame];
    const found = byKey.get(key);
    if (found) found[1].push(stack);
    else byKey.set(key, [frame, [stack]]);
  }
  return byKey.values();
}

const SMALLEST_PART = 1 / 20000; // of all: narrower boxes of the inverted tree aren't drawn, and so not made

// The inverted tree: callees above their callers. Made level by level of groups of stacks; below the first level as far as a box
// could be seen.
export function bottomUpTree(model, options, stackValues, otherValues = stackValues) {
  const { nodes, frames, stacks } = model;
  const kinds = visibleKinds(options);
  const frameKeys = keysOf(model, options.byLine);
  const skipHidden = (node) => {
    let shown = node;
    while (shown >= 0 && !kinds[frames.kind[nodes.frame[shown]]]) shown = nodes.parent[shown];
    return shown;
  };
  const columns = { parent: [NO_NODE], frame: [NO_NODE], depth: [0], value: [0], other: [0], weight: [0], self: [0], stack: [NO_NODE] };
  // Where each stack has come to. A stack is in one group at a time, so one place for each is enough.
  const reached = new Int32Array(stacks.count);
  const all = [];
  for (let stack = 0; stack < stacks.count; ++stack) {
    if (stackValues[stack] === 0) continue;
    all.push(stack);
    reached[stack] = skipHidden(stacks.node[stack]);
    columns.value[0] += stackValues[stack];
    columns.other[0] += otherValues[stack];
    columns.weight[0] += Math.abs(stackValues[stack]);
  }
  const least = columns.weight[0] * SMALLEST_PART;
  const todo = [{ box: 0, members: all }];
  while (todo.length > 0) {
    const { box: above, members } = todo.pop();
    for (const [frame, part] of partsOf(members, { isFirst: above === 0, reached, nodes, frameKeys })) {
      let [value, other, weight] = [0, 0, 0];
      for (const stack of part) {
        value += stackValues[stack];
        other += otherValues[stack];
        weight += Math.abs(stackValues[stack]);
      }
      if (weight < least && above !== 0) continue;
      const box = columns.parent.length;
      columns.parent.push(above);
      columns.frame.push(frame);
      columns.depth.push(columns.depth[above] + 1);
      columns.value.push(value);
      columns.other.push(other);
      columns.stack.push(part[0]);
      columns.weight.push(weight);
      columns.self.push(above === 0 ? value : 0);
      if (frame < 0) continue;
      for (const stack of part) reached[stack] = skipHidden(nodes.parent[reached[stack]]);
      todo.push({ box, members: part });
    }
  }
  return linkChildren({
    count: columns.parent.length, boxOf: null,
    parent: Int32Array.from(columns.parent), frame: Int32Array.from(columns.frame), depth: Int32Array.from(columns.depth),
    value: Float64Array.from(columns.value), other: Float64Array.from(columns.other), stack: columns.stack, weight: Float64Array.from(columns.weight), self: Float64Array.from(columns.self),
  });
}

const ALL = 'all'; // the root
const HIDDEN = 'hidden'; // the box of stacks without a frame in sight

// A box by name, whatever the tree's figures: of the top-down tree by a node of the call tree, of the inverted one by a stack and the
// frames in sight from where it allocates.
export function nameOfBox(tree, box, nodeOf) {
  if (box === 0) return ALL;
  if (tree.frame[box] < 0) return HIDDEN;
  return tree.boxOf ? String(nodeOf[box]) : `${tree.stack[box]}.${tree.depth[box]}`;
}

export function isBoxName(model, name) {
  if (name === ALL || name === HIDDEN) return true;
  const match = /^(\d+)(?:\.(\d+))?$/.exec(name);
  return match !== null && Number(match[1]) < (match[2] === undefined ? model.nodes.count : model.stacks.count);
}

// For each node whether a frame of it or of its callers is in sight.
function nodesInSight(model, kinds) {
  const { nodes, frames } = model;
  const inSight = new Uint8Array(nodes.count);
  for (let node = 0; node < nodes.count; ++node) {
    const parent = nodes.parent[node];
    inSight[node] = kinds[frames.kind[nodes.frame[node]]] || (parent >= 0 && inSight[parent]) ? 1 : 0;
  }
  return inSight;
}

const isHidden = (model, inSight, stack) => model.stacks.node[stack] < 0 || !inSight[model.stacks.node[stack]];

// What the frames are of stacks that have none in sight: [libraries, start-up].
export function hiddenKinds(model, options, stackValues) {
  const inSight = nodesInSight(model, visibleKinds(options));
  const found = [false, false];
  for (let stack = 0; stack < model.stacks.count && !(found[0] && found[1]); ++stack) {
    if (stackValues[stack] === 0 || !isHidden(model, inSight, stack)) continue;
    for (let node = model.stacks.node[stack]; node >= 0; node = model.nodes.parent[node]) {
      const kind = model.frames.kind[model.nodes.frame[node]];
      if (kind > 0) found[kind - 1] = true;
    }
  }
  return found;
}

// Frames in sight from where a stack allocates, `most` of them.
function framesInSight(model, kinds, stack, most) {
  const { nodes, frames, stacks } = model;
  const found = [];
  for (let node = stacks.node[stack]; node >= 0 && found.length < most; node = nodes.parent[node]) {
    if (kinds[frames.kind[nodes.frame[node]]]) found.push(nodes.frame[node]);
  }
  return found;
}

function isOfInvertedBox(model, options, name) {
  const kinds = visibleKinds(options);
  const [stack, depth] = name.split('.').map(Number);
  const keys = keysOf(model, options.byLine);
  const wanted = framesInSight(model, kinds, stack, depth).map((frame) => keys[frame]);
  return (other) => {
    const frames = framesInSight(model, kinds, other, depth);
    return frames.length === wanted.length && frames.every((frame, index) => keys[frame] === wanted[index]);
  };
}

function isOfBox(model, options, name) {
  const shape = topDownShape(model, options);
  const wanted = shape.boxOf[Number(name)];
  const isIn = new Uint8Array(shape.count);
  for (let box = 1; box < shape.count; ++box) isIn[box] = box === wanted ? 1 : isIn[Math.max(0, shape.parent[box])];
  return (stack) => model.stacks.node[stack] >= 0 && isIn[shape.boxOf[model.stacks.node[stack]]] === 1;
}

// The stacks of a box whose value isn't 0, largest first.
export function stacksOfBox(model, options, name, stackValues) {
  let isWanted = () => true;
  if (name === HIDDEN) {
    const inSight = nodesInSight(model, visibleKinds(options));
    isWanted = (stack) => isHidden(model, inSight, stack);
  } else if (name !== ALL) isWanted = name.includes('.') ? isOfInvertedBox(model, options, name) : isOfBox(model, options, name);
  const found = [];
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    if (stackValues[stack] !== 0 && isWanted(stack)) found.push(stack);
  }
  return found.sort((one, other) => Math.abs(stackValues[other]) - Math.abs(stackValues[one]) || one - other);
}

// The frame that a box is named after; -1: none.
export function frameOfBox(model, options, name) {
  if (name === ALL || name === HIDDEN) return NO_NODE;
  if (!name.includes('.')) return model.nodes.frame[Number(name)];
  const [stack, depth] = name.split('.').map(Number);
  return framesInSight(model, visibleKinds(options), stack, depth).at(-1) ?? NO_NODE;
}
