// Sums by function, its callers and callees.

// Frames with the same function of the same module are one function; those without a name by their place in the module.
export function functionsOf(model) {
  const { frames } = model;
  const numbers = new Int32Array(frames.count);
  const first = [];
  const seen = new Map();
  for (let frame = 0; frame < frames.count; ++frame) {
    const key = frames.function[frame] !== 0 ? `${frames.module[frame]} ${frames.function[frame]}` : `${frames.module[frame]}+${frames.offset[frame]}`;
    if (!seen.has(key)) {
      seen.set(key, first.length);
      first.push(frame);
    }
    numbers[frame] = seen.get(key);
  }
  return { numbers, first, count: first.length };
}

// What each function has in all stacks in which it is (`total`, each stack once), and as the allocating function (`self`).
export function sumsByFunction(model, functions, stackValues) {
  const total = new Float64Array(functions.count);
  const self = new Float64Array(functions.count);
  const lastStack = new Int32Array(functions.count).fill(-1);
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const amount = stackValues[stack];
    let node = model.stacks.node[stack];
    if (node < 0 || amount === 0) continue;
    self[functions.numbers[model.nodes.frame[node]]] += amount;
    for (; node >= 0; node = model.nodes.parent[node]) {
      const number = functions.numbers[model.nodes.frame[node]];
      if (lastStack[number] === stack) continue;
      lastStack[number] = stack;
      total[number] += amount;
    }
  }
  return { total, self };
}

// Of the stacks with this function: amounts by its callers and by its callees (a recursion counts once for each).
export function neighboursOf(model, functions, stackValues, wanted) {
  const callers = new Map();
  const callees = new Map();
  const add = (map, number, amount) => map.set(number, (map.get(number) ?? 0) + amount);
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const amount = stackValues[stack];
    if (amount === 0) continue;
    const above = new Set();
    const below = new Set();
    let callee = -1;
    for (let node = model.stacks.node[stack]; node >= 0; node = model.nodes.parent[node]) {
      const number = functions.numbers[model.nodes.frame[node]];
      if (number === wanted) below.add(callee);
      if (callee === wanted) above.add(number);
      callee = number;
    }
    if (callee === wanted) above.add(-1);
    above.forEach((number) => add(callers, number, amount));
    below.forEach((number) => add(callees, number, amount));
  }
  const sorted = (map) => [...map].map(([number, amount]) => ({ number, amount })).sort((left, right) => Math.abs(right.amount) - Math.abs(left.amount));
  return { callers: sorted(callers), callees: sorted(callees) };
}
