// A button that copies a text and says that it did.

import { announce, box, button, el } from "./dom.js";

const SHOWN = 1600; // milliseconds

/** `text` is a function, so that what is copied is what is shown at the time. */
export function copyButton(text, { label = "Copy", what = "" } = {}) {
  let timer = null;
  const press = async () => {
    const done = await copied(text());
    made.textContent = done ? "Copied" : "Not copied";
    announce(done ? `${what || "The text"} is copied.` : "The browser did not allow copying.");
    clearTimeout(timer);
    timer = setTimeout(() => (made.textContent = label), SHOWN);
  };
  const spoken = what ? `${label} ${what}` : null;
  const made = button(label, press, { class: "quiet small copy", "aria-label": spoken });
  return made;
}

/** A command to read and to copy: {element, code}. */
export function commandBox(id) {
  const code = el("code", { id, tabindex: "0", role: "group", "aria-label": "The command" });
  const copy = copyButton(() => code.textContent, { what: "the command" });
  return { code, element: box("command", code, copy) };
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

/** For browsers that keep the clipboard from pages without a certificate. */
function copiedBySelection(text) {
  const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
