// The fit and the residuals of the chosen formula, and of the one beside it.

import { api } from "./api.js";
import { Picture } from "./charts/frame.js";
import { drawFit } from "./charts/fit.js";
import { drawResiduals } from "./charts/residuals.js";
import { el, fill, setText } from "./dom.js";
import { panel } from "./panel.js";
import { counted, sentence, shortened, whole } from "./text.js";

export class FitPanel {
  constructor(run) {
    this.run = run;
    this.key = null; // of what is shown
    this.fitPicture = new Picture(drawFit, { height: 320 });
    this.residualPicture = new Picture(drawResiduals, { height: 320 });
    this.select = el("select", { id: "against" });
    this.select.addEventListener("change", () => this.draw());
    this.legend = el("p", { class: "legend" });
    this.note = el("p", { class: "muted small", id: "fit-note" });
    const against = el(
      "div",
      { class: "bar" },
      el("span", { class: "pair" }, el("label", { for: "against" }, "Against"), this.select),
    );
    this.fit = panel("fit", "The fit", against, this.fitPicture.element, this.legend);
    this.residuals = panel(
      "residuals",
      "Residuals",
      el("p", { class: "bar muted" }, "Measured minus predicted, row by row."),
      this.residualPicture.element,
      this.note,
    );
  }

  /** Ask for the rows shown, unless it is they that are drawn. */
  async show(snapshot, { chosen, second }) {
    if (chosen === null) {
      this.emptied();
      return;
    }
    const rows = [chosen, ...(second === null ? [] : [second])];
    const key = JSON.stringify(
      rows.map((row) => [row, snapshot.formulas.find((each) => each.row === row).text]),
    );
    if (key === this.key) return;
    this.key = key;
    try {
      const fit = await api.fit(this.run, rows);
      if (this.key === key) this.take(fit);
    } catch (error) {
      if (this.key === key) this.key = null;
      setText(this.note, sentence(error.message));
    }
  }

  emptied() {
    this.key = null;
    this.fitPicture.say("There is no formula yet.");
    this.residualPicture.say("There is no formula yet.");
  }

  take(fit) {
    const first = this.data === undefined;
    this.data = fit;
    if (first) this.choices();
    const shown = `${whole(fit.rows_shown)} of ${counted(fit.rows, "row")} are drawn.`;
    const holes = fit.formulas[0].predicted.filter((value) => value === null).length;
    const undefinedText = ` The formula is undefined on ${counted(holes, "row")}.`;
    setText(this.note, (fit.rows_shown < fit.rows ? shown : "") + (holes ? undefinedText : ""));
    this.draw();
  }

  choices() {
    fill(
      this.select,
      this.data.features.map((name, at) => el("option", { value: at }, shortened(name, 40))),
      el("option", { value: "" }, "measured values"),
    );
    this.select.value = this.data.features.length === 1 ? "0" : "";
  }

  draw() {
    const at = this.select.value;
    const against = at === "" ? null : this.data.features[Number(at)];
    this.fitPicture.show({ fit: this.data, against });
    this.residualPicture.show({ fit: this.data, against });
    fill(this.legend, legend(this.data, against));
  }
}

function legend(fit, against) {
  const keys = against === null ? [["same", "predicted = measured"]] : [["rows", "measured"]];
  fit.formulas.forEach((each, at) => keys.push([at ? "second" : "chosen", `row ${each.row}`]));
  return keys.map(
    ([kind, words]) => el("span", { class: "key" }, el("span", { class: `swatch ${kind}` }), words),
  );
}
