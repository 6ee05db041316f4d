// A table that renders only the rows in sight, for any number of rows. Columns:
//   {key, label, title?, align?: 'right', holds?, width?, sort?: (row) => number|string, cell: (row) => content}
// A column is as wide as the widest of the texts that it `holds`, and its label; `isName`: they are in the names' font; `hasBar`: they
// are in bars. Else `width`. A column without either takes the rest, and the first one of names most of it.
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count } from '../format.js';
import { useResize } from './resize.js';

const ROW_HEIGHT = 28;
const MARGIN = 8; // rows drawn beyond the sight
const MOST_PRINTED = 200;
const LEAST_WIDTH = 96;
const PADDING = 18; // of a cell
const BAR_PADDING = 12; // besides, of a bar in it
const DIRECTION = 16; // the sign of a column that is sorted

// The widest texts of a column of numbers up to `most`.
export const bytesUpTo = (most, sign = '') => (most >= 1024 ? `${sign}1023.9 MiB` : `${sign}1023 B`);
export const countUpTo = (most, sign = '') => `${sign}${count(most || 0)}`;

let ruler = null;

function widthOf(text, font) {
  ruler ??= document.createElement('canvas').getContext('2d');
  ruler.font = font;
  return ruler.measureText(text).width;
}

function columnWidth({ label, holds, isName, hasBar, width, sort, align }, index) {
  if (width) return width;
  const { fontFamily } = getComputedStyle(document.body);
  const font = isName ? `12.5px ${getComputedStyle(document.documentElement).getPropertyValue('--mono')}` : `14px ${fontFamily}`;
  const texts = [...new Set([holds ?? ''].flat())].sort((one, other) => other.length - one.length).slice(0, 20);
  const heading = widthOf(label, `600 12.5px ${fontFamily}`) + (sort ? DIRECTION : 0);
  const least = Math.ceil(Math.max(heading, (hasBar ? BAR_PADDING : 0) + Math.max(...texts.map((text) => widthOf(text, font))))) + PADDING;
  if (holds !== undefined) return `${least}px`;
  return index === 0 && !align ? `minmax(max(var(--least-name), ${least}px), 1fr)` : `minmax(${Math.max(least, LEAST_WIDTH)}px, 1fr)`;
}

// "minmax(LEAST, 1fr)" -> "LEAST"
const leastOf = (width) => (/^minmax\((.*), [^,]*\)$/.exec(width)?.[1] ?? width);

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
  const widths = useMemo(() => columns.map(columnWidth), [columns]);
  const template = { gridTemplateColumns: widths.join(' ') };
  const minWidth = `calc(${widths.map(leastOf).join(' + ')})`;
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
