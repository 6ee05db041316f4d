// The whole page: header, views as tabs, one filter for all of them, the details of a stack, and the keyboard.
import { h, options } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ReportContext } from './context.js';
import { NO_FILTER, memoryOf, select } from './data/selection.js';
import { CHOSEN, FilterBar } from './parts/filter_bar.jsx';
import { Header } from './parts/header.jsx';
import { Help } from './parts/help.jsx';
import { useResize } from './parts/resize.js';
import { StackPanel } from './parts/stack_panel.jsx';
import { fitState, formatState, parseState } from './state.js';
import { viewsOf } from './views/views.js';

// The state, stored in the address; a change of view or stack can be undone with the browser's "back".
function useAddressState(model) {
  const [state, setState] = useState(() => fitState(parseState(location.hash), model));
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const read = () => setState(fitState(parseState(location.hash), model));
    addEventListener('hashchange', read);
    addEventListener('popstate', read);
    return () => {
      removeEventListener('hashchange', read);
      removeEventListener('popstate', read);
    };
  }, [model]);
  const change = useCallback((patch) => {
    const next = { ...latest.current, ...patch };
    if ('stack' in patch && !('box' in patch)) next.box = null; // a stack that was chosen elsewhere
    const isStep = next.view !== latest.current.view || next.stack !== latest.current.stack;
    latest.current = next;
    const address = `#${formatState(next)}`;
    if (isStep) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    setState(next);
  }, []);
  return [state, change];
}

// How many tabs are out of sight to the left and to the right, if only in part.
function hiddenTabs(list) {
  const { left, right } = list.getBoundingClientRect();
  const places = Array.from(list.children, (tab) => tab.getBoundingClientRect());
  return { before: places.filter((place) => place.left < left - 2).length, after: places.filter((place) => place.right > right + 2).length };
}

function Tabs({ views, view, change }) {
  const list = useRef(null);
  const [hidden, setHidden] = useState({ before: 0, after: 0 });
  const count = () => {
    const next = hiddenTabs(list.current);
    setHidden((old) => (old.before === next.before && old.after === next.after ? old : next));
  };
  useResize(list, count, [views]);
  const scroll = (direction) => list.current.scrollBy({ left: direction * list.current.clientWidth * 0.7 });
  const move = (event) => {
    const index = views.findIndex(({ id }) => id === view);
    const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: views.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = (target + views.length) % views.length;
    change({ view: views[next].id });
    list.current.children[next].focus();
  };
  useEffect(() => {
    list.current.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [view]);
  // For the mouse alone: keys and screen readers reach all tabs in the list.
  const more = (direction, number, name) => (
    <button type="button" class={`more-tabs ${name}`} title={`${number} more`} tabIndex={-1} aria-hidden="true" onClick={() => scroll(direction)}>
      {direction < 0 ? `‹ ${number}` : `${number} ›`}
    </button>
  );
  return (
    <div class="tab-row">
      <div class="tabs" role="tablist" aria-label="Views" ref={list} onKeyDown={move} onScroll={count}>
        {views.map(({ id, label, badge }) => (
          <button type="button" role="tab" id={`tab-${id}`} key={id} aria-selected={id === view} aria-controls="view"
            tabIndex={id === view ? 0 : -1} onClick={() => change({ view: id })}>
            {label}{badge ? <span class="badge">{badge}</span> : null}
          </button>
        ))}
      </div>
      {hidden.before > 0 ? more(-1, hidden.before, 'before') : null}
      {hidden.after > 0 ? more(1, hidden.after, 'after') : null}
    </div>
  );
}

const isTyping = (element) => ['INPUT', 'SELECT', 'TEXTAREA'].includes(element?.tagName);

function useKeyboard({ views, state, change, setHelp, findText }) {
  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape') {
        if (isTyping(event.target)) event.target.blur();
        else if (document.querySelector('dialog[open]')) setHelp(false);
        else if (state.stack !== null) change({ stack: null });
        else if (state.zoom !== null) change({ zoom: null });
        return;
      }
      if (isTyping(event.target)) return;
      const index = '123456789'.indexOf(event.key);
      if (event.key === '/') findText();
      else if (event.key === '?') setHelp((shown) => !shown);
      else if (event.key === 't') change({ theme: nextTheme(state.theme) });
      else if (index >= 0 && views[index]) change({ view: views[index].id });
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

const prefersDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
export const isDark = (theme) => (theme === null ? prefersDark() : theme === 'dark');
export const nextTheme = (theme) => (isDark(theme) ? 'light' : 'dark');

// Calls `changed` at once and with true before the page is printed, with false afterwards.
function onPrint(changed) {
  const query = matchMedia('print');
  // The page is printed when the handler returns: render everything before that, not in a later frame.
  const atOnce = (isPrinting) => {
    const kept = [options.debounceRendering, options.requestAnimationFrame];
    [options.debounceRendering, options.requestAnimationFrame] = [(render) => render(), (draw) => draw()];
    changed(isPrinting);
    [options.debounceRendering, options.requestAnimationFrame] = kept;
  };
  const before = () => atOnce(true);
  const after = () => atOnce(query.matches);
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  query.addEventListener('change', after);
  return () => {
    removeEventListener('beforeprint', before);
    removeEventListener('afterprint', after);
    query.removeEventListener('change', after);
  };
}

// 'light' or 'dark' as drawn now; follows the system if the user chose none. Light for print.
function useTheme(theme) {
  const [shown, setShown] = useState(isDark(theme) ? 'dark' : 'light');
  const [isPrinted, setPrinted] = useState(matchMedia('print').matches);
  useEffect(() => onPrint(setPrinted), []);
  // Before anything is drawn on a canvas with the theme's colours.
  useLayoutEffect(() => {
    const apply = () => {
      const name = isDark(theme) && !isPrinted ? 'dark' : 'light';
      document.documentElement.dataset.theme = name;
      setShown(name);
    };
    apply();
    const query = matchMedia('(prefers-color-scheme: dark)');
    query.addEventListener('change', apply);
    return () => query.removeEventListener('change', apply);
  }, [theme, isPrinted]);
  return shown;
}

export function App({ model }) {
  const [state, change] = useAddressState(model);
  const [isHelpShown, setHelp] = useState(false);
  const theme = useTheme(state.theme);
  const { figure } = state;
  const filter = Object.keys(NO_FILTER).map((name) => state[name]);
  const memory = memoryOf(model, state);
  const selection = useMemo(() => select(model, { ...state, figure, memory }), [model, figure, memory, ...filter]);
  const views = useMemo(() => viewsOf(model), [model]);
  const view = views.find(({ id }) => id === state.view) ?? views[0];
  const [isUnfolded, setUnfolded] = useState(() => CHOSEN.some((name) => state[name] !== null));
  const hasFilters = !model.hasTimes || isUnfolded; // without the strip there is room for them
  // On a narrow screen the field is among the filters.
  const findText = () => {
    const field = document.getElementById('filter-text');
    field.focus();
    if (document.activeElement === field) return;
    setUnfolded(true);
    requestAnimationFrame(() => setTimeout(() => field.focus()));
  };
  useKeyboard({ views, state, change, setHelp, findText });
  useEffect(() => { document.getElementById('view').scrollTop = 0; }, [view.id]);
  const context = { model, selection, state, change, theme };
  return (
    <ReportContext.Provider value={context}>
      <a class="skip" href="#view" onClick={(event) => { event.preventDefault(); document.getElementById('view').focus(); }}>Skip to the view</a>
      <Header theme={theme} onTheme={() => change({ theme: nextTheme(state.theme) })} onHelp={() => setHelp(true)}
        hasFilters={hasFilters} onFilters={() => setUnfolded(!isUnfolded)} />
      <Tabs views={views} view={view.id} change={change} />
      <FilterBar hasFilters={hasFilters} />
      <div class={`body ${state.stack === null ? '' : 'with-panel'}`}>
        <main id="view" role="tabpanel" aria-labelledby={`tab-${view.id}`} tabIndex={-1} class={`view view-${view.id}`}>
          <view.Component />
        </main>
        {state.stack === null ? null : <StackPanel stack={state.stack} />}
      </div>
      {isHelpShown ? <Help onClose={() => setHelp(false)} /> : null}
    </ReportContext.Provider>
  );
}
