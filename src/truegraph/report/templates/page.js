"use strict";
// A click on the heading of a column sorts its table: first up, then down. Without this script the
// tables stay in their order.
document.querySelectorAll("table.sortable").forEach(function (table) {
  table.querySelectorAll("thead th").forEach(function (heading, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.textContent = "";
    heading.append(button);
    button.addEventListener("click", function () { sort(table, heading, column); });
  });
});

function sort(table, heading, column) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th[aria-sort]").forEach(function (other) {
    other.removeAttribute("aria-sort");
  });
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const keys = new Map(rows.map(function (row) { return [row, key(row.cells[column])]; }));
  rows.sort(function (first, second) {
    return compare(keys.get(first), keys.get(second), down ? -1 : 1);
  });
  body.append(...rows);
}

function key(cell) {
  const text = cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
  // "+1.2", "−0.4", "74.2 ± 2.8" and "1,433" are numbers; "5-fold" is not.
  const plain = text.replace(/,/g, "").replace("\u2212", "-");
  const found = plain.match(/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?(?=$|[\s%])/);
  return { text: text, number: found ? Number(found[0]) : null };
}

function compare(first, second, sign) {
  const empty = Number(first.text === "") - Number(second.text === "");
  if (empty !== 0) { return empty; }  // cells without a figure stay below, up or down
  if (first.number !== null && second.number !== null) { return sign * (first.number - second.number); }
  if (first.number !== null || second.number !== null) { return first.number !== null ? -1 : 1; }
  return sign * first.text.localeCompare(second.text);
}
