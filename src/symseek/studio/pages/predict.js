// The chosen formula on another table: the first rows of the result, and the file.

import { api } from "./api.js";
import { announce, el, fill } from "./dom.js";
import { fileButton } from "./intake.js";
import { panel, problemLine, showProblem } from "./panel.js";
import { counted, sentence } from "./text.js";

export class Predict {
  constructor(run) {
    this.run = run;
    this.row = null;
    this.problem = problemLine("predict-problem");
    this.result = el("div", { id: "predict-result" });
    const drop = el(
      "div",
      { class: "dropzone small", id: "predict-drop", "data-zone": "1" },
      el("p", {}, "Drop a table with the same columns here, or choose one."),
      fileButton("Choose a file", "predict-file", (file) => this.take(file)),
    );
    this.gaps = el("input", { type: "checkbox", id: "predict-missing" });
    this.gaps.addEventListener("input", () => this.last && this.take(this.last));
    const gaps = el(
      "label",
      { class: "none", for: "predict-missing" },
      this.gaps,
      "Leave out rows with missing values",
    );
    this.element = panel("predict", "Predict", drop, gaps, this.problem, this.result);
  }

  show(snapshot, { chosen }) {
    this.row = chosen;
  }

  /** Predict for a file; another answer to what is missing is for the same file. */
  async take(file) {
    this.last = file;
    if (this.row === null) return showProblem(this.problem, "There is no formula yet.");
    showProblem(this.problem, null);
    fill(this.result, el("p", { class: "muted" }, "Predicting."));
    try {
      const row = this.row;
      this.shown(await api.predict(this.run, row, file, this.gaps.checked), row);
    } catch (error) {
      fill(this.result);
      showProblem(this.problem, sentence(error.message));
    }
    return undefined;
  }

  shown(result, row) {
    const { names, cells } = result.head;
    const undefinedRows = result.undefined ? `, ${result.undefined} of them undefined` : "";
    const summary = `${counted(result.rows, "row")} predicted by row ${row}${undefinedRows}.`;
    announce(summary);
    fill(
      this.result,
      el(
        "p",
        {},
        summary,
        " ",
        el(
          "a",
          { href: api.fileAddress(result.file), download: result.file },
          `Download ${result.file}`,
        ),
      ),
      result.notes.map((note) => el("p", { class: "muted" }, sentence(note))),
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "The first rows" },
        headTable(names, cells),
      ),
    );
  }
}

/** The first rows of a table. */
export function headTable(names, cells) {
  return el(
    "table",
    { class: "head" },
    el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, cells.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))),
  );
}
