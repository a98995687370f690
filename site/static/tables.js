// Long tables sort by any column and are filtered by words.

const LONG = 12;

function value(cell) {
  const number = cell.textContent.trim().replace(/^[+−]/, sign => (sign === "−" ? "-" : "")).match(/^-?\d[\d,]*(\.\d+)?/);
  return number ? Number(number[0].replaceAll(",", "")) : null;
}

// Numbers by their value, with their interval or unit behind them; what is no number goes last.
Tablesort.extend("number", text => /^-?[\d.]+(e[+-]?\d+)?$/.test(text), (one, other) => Number(other) - Number(one));

function prepare(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = table.tHead.rows[0].cells.length;
  for (let column = 0; column < columns; column++) {
    const cells = rows.map(row => row.cells[column]).filter(Boolean);
    const values = cells.map(value);
    if (values.filter(found => found === null).length * 2 > cells.length) continue;
    cells.forEach((cell, at) => { cell.dataset.sort = values[at] ?? Number.MAX_SAFE_INTEGER; });
    table.tHead.rows[0].cells[column].dataset.sortMethod = "number";
  }
  new Tablesort(table);
}

function filterFor(table) {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter the rows";
  field.setAttribute("aria-label", "Filter the rows of the table below");
  field.className = "table-filter";
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    count.textContent = words.length ? ` ${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
  });
  const line = document.createElement("p");
  line.append(field, count);
  return line;
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table.table")) {
    if (!table.tHead || table.tBodies[0]?.rows.length < LONG) continue;
    prepare(table);
    (table.closest(".pst-scrollable-table-container") || table).before(filterFor(table));
  }
});
