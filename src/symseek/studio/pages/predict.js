// The chosen formula on another table: the first rows of the result, and the file.

import { api } from "./api.js";
import { announce, el, fill, headRow, muted, scrollBox } from "./dom.js";
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
    const again = () => this.last && this.take(this.last);
    this.gaps = el("input", { type: "checkbox", id: "predict-missing", oninput: again });
    const words = "Leave out rows with missing values";
    const gaps = el("label", { class: "none", for: "predict-missing" }, this.gaps, words);
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
    fill(this.result, muted("Predicting."));
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
    const place = { href: api.fileAddress(result.file), download: result.file };
    fill(
      this.result,
      el("p", {}, summary, " ", el("a", place, `Download ${result.file}`)),
      result.notes.map((note) => muted(sentence(note))),
      scrollBox("The first rows", "scroll", headTable(names, cells)),
    );
  }
}

/** The first rows of a table. */
export function headTable(names, cells) {
  const rows = cells.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))));
  return el("table", { class: "head" }, headRow(names), el("tbody", {}, rows));
}
