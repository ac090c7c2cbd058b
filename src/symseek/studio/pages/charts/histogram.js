// How the values of a column are spread: twenty bars.

import { svg } from "../dom.js";

const WIDE = 100;
const HIGH = 28;

export function histogram(counts, words) {
  const most = Math.max(1, ...counts);
  const step = WIDE / counts.length;
  const bars = counts.map((count, at) => {
    const high = count ? Math.max(1, (count / most) * HIGH) : 0;
    return high ? `M${at * step} ${HIGH}v${-high}h${step - 1}v${high}z` : "";
  });
  const size = { viewBox: `0 0 ${WIDE} ${HIGH + 1}`, width: WIDE, height: HIGH + 1 };
  return svg(
    "svg",
    { class: "histogram", role: "img", "aria-label": words, ...size },
    svg("path", { class: "bars", d: bars.join("") }),
    svg("path", { class: "frame", d: `M0 ${HIGH + 0.5}H${WIDE}` }),
  );
}
