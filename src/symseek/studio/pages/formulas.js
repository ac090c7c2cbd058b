// The list of formulas, simplest first. Rows that stay are left alone when others come, so that
// neither the focus nor the place of the page is lost.

import { el, setHidden, setText, typeset } from "./dom.js";
import { isBusy } from "./status.js";
import { brief, r2Text } from "./text.js";

const HEADS = [
  ["choose", ""],
  ["complexity", "complexity"],
  ["error", "error"],
  ["r2", "R²"],
  ["validation", "validation"],
  ["seeds", "seeds"],
];

const NRMSE = "NRMSE: the root of the mean squared error, over the standard deviation";

export class Formulas {
  constructor(choose) {
    this.choose = choose;
    this.rows = new Map(); // by text
    this.target = el("th", { scope: "col", class: "formula", role: "columnheader" });
    this.body = el("tbody", { role: "rowgroup" });
    this.table = el(
      "table",
      { class: "formulas", role: "table", "aria-label": "Formulas, simplest first" },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, HEADS.map(head), this.target)),
      this.body,
    );
    this.empty = el("p", { class: "muted empty" });
    this.element = el("div", { class: "formulas-box", id: "formulas" }, this.table, this.empty);
  }

  /** `marks` is {picked, chosen, second}. */
  show(snapshot, marks) {
    const { formulas, target, heading } = snapshot;
    setHidden(this.empty, formulas.length > 0);
    setText(this.empty, noFormulas(snapshot.status));
    setText(this.target, target === null ? "formula" : `${heading ?? target} =`);
    this.table.classList.toggle("validated", formulas.some((each) => each.validation_r2 !== null));
    this.table.classList.toggle("seeded", formulas.some((each) => each.seeds !== null));
    const rows = formulas.map((formula) => this.row(formula));
    for (const [text, row] of this.rows) {
      if (!rows.includes(row)) {
        row.line.remove();
        this.rows.delete(text);
      }
    }
    rows.forEach((row, at) => {
      const there = this.body.children[at] ?? null;
      if (there !== row.line) this.body.insertBefore(row.line, there);
      row.show(formulas[at], marks);
    });
    this.reveal(rows[formulas.findIndex((each) => each.row === marks.chosen)]?.line);
  }

  /** Scroll the list, and never the page, so that another row that is chosen can be seen. */
  reveal(line) {
    if (!line || line === this.revealed) return;
    this.revealed = line;
    const head = this.table.tHead.offsetHeight;
    const above = line.offsetTop - head - this.element.scrollTop;
    const below = above + head + line.offsetHeight - this.element.clientHeight;
    if (above < 0) this.element.scrollTop += above;
    else if (below > 0) this.element.scrollTop += below;
  }

  row(formula) {
    if (!this.rows.has(formula.text)) this.rows.set(formula.text, new Row(formula, this.choose));
    return this.rows.get(formula.text);
  }
}

/** What to say where there are none. */
export function noFormulas(status) {
  return isBusy(status) ? "The first formulas come after a moment." : "There are no formulas.";
}

function head([name, words]) {
  const about = { class: name, title: name === "error" ? NRMSE : null };
  const shown = words || el("span", { class: "unseen" }, "row");
  return el("th", { scope: "col", role: "columnheader", ...about }, shown);
}

class Row {
  constructor(formula, choose) {
    const change = () => choose(this.formula.row);
    this.radio = el("input", { type: "radio", name: "row", onchange: change });
    const cell = (name, ...children) => el("td", { class: name, role: "cell" }, children);
    this.number = el("span", { class: "row-number" });
    this.mark = el("span", { class: "mark", hidden: true }, "picked");
    this.cells = Object.fromEntries(HEADS.slice(1).map(([name]) => [name, cell(name)]));
    const choice = el("label", {}, this.radio, this.number);
    const written = typeset(formula.mathml, formula.text);
    const math = el("div", { class: "clip", title: formula.text }, written);
    this.line = el(
      "tr",
      { role: "row", "data-text": formula.text },
      cell("choose", choice),
      Object.values(this.cells),
      cell("formula", math, this.mark),
    );
    this.line.addEventListener("click", (event) => {
      if (event.target !== this.radio && !String(getSelection())) choose(this.formula.row);
    });
  }

  show(formula, { picked, chosen, second }) {
    this.formula = formula;
    const { row } = formula;
    this.line.dataset.row = row;
    const marks = Object.entries({ picked, chosen, second }).filter(([, marked]) => marked === row);
    this.line.className = marks.map(([name]) => name).join(" ");
    this.radio.checked = row === chosen;
    setText(this.number, String(row));
    const mark = row === picked ? ", picked" : "";
    this.radio.setAttribute("aria-label", `row ${row}${mark}: ${formula.text}`);
    setHidden(this.mark, row !== picked);
    setText(this.cells.complexity, String(formula.complexity));
    setText(this.cells.error, formula.exact ? "exact" : brief(formula.nrmse, 3, true));
    setText(this.cells.r2, r2Text(formula.r2));
    setText(this.cells.validation, r2Text(formula.validation_r2));
    setText(this.cells.seeds, formula.seeds?.[0] ? formula.seeds.join("/") : "–");
  }
}
