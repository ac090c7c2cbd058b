// Several searches side by side, each with a seed of its own; their formulas make one front.

import { el, fill, headRow, muted, scrollBox, setHidden, setText } from "./dom.js";
import { panel } from "./panel.js";
import { brief, duration, whole } from "./text.js";

const NOTE =
  "Each seed has the whole budget. The front is of all together;" +
  " “3/4” beside a formula: three of four found it.";
const NAMES = ["seed", "state", "expressions", "time", "error"];

export class Seeds {
  constructor() {
    this.body = el("tbody");
    this.rows = [];
    const table = el("table", { class: "seeds" }, headRow(NAMES), this.body);
    const note = muted(NOTE, { class: "muted small" });
    this.element = panel("seeds", "Seeds side by side", scrollBox("Seeds", "scroll", table), note);
    this.element.hidden = true;
  }

  show(seeds) {
    setHidden(this.element, !(seeds?.length > 1));
    if (!(seeds?.length > 1)) return;
    if (this.rows.length !== seeds.length) this.made(seeds.length);
    const best = Math.min(...seeds.map((each) => each.nrmse ?? Infinity));
    seeds.forEach((each, at) => {
      const texts = [
        String(each.seed),
        each.state,
        whole(each.expressions),
        duration(each.seconds),
        brief(each.nrmse, 3, true),
      ];
      texts.forEach((text, column) => setText(this.rows[at][column], text));
      const isBest = each.nrmse !== null && each.nrmse === best;
      this.rows[at][4].parentElement.classList.toggle("best", isBest);
    });
  }

  made(count) {
    this.rows = Array.from({ length: count }, () => NAMES.map((name) => el("td", { class: name })));
    fill(this.body, this.rows.map((cells) => el("tr", {}, cells)));
  }
}
