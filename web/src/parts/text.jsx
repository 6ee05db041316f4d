// Text of the target: shown as text only, cut where there is no room, whole in the tooltip.
import { h } from 'preact';
import { functionOf, fullPlaceOf, moduleOf, placeOf } from '../data/names.js';
import { clipped, safeText, shortName } from '../format.js';

const MOST_SHOWN = 300; // characters in the page; the rest is in the tooltip

export function Name({ text, most = MOST_SHOWN, title }) {
  const safe = safeText(text ?? '');
  return <bdi class="name" title={title ?? safe}>{clipped(safe, most)}</bdi>;
}

// A frame in one line: function, file:line.
export function FrameLine({ model, frame, most = 120 }) {
  const name = functionOf(model, frame);
  // A function without a name is called by its module.
  const place = placeOf(model, frame) || (frame >= 0 && model.frames.function[frame] === 0 ? '' : moduleOf(model, frame));
  const title = [name, fullPlaceOf(model, frame), moduleOf(model, frame)].filter(Boolean).join('\n');
  return (
    <span class="frame" title={title}>
      <bdi class="function">{shortName(name, most)}</bdi>
      {place ? <bdi class="place">{clipped(place, 80)}</bdi> : null}
    </span>
  );
}
