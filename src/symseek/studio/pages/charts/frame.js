// A frame with two axes, into which a chart draws. A picture follows the width of its place, so
// that its letters keep their size on every screen.

import { el, fill, svg } from "../dom.js";
import { shortened } from "../text.js";

const LETTER = 6.6; // pixels, of the small type
const TOP = 10;
const RIGHT = 12;
const BOTTOM = 44;

/** The axes drawn: {picture, inside, place}; what is put `inside` is cut off at the frame. */
export function frame({ width, height, x, y, xLabel, yLabel, words, role = "img" }) {
  const yTicks = y.ticks(Math.max(3, Math.floor(height / 55)));
  const longest = Math.max(2, ...yTicks.map((tick) => tick.text.length));
  const left = 30 + longest * LETTER;
  const wide = Math.max(40, width - left - RIGHT);
  const high = height - TOP - BOTTOM;
  const xTicks = x.ticks(Math.max(3, Math.floor(wide / 70)));
  const place = (a, b) => [x.part(a) * wide, bounded((1 - y.part(b)) * high)];
  const inside = svg("svg", { width: wide, height: high });
  const over = svg("g");
  const picture = svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role, "aria-label": words },
    svg(
      "g",
      { transform: `translate(${left} ${TOP})` },
      xTicks.map((tick) => xTick(tick, x.part(tick.value) * wide, high)),
      yTicks.map((tick) => yTick(tick, (1 - y.part(tick.value)) * high, wide)),
      svg("path", { class: "frame", d: `M0 0V${high}H${wide}` }),
      label(shortened(xLabel, Math.floor(wide / LETTER)), wide / 2, high + 38, "middle"),
      turned(shortened(yLabel, Math.floor(high / LETTER)), 12 - left, high / 2),
      inside,
      over,
    ),
  );
  return { picture, inside, over, place, wide, high, left, top: TOP };
}

function xTick(tick, at, high) {
  const line = svg("path", { class: "grid", d: `M${round(at)} 0V${high}` });
  return [line, label(tick.text, at, high + 18, "middle", "tick")];
}

function yTick(tick, at, wide) {
  const line = svg("path", { class: "grid", d: `M0 ${round(at)}H${wide}` });
  return [line, label(tick.text, -7, at + 4, "end", "tick")];
}

function turned(text, x, y) {
  return svg("g", { transform: `translate(${x} ${y}) rotate(-90)` }, label(text, 0, 0, "middle"));
}

/** Words in a picture. */
function label(text, x, y, side = "start", kind = "label") {
  return svg("text", { class: kind, x: round(x), y: round(y), "text-anchor": side }, text);
}

function round(number) {
  return Math.round(number * 10) / 10;
}

/** Far outside the frame is outside it: browsers choke on huge coordinates. */
function bounded(pixels) {
  return Math.min(Math.max(pixels, -1e4), 1e4);
}

/** Half of a circle, to the right or to the left. */
function half(radius) {
  const size = Math.abs(radius);
  return `a${size} ${size} 0 1 0 ${2 * radius} 0`;
}

/** Many discs as one path, which is drawn much faster than as many elements. */
export function discs(places, radius, kind) {
  const parts = [];
  for (const [x, y] of places) {
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    parts.push(`M${round(x - radius)} ${round(y)}${half(radius)}${half(-radius)}`);
  }
  return svg("path", { class: kind, d: parts.join("") });
}

/** A line through places, broken where there is none; as steps, to the right first. */
export function line(places, kind, steps = false) {
  const parts = [];
  let open = false;
  for (const [x, y] of places) {
    if (Number.isNaN(x) || Number.isNaN(y)) {
      open = false;
      continue;
    }
    if (!open) parts.push(`M${round(x)} ${round(y)}`);
    else parts.push(steps ? `H${round(x)}V${round(y)}` : `L${round(x)} ${round(y)}`);
    open = true;
  }
  return svg("path", { class: kind, d: parts.join("") });
}

/** The place of a chart: it draws again when there is something new or the width changes. */
export class Picture {
  constructor(draw, { height = 300, empty = "Nothing to draw yet." } = {}) {
    this.draw = draw; // (data, width, height) -> element
    this.height = height;
    this.element = el("div", { class: "picture" });
    this.say(empty);
    this.element.style.height = `${height}px`;
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  /** Words instead of a picture. */
  say(words) {
    this.data = null;
    fill(this.element, el("p", { class: "muted empty" }, words));
  }

  show(data) {
    this.data = data;
    this.redraw();
  }

  resized() {
    if (Math.round(this.element.clientWidth) !== this.width) this.redraw();
  }

  redraw() {
    this.width = Math.round(this.element.clientWidth);
    if (this.data === null || this.width < 60) return;
    fill(this.element, this.draw(this.data, this.width, this.height));
  }
}
