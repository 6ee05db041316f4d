// What retains reachable blocks: paths by root, global variables, retained sizes of stacks, and the graph of pointers. All are of
// the whole scan; of the filters only those that select stacks apply.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { useReport } from '../context.js';
import { longPathText, pathText, stackNumber } from '../data/names.js';
import { pathTrees } from '../data/path_tree.js';
import * as format from '../format.js';
import { Bar } from '../parts/bar.jsx';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';
import { GraphDrawing, MOST_DRAWN } from './graph.jsx';

const highestOf = (rows, of) => rows.reduce((most, row) => Math.max(most, of(row) ?? 0), 0);
const amount = (key, label, most, of) => ({
  key, label, align: 'right', hasBar: true, holds: bytesUpTo(most), sort: (row) => of(row) ?? NaN, cell: (row) => <Bar part={of(row) ?? 0} whole={most} text={format.bytes(of(row))} />,
});
const number = (rows, key, label, of) => ({ key, label, align: 'right', holds: [countUpTo(highestOf(rows, of)), ...(rows.every((row) => format.isKnown(of(row))) ? [] : [format.UNKNOWN])], sort: (row) => of(row) ?? NaN, cell: (row) => format.count(of(row)) });

// The steps below one, and the stacks whose blocks are here.
function Steps({ step }) {
  const { model, state, change } = useReport();
  return [
    ...step.holders.map((holder) => (
      <button type="button" key={holder.stack} class={`link held ${holder.stack === state.stack ? 'open' : ''}`} onClick={() => change({ stack: holder.stack })}>
        <b>{format.bytes(holder.bytes)}</b> in {format.counted(holder.blocks, 'block')} <span class="id">{stackNumber(model, holder.stack)}</span> <Name text={pathText(model, holder.stack, 2)} />
      </button>
    )),
    step.steps.size > 0 ? <ol class="path">{[...step.steps.values()].map((next, index) => (
      <li key={index}><span class="step"><Name text={next.line} />{next.blocks.size > 1 ? <span class="note"> and {format.count(next.blocks.size - 1)} like it</span> : null}</span><Steps step={next} /></li>
    ))}</ol> : null,
  ];
}

function Paths({ holders }) {
  const roots = useMemo(() => pathTrees(holders), [holders]);
  return (
    <section aria-labelledby="paths-title"><h2 id="paths-title">Shortest paths to the largest stacks</h2>
      <ol class="holders">{roots.map((root, index) => (
        <li key={index}>
          <h3><Name text={root.name.replace(/:$/, '')} /> <span class="note"><b>{format.bytes(root.bytes)}</b> in {format.counted(root.blockCount, 'block')} of {format.counted(root.stacks, 'stack')}</span></h3>
          <Steps step={root} />
        </li>
      ))}</ol>
    </section>
  );
}

const placeOf = ({ file, line }) => (file ? `${format.baseName(file)}${line ? `:${line}` : ''}` : format.UNKNOWN);

// What libraries keep for themselves is one row.
function foldLibraries(globals) {
  const ofLibraries = globals.filter(({ of_libraries: isOfLibraries }) => isOfLibraries);
  if (ofLibraries.length === 0) return globals;
  const sum = (key) => (ofLibraries.every((row) => format.isKnown(row[key])) ? ofLibraries.reduce((total, row) => total + row[key], 0) : null);
  const folded = Object.fromEntries(['direct_bytes', 'direct_blocks', 'retained_bytes', 'retained_blocks'].map((key) => [key, sum(key)]));
  return [...globals.filter(({ of_libraries: isOfLibraries }) => !isOfLibraries), { name: '(memory of system libraries)', file: '', line: 0, title: ofLibraries.map(({ name }) => name).join(', '), ...folded }];
}

function Globals({ globals: all }) {
  const globals = useMemo(() => foldLibraries(all), [all]);
  const columns = useMemo(() => [
    { key: 'name', label: 'Global variable', sort: (row) => row.name, cell: (row) => <Name text={row.name} title={row.title === undefined ? undefined : format.safeText(row.title)} /> },
    amount('retained', 'Retained', highestOf(globals, (row) => row.retained_bytes), (row) => row.retained_bytes), number(globals, 'retained_blocks', 'Blocks', (row) => row.retained_blocks),
    amount('direct', 'Points to', highestOf(globals, (row) => row.direct_bytes), (row) => row.direct_bytes), number(globals, 'direct_blocks', 'Blocks', (row) => row.direct_blocks),
    { key: 'place', label: 'Location', isName: true, holds: globals.map((row) => format.clipped(format.safeText(placeOf(row)), 32)), sort: (row) => row.file ?? '', cell: (row) => <Name text={placeOf(row)} title={format.safeText(row.file ?? '')} /> },
  ], [globals]);
  return <section><h2>Retained by global variables</h2><Table label="Global variables" columns={columns} rows={globals} initialSort="retained" height="20rem" /></section>;
}

function Retained({ rows }) {
  const { model, state, change } = useReport();
  const columns = useMemo(() => [
    { key: 'stack', label: 'Stack', cell: (row) => [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={longPathText(model, row.stack)} />] },
    amount('retained', 'Retained', highestOf(rows, (row) => row.retained_bytes), (row) => row.retained_bytes), number(rows, 'retained_blocks', 'Blocks', (row) => row.retained_blocks),
    amount('own', 'Own', highestOf(rows, (row) => row.own_bytes), (row) => row.own_bytes), number(rows, 'own_blocks', 'Blocks', (row) => row.own_blocks),
  ], [model, rows]);
  return <section><h2>Retained size by stack</h2><Table label="Retained size by stack" columns={columns} rows={rows} initialSort="retained" height="24rem" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} /></section>;
}

function GraphTable({ graph }) {
  const { model, change } = useReport();
  const rows = useMemo(() => graph.nodes.label.map((label, node) => ({
    node, label: model.strings[label], stack: graph.nodes.stack[node], bytes: graph.nodes.bytes[node], retained: graph.nodes.retained_bytes[node], blocks: graph.nodes.blocks[node],
    pointers: graph.edges.from.reduce((sum, from, edge) => sum + (from === node ? graph.edges.count[edge] : 0), 0),
  })), [graph, model]);
  const columns = useMemo(() => [
    { key: 'label', label: 'Root or stack', sort: (row) => row.label, cell: (row) => <Name text={row.label} /> },
    amount('bytes', 'Own', highestOf(rows, (row) => row.bytes), (row) => row.bytes), number(rows, 'blocks', 'Blocks', (row) => row.blocks),
    amount('retained', 'Retained', highestOf(rows, (row) => row.retained), (row) => row.retained), number(rows, 'pointers', 'Pointers', (row) => row.pointers),
  ], [rows]);
  return <Table label="Pointers between stacks" columns={columns} rows={rows} initialSort="bytes" height="24rem" onOpen={(row) => row.stack >= 0 && change({ stack: row.stack })} />;
}

export function HoldersView() {
  const { model, selection } = useReport();
  const isWanted = ({ stack }) => selection.stackIsWanted[stack] === 1;
  const holders = useMemo(() => model.holders.filter(isWanted), [model, selection]);
  const retained = useMemo(() => model.retained.filter(isWanted), [model, selection]);
  const graph = model.graph?.nodes.label.length > 0 ? model.graph : null;
  return (
    <div class="page">
      <FilterLimit of="The last leak scan" parts={model.globals.length > 0 || graph ? 'paths and retained sizes' : undefined} />
      {model.globals.length > 0 ? <Globals globals={model.globals} /> : null}
      {holders.length > 0 ? <Paths holders={holders} /> : null}
      {graph ? (
        <section aria-labelledby="graph-title"><h2 id="graph-title">Pointers between stacks</h2>
          {graph.nodes.label.length <= MOST_DRAWN ? <GraphDrawing graph={graph} /> : <p class="note">{format.count(graph.nodes.label.length)} nodes are too many to draw.</p>}
          {graph.nodes.label.length <= MOST_DRAWN ? <details><summary>As a table</summary><GraphTable graph={graph} /></details> : <GraphTable graph={graph} />}
        </section>
      ) : null}
      {retained.length > 0 ? <Retained rows={retained} /> : null}
    </div>
  );
}
