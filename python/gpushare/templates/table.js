// SPDX-License-Identifier: Apache-2.0
// Tables: the head of a column sorts by it, and the metric of the table of workloads can be chosen.
(() => {
  const metric = document.getElementById("metric"), perWorkload = document.getElementById("per-workload");

  function fill() {
    for (const cell of perWorkload.tBodies[0].querySelectorAll("td")) {
      // data-makespan_ns is dataset.makespan_ns: only hyphens are special there.
      const [value, text, best] = cell.dataset[metric.value].split("|");
      cell.dataset.value = value;
      cell.textContent = text;
      cell.classList.toggle("best", best === "1");
    }
  }

  function compare(one, other) {
    if (one.dataset.value === undefined) return one.textContent.localeCompare(other.textContent);
    const [left, right] = [Number(one.dataset.value), Number(other.dataset.value)];
    // Unknown values, which are no numbers, are last when ascending.
    return Number.isNaN(left) || Number.isNaN(right) ? Number.isNaN(left) - Number.isNaN(right) : left - right;
  }

  function sortBy(header) {
    const table = header.closest("table"), column = header.cellIndex, body = table.tBodies[0];
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const sign = ascending ? 1 : -1;
    body.append(...[...body.rows].sort((one, other) => sign * compare(one.cells[column], other.cells[column])));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", (event) => { if (event.target.closest("button")) sortBy(event.target.closest("th")); });
  }
  metric.addEventListener("change", fill);
  fill();
})();
