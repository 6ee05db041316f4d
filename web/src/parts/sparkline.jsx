// A line without axes, scaled to its highest value.
import { h } from 'preact';

export function Sparkline({ values, label, width = 120, height = 24, kind = '' }) {
  const highest = Math.max(...values, 0);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const y = (value) => (highest > 0 ? height - 1 - ((height - 3) * value) / highest : height - 1);
  const points = Array.from(values, (value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`);
  const line = values.length > 1 ? `M${points.join('L')}` : `M0,${y(values[0] ?? 0).toFixed(1)}H${width}`;
  return (
    <svg class={`sparkline ${kind}`} viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label} preserveAspectRatio="none">
      <path class="area" d={`${line}V${height}H0Z`} />
      <path class="line" d={line} />
    </svg>
  );
}
