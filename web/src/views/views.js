// The views, in the order of their tabs. A view whose data the report doesn't have isn't offered.
import { AddressSpaceView } from './address_space.jsx';
import { DifferenceView } from './difference.jsx';
import { ErrorsView } from './errors.jsx';
import { FlameView } from './flame.jsx';
import { HoldersView } from './holders.jsx';
import { LeaksView } from './leaks.jsx';
import { NoAddressSpace, NoHolders, NoTimeline } from './one_process.jsx';
import { ProcessesView } from './processes.jsx';
import { SitesView } from './sites.jsx';
import { SizesView } from './sizes.jsx';
import { SourceView } from './source.jsx';
import { TimelineView } from './timeline.jsx';
import { VerdictView } from './verdict.jsx';

const VIEWS = [
  { id: 'verdict', label: 'Summary', Component: VerdictView, has: () => true },
  { id: 'timeline', label: 'Timeline', Component: TimelineView, has: (model) => model.timeline !== null || model.hasTimes },
  { id: 'flame', label: 'Flame graph', Component: FlameView, has: (model) => model.stacks.count > 0 },
  { id: 'leaks', label: 'Leaks', Component: LeaksView, has: (model) => model.left.count > 0 },
  { id: 'errors', label: 'Errors', Component: ErrorsView, has: (model) => model.errors.length > 0, badge: (model) => model.errors.length },
  { id: 'holders', label: 'Retained by', Component: HoldersView, has: (model) => model.holders.length + model.globals.length + model.retained.length > 0 || model.graph !== null },
  { id: 'sites', label: 'Sites', Component: SitesView, has: (model) => model.stacks.count > 0 && !model.difference },
  { id: 'sizes', label: 'Sizes & lifetimes', Component: SizesView, has: (model) => !model.difference && (model.sizeClasses.length > 0 || model.lifetimes !== null) },
  { id: 'address', label: 'Address space', Component: AddressSpaceView, has: (model) => !model.difference },
  { id: 'difference', label: 'Difference', Component: DifferenceView, has: (model) => model.difference !== null || (model.hasTimes && model.bins.count > 1 && model.knowsReleases) },
  { id: 'processes', label: 'Processes', Component: ProcessesView, has: (model) => model.processes.length > 1, badge: (model) => model.processes.length },
  { id: 'source', label: 'Source', Component: SourceView, has: (model) => Object.keys(model.sources).length > 0 },
];

// Of a run: views of single processes are replaced by a note, and the list of processes is near the front.
const OF_ONE_PROCESS = { timeline: NoTimeline, holders: NoHolders, address: NoAddressSpace };

function viewsOfRun(model) {
  const isOfOne = ({ id }) => id in OF_ONE_PROCESS;
  const ofRun = VIEWS.filter((view) => !isOfOne(view) && view.id !== 'processes' && view.has(model));
  const processes = VIEWS.filter((view) => view.id === 'processes' && view.has(model));
  const ofOne = VIEWS.filter(isOfOne).map((view) => ({ ...view, Component: OF_ONE_PROCESS[view.id] }));
  return [ofRun[0], ...processes, ...ofRun.slice(1), ...ofOne];
}

function viewsOfDifference(model) {
  const views = VIEWS.filter(({ has }) => has(model));
  return [...views.filter(({ id }) => ['verdict', 'difference'].includes(id)), ...views.filter(({ id }) => !['verdict', 'difference'].includes(id))];
}

const chosen = (model) => (model.isRun ? viewsOfRun(model) : model.difference ? viewsOfDifference(model) : VIEWS.filter(({ has }) => has(model)));

export const viewsOf = (model) => chosen(model).map((view) => ({ ...view, badge: view.badge?.(model) }));
