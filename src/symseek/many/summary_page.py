"""How the page of a summary looks, and the script that sorts and narrows down its rows.

A row is sorted by what its cells have as `data-number` or `data-text`. What is typed is looked for
in the first four cells, blanks aside: the name, the formula and its form.
"""

from __future__ import annotations

STYLE = """
:root { --dots: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --dots: #7cc4f5; } }
main { max-width: 96rem; }
.summary { width: 100%; }
.summary th { white-space: nowrap; position: sticky; top: 0; background: var(--paper); z-index: 1; }
.summary td { vertical-align: middle; }
.summary th button { all: unset; cursor: pointer; font: inherit; padding: .1rem 0; }
.summary th button:focus-visible, input:focus-visible { outline: 2px solid var(--mark);
  outline-offset: 2px; }
.summary th button::after { content: " ↕"; color: var(--muted); font-weight: 400; }
.summary th[aria-sort=ascending] button::after { content: " ↑"; color: var(--mark); }
.summary th[aria-sort=descending] button::after { content: " ↓"; color: var(--mark); }
.summary .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.summary .name { min-width: 8rem; max-width: 16rem; }
.summary .text { min-width: 10rem; }
.summary .form { min-width: 8rem; }
.summary .text .scroll { max-width: min(26vw, 30rem); }
.summary .form .scroll { max-width: min(14vw, 16rem); }
.scroll { overflow-x: auto; overflow-y: hidden; padding: .1rem 0; }
.scroll math { overflow-wrap: normal; }
.summary small { display: block; color: var(--muted); }
.summary th, .summary td { padding: .3rem .55rem; }
.summary .text math { font-size: 1.1rem; }
.summary .why { font-size: .9rem; color: var(--muted); min-width: 7rem; max-width: 11rem; }
.summary .failed td { background: var(--picked); }
.summary .waiting .text { color: var(--muted); }
.summary svg { display: block; }
.summary svg .dots { stroke: var(--dots); stroke-opacity: .6; stroke-width: 4;
  stroke-linecap: round; fill: none; }
.summary svg .fit { stroke: var(--mark); stroke-width: 1.6; fill: none; }
.summary svg .frame { stroke: var(--line); }
.tools { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; margin: 1.5rem 0 .5rem; }
.tools input { font: inherit; color: inherit; background: var(--card); padding: .3rem .6rem;
  border: 1px solid var(--line); border-radius: 4px; width: 18rem; max-width: 100%; }
.forms td:last-child, .forms th:last-child { text-align: right; white-space: nowrap; }
details { margin: .75rem 0; }
details > summary { cursor: pointer; color: var(--muted); }
@media (max-width: 98rem) { .summary .why { display: none; } }
@media (max-width: 82rem) { .summary .complexity { display: none; } }
@media (max-width: 72rem) {
  .summary .form { display: none; }
  .summary .name { min-width: 6rem; }
  .summary svg { width: 90px; height: auto; }
  .summary svg .dots { stroke-width: 6; }
  .rows { overflow-x: auto; }
}
@media (max-width: 40rem) {
  .summary .name { min-width: 5rem; max-width: 9rem; }
  .summary .text .scroll { max-width: 50vw; }
}
"""

SCRIPT = """
(() => {
  const table = document.querySelector("table.summary");
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  const value = (row, at) => {
    const cell = row.cells[at], number = cell.dataset.number;
    return number === undefined ? cell.dataset.text || "" : number === "" ? NaN : +number;
  };
  const order = new Intl.Collator(undefined, { numeric: true });
  const compare = (a, b) => typeof a === "string" || typeof b === "string"
    ? order.compare(String(a), String(b)) : a - b;
  const sort = (at) => {
    const up = heads[at].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", up ? "ascending" : "descending");
    const empty = (each) => each === "" || Number.isNaN(each);
    body.append(...rows.map((row, place) => [value(row, at), place, row]).sort((a, b) => {
      if (empty(a[0]) !== empty(b[0])) return empty(a[0]) ? 1 : -1;
      if (empty(a[0])) return a[1] - b[1];
      return (up ? 1 : -1) * compare(a[0], b[0]) || a[1] - b[1];
    }).map((each) => each[2]));
  };
  heads.forEach((head, at) => {
    const button = head.querySelector("button");
    if (button) button.addEventListener("click", () => sort(at));
  });
  const filter = document.querySelector("#filter"), shown = document.querySelector("#shown");
  const plain = (text) => text.toLowerCase().replace(/\\s/g, "");
  const words = rows.map((row) => [...row.cells].slice(0, 4).map(
    (cell) => plain(cell.dataset.text ?? cell.textContent)).join(" "));
  filter.addEventListener("input", () => {
    const wanted = plain(filter.value);
    let count = 0;
    rows.forEach((row, at) => {
      row.hidden = !words[at].includes(wanted);
      count += !row.hidden;
    });
    shown.textContent = wanted ? count + " of " + rows.length : "";
  });
  document.querySelector(".tools").hidden = false;
})();
"""
