// A setting as a control with a label, the sentence that explains it, and a place for what is
// wrong.

import { box, el, newId } from "./dom.js";
import { showProblem } from "./panel.js";
import { whole } from "./text.js";

const GROUPED = /^-?\d{1,3}(,\d{3})+(\.\d*)?$/; // 1,000,000; any other comma may mean a decimal sign

export class Field {
  constructor(setting, changed = () => {}) {
    this.setting = setting;
    this.name = setting.name;
    this.isList = Array.isArray(setting.default);
    this.id = newId(setting.name);
    this.problem = el("p", { class: "problem", id: `${this.id}-problem`, hidden: true });
    this.control = this.made();
    this.none = setting.none ? this.noneBox() : null;
    this.element = this.laidOut();
    this.element.addEventListener("input", () => changed(this));
    this.start(setting.default);
  }

  made() {
    const described = { "aria-describedby": `${this.id}-help ${this.id}-problem` };
    const common = { id: this.id, name: this.name, ...described };
    if (this.setting.kind === "flag") return el("input", { type: "checkbox", ...common });
    if (this.setting.choices) {
      const listed = this.setting.choices.map((each) => el("option", { value: each }, each));
      return el("select", common, listed);
    }
    if (this.isList) return el("textarea", { rows: 3, spellcheck: "false", ...common });
    const numeric = { whole: "numeric", number: "decimal" }[this.setting.kind] ?? "text";
    const typed = { type: "text", inputmode: numeric, autocomplete: "off", spellcheck: "false" };
    return el("input", { ...typed, ...common });
  }

  /** A limit that may be left out has a box for that. */
  noneBox() {
    const change = () => (this.control.disabled = check.checked);
    const named = { id: `${this.id}-none`, "data-none": this.name };
    const check = el("input", { type: "checkbox", ...named, oninput: change });
    return check;
  }

  laidOut() {
    const label = el("label", { for: this.id }, this.setting.label);
    const none = this.none && el("label", { class: "none" }, this.none, this.setting.none);
    const entry = el("span", { class: "entry" }, this.control, none);
    const row = this.setting.kind === "flag" ? [this.control, label] : [label, entry];
    const help = el("p", { class: "help", id: `${this.id}-help` }, this.setting.help);
    const named = { class: `field ${this.setting.kind}`, "data-field": this.name };
    return el("div", named, box("line", row), help, this.problem);
  }

  /** Begin with a value; `isChanged` compares with it. */
  start(value) {
    this.initial = value === undefined ? this.setting.default : value;
    this.set(this.initial);
  }

  set(value) {
    if (this.setting.kind === "flag") this.control.checked = Boolean(value);
    else if (this.isList) this.control.value = value.join("\n");
    else if (value !== null) this.control.value = Number.isInteger(value) ? whole(value) : value;
    if (this.none) this.none.checked = this.control.disabled = value === null;
  }

  /** The value; text that is no number stays text, and the server says what is wrong with it. */
  value() {
    if (this.setting.kind === "flag") return this.control.checked;
    if (this.none?.checked) return null;
    const text = this.control.value.trim();
    if (this.isList) return text.split(/[;\n]/).map((each) => each.trim()).filter(Boolean);
    if (!["whole", "number"].includes(this.setting.kind)) return text;
    const number = Number(GROUPED.test(text) ? text.replaceAll(",", "") : text.replaceAll("_", ""));
    return text && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text;
  }

  isChanged() {
    return this.value() !== this.initial;
  }

  refuse(text) {
    showProblem(this.problem, text);
    if (text) this.control.setAttribute("aria-invalid", "true");
    else this.control.removeAttribute("aria-invalid");
  }
}

/** A control under its label, and what stands beneath it. */
export function labelled(words, control, ...beneath) {
  const label = el("label", { for: control.id }, words);
  return box("field", box("line", label, control), beneath);
}
