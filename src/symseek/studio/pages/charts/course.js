// The best error over time.

import { Axis, spanning } from "./axes.js";
import { frame, line } from "./frame.js";

export function drawCourse({ course, seconds }, width, height) {
  const last = course[course.length - 1];
  const end = Math.max(seconds, last[0], 0.1);
  const shown = (error) => (error === null ? null : Math.max(error, 1e-16));
  const drawn = frame({
    width,
    height,
    x: new Axis(0, end * 1.02),
    y: spanning(course.map(([, error]) => shown(error)), { log: true }),
    xLabel: "seconds",
    yLabel: "error (NRMSE)",
    words: "The smallest error so far, over time",
  });
  const points = [...course, [end, last[1]]].map(([at, error]) => drawn.place(at, shown(error)));
  drawn.inside.append(line(points, "curve chosen", true));
  return drawn.picture;
}
