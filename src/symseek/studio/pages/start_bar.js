// The bar at the foot of a question: the same as a command, and the button that starts it.

import { commandBox } from "./copy.js";
import { box, button, el, muted, setText } from "./dom.js";
import { problemLine, showProblem } from "./panel.js";
import { counted, sentence } from "./text.js";

export class StartBar {
  constructor(start) {
    this.problems = 0;
    this.command = commandBox("command");
    this.note = muted("", { id: "question-note" });
    this.problem = problemLine("question-problem");
    this.start = button("Start", start, { class: "primary large", id: "start" });
    const text = box("start-text", this.command.element, this.note, this.problem);
    this.element = el("section", { class: "start-bar", "aria-label": "Start" }, text, this.start);
  }

  /** `rest` is what is wrong and has no place of its own; of the others it is said how many. */
  show(answer, rest, beside) {
    this.problems = answer.problems.length;
    setText(this.command.code, answer.command ?? "");
    const rows = `${counted(answer.rows, "row")} to learn from.`;
    const words = beside > 0 ? `${counted(beside, "problem")} above.` : rows;
    setText(this.note, [words, ...answer.notes.map(sentence)].join(" "));
    showProblem(this.problem, rest.join(" "));
    this.start.setAttribute("aria-disabled", String(this.problems > 0));
  }

  refuse(text) {
    this.problems = 1;
    showProblem(this.problem, text);
  }
}
