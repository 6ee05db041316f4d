// Help: keys, terms, filters.
import { h } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS = [
  ['1 … 9', 'a view'], ['← →', 'previous or next view, while a tab has the focus'], ['/', 'filter by text'], ['?', 'this help'],
  ['t', 'light or dark'], ['Esc', 'close the details; reset the zoom'], ['↑ ↓ Enter', 'rows of a table'],
  ['← → ↑ ↓ Enter', 'boxes of the flame graph; Enter zooms'],
];
const WORDS = [
  ['definitely lost', 'nothing points to the block'],
  ['indirectly lost', 'only lost blocks point to it'],
  ['possibly lost', 'only interior pointers and the like, which may be coincidences, lead to it'],
  ['still reachable', 'a global, a stack or a register leads to it'],
  ['temporary', 'released by its thread before that thread allocates anything else'],
  ['live at a moment', 'allocated and not yet released at the end of that interval'],
  ['unknown', 'not recorded; not the same as 0'],
];

export function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => { dialog.current.showModal(); }, []);
  return (
    <dialog ref={dialog} class="help" aria-label="Help" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <div>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, text]) => [<dt><kbd>{key}</kbd></dt>, <dd>{text}</dd>])}</dl>
        <h2>Terms</h2>
        <dl>{WORDS.map(([word, text]) => [<dt>{word}</dt>, <dd>{text}</dd>])}</dl>
        <h2>Filters</h2>
        <p>The button Filters shows those by thread, module, size, age and leak kind. The field beside it takes part of a function, file or module, or a regular expression (parse|format). Filters apply to all views; a view without time, thread, size or age says so. Drag over the timeline to select a range, click it to select a moment. With a filter by age or leak
          kind, all figures are of the blocks that were live at the end, since these are known only for them.</p>
        <p>The address has the filters and the view: copy or bookmark it.</p>
        <button type="button" onClick={onClose}>Close</button>
      </div>
    </dialog>
  );
}
