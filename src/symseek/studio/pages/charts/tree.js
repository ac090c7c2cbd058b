// A formula as a tree: each operator above what it works on.

import { svg } from "../dom.js";
import { shortened } from "../text.js";

const LEVEL = 52; // pixels from one level to the next
const GAP = 14; // between two neighbours
const LETTER = 7.6;
const SMALLEST = 0.65; // of its own size: a wide tree shrinks so far, and is scrolled then

/** The tree as a picture of its own size. */
export function drawTree(tree, words) {
  const root = measured(tree, 0);
  placed(root, GAP);
  const parts = [];
  drawn(root, parts);
  const [wide, high] = [root.wide + 2 * GAP, depth(root) * LEVEL + 8];
  const size = { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high };
  const picture = svg("svg", { class: "tree", role: "img", "aria-label": words, ...size }, parts);
  picture.style.minWidth = `${wide * SMALLEST}px`;
  return picture;
}

function measured(node, level) {
  const text = shortened(node.label, 22);
  const children = node.children.map((child) => measured(child, level + 1));
  const own = Math.max(30, [...text].length * LETTER + 16);
  const gaps = GAP * Math.max(0, children.length - 1);
  const below = children.reduce((sum, child) => sum + child.wide, gaps);
  return { text, full: node.label, level, children, own, below, wide: Math.max(own, below) };
}

/** A parent stands over the middle of its children. */
function placed(node, left) {
  let at = left + (node.wide - node.below) / 2;
  for (const child of node.children) {
    placed(child, at);
    at += child.wide + GAP;
  }
  const ends = node.children.map((child) => child.x);
  node.x = ends.length ? (ends[0] + ends[ends.length - 1]) / 2 : left + node.wide / 2;
  node.x = Math.min(Math.max(node.x, left + node.own / 2), left + node.wide - node.own / 2);
  node.y = node.level * LEVEL + 22;
}

function depth(node) {
  return 1 + Math.max(0, ...node.children.map(depth));
}

function drawn(node, parts) {
  for (const child of node.children) {
    parts.push(svg("path", { class: "branch", d: `M${node.x} ${node.y}L${child.x} ${child.y}` }));
    drawn(child, parts);
  }
  const kind = node.children.length ? "operator" : "leaf";
  const title = node.text === node.full ? null : svg("title", {}, node.full);
  const place = { x: node.x - node.own / 2, y: node.y - 15, width: node.own, height: 30, rx: 15 };
  const text = svg("text", { x: node.x, y: node.y + 5, "text-anchor": "middle" }, node.text);
  parts.push(svg("g", { class: kind }, title, svg("rect", place), text));
}
