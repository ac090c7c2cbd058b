// How a table gets in: dropped anywhere, chosen from a list, or pasted from a spreadsheet.

import { el, fill } from "./dom.js";

/** Text that was copied from a table: several cells, by tabs, commas, semicolons or blanks. */
export function looksLikeTable(text) {
  const lines = text.trim().split(/\r?\n/);
  return lines.length > 1 && /[\t,; ]/.test(lines[0]);
}

/** Pasted text as a file, under a name that says how its cells are parted. */
export function pastedFile(text) {
  const name = text.split(/\r?\n/, 1)[0].includes("\t") ? "pasted.tsv" : "pasted.csv";
  return new File([text.endsWith("\n") ? text : `${text}\n`], name);
}

/** A button that lets the user choose a file. */
export function fileButton(label, id, take) {
  const accept = ".csv,.tsv,.txt,.dat,.parquet,.xlsx,.xlsm";
  const change = () => {
    const [file] = input.files;
    input.value = ""; // so that the same file can be chosen again
    if (file) take(file);
  };
  const input = el("input", { type: "file", id, class: "unseen", accept, onchange: change });
  return el("span", { class: "file" }, input, el("label", { for: id, class: "button" }, label));
}

/** The whole window takes files; while one hovers over it, the zones say what will happen. */
export class DropTarget {
  /** `zones` gives [{label, take}] for the view that is shown; the first is the usual one. */
  constructor(zones) {
    this.zones = zones;
    this.cover = document.getElementById("drop");
    addEventListener("dragenter", (event) => this.entered(event));
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("dragleave", (event) => event.relatedTarget === null && this.ended());
    addEventListener("drop", (event) => this.dropped(event));
    addEventListener("keydown", (event) => event.key === "Escape" && this.ended());
  }

  entered(event) {
    if (!hasFiles(event) || !this.cover.hidden) return;
    event.preventDefault();
    const box = (zone, at) => el("div", { class: "zone", "data-zone": at }, zone.label);
    fill(this.cover, this.zones().map(box));
    this.cover.hidden = false;
  }

  ended() {
    this.cover.hidden = true;
  }

  dropped(event) {
    if (!hasFiles(event)) return;
    event.preventDefault();
    this.ended();
    const at = Number(event.target.closest?.("[data-zone]")?.dataset.zone ?? 0);
    const [file] = event.dataTransfer.files;
    const zones = this.zones();
    if (file) (zones[at] ?? zones[0]).take(file);
  }
}

function hasFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}
