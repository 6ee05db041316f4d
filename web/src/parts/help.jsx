// What the keys and the words mean.
import { h } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS = [
  ['1 … 9', 'a view'], ['← →', 'the view beside, while a tab has the focus'], ['/', 'filter by text'], ['?', 'this help'],
  ['t', 'light or dark'], ['Esc', 'close the details; reset the zoom'], ['↑ ↓ Enter', 'rows of a table'],
  ['← → ↑ ↓ Enter', 'boxes of the flame graph; Enter zooms'],
];
const WORDS = [
  ['definitely lost', 'no pointer to the block was found'],
  ['indirectly lost', 'only blocks that are lost point to it'],
  ['possibly lost', 'only pointers that may be chance point to it'],
  ['still reachable', 'a global, a stack or a register leads to it'],
  ['temporary', 'released by its thread before that thread allocates anything else'],
  ['live at a moment', 'allocated and not yet released at the end of that interval'],
  ['unknown', 'could not be seen; never the same as 0'],
];

export function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => { dialog.current.showModal(); }, []);
  return (
    <dialog ref={dialog} class="help" aria-label="Help" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <div>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, text]) => [<dt><kbd>{key}</kbd></dt>, <dd>{text}</dd>])}</dl>
        <h2>Words</h2>
        <dl>{WORDS.map(([word, text]) => [<dt>{word}</dt>, <dd>{text}</dd>])}</dl>
        <h2>Filters</h2>
        <p>Filters hold for all views; one that knows no time, thread, size or age says so. Drag over the timeline to choose a range, click it to choose a moment. With an age or a leak
          kind, all figures are of the blocks that were alive at the end, since only theirs is known.</p>
        <p>The address keeps what you chose: copy it, or bookmark it.</p>
        <button type="button" onClick={onClose}>Close</button>
      </div>
    </dialog>
  );
}
