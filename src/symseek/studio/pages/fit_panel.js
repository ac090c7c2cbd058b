// The fit and the residuals of the chosen formula, and of the one beside it.

import { api } from "./api.js";
import { drawFit } from "./charts/fit.js";
import { Picture } from "./charts/frame.js";
import { drawResiduals } from "./charts/residuals.js";
import { ChosenPart } from "./chosen_part.js";
import { box, el, fill, muted, setText } from "./dom.js";
import { panel } from "./panel.js";
import { counted, shortened, whole } from "./text.js";

export class FitPanel extends ChosenPart {
  constructor(run) {
    super(run);
    this.compares = true;
    this.pictures = [drawFit, drawResiduals].map((draw) => new Picture(draw, { height: 320 }));
    this.select = el("select", { id: "against", onchange: () => this.draw() });
    this.legend = el("p", { class: "legend" });
    this.note = muted("", { class: "muted small", id: "fit-note" });
    const label = el("label", { for: "against" }, "Against");
    const pair = el("span", { class: "pair" }, label, this.select);
    const [fit, residuals] = this.pictures.map((each) => each.element);
    const words = muted("Measured minus predicted, row by row.", { class: "bar muted" });
    this.fit = panel("fit", "The fit", box("bar", pair), fit, this.legend);
    this.residuals = panel("residuals", "Residuals", words, residuals, this.note);
  }

  asked(rows) {
    return api.fit(this.run, rows);
  }

  refused(text) {
    setText(this.note, text);
  }

  emptied() {
    for (const picture of this.pictures) picture.say("There is no formula yet.");
  }

  drawn(fit) {
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
    for (const picture of this.pictures) picture.show({ fit: this.data, against });
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
