// SPDX-License-Identifier: Apache-2.0
// The table of workloads: choose the metric, sort by a column.
(() => {
  const table = document.getElementById("sortable"), body = table.tBodies[0];
  const metric = document.getElementById("metric");
  const value = (cell) => Number(cell.dataset[key()].split("|")[0]);
  // data-makespan_ns is dataset.makespan_ns: only hyphens are special there.
  const key = () => metric.value;

  function fill() {
    for (const cell of body.querySelectorAll("td")) {
      const [, text, best] = cell.dataset[key()].split("|");
      cell.textContent = text;
      cell.classList.toggle("best", best === "1");
    }
  }

  function sortBy(header) {
    const column = header.cellIndex, ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const compare = (one, other) => column === 0
      ? one.cells[0].textContent.localeCompare(other.cells[0].textContent)
      : value(one.cells[column]) - value(other.cells[column]);
    body.append(...[...body.rows].sort((one, other) => (ascending ? 1 : -1) * compare(one, other)));
  }

  table.tHead.addEventListener("click", (event) => { if (event.target.closest("button")) sortBy(event.target.closest("th")); });
  metric.addEventListener("change", fill);
  fill();
})();
