// A part of the view that asks the server about the chosen formula, once for each that is chosen.

import { sentence } from "./text.js";

export class ChosenPart {
  constructor(run) {
    this.run = run;
    this.key = null; // of what is shown, or asked for
  }

  /** Ask for what belongs to the rows, unless it is that which is shown. */
  async show(snapshot, { chosen, second }) {
    if (chosen === null) {
      this.key = null;
      this.emptied();
      return;
    }
    const rows = second === null || !this.compares ? [chosen] : [chosen, second];
    const texts = rows.map((row) => snapshot.formulas.find((each) => each.row === row).text);
    const key = JSON.stringify([rows, texts]);
    if (key === this.key) return;
    this.key = key;
    try {
      const answer = await this.asked(rows);
      if (this.key === key) this.drawn(answer, texts[0]);
    } catch (error) {
      if (this.key === key) this.key = null;
      this.refused(sentence(error.message));
    }
  }
}
