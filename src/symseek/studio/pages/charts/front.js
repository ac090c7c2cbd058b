// The front: the error of the best formula at each complexity. Every point can be reached with the
// mouse and with the arrow keys, shows its formula, and chooses its row.

import { el, fill, svg, typeset } from "../dom.js";
import { brief } from "../text.js";
import { spanning } from "./axes.js";
import { Picture, discs, frame, line } from "./frame.js";

const LEAST = 1e-16; // an error of zero has to stand somewhere on a scale of decades

export class FrontChart {
  constructor(choose) {
    this.choose = choose;
    this.picture = new Picture((...drawing) => this.drawn(...drawing), { height: 340 });
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    const marked = { class: "front-chart", id: "front-chart" };
    this.element = el("div", marked, this.picture.element, this.tip);
  }

  /** `data`: {formulas, picked, chosen, second}, rows by number. */
  show(data) {
    const key = JSON.stringify(data);
    if (key === this.key) return;
    this.key = key;
    const active = document.activeElement;
    const focused = this.element.contains(active) ? active.dataset.text : null;
    this.picture.show(data);
    if (focused) this.points.find((point) => point.dataset.text === focused)?.focus();
  }

  drawn(data, width, height) {
    const formulas = data.formulas.filter((each) => each.nrmse !== null);
    const errors = formulas.map((each) => Math.max(each.nrmse, LEAST));
    const sizes = formulas.map((each) => each.complexity);
    this.frame = frame({
      width,
      height,
      x: spanning([1, 10, ...sizes], { whole: true }),
      y: spanning(errors, { log: true, room: 0.06 }),
      xLabel: "complexity",
      yLabel: "error (NRMSE)",
      words: "The front: error against complexity",
      role: "group",
    });
    const places = formulas.map((each, at) => this.frame.place(sizes[at], errors[at]));
    this.frame.inside.append(line(places, "front-line", true));
    this.points = formulas.map((each, at) => this.point(each, data, places[at]));
    const words = { role: "listbox", "aria-label": "Formulas of the front" };
    const list = svg("g", { ...words, onkeydown: (event) => this.moved(event) }, this.points);
    this.frame.over.append(list);
    const start = this.points.findIndex((point, at) => formulas[at].row === data.chosen);
    this.points[Math.max(start, 0)]?.setAttribute("tabindex", "0");
    this.tip.hidden = true;
    return this.frame.picture;
  }

  point(formula, data, [x, y]) {
    const marks = ["picked", "chosen", "second"].filter((name) => data[name] === formula.row);
    const show = () => this.showTip(formula, x, y);
    const hide = () => (this.tip.hidden = true);
    return svg(
      "g",
      {
        class: ["point", ...marks].join(" "),
        role: "option",
        tabindex: "-1",
        "aria-selected": String(data.chosen === formula.row),
        "aria-label": spoken(formula, data.picked === formula.row),
        "data-row": formula.row,
        "data-text": formula.text,
        transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
        onpointerenter: show,
        onpointerleave: hide,
        onfocus: show,
        onblur: hide,
        onclick: () => this.choose(formula.row),
      },
      svg("circle", { class: "reach", r: 12 }),
      marks.includes("picked") ? svg("circle", { class: "ring", r: 10 }) : null,
      discs([[0, 0]], marks.length ? 6 : 4.5, "dot"),
    );
  }

  /** Arrow keys go from point to point, Enter chooses. */
  moved(event) {
    const at = this.points.indexOf(document.activeElement);
    const [next, before] = [at + 1, at - 1];
    const arrows = { ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before };
    const to = { ...arrows, Home: 0, End: this.points.length - 1 }[event.key];
    if (at >= 0 && (event.key === "Enter" || event.key === " ")) {
      this.choose(Number(this.points[at].dataset.row));
    } else if (to === undefined) return;
    else this.points[to]?.focus();
    event.preventDefault();
  }

  showTip(formula, x, y) {
    fill(
      this.tip,
      el("div", { class: "tip-formula" }, typeset(formula.mathml, formula.text)),
      el("div", { class: "muted" }, facts(formula)),
    );
    this.tip.hidden = false;
    this.tip.style.left = "0"; // where it has all the room to be as wide as its formula
    const { left, top } = this.frame;
    const begin = this.element.getBoundingClientRect().left;
    const room = document.documentElement.clientWidth - begin - 16;
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(left + x - wide / 2, room - wide))}px`;
    const above = top + y - this.tip.offsetHeight - 16;
    this.tip.style.top = `${above >= 0 ? above : top + y + 18}px`;
  }
}

function spoken(formula, picked) {
  const mark = picked ? ", picked" : "";
  return `${facts(formula, mark)}: ${formula.text}`;
}

function facts({ row, complexity, nrmse }, mark = "") {
  return `row ${row}${mark}, complexity ${complexity}, error ${brief(nrmse)}`;
}
