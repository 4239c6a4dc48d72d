"use strict";
// The page is whole without this: it adds a search box and filters by state.
(() => {
  const root = document.documentElement;
  const box = document.getElementById("search");
  const count = document.getElementById("count");
  const toggles = [...document.querySelectorAll(".tools input[type=checkbox]")];
  const rows = [...document.querySelectorAll("tr[data-kinds]")].map((row) => ({
    row,
    kinds: row.dataset.kinds.split(" "),
    text: row.textContent.toLowerCase(),
  }));
  if (!box || rows.length === 0) {
    return;
  }
  root.classList.add("scripted");
  const apply = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(toggles.filter((one) => one.checked).map((one) => one.value));
    let shown = 0;
    for (const { row, kinds, text } of rows) {
      const fits = kinds.some((kind) => wanted.has(kind)) && words.every((word) => text.includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    for (const part of document.querySelectorAll("[data-part]")) {
      part.hidden = !part.querySelector("tr[data-kinds]:not([hidden])");
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  box.addEventListener("input", apply);
  toggles.forEach((one) => one.addEventListener("change", apply));
  apply();
})();
