// The flame graph: callers above what they call (or inverted), as wide as their part of the metric.
import { h } from 'preact';
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { currentMetric, labelOfMetric, metricText, pairText, useReport } from '../context.js';
import { bottomUpTree, childrenOf, hiddenKinds, nameOfBox, optionsOf, stacksOfBox, topDownShape, topDownTree, visibleKinds } from '../data/flame_tree.js';
import { functionOf, fullPlaceOf, hiddenName, moduleOf, programOf } from '../data/names.js';
import { METRICS, stacksWithFrame } from '../data/selection.js';
import { isNoExpression, matcherOf } from '../data/text_filter.js';
import * as format from '../format.js';
import { BOX_HEIGHT, boxAt, boxColour, layout, paint, placeOfBox, shadeColour } from '../flame/painter.js';
import { Toggle } from '../parts/bar.jsx';
import { colour, fitCanvas } from '../parts/canvas.js';
import { useResize } from '../parts/resize.js';
import { MemoryChoice, MetricChoice } from './sites.jsx';

const ALL = 0;
const NOTHING = { rows: [], depth: 0 };

function useTree(report, metric) {
  const { model, selection, state } = report;
  const options = useMemo(() => optionsOf(state), [state.unfolded, state.startup, state.byLine]);
  const values = useMemo(() => METRICS[metric].of(selection), [selection, metric]);
  const shape = useMemo(() => (state.invert ? null : topDownShape(model, options)), [model, options, state.invert]);
  const tree = useMemo(() => {
    const others = selection.compared ? values : METRICS[metric].other.of(selection);
    const made = shape ? topDownTree(model, shape, values, others) : bottomUpTree(model, options, values, others);
    return { ...made, hidden: hiddenKinds(model, options, values) };
  }, [model, shape, options, values]);
  return { tree, values, options };
}

function nameOf(model, tree, box) {
  if (box === ALL) return programOf(model);
  return tree.frame[box] < 0 ? hiddenName(tree.hidden) : functionOf(model, tree.frame[box]);
}

function describe({ model, selection }, tree, metric, box) {
  const value = pairText(metric, tree.value[box], tree.other[box], selection);
  const lines = [nameOf(model, tree, box)];
  const frame = box === ALL ? -1 : tree.frame[box];
  if (box !== ALL && frame < 0 && tree.hidden.includes(true)) {
    lines.push(`No frame of the program is in these stacks; ${[tree.hidden[0] ? '"Libraries"' : '', tree.hidden[1] ? '"Start-up"' : ''].filter(Boolean).join(' and ')} above ${tree.hidden[0] && tree.hidden[1] ? 'show' : 'shows'} theirs`);
  }
  if (frame >= 0) lines.push([fullPlaceOf(model, frame), moduleOf(model, frame), model.frames.inlined[frame] ? 'inlined' : ''].filter(Boolean).join(' · '));
  lines.push(`${labelOfMetric(metric, model, selection)}: ${value}${tree.weight[ALL] > 0 ? ` (${format.percent(tree.weight[box], tree.weight[ALL])})` : ''}`);
  if (tree.self[box] !== 0) lines.push(`itself: ${metricText(metric, tree.self[box], selection)}`);
  return lines.filter(Boolean);
}

// A sign besides the colour for boxes that grew.
const signOf = (value) => (value > 0 ? '+ ' : value < 0 ? '− ' : '');

function Tooltip({ lines, at }) {
  const element = useRef(null);
  useEffect(() => {
    const { width, height } = element.current.getBoundingClientRect();
    element.current.style.left = `${Math.max(4, Math.min(at.x + 14, innerWidth - width - 8))}px`;
    element.current.style.top = `${at.y + 18 + height > innerHeight ? Math.max(4, at.y - height - 10) : at.y + 18}px`;
  });
  return (
    <div class="tooltip" role="tooltip" ref={element}>
      {lines.map((line, index) => <div key={index} class={index === 0 ? 'function' : 'place'}><bdi>{format.clipped(line, 600)}</bdi></div>)}
    </div>
  );
}

const HATCHED = 'repeating-linear-gradient(135deg, #0005 0 1.5px, transparent 1.5px 4px), ';

// The shades of the boxes themselves.
function Legend({ metric, tree }) {
  const { state, theme } = useReport();
  const isDark = theme === 'dark';
  const changes = [['grew', '+ new, grown', { net: 1 }], ['shrank', '− gone, shrunk', { net: -1 }]];
  const hasStartup = state.startup || (tree.hidden[1] && !tree.hidden[0]);
  const kinds = [['own', 'own code', { kind: 0 }], ['library', 'libraries', { kind: 1 }], ...(hasStartup ? [['start', 'start-up', { kind: 2 }]] : [])];
  const shades = (of) => [0, 1].map((shade) => shadeColour({ ...of, shade, isDark })).join(', ');
  return <span class="legend">{(metric === 'change' ? changes : kinds).map(([name, text, of]) => <span key={name}><i class={`swatch ${name}`} style={{ backgroundImage: `${of.net < 0 ? HATCHED : ''}linear-gradient(to right, ${shades(of)})` }} />{text}</span>)}</span>;
}

// Boxes found by the search, and their share of the metric: of all stacks with such a frame in sight.
function useFound({ model, state }, tree, { values, options }) {
  return useMemo(() => {
    const wanted = state.find.trim();
    if (!wanted) return null;
    const isMatch = matcherOf(wanted);
    const kinds = visibleKinds(options);
    const matches = Uint8Array.from({ length: model.frames.count }, (_, frame) =>
      (kinds[model.frames.kind[frame]] && (isMatch(functionOf(model, frame)) || isMatch(fullPlaceOf(model, frame))) ? 1 : 0));
    const weight = stacksWithFrame(model, matches).reduce((sum, isThrough, stack) => sum + (isThrough ? Math.abs(values[stack]) : 0), 0);
    const isFound = (box) => tree.frame[box] >= 0 && matches[tree.frame[box]] === 1;
    const boxes = tree.frame.reduce((sum, _, box) => sum + (isFound(box) ? 1 : 0), 0);
    return { isFound, weight, boxes };
  }, [model, tree, values, options, state.find]);
}

function Toolbar({ report, metric, tree, found }) {
  const { state, change } = report;
  return (
    <div class="toolbar">
      {report.model.difference ? null : <MetricChoice />}
      <MemoryChoice />
      <Toggle label="Inverted" title="Allocating functions on top, their callers below (i)" value={state.invert} onChange={(invert) => change({ invert, zoom: null })} />
      <Toggle label="Libraries" title="Show frames of libraries and of allocation functions" value={state.unfolded} onChange={(unfolded) => change({ unfolded, zoom: null })} />
      <Toggle label="Start-up" title="Show frames below main and of thread starts" value={state.startup} onChange={(startup) => change({ startup, zoom: null })} />
      <Toggle label="By line" title="A separate box for each line of a function" value={state.byLine} onChange={(byLine) => change({ byLine, zoom: null })} />
      <input type="search" id="flame-find" placeholder="Highlight…" aria-label="Highlight functions" title="Part of a function or file, or a regular expression (parse|format)" value={state.find} spellcheck={false}
        aria-invalid={isNoExpression(state.find.trim()) ? 'true' : undefined}
        onInput={(event) => change({ find: event.currentTarget.value })} />
      {found ? <span class="note" id="flame-found">{isNoExpression(state.find.trim()) ? 'no regular expression: as part of a name, ' : ''}{format.counted(found.boxes, 'box', 'boxes')}, {format.percent(found.weight, tree.weight[ALL])}</span> : null}
      <button type="button" id="flame-reset" disabled={state.zoom === null} onClick={() => change({ zoom: null })}>Reset zoom</button>
      <Legend metric={metric} tree={tree} />
    </div>
  );
}

// Zoom is kept as a node of the call tree; the inverted tree has none, so there it lasts as long as the tree does.
function useZoom(report, tree) {
  const { state, change } = report;
  const [own, setOwn] = useState({ tree: null, box: ALL });
  const nodeOf = useMemo(() => {
    if (!tree.boxOf) return null;
    const nodes = new Int32Array(tree.count).fill(-1);
    tree.boxOf.forEach((box, node) => { if (nodes[box] < 0) nodes[box] = node; });
    return nodes;
  }, [tree]);
  let zoomed = ALL;
  if (tree.boxOf && state.zoom !== null) zoomed = tree.boxOf[state.zoom];
  else if (!tree.boxOf && own.tree === tree && state.zoom !== null) zoomed = own.box;
  if (!(tree.weight[zoomed] > 0)) zoomed = ALL;
  const boxName = (box) => nameOfBox(tree, box, nodeOf);
  const zoom = (box) => {
    if (!nodeOf) setOwn({ tree, box });
    change({ zoom: box === ALL ? null : nodeOf ? nodeOf[box] : 0 });
  };
  return [zoomed, zoom, boxName];
}

function neighbourOf(tree, drawn, box, key) {
  if (key === 'ArrowUp') return tree.parent[box] >= 0 ? tree.parent[box] : box;
  if (key === 'ArrowDown') return childrenOf(tree, box)[0] ?? box;
  const siblings = tree.parent[box] < 0 ? [box] : childrenOf(tree, tree.parent[box]);
  return siblings[siblings.indexOf(box) + (key === 'ArrowRight' ? 1 : -1)] ?? box;
}

export function FlameView() {
  const report = useReport();
  const { model, selection, state, change, theme } = report;
  const metric = currentMetric(report);
  const drawing = useTree(report, metric);
  const { tree } = drawing;
  const found = useFound(report, tree, drawing);
  const [zoomed, zoom, boxName] = useZoom(report, tree);
  const [hover, setHover] = useState(null);
  const [selected, setSelected] = useState(null);
  const latest = useRef(null); // of `selected`: keys may come faster than drawings
  latest.current = selected;
  const [, redraw] = useReducer((number) => number + 1, 0);
  const [{ width, height: sight }, setSize] = useState({ width: 0, height: 0 });
  const scroller = useRef(null);
  const canvas = useRef(null);
  const colours = useMemo(() => new Map(), [model, theme]); // of frames
  const drawn = useMemo(() => (tree.weight[ALL] > 0 ? layout(tree, zoomed, width) : NOTHING), [tree, zoomed, width]);
  useEffect(() => { setSelected(null); setHover(null); }, [tree]);
  useResize(scroller, ({ clientWidth, clientHeight }) => setSize({ width: clientWidth, height: clientHeight }));
  useEffect(() => {
    const began = performance.now();
    const { context, width: wide, height } = fitCanvas(canvas.current);
    const isDark = theme === 'dark';
    const colourOf = (box) => {
      const frame = tree.frame[box];
      if (frame < 0 && (box === ALL || !tree.hidden.includes(true))) return colour('--raised');
      if (frame < 0) return boxColour({ kind: tree.hidden[0] ? 1 : 2, name: '', isDark });
      if (metric === 'change') return boxColour({ name: nameOf(model, tree, box), isDark, net: tree.value[box] / (tree.weight[box] || 1) });
      if (!colours.has(frame)) colours.set(frame, boxColour({ kind: model.frames.kind[frame], name: nameOf(model, tree, box), isDark }));
      return colours.get(frame);
    };
    const painted = paint(context, wide, height, {
      tree, drawn, scrollTop: scroller.current.scrollTop, hovered: hover?.box ?? null, selected,
      nameOf: (box) => `${metric === 'change' ? signOf(tree.value[box]) : ''}${nameOf(model, tree, box)}`,
      colourOf,
      isHatched: (box) => metric === 'change' && tree.value[box] < 0,
      isFound: found ? found.isFound : null,
      colours: { text: colour('--text'), smaller: colour('--raised'), found: colour('--found'), foundText: colour('--found-text') },
    });
    Object.assign(canvas.current.dataset, { painted, boxes: tree.count, rows: drawn.depth, drawMs: (performance.now() - began).toFixed(1) });
  });
  // For tests: the boxes and their positions.
  useEffect(() => { canvas.current.flame = { tree, drawn }; }, [tree, drawn]);
  const pointed = (event) => {
    const { left, top } = canvas.current.getBoundingClientRect();
    return boxAt(drawn, event.clientX - left, event.clientY - top + scroller.current.scrollTop);
  };
  const move = (event) => {
    const box = pointed(event);
    setHover(box === null ? null : { box, x: event.clientX, y: event.clientY });
  };
  const click = (event) => {
    const box = pointed(event);
    if (box === null) return;
    setSelected(box);
    if (event.shiftKey || box === zoomed) openDetails(box);
    else zoom(box);
  };
  const openDetails = (box) => {
    const name = boxName(box);
    const [stack] = stacksOfBox(model, drawing.options, name, drawing.values);
    if (stack !== undefined) change({ stack, box: name });
  };
  const key = (event) => {
    const box = latest.current ?? zoomed;
    if (event.key === 'i') change({ invert: !state.invert, zoom: null });
    else if (event.key === 'Enter' && event.shiftKey) openDetails(box);
    else if (event.key === 'Enter') zoom(box);
    else if (event.key.startsWith('Arrow')) {
      const next = neighbourOf(tree, drawn, box, event.key);
      latest.current = next;
      setSelected(next);
      const place = placeOfBox(drawn, next);
      if (place) scrollTo(place.row);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const scrollTo = (row) => {
    const { scrollTop, clientHeight } = scroller.current;
    if (row * BOX_HEIGHT < scrollTop) scroller.current.scrollTop = row * BOX_HEIGHT;
    else if ((row + 2) * BOX_HEIGHT > scrollTop + clientHeight) scroller.current.scrollTop = (row + 2) * BOX_HEIGHT - clientHeight;
  };
  const told = describe(report, tree, metric, hover?.box ?? selected ?? zoomed);
  return (
    <div class="page wide fill-height">
      <Toolbar report={report} metric={metric} tree={tree} found={found} />
      <div class="flame-status" id="flame-status" role="status" aria-live="polite"><b><bdi>{format.clipped(told[0], 200)}</bdi></b> <bdi>{format.clipped(told.slice(1).join(' · '), 300)}</bdi></div>
      {tree.weight[ALL] > 0 ? null : <p class="empty">Nothing is selected by the filter, or the metric is 0 everywhere.</p>}
      <div class="flame" ref={scroller} onScroll={() => { setHover(null); redraw(); }}>
        <div style={{ height: `${Math.max(sight, drawn.depth * BOX_HEIGHT)}px` }}>
          <canvas ref={canvas} id="flame" style={{ height: `${sight}px` }} tabIndex={0} role="application" aria-roledescription="flame graph" aria-describedby="flame-status"
            aria-label={`Flame graph of ${labelOfMetric(metric, model, selection).toLowerCase()}; arrows move, Enter zooms, Shift+Enter shows the stacks of a box`}
            onMouseMove={move} onMouseLeave={() => setHover(null)} onClick={click} onKeyDown={key} />
        </div>
      </div>
      {hover ? <Tooltip lines={describe(report, tree, metric, hover.box)} at={hover} /> : null}
      <p class="note hint">Click a box to zoom, click it again (or Shift+click) for its stacks.</p>
    </div>
  );
}
