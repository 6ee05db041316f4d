// Live bytes in all and by site, blocks, and the rate of allocations over time, by uPlot. Dragging chooses a range, a click a moment.
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { endOfBin, useReport } from '../context.js';
import { growthBySite, meanRates } from '../data/growth.js';
import { LIBRARIES_TEXT, stackNumber, tellingFrame } from '../data/names.js';
import { NO_FILTER } from '../data/selection.js';
import * as format from '../format.js';
import { colour } from '../parts/canvas.js';
import { useResize } from '../parts/resize.js';
import { FrameLine } from '../parts/text.jsx';

const LEAST_DRAG = 4;
const MOST_RATES = 240; // points, of some pixels each
const POWERS_OF_TWO = Array.from({ length: 52 }, (_, power) => 2 ** power);

// Points of the charts: the timeline where nothing is filtered, since it is finer; else the sums of the bins selected.
export function seriesOf(model, selection) {
  const { timeline } = model;
  if (selection.isAll && timeline) {
    const times = timeline.live_bytes.map((_, index) => (timeline.start_ns + (index + 1) * timeline.width_ns) / 1e9);
    return { times, width: timeline.width_ns, live: timeline.live_bytes, peak: timeline.peak_live_bytes, blocks: timeline.live_blocks,
      allocations: timeline.allocations, frees: timeline.frees, mapped: timeline.mapped, resident: timeline.resident_bytes };
  }
  const { bins } = selection;
  const times = Array.from(bins.live_bytes, (_, bin) => endOfBin(model, bin) / 1e9);
  const list = (values) => Array.from(values);
  return { times, width: model.bins.width, live: list(bins.live_bytes), peak: null, blocks: list(bins.live_blocks),
    allocations: list(bins.allocations), frees: list(bins.frees), mapped: null, resident: null };
}

// Rates stand at the end of what they are the mean of.
function rateChart({ times, width, allocations, frees }, line) {
  const { rates, together } = meanRates(allocations, width, MOST_RATES);
  return {
    title: `Allocations and releases per second, means of ${format.duration(together * width)}`, text: format.count, height: 150,
    times: rates.map((_, index) => times[Math.min(times.length, (index + 1) * together) - 1]),
    lines: [line('allocations', rates, '--accent'), line('releases', meanRates(frees, width, MOST_RATES).rates, '--good')],
  };
}

// What the process has in RAM, and what it mapped: of their own, beside 160 MiB that are mapped 7 MiB of blocks would be a flat line.
function processChart({ times, live, mapped, resident }, line) {
  const isMapped = mapped?.some((value) => value > 0);
  const isResident = resident?.some((value) => value > 0);
  if (!isMapped && !isResident) return [];
  const lines = [
    ...(isMapped ? [line('mapped', mapped, '--muted', { fill: '--raised' })] : []),
    ...(isResident ? [line('resident', resident, '--second'), line('live', live, '--accent', { dash: [3, 3] })] : []),
  ];
  const title = isResident ? (isMapped ? 'Resident and mapped memory' : 'Resident memory') : 'Mapped memory';
  return [{ title, text: format.bytes, height: 130, times, lines }];
}

function chartsOf(series) {
  const line = (label, values, stroke, more) => ({ label, values, stroke, ...more });
  return [
    { title: 'Live bytes', text: format.bytes, height: 180, times: series.times, lines: [
      line('live', series.live, '--accent', { fill: '--area' }),
      ...(series.peak ? [line('highest in the interval', series.peak, '--bad', { dash: [3, 3] })] : []),
    ] },
    ...processChart(series, line),
    { title: 'Live blocks', text: format.count, height: 150, times: series.times, lines: [line('blocks', series.blocks, '--second', { fill: '--second-area' })] },
    rateChart(series, line),
  ];
}

// Areas upon each other: each line is the sum of the ones below it, and the highest is drawn first.
function stackedChart(model, { sites, rest, others }) {
  const layers = [...sites.map(({ values }, index) => ({ values, stroke: `--series-${index + 1}` })), ...(others > 0 ? [{ values: rest, stroke: '--series-rest' }] : [])];
  const sum = new Float64Array(model.bins.count);
  const lines = layers.map(({ values, stroke }) => {
    values.forEach((value, bin) => { sum[bin] += value; });
    return { label: '', values: [0, ...sum], stroke, fill: stroke };
  });
  return { title: 'Live bytes by site', text: format.bytes, height: 230, isBare: true, lines: lines.reverse(),
    times: [model.bins.start / 1e9, ...sum.map((_, bin) => endOfBin(model, bin) / 1e9)] };
}

// The names of the areas with their bytes at the pointer, else at the moment; a click opens the largest stack of a site.
function Layers({ growth, bin }) {
  const { model, state, change } = useReport();
  const { sites, rest, others } = growth;
  return (
    <ul class="layers" aria-label={`Live bytes by site at ${format.duration(endOfBin(model, bin))}`}>
      {sites.map(({ stack, values, highest }, index) => (
        <li key={stack} class={state.stack === stack ? 'open' : ''}>
          <button type="button" class="link" title={`At most ${format.bytes(highest)} in the range; ${stackNumber(model, stack)} is its largest stack`} onClick={() => change({ stack })}>
            <i class="swatch" style={{ backgroundColor: `var(--series-${index + 1})` }} /><b>{format.bytes(values[bin])}</b>{model.stacks.of_libraries[stack] === 1 ? LIBRARIES_TEXT : <FrameLine model={model} frame={tellingFrame(model, stack)} most={56} />}
          </button>
        </li>
      ))}
      {others > 0 ? <li class="others"><i class="swatch" style={{ backgroundColor: 'var(--series-rest)' }} /><b>{format.bytes(rest[bin])}</b><span class="note">{format.counted(others, 'other site')}</span></li> : null}
    </ul>
  );
}

function BySite() {
  const { model, selection, state } = useReport();
  const [pointed, setPointed] = useState(null);
  const filter = Object.keys(NO_FILTER).filter((name) => name !== 'moment').map((name) => state[name]);
  const growth = useMemo(() => growthBySite(model, selection), [model, ...filter]);
  const chart = useMemo(() => ({ ...stackedChart(model, growth), onPoint: setPointed }), [model, growth]);
  if (growth.sites.length === 0) return null;
  // The first point of the chart is the recording's begin.
  const shown = state.moment === null && model.focus === 'peak' ? selection.peakBin : selection.moment;
  const bin = pointed === null ? shown : Math.max(0, pointed - 1);
  return <Chart chart={chart} legend={<Layers growth={growth} bin={bin} />} />;
}

// Backgrounds and overlays of the lines: the range, the moment, and the marks with their names.
function drawSelection(plot, { model, selection }, isFirst) {
  const { ctx: context, bbox } = plot;
  const x = (nanoseconds) => plot.valToPos(nanoseconds / 1e9, 'x', true);
  const { width, start, count } = model.bins;
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  if (selection.from > 0 || selection.to < count - 1) {
    context.fillStyle = colour('--select');
    context.fillRect(x(start + selection.from * width), bbox.top, x(start + (selection.to + 1) * width) - x(start + selection.from * width), bbox.height);
  }
  context.fillStyle = colour('--text');
  context.fillRect(x(start + (selection.moment + 1) * width) - 1, bbox.top, 1.5 * devicePixelRatio, bbox.height);
  context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  model.marks.forEach(({ name, time_ns: time }, index) => {
    context.textAlign = 'left';
    context.fillStyle = colour('--warn');
    context.fillRect(x(time), bbox.top, devicePixelRatio, bbox.height);
    if (isFirst) context.fillText(format.clipped(format.safeText(name), 24), x(time) + 4, bbox.top + (12 + 13 * (index % 4)) * devicePixelRatio);
  });
  context.restore();
}

function plotOptions(chart, { width, isFirst, latest, ends, onSelect }) {
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 }, font: '11px system-ui, sans-serif' };
  return {
    width,
    height: chart.height,
    scales: { x: { time: false, range: ends }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
    legend: { show: !chart.isBare, live: true },
    cursor: { drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG }, sync: { key: 'heaptap' }, points: { show: !chart.isBare, size: 6 } },
    axes: [
      { ...axis, size: 30, space: 80, values: (_, splits) => splits.map((seconds) => format.duration(seconds * 1e9)) },
      { ...axis, size: 78, space: 20, incrs: chart.text === format.bytes ? POWERS_OF_TWO : undefined, values: (_, splits) => splits.map((value) => chart.text(value)) },
    ],
    series: [
      { label: 'time', value: (_, seconds) => (seconds === null ? '–' : format.duration(seconds * 1e9)) },
      ...chart.lines.map(({ label, stroke, fill, dash }) => ({
        label, stroke: colour(stroke), fill: fill ? colour(fill) : undefined, dash, width: chart.isBare ? 1 : 1.5, points: { show: false },
        value: (_, value) => (value === null || value === undefined ? '–' : chart.text(value)),
      })),
    ],
    hooks: {
      setCursor: [(plot) => chart.onPoint?.(plot.cursor.idx ?? null)],
      draw: [(plot) => drawSelection(plot, latest.current, isFirst)],
      setSelect: [(plot) => {
        const { left, width: dragged } = plot.select;
        if (dragged < LEAST_DRAG) return;
        onSelect(plot.posToVal(left, 'x') * 1e9, plot.posToVal(left + dragged, 'x') * 1e9);
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
    },
  };
}

const timeOfEnd = (model) => endOfBin(model, model.bins.count - 1) / 1e9;

function Chart({ chart, isFirst, legend }) {
  const { model, selection, change, theme } = useReport();
  const place = useRef(null);
  const plot = useRef(null);
  const latest = useRef(null);
  latest.current = { model, selection };
  const bin = (nanoseconds) => Math.max(0, Math.min(model.bins.count - 1, Math.floor((nanoseconds - model.bins.start) / model.bins.width)));
  useEffect(() => {
    const onSelect = (from, to) => change({ from: bin(from), to: bin(to), moment: null });
    const options = plotOptions(chart, { width: place.current.clientWidth, isFirst, latest, onSelect, ends: [model.bins.start / 1e9, Math.max(timeOfEnd(model), chart.times.at(-1))] });
    plot.current = new uPlot(options, [Array.from(chart.times), ...chart.lines.map(({ values }) => Array.from(values))], place.current);
    const { over } = plot.current;
    let down = null;
    over.addEventListener('mousedown', (event) => { down = event.clientX; });
    over.addEventListener('click', (event) => {
      if (down !== null && Math.abs(event.clientX - down) >= LEAST_DRAG) return;
      change({ moment: bin(plot.current.posToVal(event.clientX - over.getBoundingClientRect().left, 'x') * 1e9) });
    });
    return () => {
      plot.current.destroy();
      plot.current = null;
    };
  }, [chart, theme]);
  useResize(place, ({ clientWidth }) => plot.current?.setSize({ width: clientWidth, height: chart.height }), [chart]);
  useEffect(() => { plot.current?.redraw(false); }, [selection.from, selection.to, selection.moment]);
  const drawing = <div ref={place} class="plot" role="img" aria-label={legend ? `${chart.title}; the list has the figures` : chart.title} />;
  return <figure class="chart"><figcaption>{chart.title}</figcaption>{legend ? <div class="with-layers">{drawing}{legend}</div> : drawing}</figure>;
}

export function TimelineView() {
  const { model, selection } = useReport();
  const { bins, isAll, isWhole: hasAll } = selection;
  const series = useMemo(() => seriesOf(model, selection), [model, isAll && model.timeline ? null : bins]);
  const charts = useMemo(() => chartsOf(series), [series]);
  const { totals = {} } = model.summary;
  const isWhole = hasAll && format.isKnown(totals.peak_live_bytes) && format.isKnown(totals.peak_time_ns);
  const [highest, at] = isWhole ? [totals.peak_live_bytes, totals.peak_time_ns] : [bins.live_bytes[selection.peakBin], endOfBin(model, selection.peakBin)];
  return (
    <div class="page wide">
      <p class="lead">
        {isWhole ? 'Peak' : 'Highest at the end of an interval in the range'}: <b>{format.bytes(highest)}</b> at {format.duration(at)}.
        Drag to choose a range, click to choose a moment, double-click the strip above to reset.
      </p>
      {charts.map((chart, index) => [<Chart key={index} chart={chart} isFirst={index === 0} />, index === 0 && model.hasTimes && model.knowsReleases ? <BySite key="sites" /> : null])}
      {model.marks.length > 0 ? (
        <section><h2>Marks</h2><ul class="marks">{model.marks.map((mark, index) => <li key={index}><b>{format.duration(mark.time_ns)}</b> <bdi>{format.clipped(format.safeText(mark.name), 300)}</bdi></li>)}</ul>{model.moreMarks > 0 ? <p class="note">The last ones: {format.counted(model.moreMarks, 'mark')} before them {model.moreMarks === 1 ? 'is' : 'are'} left out.</p> : null}</section>
      ) : null}
    </div>
  );
}
