// The operators as buttons that are in or out, each with its complexity.

import { el, newId } from "./dom.js";
import { problemLine, showProblem } from "./panel.js";

export class Operators {
  constructor(operators, chosen, changed) {
    this.known = operators.map((each) => each.name);
    this.changed = changed;
    this.buttons = operators.map((each) => this.button(each, chosen.includes(each.name)));
    this.numbers = this.numberField(chosen.filter((each) => !this.known.includes(each)));
    this.problem = problemLine("operators-problem");
    const common = this.buttons.filter((button, at) => !operators[at].protected);
    const guarded = this.buttons.filter((button, at) => operators[at].protected);
    this.element = el(
      "fieldset",
      { class: "operators", id: "operators", "data-field": "operators" },
      el("legend", {}, "Operators"),
      el(
        "p",
        { class: "help" },
        "what formulas are made of; the small number is the complexity of each",
      ),
      el("div", { class: "toggles" }, common),
      this.problem,
      guarded.length ? this.rest(guarded) : null,
    );
  }

  rest(guarded) {
    return el(
      "details",
      {
        open: guarded.some(
          (button) => button.getAttribute("aria-pressed") === "true",
        ) || this.numbers.input.value !== "",
      },
      el("summary", {}, "Protected operators, and numbers of your own"),
      el("p", { class: "help" }, "protected: with a number for what is undefined"),
      el("div", { class: "toggles" }, guarded),
      this.numbers.element,
    );
  }

  button({ name, symbol, complexity }, pressed) {
    const button = el(
      "button",
      {
        type: "button",
        class: "toggle",
        "data-operator": name,
        "aria-pressed": String(pressed),
        "aria-label": `${name}, ${symbol}, complexity ${complexity}`,
        title: name,
      },
      el("span", {}, symbol),
      el("small", {}, String(complexity)),
    );
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      this.changed();
    });
    return button;
  }

  numberField(chosen) {
    const id = newId("numbers");
    const input = el(
      "input",
      { type: "text", id, autocomplete: "off", spellcheck: "false", "data-numbers": true },
    );
    input.value = chosen.join(", ");
    input.addEventListener("input", () => this.changed());
    const help = el(
      "p",
      { class: "help" },
      "numbers that formulas may contain as they are, with commas between, such as 1, 3.14",
    );
    return {
      input,
      element: el(
        "div",
        { class: "field" },
        el("div", { class: "line" }, el("label", { for: id }, "Numbers of your own"), input),
        help,
      ),
    };
  }

  value() {
    const on = this.buttons.filter((button) => button.getAttribute("aria-pressed") === "true");
    const numbers = this.numbers.input.value.split(",").map((text) => text.trim());
    return [
      ...on.map((button) => button.dataset.operator),
      ...numbers.filter((text) => text !== ""),
    ];
  }

  refuse(text) {
    showProblem(this.problem, text);
  }
}
