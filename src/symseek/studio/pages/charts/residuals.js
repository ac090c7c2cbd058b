// What a formula leaves unexplained: measured minus predicted, row by row.

import { spanning } from "./axes.js";
import { kind, places, size } from "./fit.js";
import { discs, frame, line } from "./frame.js";

export function drawResiduals({ fit, against }, width, height) {
  const all = fit.formulas.flatMap((each) => each.residual);
  const predicted = fit.formulas.flatMap((each) => each.predicted);
  const x = against === null ? predicted : fit.columns[against];
  const name = against === null ? `predicted ${fit.target}` : fit.labels[against];
  const drawn = frame({
    width,
    height,
    x: spanning(x),
    y: spanning([0, ...all], { room: 0.08 }),
    xLabel: name,
    yLabel: "measured − predicted",
    words: `Residuals against ${name}`,
  });
  const [low, high] = [-1e4, 1e4];
  const zero = drawn.place(x.find((each) => each !== null) ?? 0, 0)[1];
  drawn.inside.append(line([[low, zero], [high, zero]], "same"));
  [...fit.formulas].reverse().forEach((each, at) => {
    const order = fit.formulas.length - 1 - at;
    const at0 = against === null ? each.predicted : x;
    drawn.inside.append(discs(places(drawn, at0, each.residual), size(fit.y), `dots ${kind(order)}`));
  });
  return drawn.picture;
}
