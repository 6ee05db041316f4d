// A table that renders only the rows in sight, for any number of rows. Columns:
//   {key, label, title?, align?: 'right', width, sort?: (row) => number|string, cell: (row) => content}
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useResize } from './resize.js';

const ROW_HEIGHT = 28;
const MARGIN = 8; // rows drawn beyond the sight
const MOST_PRINTED = 200;
const LEAST_WIDTH = 6; // of a column, in rem; of the first one:
const LEAST_TITLE_WIDTH = 14;

function compare(left, right) {
  if (typeof left === 'string') return left.localeCompare(right);
  const [leftKnown, rightKnown] = [!Number.isNaN(left), !Number.isNaN(right)];
  return leftKnown && rightKnown ? left - right : Number(leftKnown) - Number(rightKnown); // unknown is last of the descending order
}

function sortedRows(rows, column, isDescending) {
  if (!column?.sort) return rows;
  const keyed = Array.from(rows, (row, index) => ({ row, index, key: column.sort(row) }));
  keyed.sort((left, right) => (isDescending ? compare(right.key, left.key) : compare(left.key, right.key)) || left.index - right.index);
  return keyed.map(({ row }) => row);
}

// The rows in sight; for print all that fit on paper.
function useWindow(container, count) {
  const [range, setRange] = useState([0, 60]);
  const update = (element) => {
    const first = Math.max(0, Math.floor(element.scrollTop / ROW_HEIGHT) - MARGIN);
    setRange([first, first + Math.ceil(element.clientHeight / ROW_HEIGHT) + 2 * MARGIN]);
  };
  useResize(container, update, [count]);
  useEffect(() => {
    const before = () => setRange([0, MOST_PRINTED]);
    const after = () => container.current && update(container.current);
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);
  return [range, update];
}

function HeadCell({ column, sort, onSort }) {
  const direction = sort.key === column.key ? (sort.isDescending ? 'descending' : 'ascending') : 'none';
  return (
    <div role="columnheader" class={column.align ?? ''} aria-sort={column.sort ? direction : undefined}>
      {column.sort ? (
        <button type="button" title={column.title} onClick={() => onSort(column)}>
          {column.label}<span class="direction" aria-hidden="true">{direction === 'none' ? '' : sort.isDescending ? ' ▾' : ' ▴'}</span>
        </button>
      ) : <span title={column.title}>{column.label}</span>}
    </div>
  );
}

export function Table({ label, columns, rows, initialSort, onOpen, keyOf, isOpen, empty = 'Nothing is selected by the filter.', height }) {
  const container = useRef(null);
  const [sort, setSort] = useState({ key: initialSort ?? columns.find((column) => column.sort)?.key, isDescending: true });
  const [active, setActive] = useState(0);
  const sorted = useMemo(() => sortedRows(rows, columns.find(({ key }) => key === sort.key), sort.isDescending), [rows, columns, sort]);
  const [[first, last], update] = useWindow(container, sorted.length);
  const onSort = ({ key }) => setSort((old) => ({ key, isDescending: old.key === key ? !old.isDescending : true }));
  const move = (event) => {
    const page = Math.max(1, Math.floor(container.current.clientHeight / ROW_HEIGHT) - 2);
    const target = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: sorted.length - 1 }[event.key];
    if (event.key === 'Enter' && event.target === container.current && onOpen && sorted[active] !== undefined) onOpen(sorted[active]);
    if (target === undefined || event.target !== container.current) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(sorted.length - 1, target));
    setActive(next);
    const top = next * ROW_HEIGHT;
    const { scrollTop, clientHeight } = container.current;
    if (top < scrollTop) container.current.scrollTop = top;
    else if (top + 2 * ROW_HEIGHT > scrollTop + clientHeight) container.current.scrollTop = top + 2 * ROW_HEIGHT - clientHeight;
  };
  const template = { gridTemplateColumns: columns.map(({ width }) => width ?? 'minmax(6rem, 1fr)').join(' ') };
  const minWidth = `${LEAST_WIDTH * (columns.length - 1) + LEAST_TITLE_WIDTH}rem`;
  const shown = sorted.slice(first, last);
  return (
    <div class="table" role="grid" aria-label={label} aria-rowcount={sorted.length + 1} aria-colcount={columns.length} tabIndex={0}
      ref={container} onKeyDown={move} onScroll={() => update(container.current)} style={height ? { maxHeight: height } : undefined}>
      <div class="row head" role="row" aria-rowindex={1} style={{ ...template, minWidth }}>
        {columns.map((column) => <HeadCell key={column.key} column={column} sort={sort} onSort={onSort} />)}
      </div>
      {sorted.length === 0 ? <p class="empty">{empty}</p> : null}
      <div class="rows" role="rowgroup" style={{ height: `${sorted.length * ROW_HEIGHT}px`, minWidth }}>
        <div role="presentation" style={{ transform: `translateY(${first * ROW_HEIGHT}px)` }}>
          {shown.map((row, index) => (
            <div role="row" key={keyOf ? keyOf(row) : first + index} aria-rowindex={first + index + 2} style={template}
              class={`row ${onOpen ? 'opens' : ''} ${first + index === active ? 'active' : ''} ${isOpen?.(row) ? 'open' : ''}`}
              onClick={() => { setActive(first + index); onOpen?.(row); }}>
              {columns.map((column) => <div role="gridcell" key={column.key} class={column.align ?? ''}>{column.cell(row)}</div>)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
