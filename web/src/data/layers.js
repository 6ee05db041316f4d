// Places for the nodes of a small directed graph, in layers from left to right: what points stands left of what it points to.
// Sugiyama's steps: edges that close a cycle are turned, each node's layer is its longest path from a root, and sweeps order each
// layer by the mean place of its neighbours.

const SWEEPS = 8;

// Edges without those that lead back to a node that is being visited.
function acyclicEdges(count, edges) {
  const outgoing = Array.from({ length: count }, () => []);
  edges.forEach(({ from, to }) => { if (from !== to) outgoing[from].push(to); });
  const visited = new Uint8Array(count); // 0: not yet, 1: on the path, 2: done
  const kept = [];
  for (let root = 0; root < count; ++root) {
    if (visited[root] !== 0) continue;
    const path = [{ node: root, next: 0 }];
    visited[root] = 1;
    while (path.length > 0) {
      const top = path[path.length - 1];
      if (top.next === outgoing[top.node].length) {
        visited[top.node] = 2;
        path.pop();
        continue;
      }
      const to = outgoing[top.node][top.next++];
      if (visited[to] === 1) continue;
      kept.push({ from: top.node, to });
      if (visited[to] === 0) {
        visited[to] = 1;
        path.push({ node: to, next: 0 });
      }
    }
  }
  return kept;
}

function layersOf(count, edges) {
  const layer = new Int32Array(count);
  const incoming = new Int32Array(count);
  edges.forEach(({ to }) => { ++incoming[to]; });
  const ready = Array.from({ length: count }, (_, node) => node).filter((node) => incoming[node] === 0);
  const outgoing = Array.from({ length: count }, () => []);
  edges.forEach(({ from, to }) => outgoing[from].push(to));
  while (ready.length > 0) {
    const node = ready.pop();
    for (const to of outgoing[node]) {
      layer[to] = Math.max(layer[to], layer[node] + 1);
      if (--incoming[to] === 0) ready.push(to);
    }
  }
  return layer;
}

// Returns {layer[node], row[node], layers, rows}.
export function placeNodes(count, edges) {
  const kept = acyclicEdges(count, edges);
  const layer = layersOf(count, kept);
  const layers = [];
  for (let node = 0; node < count; ++node) (layers[layer[node]] ??= []).push(node);
  const row = new Float64Array(count);
  const setRows = (nodes) => nodes.forEach((node, index) => { row[node] = index - nodes.length / 2; });
  layers.forEach(setRows);
  const neighbours = Array.from({ length: count }, () => ({ before: [], after: [] }));
  kept.forEach(({ from, to }) => {
    neighbours[from].after.push(to);
    neighbours[to].before.push(from);
  });
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    const isForward = sweep % 2 === 0;
    for (const nodes of isForward ? layers : [...layers].reverse()) {
      const wanted = new Map(nodes.map((node) => {
        const list = isForward ? neighbours[node].before : neighbours[node].after;
        return [node, list.length === 0 ? row[node] : list.reduce((sum, other) => sum + row[other], 0) / list.length];
      }));
      nodes.sort((left, right) => wanted.get(left) - wanted.get(right) || left - right);
      setRows(nodes);
    }
  }
  const rows = layers.reduce((most, nodes) => Math.max(most, nodes.length), 0);
  return { layer, row: row.map((value) => value + rows / 2), layers: layers.length, rows };
}
