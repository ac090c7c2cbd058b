// A part of a view with a heading of its own.

import { el, newId } from "./dom.js";

/** A section; `id` names it for links and tests. */
export function panel(id, heading, ...children) {
  const label = newId("heading");
  return el(
    "section",
    { class: "panel", id, "aria-labelledby": label },
    el("h2", { id: label }, heading),
    children,
  );
}

/** A place for sentences about what went wrong, read out when they come. */
export function problemLine(id) {
  return el("p", { class: "problem", role: "alert", id, hidden: true });
}

/** Show a sentence in it, or nothing. */
export function showProblem(line, text) {
  line.textContent = text ?? "";
  line.hidden = !text;
}
