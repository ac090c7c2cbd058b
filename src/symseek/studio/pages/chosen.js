// The chosen formula, large; beside it another one to compare with, and the button that picks it.

import { api } from "./api.js";
import { copyButton } from "./copy.js";
import { announce, box, button, el, fill, muted, scrollBox } from "./dom.js";
import { setHidden, setText, typeset } from "./dom.js";
import { panel, problemLine, showProblem } from "./panel.js";
import { headTable } from "./predict.js";
import { isBusy } from "./status.js";
import { brief, counted, r2Text, sentence, shortened } from "./text.js";

export class Chosen {
  constructor(run, compare) {
    this.run = run;
    this.formula = scrollBox("The chosen formula", "big");
    this.facts = el("dl", { class: "numbers", id: "chosen-facts" });
    this.own = el("div", { id: "chosen-own", hidden: true });
    this.use = button("Use this row", () => this.pick(), { id: "use" });
    this.note = muted("", { id: "pick-note" });
    this.problem = problemLine("pick-problem");
    const compared = () => compare(this.select.value === "" ? null : Number(this.select.value));
    this.select = el("select", { id: "compare", onchange: compared });
    const label = el("label", { for: "compare" }, "Compare with");
    const copy = copyButton(() => this.text, { label: "Copy as text", what: "the formula" });
    this.second = el("div", { class: "compared", hidden: true, id: "compared" });
    this.element = panel(
      "chosen",
      "The chosen formula",
      this.formula,
      this.facts,
      this.own,
      box("bar", this.use, copy, el("span", { class: "pair" }, label, this.select)),
      this.note,
      this.problem,
      this.second,
    );
  }

  show(snapshot, { chosen, second }) {
    const { formulas, picked, rule, status } = snapshot;
    const formula = formulas.find((each) => each.row === chosen);
    if (!formula) {
      this.emptied();
      return;
    }
    this.row = chosen;
    this.drawn(snapshot, formula);
    const isPicked = chosen === picked;
    const busy = isBusy(status);
    this.use.setAttribute("aria-disabled", String(isPicked || busy));
    setText(this.note, noteText(isPicked, rule, busy));
    this.options(formulas, chosen, second);
    this.comparison(snapshot, formulas.find((each) => each.row === second));
  }

  emptied() {
    this.text = this.factsShown = null;
    fill(this.formula, el("span", { class: "muted" }, "There is no formula yet."));
    fill(this.facts);
    setHidden(this.own, true);
    this.use.setAttribute("aria-disabled", "true");
  }

  drawn(snapshot, formula) {
    if (this.text !== formula.text) {
      this.text = formula.text;
      fill(this.formula, equation(snapshot.heading ?? snapshot.target, formula));
      this.formula.dataset.text = formula.text;
    }
    const facts = JSON.stringify(formula);
    if (facts !== this.factsShown) {
      fill(this.facts, numbers(formula));
      setHidden(this.own, !formula.own);
      fill(this.own, formula.own ? ownNumbers(formula.own) : null);
    }
    this.factsShown = facts;
  }

  options(formulas, chosen, second) {
    const others = formulas.filter((each) => each.row !== chosen);
    const key = JSON.stringify([others.map((each) => [each.row, each.text]), second]);
    if (key === this.optionsShown) return;
    this.optionsShown = key;
    const words = ({ row, text }) => `row ${row}: ${shortened(text, 60)}`;
    const listed = others.map((each) => el("option", { value: each.row }, words(each)));
    fill(this.select, el("option", { value: "" }, "no other row"), listed);
    this.select.value = second ?? "";
  }

  comparison(snapshot, formula) {
    setHidden(this.second, !formula);
    const key = formula ? JSON.stringify(formula) : "";
    if (!formula || key === this.secondShown) return;
    this.secondShown = key;
    const math = scrollBox("The other formula", "big", equation(snapshot.heading ?? snapshot.target, formula));
    const facts = el("dl", { class: "numbers" }, numbers(formula));
    fill(this.second, el("h3", {}, `Beside it: row ${formula.row}`), math, facts);
  }

  async pick() {
    if (this.use.getAttribute("aria-disabled") === "true") return;
    showProblem(this.problem, null);
    try {
      await api.pick(this.run, this.row);
      announce(`Row ${this.row} is used from now on.`);
    } catch (error) {
      showProblem(this.problem, sentence(error.message));
    }
  }
}

/** The numbers that each group has of its own. */
function ownNumbers({ names, cells, more }) {
  const words = `The numbers that each ${names[0]} has of its own`;
  const rest = more ? muted(`and ${counted(more, "more group")}`) : null;
  return [el("h3", {}, words), scrollBox(words, "scroll", headTable(names, cells)), rest];
}

function equation(target, formula) {
  return [el("span", { class: "target" }, `${target} = `), typeset(formula.mathml, formula.text)];
}

function numbers(formula) {
  const facts = [
    ["row", String(formula.row)],
    ["complexity", String(formula.complexity)],
    ["error (NRMSE)", formula.exact ? `${brief(formula.nrmse)}, exact` : brief(formula.nrmse)],
    ["RMSE", brief(formula.rmse, 4)],
    ["R²", r2Text(formula.r2)],
  ];
  if (formula.validation_r2 !== null) facts.push(["validation R²", r2Text(formula.validation_r2)]);
  if (formula.seeds) facts.push(["found by seeds", `${formula.seeds[0]} of ${formula.seeds[1]}`]);
  if (formula.where) facts.push(["where", formula.where]);
  for (const limit of formula.limits) facts.push(["limit", limit]);
  if (formula.with_errors) facts.push(["with standard errors", formula.with_errors]);
  for (const [number, said] of formula.numbers) facts.push([number, said]);
  for (const each of formula.breaks) facts.push(["beware", each]);
  return facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

function noteText(isPicked, rule, busy) {
  const by = rule === "by hand" ? "by hand" : `by the rule “${rule}”`;
  if (isPicked) return `Picked ${by}: the row to use, unless another is asked for.`;
  if (busy) return "To use this row instead of the picked one, pause or stop the search first.";
  return "Use this row, and the command line uses it too.";
}
