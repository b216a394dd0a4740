"use strict";
// Headings become buttons that sort the rows of their table.

function value(row, column) {
  const cell = row.cells[column];
  const data = cell.querySelector("data");
  if (data) return Number(data.value);
  const text = cell.textContent.trim();
  return cell.className === "n" ? parseFloat(text.replaceAll(",", "")) : text;
}

function compare(one, other) {
  return typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other;
}

function sort(table, heading) {
  const body = table.tBodies[0];
  const column = heading.cellIndex;
  // Numbers begin with the largest.
  const before = heading.getAttribute("aria-sort") ?? (heading.className === "n" ? "ascending" : "descending");
  const direction = before === "ascending" ? "descending" : "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => [value(row, column), row]);
  rows.sort(([one], [other]) => sign * compare(one, other));
  body.append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction);
}

for (const table of document.querySelectorAll("table:not(.sides)")) {
  if (table.tBodies[0].rows.length < 2) continue;
  for (const heading of table.tHead.rows[0].querySelectorAll("th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading));
    heading.append(button);
  }
}
