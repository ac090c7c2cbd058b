// The runs of the folder, newest first; below 900 pixels a drawer.

import { el, fill } from "./dom.js";
import { newAddress, runAddress } from "./routes.js";
import { SHORT } from "./status.js";
import { r2Text } from "./text.js";

export class Sidebar {
  constructor() {
    this.element = document.getElementById("sidebar");
    this.button = document.getElementById("drawer-button");
    this.backdrop = document.getElementById("backdrop");
    this.list = el("ul", { class: "runs", id: "runs" });
    this.empty = el("p", { class: "muted" }, "No runs in this folder yet.");
    this.version = el("p", { class: "muted small" });
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
    this.button.addEventListener(
      "click",
      () => this.opened(!this.element.classList.contains("open")),
    );
    this.backdrop.addEventListener("click", () => this.opened(false));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.element.classList.contains("open")) return;
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
    if (focused) [...this.list.querySelectorAll("a")].find(
      (a) => a.dataset.run === focused,
    )?.focus();
  }
}

function line(run, current) {
  const status = SHORT[run.status] ?? run.status;
  return el(
    "li",
    {},
    el(
      "a",
      {
        href: runAddress(run.run),
        "data-run": run.run,
        "aria-current": run.run === current ? "page" : null,
      },
      el("span", { class: "run-name" }, run.run),
      el("span", { class: `badge ${run.status}`, "data-status": run.status }, status),
      el(
        "span",
        { class: "run-best" },
        run.best === null ? "no formula yet" : `${run.target} = ${run.best}`,
      ),
      el("span", { class: "run-r2" }, run.best === null ? "" : `R² ${r2Text(run.r2)}`),
    ),
  );
}
