// Sizes and lifetimes of blocks, temporary allocations, and the allocator's overhead per block.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { endOf, endOfBin, useReport, wholeOf } from '../context.js';
import { isMetricKnown, sumsBy, usedSizes } from '../data/selection.js';
import * as format from '../format.js';
import { Bar } from '../parts/bar.jsx';
import { sizeLabel } from '../parts/filter_bar.jsx';
import { Table } from '../parts/table.jsx';

// glibc's malloc: a header of a word, rounded up to 16 bytes, 32 at least.
export const chunkBytes = (size) => Math.max(32, Math.ceil((size + 8) / 16) * 16);

function Histogram({ title, rows, onChoose, note }) {
  const most = rows.reduce((best, row) => Math.max(best, row.value), 0);
  return (
    <section class="histogram" aria-label={title}><h2>{title}</h2>
      {note ? <p class="note">{note}</p> : null}
      <ul>{rows.map((row, index) => (
        <li key={index} class={row.isChosen ? 'chosen' : ''}>
          <span class="histogram-label">{onChoose ? <button type="button" class="link" onClick={() => onChoose(row.key)}>{row.label}</button> : row.label}</span>
          <Bar part={row.value} whole={most} text={row.text} />
          <span class="note">{row.detail}</span>
        </li>
      ))}</ul>
    </section>
  );
}

// The exact sizes with the overhead of glibc's rounding; sums by size class too.
function wasteRows({ size, allocations, live_blocks: live }) {
  return size.map((bytes, row) => ({
    size: bytes, chunk: chunkBytes(bytes), overhead: chunkBytes(bytes) - bytes, allocations: allocations[row], live: live[row],
    waste: live[row] === null ? NaN : (chunkBytes(bytes) - bytes) * live[row],
  }));
}

const overheadText = ({ overhead, size }) => `${format.count(overhead)} B (${format.percent(overhead, size)})`;

function Waste({ sizes }) {
  const { model } = useReport();
  const rows = useMemo(() => wasteRows(sizes), [sizes]);
  const known = rows.filter(({ waste }) => !Number.isNaN(waste));
  const waste = known.reduce((sum, row) => sum + row.waste, 0);
  const used = known.reduce((sum, row) => sum + row.size * row.live, 0);
  const most = known.reduce((best, row) => Math.max(best, row.waste), 0);
  const columns = useMemo(() => [
    { key: 'size', label: 'Size', align: 'right', sort: (row) => row.size, cell: (row) => format.bytes(row.size) },
    { key: 'allocations', label: 'Allocations', align: 'right', sort: (row) => row.allocations, cell: (row) => format.count(row.allocations) },
    { key: 'live', label: 'Live blocks', align: 'right', sort: (row) => row.live ?? NaN, cell: (row) => format.count(row.live) },
    { key: 'chunk', label: 'Chunk', align: 'right', title: "Size of glibc malloc's chunk for such a block", sort: (row) => row.chunk, cell: (row) => format.bytes(row.chunk) },
    { key: 'overhead', label: 'Overhead', align: 'right', sort: (row) => row.overhead / row.size, holds: rows.map(overheadText), cell: overheadText },
    { key: 'waste', label: 'Wasted by live blocks', align: 'right', hasBar: true, sort: (row) => row.waste, cell: (row) => <Bar part={row.waste || 0} whole={most} text={format.bytes(row.waste)} /> },
  ], [rows, most]);
  return (
    <section><h2>Exact sizes, and the allocator's overhead</h2>
      <p class="note">With the rounding of glibc's malloc: live blocks of {format.bytes(used)} take <b id="waste">{format.bytes(waste)}</b> more ({format.percent(waste, used)}). {format.capitalized(wholeOf(model))}, whatever the filter.</p>
      <Table label="Exact sizes" columns={columns} rows={rows} initialSort="allocations" height="26rem" />
    </section>
  );
}

function lifetimeRows({ lowest_ns: lowest, highest_ns: highest, blocks, bytes }) {
  return lowest.map((low, row) => ({
    label: highest[row] === null ? `≥ ${format.duration(low)}` : low === 0 ? `< ${format.duration(highest[row])}` : `${format.duration(low)} …`,
    value: blocks[row], text: format.count(blocks[row]), detail: format.bytes(bytes[row]),
  }));
}

export function SizesView() {
  const { model, selection, state, change } = useReport();
  const sums = useMemo(() => sumsBy(selection, 'size', model.sizeClasses.length), [model, selection]);
  const moment = model.hasTimes && selection.moment < model.bins.count - 1 ? format.duration(endOfBin(model, selection.moment)) : endOf(model);
  const choose = (size) => change({ size: state.size === size ? null : size });
  const knowsTemporary = isMetricKnown(model, 'temporary', selection);
  const used = useMemo(() => usedSizes(model, selection.filter), [model, selection]);
  const classRows = (value, text, detail) => used.map((index) => ({ key: index, label: sizeLabel(model.sizeClasses[index]), value: value(index), text: text(index), detail: detail(index), isChosen: state.size === index }));
  return (
    <div class="page">
      {model.hasCells && model.sizeClasses.length > 0 ? (
        <div class="columns">
          <Histogram title="Allocations by size" onChoose={choose} rows={classRows((index) => sums.allocations[index], (index) => format.count(sums.allocations[index]), (index) => format.bytes(sums.allocated[index]))} />
          {model.knowsReleases ? <Histogram title={`Live at ${moment} by size`} onChoose={choose} rows={classRows((index) => sums.live[index], (index) => format.bytes(sums.live[index]), (index) => format.counted(sums.live_blocks[index], 'block'))} /> : null}
          {knowsTemporary ? <Histogram title="Temporary allocations by size" onChoose={choose} rows={classRows((index) => sums.temporary[index], (index) => format.count(sums.temporary[index]), (index) => `${format.percent(sums.temporary[index], sums.allocations[index])} of them`)} /> : null}
          {model.lifetimes ? <Histogram title="Lifetimes of released blocks" rows={lifetimeRows(model.lifetimes)} note={`${format.capitalized(wholeOf(model))}, whatever the filter.`} /> : null}
        </div>
      ) : model.lifetimes ? <Histogram title="Lifetimes of released blocks" rows={lifetimeRows(model.lifetimes)} /> : null}
      {model.sizes ? <Waste sizes={model.sizes} /> : null}
    </div>
  );
}
