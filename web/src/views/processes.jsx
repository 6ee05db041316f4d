// The processes of one recording, side by side. Of a run a click shows one process in all views.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { useReport } from '../context.js';
import * as format from '../format.js';
import { Bar } from '../parts/bar.jsx';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { Sparkline } from '../parts/sparkline.jsx';
import { Table, bytesUpTo, countUpTo } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

const HIGHEST_FIRST = 'peak_live_bytes';
const MOST_OF_A_NAME = 32; // letters that a column has room for

const lostOf = (process, unit) => (process[`definite_${unit}`] ?? NaN) + (process[`indirect_${unit}`] ?? 0);

function Course({ process }) {
  if (!process.course) return <span class="note">{process.folded > 0 ? '' : format.UNKNOWN}</span>;
  return <Sparkline values={process.course} width={110} height={22} label={`Live bytes of ${format.safeText(process.program ?? '')} from its start to its end`} />;
}

// Recorded as totals by several threads, a peak is known up to an error.
const peakText = (row) => format.bytes(row.peak_live_bytes ?? NaN) + (row.peak_error_bytes > 0 ? ` ± ${format.bytes(row.peak_error_bytes)}` : '');

function columnsOf(rows) {
  const bytes = (key, label, of, kind, text = (row) => format.bytes(of(row))) => {
    const most = rows.reduce((best, row) => Math.max(best, of(row) || 0), 0);
    return { key, label, align: 'right', hasBar: true, holds: bytesUpTo(most), sort: of, cell: (row) => <Bar part={of(row) || 0} whole={most} text={text(row)} kind={of(row) > 0 ? kind : ''} /> };
  };
  const peak = bytes('peak_live_bytes', 'Peak', (row) => row.peak_live_bytes ?? NaN, '', peakText);
  const ofPeaks = rows.some((row) => row.peak_error_bytes > 0) ? { ...peak, holds: rows.map(peakText) } : peak;
  const number = (key, label, of) => ({ key, label, align: 'right', holds: [format.UNKNOWN, countUpTo(rows.reduce((best, row) => Math.max(best, of(row) || 0), 0))], sort: of, cell: (row) => format.count(of(row)) });
  const pid = (key, label) => ({ key, label, align: 'right', holds: rows.map((row) => String(row[key] ?? format.UNKNOWN)), sort: (row) => row[key] ?? NaN, cell: (row) => String(row[key] ?? (row.folded > 0 ? '' : format.UNKNOWN)) });
  return [
    { key: 'program', label: 'Program', isName: true, holds: rows.map((row) => format.clipped(format.safeText(row.program ?? ''), MOST_OF_A_NAME)), sort: (row) => row.program ?? '', cell: (row) => <Name text={row.program} most={120} /> },
    pid('pid', 'PID'), pid('parent_pid', 'Parent'),
    { key: 'exit', label: 'End', isName: true, holds: rows.map((row) => format.clipped(format.safeText(row.exit ?? ''), MOST_OF_A_NAME)), sort: (row) => row.exit ?? '', cell: (row) => <Name text={row.exit ?? (row.folded > 0 ? '' : format.UNKNOWN)} most={160} /> },
    { key: 'course', label: 'Over time', title: 'Live bytes, from its start to its end', width: '8rem', cell: (row) => <Course process={row} /> },
    ofPeaks, bytes('live_bytes', 'Live at the end', (row) => row.live_bytes ?? NaN, ''),
    ...(rows.some((row) => row.peak_mapped_memory_bytes > 0) ? [{ ...bytes('mapped', 'Mapped', (row) => row.peak_mapped_memory_bytes ?? NaN, ''), title: 'The most memory that it mapped itself at one time' }] : []),
    bytes('lost_bytes', 'Lost', (row) => lostOf(row, 'bytes'), 'bad'), number('lost_blocks', 'Blocks lost', (row) => lostOf(row, 'blocks')),
    number('allocations', 'Allocations', (row) => row.allocations ?? NaN),
    { key: 'trace', label: 'Trace', width: 'minmax(12rem, 1fr)', cell: (row) => <Name text={format.baseName(row.trace ?? '')} most={160} title={format.safeText(row.trace ?? '')} /> },
  ];
}

export function ProcessesView() {
  const { model, state, change } = useReport();
  const canFilter = model.isRun && model.cells.process;
  const rows = useMemo(() => model.processes.map((process, index) => ({ ...process, index })), [model]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const lead = !model.isRun ? 'All processes of this recording; the other views show one of them.'
    : canFilter ? 'All processes of this recording, each with its own time axis. The other views show them together, or the one selected here.'
      : 'All processes of this recording. Recorded as totals (--aggregate): the other views show only their sum.';
  return (
    <div class="page wide fill-height">
      <p class="lead">{lead}</p>
      <FilterLimit stacks={false} of="Whole processes" except="process" />
      <Table label="Processes" columns={columns} rows={rows} initialSort={HIGHEST_FIRST} keyOf={(row) => row.index}
        onOpen={canFilter ? ({ index }) => change({ process: state.process === index ? null : index, thread: null }) : undefined} isOpen={(row) => canFilter && row.index === state.process} />
    </div>
  );
}
