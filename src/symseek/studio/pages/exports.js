// The chosen formula for other programs: each target to copy or to save as a file.

import { api } from "./api.js";
import { ChosenPart } from "./chosen_part.js";
import { copyButton } from "./copy.js";
import { box, button, el, fill } from "./dom.js";
import { panel } from "./panel.js";

export class Exports extends ChosenPart {
  constructor(run) {
    super(run);
    this.open = new Set(["latex"]); // the targets whose text is shown
    this.list = el("ul", { class: "exports" });
    this.element = panel("exports", "Export", this.list);
  }

  asked([row]) {
    if (!this.list.childElementCount) this.refused("Writing.");
    return api.exports(this.run, row);
  }

  drawn({ targets }) {
    fill(this.list, targets.map((each) => this.item(each)));
  }

  refused(text) {
    fill(this.list, el("li", { class: "muted" }, text));
  }

  emptied() {
    fill(this.list);
  }

  item(target) {
    const { name, label, text } = target;
    const shown = el("pre", { tabindex: "0", "aria-label": `${label}, the text` }, text);
    const toggled = () => this.open[details.open ? "add" : "delete"](name);
    const attributes = { open: this.open.has(name), ontoggle: toggled };
    const details = el("details", attributes, el("summary", {}, label), shown);
    const quiet = { class: "quiet small", "aria-label": `Save ${label}` };
    const save = button("Save", () => saved(target), quiet);
    const copy = copyButton(() => text, { what: label });
    return el("li", { "data-export": name }, details, box("buttons", copy, save));
  }
}

function saved({ text, file }) {
  const content = text.endsWith("\n") ? text : `${text}\n`;
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  el("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
