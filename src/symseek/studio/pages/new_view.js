// A new question: the table, what is asked about it, and the button that starts the search.

import { api } from "./api.js";
import { DataView } from "./data_view.js";
import { Draft } from "./draft.js";
import { box, el, fill, muted } from "./dom.js";
import { QuestionView } from "./question_view.js";
import { newAddress } from "./routes.js";
import { StartBar } from "./start_bar.js";
import { sentence } from "./text.js";
import { tableChooser } from "./welcome.js";

const PAUSE = 250; // milliseconds of rest before the server is asked

export class NewView {
  constructor(table, app) {
    this.table = table;
    this.app = app;
    this.run = null;
    this.title = table ? `A question about ${table}` : "A new question";
    this.element = el("div", { class: "new", id: "new-view" });
    if (table === null) fill(this.element, tableChooser(app));
    else this.load(null);
  }

  /** Read the table, with a character between its columns where one was named. */
  async load(delimiter) {
    fill(this.element, el("h1", {}, this.table), muted("Reading the table."));
    try {
      const between = delimiter ?? Draft.kept(this.table)?.delimiter;
      this.read(await api.table(this.table, between), delimiter);
    } catch (error) {
      this.refused(error.message);
    }
  }

  refused(message) {
    fill(
      this.element,
      el("h1", {}, this.table),
      el("p", { class: "problem", id: "table-problem" }, sentence(message)),
      el("p", {}, el("a", { class: "button", href: newAddress(null) }, "Choose another table")),
    );
  }

  read(preview, delimiter) {
    if (this.app.view !== this) return; // another one is shown by now, and the draft is for that
    if (preview.error && !preview.columns.length) this.refused(preview.error);
    this.preview = preview;
    this.draft = Draft.for(preview, this.app, delimiter);
    if (preview.error && !preview.columns.length) return;
    this.data = new DataView(preview, this.draft, this.app.options, {
      changed: () => this.changed(),
      reread: (character) => this.load(character),
    });
    this.question = new QuestionView(this.draft, this.app.options, () => this.changed());
    this.bar = new StartBar(() => this.start());
    fill(
      this.element,
      el("h1", {}, `A question about ${this.table}`),
      box("steps", this.data.element, this.question.element),
      this.bar.element,
    );
    this.ask();
  }

  changed() {
    this.draft.keep();
    this.data.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  /** Let the server check the question; a later answer is the one that counts. */
  async ask() {
    const asked = (this.asked = {});
    try {
      const answer = await api.question(this.draft.question());
      if (this.asked === asked) this.show(answer);
    } catch (error) {
      if (this.asked === asked) this.bar.refuse(sentence(error.message));
    }
  }

  show(answer) {
    const by = new Map();
    for (const { field, sentence: text } of answer.problems) {
      by.set(field, by.has(field) ? `${by.get(field)} ${sentence(text)}` : sentence(text));
    }
    const shown = new Set([...this.data.refuse(by), ...this.question.refuse(by)]);
    const rest = [...by].filter(([field]) => !shown.has(field)).map(([, text]) => text);
    this.bar.show(answer, rest, answer.problems.filter(({ field }) => shown.has(field)).length);
  }

  /** Start the search, once: a second click while the first is under way does nothing. */
  async start() {
    if (this.starting) return;
    this.starting = true;
    await this.started();
    this.starting = false;
  }

  async started() {
    clearTimeout(this.timer);
    await this.ask();
    if (this.bar.problems) {
      const first = this.element.querySelector(".problem:not([hidden])");
      first?.scrollIntoView({ block: "center" });
      return;
    }
    try {
      const { run } = await api.start(this.draft.question());
      this.app.go(`#/run/${encodeURIComponent(run)}`);
    } catch (error) {
      this.bar.refuse(sentence(error.message));
    }
  }

  close() {
    clearTimeout(this.timer);
  }
}
