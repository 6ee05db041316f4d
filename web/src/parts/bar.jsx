// A number in front of a bar that shows its share of the whole.
import { h } from 'preact';

export function Bar({ part, whole, text, kind = '' }) {
  const share = whole > 0 ? Math.min(1, Math.abs(part) / whole) : 0;
  return (
    <span class={`bar ${kind}`}>
      <span class="fill" style={{ width: `${(share * 100).toFixed(2)}%` }} />
      <span class="number">{text}</span>
    </span>
  );
}

// A figure; `onOpen`: opens its view.
export function Card({ label, value, detail, kind = '', onOpen }) {
  const content = [
    <div class="card-label">{label}</div>,
    <div class="card-value">{value}</div>,
    detail ? <div class="card-detail">{detail}</div> : null,
  ];
  return onOpen ? <button type="button" class={`card ${kind}`} onClick={onOpen}>{content}</button> : <div class={`card ${kind}`}>{content}</div>;
}

// `isBare`: the label is the first choice's text, and not shown beside it.
export function Choice({ label, value, options, onChange, id, isBare }) {
  return (
    <label class="choice">{isBare ? null : <span>{label}</span>}
      <select id={id} aria-label={label} class={isBare && value !== '' ? 'is-set' : undefined} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, text, disabled]) => <option key={key} value={key} disabled={disabled} selected={key === value}>{text}</option>)}
      </select>
    </label>
  );
}

export function Toggle({ label, value, onChange, title }) {
  return <button type="button" class="toggle" aria-pressed={value} title={title} onClick={() => onChange(!value)}>{label}</button>;
}
