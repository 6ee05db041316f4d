// Where resident memory is at the leak scan: by kind, by arena of the allocator, and by the stacks whose blocks keep free memory resident.
// As `heaptap show fragmentation` has it, of the whole process.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { endOf, useReport } from '../context.js';
import { LIBRARIES_TEXT, longPathText, stackNumber } from '../data/names.js';
import * as format from '../format.js';
import { Bar } from '../parts/bar.jsx';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

const highestOf = (rows, key) => rows.reduce((most, row) => Math.max(most, row[key] ?? 0), 0);
const momentOf = ({ moment, time_ns: time }) => `${moment} (after ${format.duration(time)})`;

// Why nothing is known.
export function whyUnknown({ resident, summary: { capture = {} }, isScanned }) {
  const counted = 'Pages are counted while a leak scan has the program stopped';
  if (capture.imported_from) return `Which memory was resident is unknown: a file of ${format.clipped(format.safeText(capture.imported_from), 60)} doesn't tell it.`;
  if (!isScanned) return `Which memory was resident is unknown. ${counted}, and this recording has none.`;
  return format.safeText(resident?.unknown || `Which memory was resident is unknown. ${counted}, and this report has no such count.`);
}

// Numbers in the unit of the whole, which add up as they are written.
function Parts({ resident }) {
  const unit = format.bytes(resident.bytes).split(' ')[1];
  const text = ({ tenths }) => `${Math.floor(tenths / 10)}.${tenths % 10} ${unit}`;
  return [
    <div class="parts-bar" role="img" aria-label="Resident memory by kind; the list has the figures">
      {resident.parts.map((part) => <span key={part.kind} class={`part-${part.kind}`} title={`${part.name}: ${format.bytes(part.bytes)}`} style={{ flexGrow: part.bytes }} />)}
    </div>,
    <ul class="parts" aria-label="Resident memory by kind">
      {resident.parts.map((part) => (
        <li key={part.kind} title={`${format.count(part.bytes)} bytes`}><i class={`swatch part-${part.kind}`} /><b>{text(part)}</b> {part.name} <span class="note">{format.percent(part.bytes, resident.bytes)}</span></li>
      ))}
    </ul>,
  ];
}

// Mapped memory is resident or not; what is only reserved can't be.
function Mapped() {
  const { model } = useReport();
  const { mapped } = model.summary.totals ?? {};
  const [memory, reserved] = [mapped?.memory?.live_bytes, mapped?.reserved?.live_bytes];
  if (!(memory > 0) && !(reserved > 0)) return null;
  return (
    <p class="note" id="mapped-apart">
      At {endOf(model)}, by the program's own mmap:{memory > 0 ? [' ', <b key="memory">{format.bytes(memory)}</b>, ' mapped, resident or not'] : null}
      {reserved > 0 ? [memory > 0 ? '; besides ' : ' ', <b key="reserved">{format.bytes(reserved)}</b>, ' only reserved (PROT_NONE): addresses, not memory'] : null}.
    </p>
  );
}

function Arenas({ resident }) {
  const { arenas } = resident;
  const columns = useMemo(() => {
    const bytes = (key, label, of, title) => ({ key, label, title, align: 'right', holds: bytesUpTo(highestOf(arenas, 'resident_bytes')), sort: of, cell: (row) => format.bytes(of(row)) });
    const most = highestOf(arenas, 'resident_bytes');
    return [
      { key: 'name', label: 'Arena', sort: (row) => row.name, cell: (row) => <span title={row.name}>{row.name}</span> },
      { ...bytes('resident', 'Resident', (row) => row.resident_bytes), hasBar: true, cell: (row) => <Bar part={row.resident_bytes} whole={most} text={format.bytes(row.resident_bytes)} /> },
      bytes('live', 'Live', (row) => row.live_bytes),
      bytes('free', 'Free', (row) => row.resident_bytes - row.live_bytes),
      bytes('unused', 'Of whole pages', (row) => row.unused_page_bytes, 'Free memory in pages without a live block'),
      { key: 'blocks', label: 'Blocks', align: 'right', holds: countUpTo(highestOf(arenas, 'live_blocks')), sort: (row) => row.live_blocks, cell: (row) => format.count(row.live_blocks) },
    ];
  }, [arenas]);
  return [
    <h3>The allocator's memory by arena</h3>,
    <Table label="Memory by arena" columns={columns} rows={arenas} initialSort="resident" height="16rem" />,
    arenas.some(({ of_glibc: isOfGlibc }) => !isOfGlibc) ? <p class="note">Of an allocator other than glibc's, whole mappings with blocks in them count, and its arenas are unknown.</p> : null,
    <p class="note" id="kept">{resident.knows_all_blocks ? 'Free' : "Free, or in blocks that weren't recorded"}: <b>{format.bytes(resident.unused_page_bytes)}</b> in whole pages, <b>{format.bytes(resident.kept_bytes)}</b> in pages with live blocks, which keep them resident</p>,
  ];
}

// Memory of system libraries is one row; how many pages several of its stacks have together is unknown.
function keepRows({ stacks: { of_libraries: ofLibraries } }, { stacks }, isWanted) {
  const { stack = [], live_bytes: live, live_blocks: blocks, pages, kept_bytes: kept } = stacks ?? {};
  const all = stack.map((number, row) => ({ stack: number, live: live[row], blocks: blocks[row], pages: pages[row] ?? NaN, kept: kept[row] })).filter((row) => isWanted[row.stack] === 1);
  const rows = all.filter((row) => ofLibraries[row.stack] !== 1);
  const kepts = all.filter((row) => ofLibraries[row.stack] === 1);
  if (kepts.length === 0) return rows;
  const sum = (name) => kepts.reduce((total, row) => total + row[name], 0);
  return [...rows, { stack: kepts[0].stack, ofLibraries: true, live: sum('live'), blocks: sum('blocks'), pages: kepts.length === 1 ? kepts[0].pages : NaN, kept: sum('kept') }];
}

function Keeps({ resident }) {
  const { model, selection, state, change } = useReport();
  const rows = useMemo(() => keepRows(model, resident, selection.stackIsWanted), [model, resident, selection]);
  const columns = useMemo(() => {
    const most = highestOf(rows, 'kept');
    const count = (key, label, title) => ({ key, label, title, align: 'right', holds: [countUpTo(highestOf(rows, key)), ...(rows.some((row) => Number.isNaN(row[key])) ? [format.UNKNOWN] : [])], sort: (row) => row[key], cell: (row) => format.count(row[key]) });
    return [
      { key: 'stack', label: 'Stack', cell: (row) => (row.ofLibraries ? LIBRARIES_TEXT : [<span class="id">{stackNumber(model, row.stack)}</span>, ' ', <Name text={longPathText(model, row.stack)} />]) },
      { key: 'kept', label: 'Kept', title: 'Free memory of the pages with its blocks: its share, by bytes', align: 'right', hasBar: true, holds: bytesUpTo(most), sort: (row) => row.kept, cell: (row) => <Bar part={row.kept} whole={most} text={format.bytes(row.kept)} /> },
      { key: 'live', label: 'Live', title: 'Its live blocks, as far as they are resident', align: 'right', holds: bytesUpTo(highestOf(rows, 'live')), sort: (row) => row.live, cell: (row) => format.bytes(row.live) },
      count('blocks', 'Blocks'), count('pages', 'Pages', 'Pages with a block of it, which may have blocks of others too'),
    ];
  }, [model, rows]);
  return [
    <h3>Stacks by bytes that their blocks keep resident beyond their own</h3>,
    <FilterLimit of={`The leak scan at ${resident.moment}`} />,
    <Table label="Stacks that keep memory resident" columns={columns} rows={rows} initialSort="kept" height="24rem" onOpen={(row) => change({ stack: row.stack })} isOpen={(row) => row.stack === state.stack} />,
  ];
}

export function Resident() {
  const { model } = useReport();
  const { resident } = model;
  const isKnown = resident?.bytes !== undefined;
  return (
    <section aria-labelledby="resident-title" id="resident">
      <h2 id="resident-title">{isKnown ? [<b key="bytes" id="resident-bytes">{format.bytes(resident.bytes)}</b>, ` resident at ${momentOf(resident)}`] : 'Resident memory'}</h2>
      {isKnown ? <FilterLimit stacks={false} of={`The whole process, at the leak scan at ${resident.moment}`} /> : null}
      {isKnown ? <Parts resident={resident} /> : <p class="note" id="resident-unknown">{whyUnknown(model)}</p>}
      <Mapped />
      {isKnown && resident.arenas.length > 0 ? <Arenas resident={resident} /> : null}
      {isKnown && resident.stacks.stack.length > 0 ? <Keeps resident={resident} /> : null}
    </section>
  );
}
