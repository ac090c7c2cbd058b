// A strip above the view for what concerns the whole page: the server is gone, or a file was
// refused.

import { copyButton } from "./copy.js";
import { button, el, fill } from "./dom.js";

export class Banner {
  constructor() {
    this.element = document.getElementById("banner");
  }

  /** The server is gone; `unfinished` is the run that is shown, if it has not come to its end. */
  lost(unfinished) {
    const command = unfinished ? `symseek resume ${quoted(unfinished)}` : "symseek studio";
    const goes = unfinished ? " continues. " : " starts it again. ";
    this.show(
      "lost",
      el("strong", {}, "The studio has ended; "),
      el("code", {}, command),
      goes,
      copyButton(() => command, { what: "the command" }),
      el("span", { class: "muted" }, " Trying to reach it again."),
    );
  }

  crowded() {
    this.show("lost", "Too many tabs watch. Close some, and this one moves again.");
  }

  back() {
    if (this.element.dataset.kind === "lost") this.element.hidden = true;
  }

  problem(text) {
    const close = () => (this.element.hidden = true);
    this.show("problem", el("span", {}, text), button("Close", close, { class: "quiet small" }));
  }

  show(kind, ...children) {
    this.element.dataset.kind = kind;
    this.element.hidden = false;
    fill(this.element, children);
  }
}

/** A name as a word of a shell. */
function quoted(name) {
  return /^[\w.,:=/+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
