// The files of a run: its report, its folder, and the command that repeats it.

import { api } from "./api.js";
import { commandBox, copyButton } from "./copy.js";
import { el, fill, setHidden, setText } from "./dom.js";
import { panel, problemLine, showProblem } from "./panel.js";
import { sentence } from "./text.js";

export class FolderPanel {
  constructor(run, askAgain) {
    this.run = run;
    this.report = el(
      "a",
      {
        id: "report",
        class: "button",
        href: api.reportAddress(run),
        target: "_blank",
        rel: "noopener",
        hidden: true,
      },
      "Open the report",
    );
    const open = el("button", { type: "button", id: "open-folder" }, "Open the folder");
    open.addEventListener("click", () => this.openFolder());
    this.again = el("button", { type: "button", id: "ask-again" }, "Ask again with changes");
    this.again.addEventListener("click", askAgain);
    this.path = el("p", { id: "folder-path", hidden: true });
    this.problem = problemLine("folder-problem");
    this.command = commandBox("run-command");
    this.element = panel(
      "files",
      "Report and folder",
      el("div", { class: "bar" }, open, this.again, this.report),
      this.path,
      this.problem,
      el("h3", {}, "The same on the command line"),
      this.command.element,
    );
  }

  show(snapshot) {
    setHidden(this.report, !snapshot.report);
    setHidden(this.again, !snapshot.table || snapshot.features === null);
    setText(this.command.code, snapshot.command ?? "");
  }

  async openFolder() {
    showProblem(this.problem, null);
    try {
      const { ok, path } = await api.openFolder(this.run);
      const words = ok ? "Opened: " : "The folder could not be opened here. It is ";
      fill(
        this.path,
        words,
        el("code", {}, path),
        " ",
        copyButton(() => path, { what: "the path" }),
      );
      this.path.hidden = false;
    } catch (error) {
      showProblem(this.problem, sentence(error.message));
    }
  }
}
