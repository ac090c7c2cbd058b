// Start here: the page asks the server for its state, follows the stream, and shows the view that
// the address names. Everything that two tabs have in common comes from the server.

import { Stream, api } from "./api.js";
import { Banner } from "./banner.js";
import { announce, el, fill, setText } from "./dom.js";
import { DropTarget } from "./intake.js";
import { NewView } from "./new_view.js";
import { newAddress, place } from "./routes.js";
import { RunView } from "./run_view.js";
import { Sidebar } from "./sidebar.js";
import { bindTheme } from "./theme.js";
import { sentence } from "./text.js";

class App {
  constructor() {
    this.main = document.getElementById("main");
    this.sidebar = new Sidebar();
    this.banner = new Banner();
    this.view = null;
    this.state = null; // of the server: folder, runs, tables
    this.options = null;
    this.waiting = {}; // what came by the stream and is not drawn yet
    const kinds = ["runs", "progress", "front"];
    const handlers = kinds.map((kind) => [kind, (data) => this.arrived(kind, data)]);
    const ends = { lost: () => this.lost(), back: () => this.back() };
    this.stream = new Stream({ ...Object.fromEntries(handlers), ...ends });
    bindTheme(document.getElementById("theme"));
    new DropTarget(() => this.view?.zones?.() ?? [this.tableZone()]);
  }

  async start() {
    try {
      [this.state, this.options] = await Promise.all([api.state(), api.options()]);
    } catch (error) {
      const heading = el("h1", {}, "The studio does not answer");
      fill(this.main, heading, el("p", {}, sentence(error.message)));
      setTimeout(() => this.start(), 2000);
      return;
    }
    this.describe();
    const { table, run } = this.state.open;
    if (!location.hash && run) location.replace(`#/run/${encodeURIComponent(run)}`);
    else if (!location.hash && table) location.replace(newAddress(table));
    addEventListener("hashchange", () => this.navigate());
    this.navigate(true);
  }

  describe() {
    const folder = document.getElementById("folder");
    setText(folder, this.state.folder);
    folder.title = `The folder of tables and runs: ${this.state.folder}`;
    setText(this.sidebar.version, `symseek ${this.state.version}`);
  }

  /** Show the view that the address names. */
  navigate(first = false) {
    const { kind, name } = place();
    this.view?.close?.();
    this.waiting = {};
    this.view = kind === "run" ? new RunView(name, this) : new NewView(name, this);
    fill(this.main, this.view.element);
    this.sidebar.opened(false);
    this.showRuns();
    this.title();
    this.stream.watch(this.view.run ?? null);
    if (first) return;
    scrollTo(0, 0);
    this.main.focus({ preventScroll: true });
    announce(document.title);
  }

  title() {
    setText(document.querySelector("title"), `${this.view.title} – symseek studio`);
  }

  showRuns() {
    this.sidebar.show(this.state.runs, this.view?.run ?? null);
  }

  /** Keep the newest of each kind until the browser draws; a tab that nobody sees draws nothing. */
  arrived(kind, data) {
    if (kind === "front" && data.run === this.view?.run) {
      this.view.status = data.status;
      this.title();
    }
    if (!Object.keys(this.waiting).length) requestAnimationFrame(() => this.draw());
    this.waiting[kind] = data;
  }

  draw() {
    const { runs, front, progress } = this.waiting;
    this.waiting = {};
    if (runs) this.listed(runs);
    if (front && front.run === this.view.run) this.view.front?.(front);
    if (progress && progress.run === this.view.run) this.view.progress?.(progress);
  }

  /** Another list of runs; if the one that is shown has gone from it, its view looks for it. */
  listed(runs) {
    const has = (list) => list.some((each) => each.run === this.view.run);
    const gone = has(this.state.runs) && !has(runs);
    this.state.runs = runs;
    this.showRuns();
    if (gone) this.view.reload();
  }

  /** There is no stream: the server is gone, or has as many tabs as it can have. */
  async lost() {
    try {
      await api.state();
      if (this.stream.isLost) this.banner.crowded();
    } catch {
      if (this.stream.isLost) this.banner.lost(this.unfinishedRun());
    }
  }

  /** The run to name when the server is gone. */
  unfinishedRun() {
    const { run, status } = this.view ?? {};
    return run && status !== "finished" ? run : null;
  }

  async back() {
    this.banner.back();
    await this.refresh();
    this.view.reload?.();
  }

  async refresh() {
    this.state = await api.state();
    this.describe();
    this.showRuns();
  }

  go(address) {
    if (location.hash === address) this.navigate();
    else location.hash = address;
  }

  /** Take a dropped, chosen or pasted table, and ask about it. */
  async addTable(file) {
    try {
      const preview = await api.addTable(file.name, file);
      if (!this.state.tables.includes(preview.name)) this.state.tables.push(preview.name);
      this.go(newAddress(preview.name));
    } catch (error) {
      this.banner.problem(sentence(error.message));
    }
  }

  tableZone() {
    return { label: "Drop the table here", take: (file) => this.addTable(file) };
  }
}

const app = new App();
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the view
  app.main.focus();
});
app.start();
