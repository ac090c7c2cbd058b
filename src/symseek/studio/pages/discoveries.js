// The log: each formula that made the error much smaller, newest first.

import { el, fill, muted, scrollBox, setHidden, setText, typeset } from "./dom.js";
import { panel } from "./panel.js";
import { brief, duration, improvement, sentence } from "./text.js";

export class Discoveries {
  constructor() {
    this.list = el("ol", { class: "discoveries", reversed: true });
    this.empty = muted("Nothing yet.");
    this.structure = el("p", { id: "structure", hidden: true });
    const box = scrollBox("Log", "scroll log", this.structure, this.empty, this.list);
    this.element = panel("discoveries", "Discoveries", box);
  }

  /** `structure` is what the rows tell before the search. */
  show(discoveries, structure) {
    const key = JSON.stringify([discoveries, structure]);
    if (key === this.key) return;
    this.key = key;
    setHidden(this.empty, discoveries.length > 0);
    setText(this.structure, structure ? sentence(structure) : "");
    setHidden(this.structure, !structure);
    fill(this.list, [...discoveries].reverse().map(line));
  }
}

function line(each) {
  return el(
    "li",
    { "data-text": each.text },
    el("span", { class: "when" }, duration(each.seconds)),
    el("span", { class: "clip", title: each.text }, typeset(each.mathml, each.text)),
    el("span", { class: "gain" }, `${improvement(each.before, each.nrmse)} (${brief(each.nrmse)})`),
  );
}
