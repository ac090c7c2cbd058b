// The runs of the folder, newest first; below 900 pixels a drawer.

import { el, fill, muted } from "./dom.js";
import { newAddress, runAddress } from "./routes.js";
import { SHORT } from "./status.js";
import { r2Text } from "./text.js";

export class Sidebar {
  constructor() {
    this.element = document.getElementById("sidebar");
    this.button = document.getElementById("drawer-button");
    this.backdrop = document.getElementById("backdrop");
    this.list = el("ul", { class: "runs", id: "runs" });
    this.empty = muted("No runs in this folder yet.");
    this.version = muted("", { class: "muted small" });
    fill(
      this.element,
      el("a", { class: "button primary wide", href: newAddress(null), id: "new" }, "New question"),
      el("h2", {}, "Runs"),
      this.empty,
      this.list,
      this.version,
    );
    this.bindDrawer();
  }

  bindDrawer() {
    const isOpen = () => this.element.classList.contains("open");
    this.button.addEventListener("click", () => this.opened(!isOpen()));
    this.backdrop.addEventListener("click", () => this.opened(false));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !isOpen()) return;
      this.opened(false);
      this.button.focus();
    });
  }

  opened(open) {
    this.element.classList.toggle("open", open);
    this.button.setAttribute("aria-expanded", String(open));
    this.backdrop.hidden = !open;
    if (open) this.element.querySelector("a").focus();
  }

  /** `current` is the name of the run that is shown, if one is. */
  show(runs, current) {
    const shown = JSON.stringify([runs, current]);
    if (shown === this.shown) return;
    this.shown = shown;
    const active = document.activeElement;
    const focused = this.list.contains(active) ? active.dataset.run : null;
    const newest = [...runs].sort((a, b) => b.modified - a.modified || a.run.localeCompare(b.run));
    fill(this.list, newest.map((run) => line(run, current)));
    this.empty.hidden = runs.length > 0;
    const links = [...this.list.querySelectorAll("a")];
    if (focused) links.find((each) => each.dataset.run === focused)?.focus();
  }
}

function line(run, current) {
  const status = SHORT[run.status] ?? run.status;
  const [best, r2] = run.best === null
    ? ["no formula yet", ""]
    : [`${run.target} = ${run.best}`, `R² ${r2Text(run.r2)}`];
  const marked = { "data-run": run.run, "aria-current": run.run === current ? "page" : null };
  const link = el(
    "a",
    { href: runAddress(run.run), ...marked },
    el("span", { class: "run-name" }, run.run),
    el("span", { class: `badge ${run.status}`, "data-status": run.status }, status),
    el("span", { class: "run-best" }, best),
    el("span", { class: "run-r2" }, r2),
  );
  return el("li", {}, link);
}
