// Sorts and narrows down the rows of a summary. A row is sorted by what its cells have as data-number or data-text.
// What is typed is looked for in the first four cells, blanks aside: the name, the formula and its form.
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
  const plain = (text) => text.toLowerCase().replace(/\s/g, "");
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
