// The graph of pointers between stacks, drawn in layers.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { useReport } from '../context.js';
import { placeNodes } from '../data/layers.js';
import * as format from '../format.js';

export const MOST_DRAWN = 300;
const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [236, 36, 70, 12];
const LETTERS = 32;

function Edge({ from, to, weight }) {
  const isBack = to.x <= from.x;
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = isBack ? 60 : Math.max(20, (x2 - x1) / 2);
  return <path class={`edge ${isBack ? 'back' : ''}`} d={`M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2 - 3},${y2}`} stroke-width={weight} marker-end="url(#arrow)" />;
}

export function GraphDrawing({ graph }) {
  const { model, state, change } = useReport();
  const { nodes, edges } = graph;
  const places = useMemo(() => {
    const placed = placeNodes(nodes.label.length, edges.from.map((from, edge) => ({ from, to: edges.to[edge] })));
    return { ...placed, at: nodes.label.map((_, node) => ({ x: 10 + placed.layer[node] * (WIDTH + GAP_X), y: 10 + placed.row[node] * (HEIGHT + GAP_Y) })) };
  }, [graph]);
  const most = edges.count.reduce((best, count) => Math.max(best, count), 1);
  const width = 20 + places.layers * (WIDTH + GAP_X) - GAP_X;
  const height = 20 + places.rows * (HEIGHT + GAP_Y);
  return (
    <div class="graph" tabIndex={0} role="group" aria-label={`Graph of ${nodes.label.length} nodes; the table below has the same`}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0L8,4L0,8z" /></marker></defs>
        {edges.from.map((from, edge) => <Edge key={edge} from={places.at[from]} to={places.at[edges.to[edge]]} weight={1 + 2.5 * Math.sqrt(edges.count[edge] / most)} />)}
        {nodes.label.map((label, node) => {
          const { x, y } = places.at[node];
          const text = format.safeText(model.strings[label]);
          const stack = nodes.stack[node];
          return (
            <g key={node} class={`node ${nodes.kind[node]} ${stack >= 0 && stack === state.stack ? 'open' : ''}`} transform={`translate(${x},${y})`} onClick={() => stack >= 0 && change({ stack })}>
              <title>{`${text}\n${format.bytes(nodes.bytes[node])} in ${format.counted(nodes.blocks[node], 'block')}, retains ${format.bytes(nodes.retained_bytes[node])}`}</title>
              <rect width={WIDTH} height={HEIGHT} rx="5" />
              <text x="8" y="15">{format.shortName(text, LETTERS)}</text>
              <text x="8" y="29" class="small">{nodes.kind[node] === 'root' ? `retains ${format.bytes(nodes.retained_bytes[node])}` : `${format.bytes(nodes.bytes[node])} (${format.count(nodes.blocks[node])}) · retains ${format.bytes(nodes.retained_bytes[node])}`}</text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
