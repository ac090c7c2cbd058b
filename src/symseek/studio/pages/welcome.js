// The first step where no table is named: drop one, choose one, paste one.

import { el } from "./dom.js";
import { fileButton, looksLikeTable, pastedFile } from "./intake.js";
import { problemLine, showProblem } from "./panel.js";
import { newAddress } from "./routes.js";

export function tableChooser(app) {
  return [
    el("h1", {}, "Find the formula behind a table"),
    el(
      "p",
      { class: "lead" },
      "One line of names, then rows of numbers: CSV, TSV, columns with blanks, or Parquet.",
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
  const area = el(
    "textarea",
    { id: "paste", rows: 6, spellcheck: "false", placeholder: "x\ty\n1\t2.1\n2\t3.9" },
  );
  const problem = problemLine("paste-problem");
  const take = () => {
    const fine = looksLikeTable(area.value);
    showProblem(
      problem,
      fine ? null : "Paste a line of names and at least one row, with tabs or commas between.",
    );
    if (fine) app.addTable(pastedFile(area.value));
  };
  const button = el("button", { type: "button", id: "paste-button" }, "Use the pasted table");
  button.addEventListener("click", take);
  return el(
    "section",
    { class: "paste" },
    el("h2", {}, el("label", { for: "paste" }, "Or paste from a spreadsheet")),
    area,
    problem,
    button,
  );
}

function known(app) {
  if (!app.state.tables.length) return null;
  const items = app.state.tables.map(
    (name) => el("li", {}, el("a", { href: newAddress(name), "data-table": name }, name)),
  );
  return el(
    "section",
    {},
    el("h2", {}, "Or take a table of this folder"),
    el("ul", { class: "tables", id: "tables" }, items),
  );
}
