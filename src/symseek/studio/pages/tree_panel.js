// The chosen formula as a tree.

import { api } from "./api.js";
import { drawTree } from "./charts/tree.js";
import { ChosenPart } from "./chosen_part.js";
import { fill, muted, scrollBox } from "./dom.js";
import { panel } from "./panel.js";

export class TreePanel extends ChosenPart {
  constructor(run) {
    super(run);
    this.box = scrollBox("The tree", "scroll tree-box");
    this.element = panel("tree", "Tree", this.box);
  }

  asked([row]) {
    return api.tree(this.run, row);
  }

  drawn({ tree }, text) {
    fill(this.box, drawTree(tree, `The tree of ${text}`));
  }

  refused(text) {
    fill(this.box, muted(text));
  }

  emptied() {
    fill(this.box);
  }
}
