// Series over time that the charts draw: live bytes by site, and averages of rates.
import { keysOf } from './flame_tree.js';
import { tellingFrame } from './names.js';

const MOST_SITES = 8;

const LIBRARIES = -2;

// The site of each stack: the function and line of its most informative frame; memory of system libraries is one site. Returns {of: [site of each stack], count}.
function sitesOf(model) {
  const keys = keysOf(model, true);
  const numbers = new Map();
  const of = Int32Array.from({ length: model.stacks.count }, (_, stack) => {
    const frame = tellingFrame(model, stack);
    const key = model.stacks.of_libraries[stack] === 1 ? LIBRARIES : frame < 0 ? -1 : keys[frame];
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
  return { of, count: numbers.size };
}

function sumUp(values) {
  for (let bin = 1; bin < values.length; ++bin) values[bin] += values[bin - 1];
  return values;
}

// Live bytes at the end of each bin: of the sites that have most of them at some time of the range, largest first, and of all others
// together. A site is {stack, highest, values}; its stack is the one with the most bytes at the site's highest.
export function growthBySite(model, selection, most = MOST_SITES) {
  const { facts, mask, from, to } = selection;
  const sites = sitesOf(model);
  const lines = new Map();
  const all = new Float64Array(model.bins.count);
  for (let row = 0; row < facts.count; ++row) {
    if (!mask[row]) continue;
    const net = facts.allocated_bytes[row] - facts.freed_bytes[row];
    const site = sites.of[facts.stack[row]];
    if (!lines.has(site)) lines.set(site, new Float64Array(model.bins.count));
    lines.get(site)[facts.bin[row]] += net;
    all[facts.bin[row]] += net;
  }
  const ranked = [...lines].map(([site, values]) => ({ site, values: sumUp(values), at: from, highest: 0 }));
  for (const one of ranked) {
    for (let bin = from; bin <= to; ++bin) if (one.values[bin] > one.values[one.at]) one.at = bin;
    one.highest = one.values[one.at];
  }
  ranked.sort((one, other) => other.highest - one.highest || one.site - other.site);
  const chosen = ranked.filter(({ highest }) => highest > 0).slice(0, most);
  const rest = sumUp(all).slice();
  chosen.forEach(({ values }) => values.forEach((value, bin) => { rest[bin] -= value; }));
  const stacks = largestStacks(model, selection, sites, chosen);
  return {
    sites: chosen.map(({ site, values, highest }) => ({ stack: stacks.get(site), values, highest })),
    rest, others: ranked.filter(({ highest }) => highest > 0).length - chosen.length,
  };
}

function largestStacks(model, { facts, mask }, sites, chosen) {
  const until = new Map(chosen.map(({ site, at }) => [site, at]));
  const live = new Float64Array(model.stacks.count);
  for (let row = 0; row < facts.count; ++row) {
    const stack = facts.stack[row];
    if (mask[row] && facts.bin[row] <= until.get(sites.of[stack])) live[stack] += facts.allocated_bytes[row] - facts.freed_bytes[row];
  }
  const best = new Map();
  for (let stack = 0; stack < model.stacks.count; ++stack) {
    const site = sites.of[stack];
    if (until.has(site) && (!best.has(site) || live[stack] > live[best.get(site)])) best.set(site, stack);
  }
  return best;
}

// Counts by interval as means per second of so many intervals together that there are at most `most` of them. A rate by interval is a
// comb where the program's own period is near the interval's.
export function meanRates(counts, widthNs, most) {
  const together = Math.max(1, Math.ceil(counts.length / most));
  const rates = [];
  for (let first = 0; first < counts.length; first += together) {
    const part = counts.slice(first, first + together);
    const isKnown = part.every((value) => value !== null);
    rates.push(isKnown ? (part.reduce((sum, value) => sum + value, 0) * 1e9) / (part.length * widthNs) : null);
  }
  return { rates, together };
}
