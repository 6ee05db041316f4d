// Draws a tree of boxes on a canvas as far as it can be seen, and finds the box under a point. Boxes narrower than a pixel's part
// aren't drawn, so the work depends on the canvas and not on the tree.
import { childrenOf } from '../data/flame_tree.js';
import { count, tightName } from '../format.js';

export const BOX_HEIGHT = 19;
const LEAST_WIDTH = 0.4; // pixels
const LEAST_TEXT = 28;
const NO_BOX = -1; // what is too small to be drawn one by one
const TEXT_FONT = '11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

// The boxes from the tree's root to the one that fills the width.
function ancestorsOf(tree, box) {
  const path = [];
  for (let up = box; up >= 0; up = tree.parent[up]) path.unshift(up);
  return path;
}

// Boxes in sight, row by row from the top: rows[depth] = [{box, x, width}], ordered by x. An entry with `smaller` stands for so many
// boxes that are too narrow.
export function layout(tree, zoomed, width) {
  const rows = [];
  const put = (row, entry) => { (rows[row] ??= []).push(entry); };
  const path = ancestorsOf(tree, zoomed);
  path.forEach((box, row) => put(row, { box, x: 0, width }));
  const stack = [{ box: zoomed, x: 0, width, row: path.length - 1 }];
  let deepest = path.length - 1;
  while (stack.length > 0) {
    const at = stack.pop();
    deepest = Math.max(deepest, at.row);
    const all = tree.weight[at.box];
    const children = childrenOf(tree, at.box);
    let x = at.x;
    for (const [index, child] of children.entries()) {
      const part = all > 0 ? (tree.weight[child] / all) * at.width : 0;
      if (part < LEAST_WIDTH) { // those that follow are smaller: together one
        const rest = children.slice(index);
        const width = (rest.reduce((sum, one) => sum + tree.weight[one], 0) / all) * at.width;
        put(at.row + 1, { box: NO_BOX, x, width, smaller: rest.length });
        break;
      }
      const entry = { box: child, x, width: part, row: at.row + 1 };
      put(at.row + 1, entry);
      stack.push(entry);
      x += part;
    }
  }
  rows.forEach((row) => row.sort((left, right) => left.x - right.x));
  return { rows, depth: deepest + 1 };
}

export function boxAt(drawn, x, y) {
  const row = drawn.rows[Math.floor(y / BOX_HEIGHT)];
  if (!row) return null;
  let [low, high] = [0, row.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const entry = row[middle];
    if (x < entry.x) high = middle - 1;
    else if (x >= entry.x + entry.width) low = middle + 1;
    else return entry.box === NO_BOX ? null : entry.box;
  }
  return null;
}

function hashOf(text) {
  let hash = 2166136261;
  for (let place = 0; place < Math.min(text.length, 64); ++place) hash = Math.imul(hash ^ text.charCodeAt(place), 16777619);
  return (hash >>> 0) / 2 ** 32;
}

// A calm colour: the program's own code is orange, libraries are blue, start-up is violet.
export function shadeColour({ kind, shade, isDark, net }) {
  if (net !== undefined) {
    const strength = (isDark ? 20 : 30) + 40 * Math.min(1, Math.abs(net));
    return `hsl(${net >= 0 ? 8 : 212} ${strength}% ${isDark ? 34 + 8 * shade : 78 - 6 * shade}%)`;
  }
  const hue = [17 + 17 * shade, 200 + 20 * shade, 262 + 16 * shade][kind];
  const saturation = [isDark ? 76 : 88, isDark ? 34 : 52, isDark ? 24 : 40][kind];
  return `hsl(${hue.toFixed(0)} ${saturation}% ${(isDark ? [26, 31, 31][kind] + 6 * shade : 70 + 9 * shade).toFixed(0)}%)`;
}

// The shade comes of the name.
export const boxColour = ({ name, ...more }) => shadeColour({ ...more, shade: hashOf(name) });

// `scene`: {tree, drawn, scrollTop, nameOf(box), colourOf(box), isFound(box) or null, hovered, selected, colours}
export function paint(context, width, height, scene) {
  const { drawn, scrollTop, colours } = scene;
  context.clearRect(0, 0, width, height);
  context.font = TEXT_FONT;
  context.textBaseline = 'middle';
  const letter = context.measureText('MMMMMMMMMM').width / 10;
  const firstRow = Math.floor(scrollTop / BOX_HEIGHT);
  const lastRow = Math.min(drawn.rows.length - 1, Math.ceil((scrollTop + height) / BOX_HEIGHT));
  let painted = 0;
  for (let depth = firstRow; depth <= lastRow; ++depth) {
    const y = depth * BOX_HEIGHT - scrollTop;
    for (const { box, x, width: wide, smaller } of drawn.rows[depth] ?? []) {
      if (smaller) paintSmaller(context, scene, { x, y, wide, smaller });
      else paintBox(context, scene, { box, x, y, wide, letter });
      ++painted;
    }
  }
  for (const box of [scene.selected, scene.hovered]) {
    const place = box === null ? null : placeOfBox(drawn, box);
    if (!place) continue;
    context.strokeStyle = colours.text;
    context.lineWidth = 1.5;
    context.strokeRect(place.x + 0.75, place.row * BOX_HEIGHT - scrollTop + 0.75, Math.max(1, place.width - 1.5), BOX_HEIGHT - 2.5);
  }
  return painted;
}

export function placeOfBox(drawn, box) {
  for (let row = 0; row < drawn.rows.length; ++row) {
    const entry = drawn.rows[row]?.find((one) => one.box === box);
    if (entry) return { ...entry, row };
  }
  return null;
}

function paintSmaller(context, { colours }, { x, y, wide, smaller }) {
  context.fillStyle = colours.smaller;
  context.fillRect(x, y, wide, BOX_HEIGHT - 1);
  if (wide < 90) return;
  context.fillStyle = colours.text;
  context.globalAlpha = 0.6;
  context.fillText(`${count(smaller)} smaller`, x + 4, y + BOX_HEIGHT / 2, wide - 6);
  context.globalAlpha = 1;
}

// Lines from the lower left to the upper right.
function hatch(context, { x, y, wide, colour }) {
  context.save();
  context.beginPath();
  context.rect(x, y, wide, BOX_HEIGHT - 1);
  context.clip();
  context.globalAlpha = 0.16;
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = x - BOX_HEIGHT; at < x + wide; at += 8) {
    context.moveTo(at, y + BOX_HEIGHT);
    context.lineTo(at + BOX_HEIGHT, y);
  }
  context.stroke();
  context.restore();
}

function paintBox(context, scene, { box, x, y, wide, letter }) {
  const { colours } = scene;
  const isFound = scene.isFound === null || box === 0 || scene.isFound(box);
  context.globalAlpha = isFound ? 1 : 0.28;
  context.fillStyle = scene.isFound !== null && isFound && box !== 0 ? colours.found : scene.colourOf(box);
  context.fillRect(x, y, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), BOX_HEIGHT - 1);
  if (scene.isHatched?.(box)) hatch(context, { x, y, wide, colour: colours.text });
  if (wide >= LEAST_TEXT) {
    const room = Math.floor((wide - 8) / letter);
    const text = tightName(scene.nameOf(box), Math.max(room, 2));
    context.fillStyle = scene.isFound !== null && isFound && box !== 0 ? colours.foundText : colours.text;
    // Letters of other scripts may be wider than counted.
    context.fillText(text, x + 4, y + BOX_HEIGHT / 2, wide - 6);
  }
  context.globalAlpha = 1;
}
