// The fit: with one input the curve through the points, else predicted against measured, or both
// against a column.

import { spanning } from "./axes.js";
import { discs, frame, line } from "./frame.js";

/** `fit` is the server's; `against` is a column, or null for the measured values. */
export function drawFit({ fit, against }, width, height) {
  if (against !== null && fit.curve) return curves(fit, against, width, height);
  return against === null ? measured(fit, width, height) : column(fit, against, width, height);
}

function curves(fit, against, width, height) {
  const x = fit.columns[against];
  const drawn = overColumn(fit, against, width, height, "the rows as points, the formula as a curve");
  fit.curve.y.forEach((y, at) => {
    drawn.inside.append(line(places(drawn, fit.curve.x, y), `curve ${kind(at)}`));
  });
  drawn.inside.append(discs(places(drawn, x, fit.y), size(x), "rows"));
  return drawn.picture;
}

/** A frame for the target over a column. */
function overColumn(fit, against, width, height, shown) {
  return frame({
    width,
    height,
    x: spanning(fit.columns[against]),
    y: spanning(fit.y, { room: 0.08 }),
    xLabel: fit.labels[against],
    yLabel: fit.target,
    words: `${fit.target} against ${against}: ${shown}`,
  });
}

function measured(fit, width, height) {
  const axis = spanning([...fit.y, ...near(fit.formulas[0].predicted, fit.y)]);
  const drawn = frame({
    width,
    height,
    x: axis,
    y: axis,
    xLabel: `measured ${fit.target}`,
    yLabel: `predicted ${fit.target}`,
    words: `Predicted ${fit.target} against measured; a perfect formula has all points on the line`,
  });
  drawn.inside.append(line(places(drawn, [axis.low, axis.high], [axis.low, axis.high]), "same"));
  return withPredictions(drawn, fit, fit.y);
}

function column(fit, against, width, height) {
  const x = fit.columns[against];
  const drawn = overColumn(fit, against, width, height, "measured and predicted");
  drawn.inside.append(discs(places(drawn, x, fit.y), size(x), "rows"));
  return withPredictions(drawn, fit, x);
}

function withPredictions(drawn, fit, x) {
  [...fit.formulas].reverse().forEach((each, at) => {
    const order = fit.formulas.length - 1 - at;
    drawn.inside.append(discs(places(drawn, x, each.predicted), size(x), `dots ${kind(order)}`));
  });
  return drawn.picture;
}

/** Values not far from the measured ones: a wild one should not squeeze the rest into a corner. */
function near(values, y) {
  const { low, high } = spanning(y, { room: 0 });
  const room = high - low;
  return values.filter((value) => value !== null && value >= low - room && value <= high + room);
}

/** The points of two lists of numbers. */
export function places(drawn, xs, ys) {
  return xs.map((x, at) => drawn.place(x, ys[at]));
}

/** The radius of points: the more there are, the smaller. */
export function size(values) {
  return values.length > 800 ? 1.8 : values.length > 150 ? 2.5 : 3.5;
}

/** Whose: the chosen formula, or the one beside it. */
export function kind(at) {
  return at ? "second" : "chosen";
}
