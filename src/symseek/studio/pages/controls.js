// The state of a search and what can be done about it: pause, continue, stop, and the budgets.

import { api } from "./api.js";
import { announce, box, button, el, setHidden, setText } from "./dom.js";
import { Field } from "./field.js";
import { problemLine, showProblem } from "./panel.js";
import { isBusy, statusSentence } from "./status.js";
import { duration, sentence, whole } from "./text.js";

export class Controls {
  constructor(run, options, beginWith) {
    this.run = run;
    this.anew = button("New run that begins with these formulas", beginWith, { id: "begin-with" });
    const changeable = options.settings.filter((each) => each.while_paused);
    this.fields = changeable.map((each) => new Field(each));
    this.status = el("p", { class: "status", id: "status" });
    this.pause = this.button("pause", "Pause", () => api.pause(run));
    this.stop = this.button("stop", "Stop", () => api.stop(run));
    this.goOn = this.button("go-on", "Continue", () => this.resumed(), "primary");
    this.problem = problemLine("run-problem"); // what was refused
    this.error = problemLine("run-error"); // what is wrong with the run
    this.meter = new Meter();
    this.budgets = this.budgetForm();
    this.buttons = [this.pause, this.stop, this.goOn, this.more];
    this.element = el(
      "section",
      { class: "controls", "aria-label": "The search" },
      box("bar", this.status, box("buttons", this.pause, this.goOn, this.stop)),
      this.error,
      this.problem,
      this.meter.element,
      this.budgets,
    );
  }

  button(id, label, act, kind = "") {
    const made = button(label, () => this.act(made, act), { id, class: kind, hidden: true });
    return made;
  }

  /** Do it once; a sentence says if it was refused. */
  async act(pressed, act) {
    if (pressed.getAttribute("aria-disabled") === "true") return;
    pressed.setAttribute("aria-disabled", "true");
    showProblem(this.problem, null);
    try {
      await act();
    } catch (error) {
      showProblem(this.problem, sentence(error.message));
      pressed.removeAttribute("aria-disabled");
    }
  }

  budgetForm() {
    const words = "Continue with these budgets";
    this.more = this.button("go-on-with", words, () => this.resumed(), "primary");
    this.more.hidden = false;
    return el(
      "details",
      { class: "budgets", id: "budgets", hidden: true },
      el("summary", {}, "Change the budgets and continue"),
      box("fields", this.fields.map((field) => field.element)),
      this.more,
      box("bar other", el("span", { class: "muted" }, "To change anything else:"), this.anew),
    );
  }

  resumed() {
    const changed = this.fields.filter((field) => field.isChanged());
    const settings = Object.fromEntries(changed.map((field) => [field.name, field.value()]));
    return api.resume(this.run, settings);
  }

  show(snapshot) {
    const { status, can_resume: canResume } = snapshot;
    if (status !== this.shown) this.changed(snapshot);
    const outside = snapshot.elsewhere && isBusy(status);
    const where = outside ? " It was started outside of this studio." : "";
    setText(this.status, statusSentence(snapshot) + where);
    this.status.dataset.status = status;
    const error = status === "damaged" ? null : snapshot.error; // the status has said that one
    if (error !== this.wrong) showProblem(this.error, error && sentence(error));
    this.wrong = error;
    const running = ["starting", "searching", "finishing"].includes(status);
    this.toggle(this.pause, running || status === "pausing", !running);
    this.toggle(this.stop, running || status === "stopping" || status === "pausing", !running);
    this.toggle(this.goOn, canResume && ["paused", "stopped", "died"].includes(status), false);
    setText(this.goOn, status === "died" ? "Resume" : "Continue");
    setHidden(this.budgets, !canResume || isBusy(status));
    setHidden(this.anew.parentElement, !snapshot.formulas.length);
    if (snapshot.progress) this.progress(snapshot.progress, status);
    else this.meter.clear(snapshot);
  }

  /** A new state is said once; the budgets start from what the run has. */
  changed(snapshot) {
    const focused = this.buttons.includes(document.activeElement);
    if (this.shown) announce(statusSentence(snapshot));
    this.shown = snapshot.status;
    this.budgets.open = snapshot.status === "paused";
    for (const button of this.buttons) button.removeAttribute("aria-disabled");
    for (const field of this.fields) field.start(snapshot.settings[field.name]);
    if (focused) queueMicrotask(() => this.keepFocus());
  }

  /** The button that was pressed may be gone: the focus goes to the one in its place. */
  keepFocus() {
    if (document.activeElement !== document.body && !document.activeElement.hidden) return;
    [this.goOn, this.pause].find((button) => !button.hidden)?.focus();
  }

  toggle(button, shown, disabled) {
    setHidden(button, !shown);
    if (disabled) button.setAttribute("aria-disabled", "true");
    else if (this.shown) button.removeAttribute("aria-disabled");
  }

  progress(progress, status = this.shown) {
    this.meter.show(progress, status);
  }
}

/** The bar and the numbers beneath it: an update touches nothing else. */
class Meter {
  constructor() {
    const words = "Share of the budget that is used";
    this.bar = el("progress", { max: 1, value: 0, "aria-label": words, id: "progress" });
    this.numbers = {};
    const names = [["expressions", "expressions"], ["seconds", "time"]];
    const cells = [...names, ["rate", "a second"], ["left", "time left"]].map(([name, words]) => {
      this.numbers[name] = el("dd", { id: `progress-${name}` }, "–");
      return el("div", {}, el("dt", {}, words), this.numbers[name]);
    });
    this.element = box("meter", this.bar, el("dl", { class: "numbers" }, cells));
  }

  show(progress, status) {
    // Without a budget there is no share to show while it searches, only that something happens.
    if (progress.share === null && isBusy(status)) this.bar.removeAttribute("value");
    else this.bar.value = progress.share ?? (status === "finished" ? 1 : 0);
    setText(this.numbers.expressions, whole(progress.expressions));
    setText(this.numbers.seconds, duration(progress.seconds));
    setText(this.numbers.rate, progress.rate ? whole(progress.rate) : "–");
    setText(this.numbers.left, isBusy(status) ? duration(progress.left) : "–");
  }

  clear({ status }) {
    this.bar.value = status === "finished" ? 1 : 0;
  }
}
