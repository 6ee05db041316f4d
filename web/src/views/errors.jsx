// Double, invalid and mismatched frees.
import { h } from 'preact';
import { useReport } from '../context.js';
import * as format from '../format.js';
import { FilterLimit } from '../parts/filter_bar.jsx';
import { Frames } from '../parts/stack_panel.jsx';

const KINDS = { double: 'Double free', bad: 'Invalid free', interior: 'Invalid free (inside a block)', mismatched: 'Mismatched free' };

// `of`: an error, its allocation or its first release.
function Part({ title, of }) {
  return (
    <div>
      <h3><bdi>{title}</bdi></h3>
      {of.frames?.length > 0 ? <Frames frames={of.frames} /> : <p class="note">No frames are known.</p>}
      {of.ends_early ? <p class="note">The stack ends here: {format.safeText(String(of.ends_early))}.</p> : null}
    </div>
  );
}

export function ErrorsView() {
  const { model } = useReport();
  return (
    <div class="page">
      <FilterLimit stacks={false} />
      <ol class="errors">
        {model.errors.map((error, index) => (
          <li key={index} class="error">
            <h2><span class="sign bad">✕</span>{KINDS[error.kind] ?? format.safeText(error.kind ?? '')}
              <span class="note">of <code>{format.safeText(String(error.address ?? ''))}</code>{error.count > 1 ? `, ${format.count(error.count)} times` : ''}</span></h2>
            <div class="columns">
              <Part title={`Released by ${format.clipped(format.safeText(error.function ?? ''), 100)}`} of={error} />
              {error.allocated ? <Part title={`Allocated by ${format.clipped(format.safeText(error.allocated.function ?? ''), 100)}, ${format.bytes(error.allocated.size)}`} of={error.allocated} /> : null}
              {error.released ? <Part title={`Released before by ${format.clipped(format.safeText(error.released.function ?? ''), 100)}`} of={error.released} /> : null}
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
