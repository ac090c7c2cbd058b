// Which rows the user looks at. A choice is of a formula, not of a row: rows move while a search
// adds others. Until something is chosen, it is the picked row.

import { remember, remembered } from "./routes.js";

export class Choice {
  constructor() {
    this.chosen = remembered("chosen"); // texts of formulas
    this.second = remembered("second");
  }

  choose(text) {
    this.chosen = text;
    remember("chosen", text);
    if (this.second === text) this.compare(null);
  }

  compare(text) {
    this.second = text;
    remember("second", text);
  }

  /** The rows {chosen, second} among these formulas; null where there is none. */
  rows({ formulas, picked }) {
    if (!formulas.length) return { chosen: null, second: null };
    const row = (text) => formulas.find((each) => each.text === text)?.row ?? null;
    const isThere = formulas.some((each) => each.row === picked);
    const usual = isThere ? picked : formulas[formulas.length - 1].row;
    const chosen = row(this.chosen) ?? usual;
    const second = row(this.second);
    return { chosen, second: second === chosen ? null : second };
  }
}
