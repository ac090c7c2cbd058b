// The operators as buttons that are in or out, each with its complexity.

import { box, button, el, newId } from "./dom.js";
import { labelled } from "./field.js";
import { problemLine, showProblem } from "./panel.js";

const NUMBERS =
  "numbers that formulas may contain as they are, with commas between, such as 1, 3.14";

export class Operators {
  constructor(operators, chosen, changed) {
    this.known = operators.map((each) => each.name);
    this.changed = changed;
    this.buttons = operators.map((each) => this.button(each, chosen.includes(each.name)));
    this.numbers = this.numberField(chosen.filter((each) => !this.known.includes(each)));
    this.problem = problemLine("operators-problem");
    const common = this.buttons.filter((each, at) => !operators[at].protected);
    const guarded = this.buttons.filter((each, at) => operators[at].protected);
    this.element = el(
      "fieldset",
      { class: "operators", id: "operators", "data-field": "operators" },
      el("legend", {}, "Operators"),
      help("what formulas are made of; the small number is the complexity of each"),
      box("toggles", common),
      this.problem,
      guarded.length ? this.rest(guarded) : null,
    );
  }

  rest(guarded) {
    return el(
      "details",
      { open: guarded.some(isPressed) || this.numbers.value !== "" },
      el("summary", {}, "Protected operators, and numbers of your own"),
      help("protected: with a number for what is undefined"),
      box("toggles", guarded),
      labelled("Numbers of your own", this.numbers, help(NUMBERS)),
    );
  }

  button({ name, symbol, complexity }, pressed) {
    const press = () => {
      made.setAttribute("aria-pressed", String(!isPressed(made)));
      this.changed();
    };
    const words = [el("span", {}, symbol), el("small", {}, String(complexity))];
    const made = button(words, press, {
      class: "toggle",
      "data-operator": name,
      "aria-pressed": String(pressed),
      "aria-label": `${name}, ${symbol}, complexity ${complexity}`,
      title: name,
    });
    return made;
  }

  numberField(chosen) {
    const typed = { type: "text", autocomplete: "off", spellcheck: "false", "data-numbers": true };
    const input = el("input", { id: newId("numbers"), ...typed, oninput: () => this.changed() });
    input.value = chosen.join(", ");
    return input;
  }

  value() {
    const on = this.buttons.filter(isPressed).map((each) => each.dataset.operator);
    const numbers = this.numbers.value.split(",").map((text) => text.trim());
    return [...on, ...numbers.filter((text) => text !== "")];
  }

  refuse(text) {
    showProblem(this.problem, text);
  }
}

function help(words) {
  return el("p", { class: "help" }, words);
}

function isPressed(each) {
  return each.getAttribute("aria-pressed") === "true";
}
