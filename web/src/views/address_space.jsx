// Resident memory at the leak scan, and a map of the pages with live blocks at the end: how full each is, which stack pins it, and how
// much of the heap is holes.
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { endOf, useReport } from '../context.js';
import { longPathText, pathText, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { Bar, Card } from '../parts/bar.jsx';
import { colour, fitCanvas } from '../parts/canvas.js';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { useResize } from '../parts/resize.js';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';
import { Resident } from './resident.jsx';

const CELL = 9;
const BARELY = 0.25; // a page filled less than this is pinned by little

// Pages in the order of their addresses; `gap` where one doesn't follow the page before.
function pagesOf({ page_bytes: pageBytes, pages }) {
  const list = pages.address.map((address, row) => ({ row, number: BigInt(address) / BigInt(pageBytes), bytes: pages.live_bytes[row], blocks: pages.blocks[row], stack: pages.stack[row], address }));
  list.sort((left, right) => (left.number < right.number ? -1 : 1));
  list.forEach((page, index) => { page.gap = index === 0 ? 0n : page.number - list[index - 1].number - 1n; });
  return list;
}

// Where each page stands in the map: in rows, with one empty cell for a gap.
function cellsOf(pages, columns) {
  const cells = [];
  for (const page of pages) {
    if (page.gap > 0n && cells.length % columns !== 0) cells.push(null);
    cells.push(page);
  }
  return cells;
}

function draw(canvas, { cells, columns, pageBytes, stack }) {
  const { context, width, height } = fitCanvas(canvas);
  context.clearRect(0, 0, width, height);
  const [accent, bad, raised] = [colour('--accent'), colour('--bad'), colour('--raised')];
  cells.forEach((page, index) => {
    if (page === null) return;
    const [x, y] = [(index % columns) * CELL, Math.floor(index / columns) * CELL];
    context.globalAlpha = 1;
    context.fillStyle = raised;
    context.fillRect(x, y, CELL - 1, CELL - 1);
    context.globalAlpha = 0.2 + 0.8 * Math.min(1, page.bytes / pageBytes);
    context.fillStyle = stack !== null && page.stack === stack ? bad : accent;
    context.fillRect(x, y, CELL - 1, CELL - 1);
  });
  context.globalAlpha = 1;
}

function PageMap({ pages, pageBytes }) {
  const { model, state, change, theme } = useReport();
  const canvas = useRef(null);
  const [columns, setColumns] = useState(64);
  const [told, setTold] = useState(null);
  const cells = useMemo(() => cellsOf(pages, columns), [pages, columns]);
  useResize(canvas, ({ clientWidth }) => setColumns(Math.max(8, Math.floor(clientWidth / CELL))));
  const height = Math.max(1, Math.ceil(cells.length / columns)) * CELL;
  useEffect(() => { draw(canvas.current, { cells, columns, pageBytes, stack: state.stack }); }, [cells, columns, state.stack, theme, height]);
  const pageAt = (event) => {
    const { left, top } = canvas.current.getBoundingClientRect();
    const column = Math.floor((event.clientX - left) / CELL);
    return column >= columns ? null : cells[Math.floor((event.clientY - top) / CELL) * columns + column] ?? null;
  };
  return (
    <div class="page-map">
      <div class="flame-status" role="status">{told ? `${format.safeText(told.address)}: ${format.bytes(told.bytes)} in ${format.counted(told.blocks, 'block')}, mostly ${told.stack >= 0 ? format.clipped(pathText(model, told.stack, 1), 120) : 'unknown'}` : 'Each square is a page; the fuller, the stronger its colour. Gaps are addresses without live blocks.'}</div>
      <canvas ref={canvas} style={{ height: `${height}px` }} role="img" aria-label={`Map of ${pages.length} pages with live blocks; the table has their stacks`}
        onMouseMove={(event) => setTold(pageAt(event))} onMouseLeave={() => setTold(null)} onClick={(event) => { const page = pageAt(event); if (page?.stack >= 0) change({ stack: page.stack }); }} />
    </div>
  );
}

function pinRows(pages, pageBytes, isWanted) {
  const rows = new Map();
  for (const page of pages) {
    if (page.stack < 0 || !isWanted[page.stack]) continue;
    const row = rows.get(page.stack) ?? { stack: page.stack, pages: 0, barely: 0, held: 0, bytes: 0 };
    ++row.pages;
    row.bytes += page.bytes;
    if (page.bytes < BARELY * pageBytes) {
      ++row.barely;
      row.held += pageBytes - page.bytes;
    }
    rows.set(page.stack, row);
  }
  return [...rows.values()];
}

function spansOf(table) {
  const { start = [], length, live_bytes: live, blocks, touched_bytes: touched } = table ?? {};
  return start.map((address, row) => ({ address, place: Number(address), length: length[row], live: live[row], blocks: blocks[row], touched: touched[row] }));
}

// Parts of the address space with live blocks.
function Spans({ spans, maxGap }) {
  const most = spans.reduce((best, { touched }) => Math.max(best, touched), 0);
  const columns = useMemo(() => [
    { key: 'start', label: 'From', width: 'minmax(9rem, 1fr)', sort: ({ place }) => place, cell: ({ address }) => <code>{format.safeText(address)}</code> },
    { key: 'length', label: 'Length', align: 'right', sort: ({ length }) => length, cell: ({ length }) => format.bytes(length) },
    { key: 'touched', label: 'In pages', title: 'Pages with live blocks', align: 'right', sort: ({ touched }) => touched, cell: ({ touched }) => <Bar part={touched} whole={most} text={format.bytes(touched)} /> },
    { key: 'live', label: 'Live', align: 'right', sort: ({ live }) => live, cell: ({ live }) => format.bytes(live) },
    { key: 'filled', label: 'Filled', title: 'Part of these pages that is live', align: 'right', sort: ({ live, touched }) => live / touched, cell: ({ live, touched }) => format.percent(live, touched) },
    { key: 'holes', label: 'Holes', title: 'Unused bytes of these pages', align: 'right', sort: ({ live, touched }) => touched - live, cell: ({ live, touched }) => format.bytes(Math.max(0, touched - live)) },
    { key: 'blocks', label: 'Blocks', align: 'right', sort: ({ blocks }) => blocks, cell: ({ blocks }) => format.count(blocks) },
  ], [most]);
  return (
    <section><h2>Spans of live blocks</h2>
      <p class="note">Runs of live blocks with gaps of less than {format.bytes(maxGap)}, not mappings. Large blocks count with all of their pages.</p>
      <Table label="Spans of live blocks" columns={columns} rows={spans} initialSort="touched" height="20rem" keyOf={({ address }) => address} />
    </section>
  );
}

function Pages({ space }) {
  const { model, selection, state, change } = useReport();
  const { page_bytes: pageBytes } = space;
  const spans = useMemo(() => spansOf(space.spans), [space]);
  const pages = useMemo(() => pagesOf(space), [space]);
  const rows = useMemo(() => pinRows(pages, pageBytes, selection.stackIsWanted), [pages, pageBytes, selection]);
  const live = pages.reduce((sum, page) => sum + page.bytes, 0);
  const inAll = spans.reduce((sum, span) => sum + span.live, 0);
  const barely = pages.filter((page) => page.bytes < BARELY * pageBytes).length;
  const most = rows.reduce((best, row) => Math.max(best, row.pages), 0);
  const columns = useMemo(() => [
    { key: 'stack', label: 'Stack', title: 'The stack with the most bytes of the page', cell: (row) => [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={longPathText(model, row.stack)} />] },
    { key: 'pages', label: 'Pages', align: 'right', hasBar: true, holds: countUpTo(most), sort: (row) => row.pages, cell: (row) => <Bar part={row.pages} whole={most} text={format.count(row.pages)} /> },
    { key: 'barely', label: 'Barely filled', title: 'Pages less than a quarter full', align: 'right', holds: countUpTo(most), sort: (row) => row.barely, cell: (row) => format.count(row.barely) },
    { key: 'held', label: 'Unused', title: 'Unused bytes of the barely filled pages, which these blocks keep from being returned to the system', align: 'right', holds: bytesUpTo(most * pageBytes), sort: (row) => row.held, cell: (row) => format.bytes(row.held) },
    { key: 'pinned', label: 'Pinned', align: 'right', holds: bytesUpTo(most * pageBytes), sort: (row) => row.pages * pageBytes, cell: (row) => format.bytes(row.pages * pageBytes) },
    { key: 'fill', label: 'Filled', align: 'right', holds: '100.0%', sort: (row) => row.bytes / row.pages, cell: (row) => format.percent(row.bytes, row.pages * pageBytes) },
  ], [model, most, pageBytes]);
  // Of the same question the count of resident pages knows more.
  const knowsResident = model.resident?.bytes !== undefined;
  return (
    <section aria-labelledby="pages-title">
      <h2 id="pages-title">Pages with live blocks at {endOf(model)}</h2>
      <FilterLimit stacks={false} of={endOf(model)} />
      <div class="cards">
        <Card label="Pages with live blocks" value={format.count(pages.length)} detail={`${format.bytes(pages.length * pageBytes)} of memory`} />
        <Card label="Live in these pages" value={format.bytes(live)} detail={`${format.percent(live, pages.length * pageBytes)} filled${inAll > live ? `; ${format.bytes(inAll)} are live in all: of larger blocks only the pages at their ends are here` : ''}`} />
        <Card label="Holes" value={format.bytes(Math.max(0, pages.length * pageBytes - live))} detail="unused bytes of these pages" />
        <Card label="Barely filled" value={format.count(barely)} detail="pages less than a quarter full" kind={barely > pages.length / 2 ? 'warning' : ''} />
      </div>
      <PageMap pages={pages} pageBytes={pageBytes} />
      {knowsResident ? null : [
        <h2>Which stacks pin pages</h2>,
        <FilterLimit of={endOf(model)} />,
        <Table label="Stacks that pin pages" columns={columns} rows={rows} initialSort="held" height="24rem" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} />,
      ]}
      {spans.length > 0 ? <Spans spans={spans} maxGap={space.max_gap_bytes} /> : null}
    </section>
  );
}

export function AddressSpaceView() {
  const { model } = useReport();
  return (
    <div class="page">
      <Resident />
      {model.addressSpace ? <Pages space={model.addressSpace} /> : <p class="note">No pages with live blocks at {endOf(model)} are known.</p>}
    </div>
  );
}
