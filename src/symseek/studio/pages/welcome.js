// The first step where no table is named: drop one, choose one, paste one.

import { button, el } from "./dom.js";
import { fileButton, looksLikeTable, pastedFile } from "./intake.js";
import { problemLine, showProblem } from "./panel.js";
import { newAddress } from "./routes.js";

export function tableChooser(app) {
  return [
    el("h1", {}, "Find the formula behind a table"),
    el(
      "p",
      { class: "lead" },
      "One line of names, then rows of numbers: CSV, TSV, columns with blanks, Parquet, or Excel.",
      " Everything stays on this machine.",
    ),
    el(
      "div",
      { class: "dropzone", id: "table-drop", "data-zone": "0" },
      el("p", {}, "Drop a file anywhere on this page"),
      fileButton("Choose a file", "table-file", (file) => app.addTable(file)),
    ),
    pasteBox(app),
    known(app),
  ];
}

function pasteBox(app) {
  const placeholder = "x\ty\n1\t2.1\n2\t3.9";
  const area = el("textarea", { id: "paste", rows: 6, spellcheck: "false", placeholder });
  const problem = problemLine("paste-problem");
  const take = () => {
    const fine = looksLikeTable(area.value);
    const words = "Paste a line of names and at least one row, with tabs or commas between.";
    showProblem(problem, fine ? null : words);
    if (fine) app.addTable(pastedFile(area.value));
  };
  const press = button("Use the pasted table", take, { id: "paste-button" });
  const heading = el("h2", {}, el("label", { for: "paste" }, "Or paste from a spreadsheet"));
  return el("section", { class: "paste" }, heading, area, problem, press);
}

function known(app) {
  if (!app.state.tables.length) return null;
  const link = (name) => el("a", { href: newAddress(name), "data-table": name }, name);
  const items = app.state.tables.map((name) => el("li", {}, link(name)));
  const list = el("ul", { class: "tables", id: "tables" }, items);
  return el("section", {}, el("h2", {}, "Or take a table of this folder"), list);
}
