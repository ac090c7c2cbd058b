// The chosen formula for other programs: each target to copy or to save as a file.

import { api } from "./api.js";
import { copyButton } from "./copy.js";
import { el, fill } from "./dom.js";
import { panel } from "./panel.js";
import { sentence } from "./text.js";

export class Exports {
  constructor(run) {
    this.run = run;
    this.key = null;
    this.open = new Set(["latex"]); // the targets whose text is shown
    this.list = el("ul", { class: "exports" });
    this.element = panel("exports", "Export", this.list);
  }

  async show(snapshot, { chosen }) {
    if (chosen === null) {
      this.emptied();
      return;
    }
    const key = `${chosen} ${snapshot.formulas.find((each) => each.row === chosen).text}`;
    if (key === this.key) return;
    this.key = key;
    if (!this.list.childElementCount) fill(this.list, el("li", { class: "muted" }, "Writing."));
    try {
      const { targets } = await api.exports(this.run, chosen);
      if (this.key === key) fill(this.list, targets.map((each) => this.item(each)));
    } catch (error) {
      if (this.key === key) this.key = null;
      fill(this.list, el("li", { class: "muted" }, sentence(error.message)));
    }
  }

  emptied() {
    this.key = null;
    fill(this.list);
  }

  item(target) {
    const text = el(
      "pre",
      { tabindex: "0", "aria-label": `${target.label}, the text` },
      target.text,
    );
    const details = el(
      "details",
      { open: this.open.has(target.name) },
      el("summary", {}, target.label),
      text,
    );
    details.addEventListener(
      "toggle",
      () => this.open[details.open ? "add" : "delete"](target.name),
    );
    const save = el(
      "button",
      { type: "button", class: "quiet small", "aria-label": `Save ${target.label}` },
      "Save",
    );
    save.addEventListener("click", () => saved(target));
    const copy = copyButton(() => target.text, { what: target.label });
    return el(
      "li",
      { "data-export": target.name },
      details,
      el("div", { class: "buttons" }, copy, save),
    );
  }
}

function saved({ text, file }) {
  const address = URL.createObjectURL(
    new Blob([text.endsWith("\n") ? text : `${text}\n`], { type: "text/plain" }),
  );
  el("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
