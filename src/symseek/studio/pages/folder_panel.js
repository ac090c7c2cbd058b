// The files of a run: its report, its folder, and the command that repeats it.

import { api } from "./api.js";
import { commandBox, copyButton } from "./copy.js";
import { box, button, el, fill, setHidden, setText } from "./dom.js";
import { panel, problemLine, showProblem } from "./panel.js";
import { sentence } from "./text.js";

export class FolderPanel {
  constructor(run, askAgain) {
    this.run = run;
    const place = { href: api.reportAddress(run), target: "_blank", rel: "noopener", hidden: true };
    this.report = el("a", { id: "report", class: "button", ...place }, "Open the report");
    const open = button("Open the folder", () => this.openFolder(), { id: "open-folder" });
    this.again = button("Ask again with changes", askAgain, { id: "ask-again" });
    this.path = el("p", { id: "folder-path", hidden: true });
    this.problem = problemLine("folder-problem");
    this.command = commandBox("run-command");
    this.element = panel(
      "files",
      "Report and folder",
      box("bar", open, this.again, this.report),
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
      const copy = copyButton(() => path, { what: "the path" });
      fill(this.path, words, el("code", {}, path), " ", copy);
      this.path.hidden = false;
    } catch (error) {
      showProblem(this.problem, sentence(error.message));
    }
  }
}
