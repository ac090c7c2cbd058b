// The best error over time, drawn again at most once a second.

import { drawCourse } from "./charts/course.js";
import { Picture } from "./charts/frame.js";
import { panel } from "./panel.js";

const EVERY = 1000; // milliseconds

export class CoursePanel {
  constructor() {
    const empty = "There is no record of this yet.";
    this.picture = new Picture(drawCourse, { height: 280, empty });
    this.element = panel("course", "Error over time", this.picture.element);
    this.drawn = -EVERY;
  }

  show(progress, now) {
    if (!progress?.course?.length) return;
    const due = performance.now() - this.drawn >= EVERY;
    if (!due && !now) return;
    const { course, seconds } = progress;
    const key = `${course.length} ${seconds} ${course[course.length - 1]}`;
    if (key === this.key) return;
    this.key = key;
    this.drawn = performance.now();
    this.picture.show(progress);
  }
}
