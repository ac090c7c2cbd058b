// What is asked: the operators, numbers or none, the length, the budget, the seeds; the rest behind
// "more".

import { box, el } from "./dom.js";
import { Field } from "./field.js";
import { Operators } from "./operators.js";
import { panel } from "./panel.js";

const ELSEWHERE = ["operators", "validation"]; // settings with places of their own

export class QuestionView {
  constructor(draft, options, changed) {
    Object.assign(this, { draft, changed });
    this.usual = new Map(options.settings.map((each) => [each.name, each.default]));
    this.operators = new Operators(options.operators, this.current("operators"), () =>
      this.set("operators", this.operators.value()),
    );
    const plain = options.settings.filter((each) => !ELSEWHERE.includes(each.name));
    this.fields = new Map(plain.map((each) => [each.name, this.field(each)]));
    const element = (each) => this.fields.get(each.name).element;
    const shown = (usual) => plain.filter((each) => each.usual === usual).map(element);
    const words = el("summary", {}, "More");
    this.more = el("details", { class: "more", id: "more" }, words, box("fields", shown(false)));
    this.more.open = plain.some((each) => !each.usual && each.name in draft.settings);
    const usual = box("fields", shown(true));
    this.element = panel("question", "Question", this.operators.element, usual, this.more);
  }

  current(name) {
    return name in this.draft.settings ? this.draft.settings[name] : this.usual.get(name);
  }

  field(setting) {
    const field = new Field(setting, () => this.set(setting.name, field.value()));
    field.set(this.current(setting.name));
    return field;
  }

  set(name, value) {
    this.draft.set(name, value, this.usual.get(name));
    this.changed();
  }

  /** Show what is wrong beside its field; returns the fields that have their place here. */
  refuse(by) {
    this.operators.refuse(by.get("operators"));
    for (const [name, field] of this.fields) {
      field.refuse(by.get(name) ?? null);
      if (by.has(name) && this.more.contains(field.element)) this.more.open = true;
    }
    return ["operators", ...this.fields.keys()];
  }
}
