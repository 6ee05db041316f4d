// The processes of one recording, side by side.
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import { useReport } from '../context.js';
import * as format from '../format.js';
import { Bar } from '../parts/bar.jsx';
import { Table } from '../parts/table.jsx';
import { Name } from '../parts/text.jsx';

export function ProcessesView() {
  const { model } = useReport();
  const rows = model.processes;
  const columns = useMemo(() => {
    const bytes = (key, label, kind) => {
      const most = rows.reduce((best, row) => Math.max(best, row[key] ?? 0), 0);
      return { key, label, align: 'right', width: 'minmax(7rem, 1fr)', sort: (row) => row[key] ?? NaN, cell: (row) => <Bar part={row[key] ?? 0} whole={most} text={format.bytes(row[key])} kind={row[key] > 0 ? kind : ''} /> };
    };
    return [
      { key: 'program', label: 'Program', width: 'minmax(10rem, 2fr)', sort: (row) => row.program ?? '', cell: (row) => <Name text={row.program} most={120} /> },
      { key: 'pid', label: 'PID', align: 'right', width: '5rem', sort: (row) => row.pid, cell: (row) => String(row.pid ?? format.UNKNOWN) },
      { key: 'exit', label: 'End', width: 'minmax(7rem, 1fr)', sort: (row) => row.exit ?? '', cell: (row) => <Name text={row.exit ?? format.UNKNOWN} most={60} /> },
      bytes('peak_live_bytes', 'Peak', ''), bytes('live_bytes', 'Live at the end', ''), bytes('definite_bytes', 'Definitely lost', 'bad'),
      { key: 'definite_blocks', label: 'Blocks lost', align: 'right', width: '7rem', sort: (row) => row.definite_blocks ?? NaN, cell: (row) => format.count(row.definite_blocks) },
      { key: 'trace', label: 'Trace', width: 'minmax(10rem, 2fr)', cell: (row) => <Name text={row.trace} most={160} /> },
    ];
  }, [rows]);
  return (
    <div class="page wide fill-height">
      <p class="lead">All processes of this recording; the other views show one of them.</p>
      <Table label="Processes" columns={columns} rows={rows} initialSort="peak_live_bytes" />
    </div>
  );
}
