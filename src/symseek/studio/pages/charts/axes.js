// Scales with ticks at round numbers, linear or logarithmic.

import { brief } from "../text.js";

const DECADES = 6; // beyond which not every decade has a tick

export class Axis {
  constructor(low, high, { log = false, whole = false } = {}) {
    Object.assign(this, { low, high, log, whole });
  }

  /** Where a value stands: 0 at the low end, 1 at the high one, NaN where it has no place. */
  part(value) {
    if (value === null || !Number.isFinite(value)) return NaN;
    if (!this.log) return (value - this.low) / (this.high - this.low);
    if (value <= 0) return NaN;
    return Math.log(value / this.low) / Math.log(this.high / this.low);
  }

  /** About so many values, each with its text. */
  ticks(count = 5) {
    const decades = this.log ? this.decades(count) : null;
    // Within a decade, powers of ten are too few.
    const { values, digits } = decades && decades.values.length > 2 ? decades : this.steps(count);
    return values.map((value) => ({ value, text: brief(value, digits) }));
  }

  steps(count) {
    const rough = (this.high - this.low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= 0.75 * rough);
    if (this.whole) step = Math.max(1, step);
    const first = Math.ceil(this.low / step - 1e-9);
    const last = Math.floor(this.high / step + 1e-9);
    const values = [];
    for (let k = first; k <= Math.min(last, first + 50); k += 1) values.push(k * step);
    const largest = Math.max(Math.abs(this.low), Math.abs(this.high));
    const digits = Math.max(3, Math.ceil(Math.log10(largest / step)) + 1);
    return { values, digits: Math.min(digits, 12) };
  }

  decades(count) {
    const first = Math.ceil(Math.log10(this.low) - 1e-9);
    const last = Math.floor(Math.log10(this.high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.min(count, DECADES)));
    const heads = last - first < 2 ? [1, 2, 5] : [1];
    const values = [];
    for (let power = first - 1; power <= last; power += every) {
      for (const head of heads) values.push(head * 10 ** power);
    }
    const inside = (value) => value >= this.low * 0.999 && value <= this.high * 1.001;
    return { values: values.filter(inside), digits: 3 };
  }
}

/** An axis that holds all finite values, with some room at both ends. */
export function spanning(values, { log = false, whole = false, room = 0.05 } = {}) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = log ? [0.1, 1] : [0, 1];
  return log ? spannedLog(low, high, room) : spanned(low, high, whole, room);
}

function spanned(low, high, whole, room) {
  const size = high - low || Math.abs(high) || 1;
  const most = Number.MAX_VALUE / 4;
  const [from, to] = [Math.max(low - room * size, -most), Math.min(high + room * size, most)];
  return new Axis(from, to, { whole });
}

function spannedLog(low, high, room) {
  const factor = Math.max((high / low) ** room, 1.3);
  return new Axis(Math.max(low / factor, 1e-300), Math.min(high * factor, 1e300), { log: true });
}
