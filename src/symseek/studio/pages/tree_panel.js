// The chosen formula as a tree.

import { api } from "./api.js";
import { drawTree } from "./charts/tree.js";
import { el, fill } from "./dom.js";
import { panel } from "./panel.js";
import { sentence } from "./text.js";

export class TreePanel {
  constructor(run) {
    this.run = run;
    this.key = null;
    this.box = el(
      "div",
      { class: "scroll tree-box", tabindex: "0", role: "group", "aria-label": "The tree" },
    );
    this.element = panel("tree", "Tree", this.box);
  }

  async show(snapshot, { chosen }) {
    if (chosen === null) {
      this.emptied();
      return;
    }
    const { text } = snapshot.formulas.find((each) => each.row === chosen);
    const key = `${chosen} ${text}`;
    if (key === this.key) return;
    this.key = key;
    try {
      const { tree } = await api.tree(this.run, chosen);
      if (this.key === key) fill(this.box, drawTree(tree, `The tree of ${text}`));
    } catch (error) {
      if (this.key === key) this.key = null;
      fill(this.box, el("p", { class: "muted" }, sentence(error.message)));
    }
  }

  emptied() {
    this.key = null;
    fill(this.box);
  }
}
