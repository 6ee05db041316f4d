// Live bytes over time (without a filter the most in each interval), as a strip on which a range is dragged and a moment is clicked. By keys: arrows move the moment, with shift
// they move the range's end; Escape is handled by the page.
import { h } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { endOfBin, useReport } from '../context.js';
import * as format from '../format.js';
import { colour, fitCanvas } from './canvas.js';
import { useResize } from './resize.js';

const LEAST_DRAG = 4; // pixels; less is a click

// The timeline is finer than the bins: it has the peaks within them.
export function peaksOfBins({ bins, timeline }) {
  const peaks = new Float64Array(bins.count);
  timeline.peak_live_bytes.forEach((peak, index) => {
    const bin = Math.floor((timeline.start_ns + (index + 0.5) * timeline.width_ns - bins.start) / bins.width);
    const place = Math.max(0, Math.min(bins.count - 1, bin));
    peaks[place] = Math.max(peaks[place], peak);
  });
  return peaks;
}

// Highest of `values`, as the summary has it.
function highestOf({ summary: { totals = {} } }, { isAll }, values) {
  const highest = values.reduce((best, value) => Math.max(best, value), 0);
  return isAll && format.isKnown(totals.peak_live_bytes) ? Math.max(highest, totals.peak_live_bytes) : highest;
}

function draw(canvas, { model, selection, drag, live }) {
  const { context, width, height } = fitCanvas(canvas);
  const { count } = model.bins;
  const x = (bin) => (bin * width) / count;
  const highest = highestOf(model, selection, live);
  context.clearRect(0, 0, width, height);
  const [from, to] = drag ?? [selection.from, selection.to];
  context.fillStyle = colour('--select');
  if (drag || selection.from > 0 || selection.to < count - 1) context.fillRect(x(from), 0, x(to + 1) - x(from), height);
  context.beginPath();
  context.moveTo(0, height);
  for (let bin = 0; bin < count; ++bin) {
    const y = height - ((height - 6) * Math.max(0, live[bin])) / (highest || 1);
    context.lineTo(x(bin), y);
    context.lineTo(x(bin + 1), y);
  }
  context.lineTo(width, height);
  context.closePath();
  context.fillStyle = colour('--area');
  context.fill();
  context.strokeStyle = colour('--accent');
  context.lineWidth = 1.25;
  context.stroke();
  context.fillStyle = colour('--warn');
  for (const mark of model.marks) context.fillRect(x((mark.time_ns - model.bins.start) / model.bins.width), 0, 1, 5);
  context.font = '11px system-ui, sans-serif';
  const label = format.bytes(highest);
  context.fillStyle = colour('--page');
  context.globalAlpha = 0.8;
  context.fillRect(2, 3, context.measureText(label).width + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = colour('--muted');
  context.fillText(label, 5, 14);
  context.fillStyle = colour('--text');
  const at = Math.min(width - 4, x(selection.moment + 1));
  context.fillRect(at - 0.75, 0, 1.5, height);
  context.beginPath();
  context.arc(at, 4, 3.5, 0, 2 * Math.PI);
  context.fill();
}

export function TimeStrip() {
  const { model, selection, change } = useReport();
  const { isAll, bins } = selection;
  const live = useMemo(() => (isAll && model.timeline ? peaksOfBins(model) : bins.live_bytes), [model, isAll, bins]);
  const canvas = useRef(null);
  const start = useRef(null);
  const [drag, setDrag] = useState(null);
  const [, setWidth] = useState(0);
  useEffect(() => { draw(canvas.current, { model, selection, drag, live }); });
  useResize(canvas, ({ clientWidth }) => setWidth(clientWidth));
  const binAt = (event) => {
    const { left, width } = canvas.current.getBoundingClientRect();
    return Math.max(0, Math.min(model.bins.count - 1, Math.floor(((event.clientX - left) / width) * model.bins.count)));
  };
  const down = (event) => {
    canvas.current.setPointerCapture(event.pointerId);
    start.current = { x: event.clientX, bin: binAt(event) };
  };
  const move = (event) => {
    if (start.current === null || Math.abs(event.clientX - start.current.x) < LEAST_DRAG) return;
    setDrag([start.current.bin, binAt(event)].sort((left, right) => left - right));
  };
  const up = (event) => {
    if (start.current === null) return;
    if (drag) change({ from: drag[0], to: drag[1], moment: null });
    else change({ moment: binAt(event) });
    start.current = null;
    setDrag(null);
  };
  const key = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const bound = (bin) => Math.max(0, Math.min(model.bins.count - 1, bin));
    if (event.shiftKey) change({ from: selection.from, to: Math.max(selection.from, bound(selection.to + step)), moment: null });
    else change({ moment: bound(selection.moment + step) });
  };
  return (
    <canvas ref={canvas} class="strip" id="time-strip" tabIndex={0} role="slider" title={`At most ${format.bytes(highestOf(model, selection, live))}`} aria-label="Time: drag to choose a range, click or use the arrows to choose a moment"
      aria-valuemin={0} aria-valuemax={model.bins.count - 1} aria-valuenow={selection.moment} aria-valuetext={`live at ${format.duration(endOfBin(model, selection.moment))}`}
      onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => { start.current = null; setDrag(null); }} onKeyDown={key}
      onDblClick={() => change({ from: null, to: null, moment: null })} />
  );
}
