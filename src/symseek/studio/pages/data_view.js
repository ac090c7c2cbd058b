// The table: its columns with what is in them, which of them to use and how, and the first rows.

import { histogram } from "./charts/histogram.js";
import { box, el, muted, scrollBox, setText } from "./dom.js";
import { Field, labelled } from "./field.js";
import { panel, problemLine, showProblem } from "./panel.js";
import { headTable } from "./predict.js";
import { brief, counted, sentence } from "./text.js";

const DELIMITERS = [
  ["", "found by itself"],
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  [" ", "blank"],
  ["|", "bar"],
];

export class DataView {
  constructor(preview, draft, options, { changed, reread }) {
    Object.assign(this, { preview, draft, changed, reread });
    this.target = this.columnSelect("target", null);
    this.weights = this.columnSelect("weights", "every row counts the same");
    this.group = this.columnSelect("group", "all rows belong together", ["number", "text"]);
    const validation = options.settings.find((each) => each.name === "validation");
    this.validation = this.settingField(validation);
    this.dropMissing = this.missingBox();
    const place = (name) => [name, problemLine(`${name}-problem`)];
    const fields = ["target", "weights", "group", "features", "delimiter"];
    this.problems = Object.fromEntries(fields.map(place));
    this.lines = preview.columns.map((column) => new ColumnLine(column, draft, changed));
    this.element = this.laidOut();
    this.show();
  }

  laidOut() {
    const { preview } = this;
    const names = preview.columns.map((each) => each.name);
    return panel(
      "data",
      "Data",
      muted(`${counted(preview.rows, "row")}, ${counted(preview.columns.length, "column")}.`),
      preview.error && el("p", { class: "problem", id: "table-problem" }, sentence(preview.error)),
      preview.notes.map((note) => muted(sentence(note))),
      labelled("Find a formula for", this.target, this.problems.target),
      el("h3", { id: "columns-heading" }, "From these columns"),
      this.problems.features,
      columnTable(this.lines),
      this.dropMissing,
      el("h3", {}, "The first rows"),
      scrollBox("The first rows", "scroll", headTable(names, preview.head)),
      box(
        "fields",
        this.groupField(),
        this.validation?.element,
        this.weightsField(),
        this.delimiterField(),
      ),
    );
  }

  columnSelect(name, none, kinds = ["number"]) {
    const usable = this.preview.columns.filter(
      (each) => kinds.includes(each.kind) || each.name === this.draft[name],
    );
    this.draft[name] ??= null;
    const first = none ?? (this.draft[name] === null ? "choose a column" : null);
    const change = () => {
      this.draft[name] = select.value === "" ? null : select.value.slice(1);
      this.changed();
    };
    const select = el(
      "select",
      { id: name, "aria-describedby": `${name}-problem`, onchange: change },
      first === null ? null : el("option", { value: "" }, first),
      usable.map((each) => el("option", { value: `=${each.name}` }, each.name)),
    );
    select.value = this.draft[name] === null ? "" : `=${this.draft[name]}`;
    return select;
  }

  settingField(setting) {
    if (!setting) return null;
    const field = new Field(setting, () => {
      this.draft.set(setting.name, field.value(), setting.default);
      this.changed();
    });
    const { settings } = this.draft;
    field.set(setting.name in settings ? settings[setting.name] : setting.default);
    return field;
  }

  groupField() {
    const words = "one formula for all groups, with some numbers for each group";
    const help = el("p", { class: "help" }, words);
    return labelled("Groups", this.group, help, this.problems.group);
  }

  weightsField() {
    const help = el("p", { class: "help" }, "a column that says how much each row counts");
    return labelled("Weights", this.weights, help, this.problems.weights);
  }

  delimiterField() {
    const change = () => {
      this.draft.delimiter = select.value || null;
      this.draft.keep();
      this.reread(select.value || null);
    };
    const listed = DELIMITERS.map(([value, words]) => el("option", { value }, words));
    const select = el("select", { id: "delimiter", onchange: change }, listed);
    select.value = this.draft.delimiter ?? "";
    const help = el("p", { class: "help" }, "the character between columns");
    return labelled("Delimiter", select, help, this.problems.delimiter);
  }

  missingBox() {
    if (!this.preview.columns.some((each) => each.missing)) return null;
    const change = () => {
      this.draft.set("missing", check.checked ? "rows" : "refuse", "refuse");
      this.changed();
    };
    const check = el("input", { type: "checkbox", id: "drop-missing", onchange: change });
    check.checked = this.draft.settings.missing === "rows";
    const label = el("label", { for: "drop-missing" }, "Leave out rows with missing values");
    return box("field flag", box("line", check, label));
  }

  show() {
    for (const line of this.lines) line.show();
  }

  /** Show what is wrong beside its column; returns the fields that have their place here. */
  refuse(by) {
    for (const [name, line] of Object.entries(this.problems)) showProblem(line, by.get(name));
    this.validation?.refuse(by.get("validation") ?? null);
    for (const line of this.lines) line.refuse(by.get(`column:${line.column.name}`));
    const columns = this.lines.map((line) => `column:${line.column.name}`);
    return [...Object.keys(this.problems), "validation", ...columns];
  }
}

function columnTable(lines) {
  const names = ["column", "kind", "range", "mean", "missing", "spread"];
  const cell = (name) => el("th", { scope: "col", class: name, role: "columnheader" }, name);
  const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, names.map(cell)));
  const body = el("tbody", { role: "rowgroup" }, lines.map((line) => line.element));
  const labelled = { role: "table", "aria-labelledby": "columns-heading" };
  return el("table", { class: "columns", id: "columns", ...labelled }, head, body);
}

class ColumnLine {
  constructor(column, draft, changed) {
    Object.assign(this, { column, draft });
    const change = () => {
      draft.use(column.name, this.box.checked);
      changed();
    };
    this.box = el("input", { type: "checkbox", "data-feature": column.name, onchange: change });
    this.role = el("span", { class: "badge" });
    this.problem = el("p", { class: "problem", hidden: true });
    const cell = (name, ...children) => el("td", { class: name, role: "cell" }, children);
    const ends = [column.min, column.max].map((value) => brief(value, 4));
    const range = column.min === null ? "–" : ends.join(" to ");
    const label = el("label", {}, this.box, el("span", {}, column.name || "(no name)"));
    const spread = column.histogram && histogram(column.histogram, `How ${column.name} is spread`);
    this.element = el(
      "tr",
      { role: "row", "data-column": column.name },
      cell("column", label, this.role, this.problem),
      cell("kind", column.kind),
      cell("range", range),
      cell("mean", brief(column.mean)),
      cell("missing", column.missing ? String(column.missing) : "none"),
      cell("spread", spread),
    );
  }

  show() {
    const { name } = this.column;
    const taken = this.draft.role(name);
    this.box.checked = this.draft.uses(name);
    this.box.disabled = taken !== "";
    setText(this.role, taken);
    this.role.hidden = !taken;
    this.element.classList.toggle("unused", !taken && !this.box.checked);
    if (!taken && !this.box.checked) this.refuse(undefined);
  }

  /** What is wrong with a column that is left out is no fault, but worth knowing. */
  refuse(text) {
    const used = this.box.checked || this.box.disabled;
    const { left_out: why, problem } = this.column;
    const known = why ? `left out: ${why}` : problem;
    const note = used ? null : known && sentence(known);
    this.problem.classList.toggle("note", !text);
    showProblem(this.problem, text ?? note);
  }
}
