// A run: its state, the front as it grows, and everything about the formula that is chosen.

import { api } from "./api.js";
import { FrontChart } from "./charts/front.js";
import { Choice } from "./choice.js";
import { Chosen } from "./chosen.js";
import { Controls } from "./controls.js";
import { CoursePanel } from "./course_panel.js";
import { Discoveries } from "./discoveries.js";
import { box, el, fill, muted, setText } from "./dom.js";
import { Exports } from "./exports.js";
import { FitPanel } from "./fit_panel.js";
import { FolderPanel } from "./folder_panel.js";
import { Formulas, noFormulas } from "./formulas.js";
import { panel } from "./panel.js";
import { Predict } from "./predict.js";
import { newAddress } from "./routes.js";
import { Seeds } from "./seeds.js";
import { SHORT } from "./status.js";
import { TreePanel } from "./tree_panel.js";
import { sentence } from "./text.js";

export class RunView {
  constructor(run, app) {
    this.run = run;
    this.app = app;
    this.status = null;
    this.snapshot = null;
    this.choice = new Choice();
    this.heading = el("h1", {}, run);
    this.about = muted("", { class: "muted about" });
    this.make();
    this.element = el(
      "div",
      { class: "run", id: "run-view", "data-run": run },
      this.heading,
      this.about,
      this.controls.element,
      this.grid,
    );
    this.reload();
  }

  make() {
    const choose = (row) => this.chosen(row);
    this.controls = new Controls(this.run, this.app.options, () => this.beginWith());
    this.frontChart = new FrontChart(choose);
    this.formulas = new Formulas(choose);
    this.chosenPanel = new Chosen(this.run, (row) => this.compared(row));
    this.fit = new FitPanel(this.run);
    this.tree = new TreePanel(this.run);
    this.course = new CoursePanel();
    this.discoveries = new Discoveries();
    this.seeds = new Seeds();
    this.exports = new Exports(this.run);
    this.predict = new Predict(this.run);
    this.files = new FolderPanel(this.run, () => this.askAgain());
    this.ofChosen = [this.chosenPanel, this.fit, this.tree, this.exports, this.predict];
    this.grid = box(
      "grid",
      panel("front", "Front", this.frontChart.element),
      panel("formula-list", "Formulas", this.formulas.element),
      this.chosenPanel.element,
      this.fit.fit,
      this.fit.residuals,
      this.tree.element,
      this.course.element,
      this.discoveries.element,
      this.seeds.element,
      this.exports.element,
      box("stack", this.predict.element, this.files.element),
    );
  }

  get title() {
    const status = this.status ? ` (${SHORT[this.status] ?? this.status})` : "";
    return `${this.run}${status}`;
  }

  /** Ask for the state, as at the start and after the server came back. */
  async reload() {
    try {
      this.front(await api.run(this.run));
      this.app.title();
    } catch (error) {
      if (error.status >= 400) this.missing(error.message);
    }
  }

  missing(message) {
    if (this.app.view !== this) return; // another one is shown by now
    this.app.stream.watch(null);
    fill(this.element, el("h1", {}, this.run), el("p", { class: "problem" }, sentence(message)));
  }

  /** A new state of the run. */
  front(snapshot) {
    this.snapshot = snapshot;
    this.status = snapshot.status;
    const asked = snapshot.target !== null && snapshot.table !== null;
    setText(this.heading, asked ? `${snapshot.target} from ${snapshot.table}` : snapshot.run);
    setText(this.about, asked ? snapshot.run : "");
    this.controls.show(snapshot);
    this.discoveries.show(snapshot.discoveries ?? [], snapshot.progress?.structure);
    this.files.show(snapshot);
    this.seeds.show(snapshot.progress?.seeds);
    this.course.show(snapshot.progress, true);
    this.showRows();
  }

  /** The numbers of a search under way: nothing else is touched. */
  progress(progress) {
    this.controls.progress(progress);
    this.seeds.show(progress.seeds);
    this.course.show(progress, false);
  }

  showRows() {
    const { snapshot } = this;
    const rows = this.choice.rows(snapshot);
    const marks = { ...rows, picked: snapshot.picked };
    this.formulas.show(snapshot, marks);
    if (snapshot.formulas.length) this.frontChart.show({ formulas: snapshot.formulas, ...marks });
    else this.frontChart.picture.say(noFormulas(snapshot.status));
    for (const part of this.ofChosen) part.show(snapshot, rows);
  }

  chosen(row) {
    this.choice.choose(this.textOf(row));
    this.showRows();
  }

  compared(row) {
    this.choice.compare(row === null ? null : this.textOf(row));
    this.showRows();
  }

  textOf(row) {
    return this.snapshot.formulas.find((each) => each.row === row).text;
  }

  /** The question of this run, to be changed and asked as another. */
  askAgain(changes = {}) {
    const { table, target, features, weights, group, delimiter } = this.snapshot;
    const settings = { ...this.snapshot.settings, ...changes };
    this.app.draft = { table, target, features, weights, group, delimiter, settings };
    this.app.go(newAddress(table));
  }

  /** The same, with the formulas found so far to begin with. */
  beginWith() {
    this.askAgain({ guesses: this.snapshot.formulas.map((each) => each.text) });
  }

  /** What a file that is dropped on this view may be for. */
  zones() {
    const words = "Predict on this table with the chosen formula";
    return [
      { label: "A new question about this table", take: (file) => this.app.addTable(file) },
      { label: words, take: (file) => this.predict.take(file) },
    ];
  }
}
