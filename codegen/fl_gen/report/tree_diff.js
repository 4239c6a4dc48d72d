"use strict";
// The page is whole without this: it adds a search box and filters by cause and vendor.
(() => {
  const box = document.getElementById("search");
  const count = document.getElementById("count");
  const ticks = [...document.querySelectorAll(".tools input[type=checkbox]")];
  const files = [...document.querySelectorAll("details.file")].map((file) => ({
    file,
    vendor: file.dataset.vendor,
    path: file.dataset.path.toLowerCase(),
    link: document.querySelector(`.tree a[data-file="${file.dataset.file}"]`),
    hunks: [...file.querySelectorAll(".hunk")].map((hunk) => ({
      hunk,
      causes: hunk.dataset.causes.split(" ").filter(Boolean),
      text: hunk.querySelector(".u").textContent.toLowerCase(),
    })),
  }));
  if (!box || files.length === 0) {
    return;
  }
  document.documentElement.classList.add("scripted");
  const off = (kind) => new Set(ticks.filter((one) => one.dataset.kind === kind && !one.checked).map((one) => one.value));
  const apply = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const vendors = off("vendor");
    const causes = off("cause");
    let shown = 0;
    for (const { file, vendor, path, link, hunks } of files) {
      const left = words.filter((word) => !path.includes(word));
      let some = hunks.length === 0 && left.length === 0 && causes.size === 0;
      for (const { hunk, causes: own, text } of hunks) {
        const wanted = own.length === 0 || own.some((cause) => !causes.has(cause));
        const fits = wanted && left.every((word) => text.includes(word));
        hunk.hidden = !fits;
        some = some || fits;
      }
      file.hidden = !some || vendors.has(vendor);
      if (link) {
        link.hidden = file.hidden;
      }
      shown += file.hidden ? 0 : 1;
    }
    for (const folder of document.querySelectorAll(".tree details")) {
      folder.hidden = !folder.querySelector("a:not([hidden])");
    }
    for (const cause of document.querySelectorAll(".cause")) {
      cause.hidden = causes.has(cause.dataset.cause);
    }
    count.textContent = `${shown} of ${files.length} files`;
  };
  box.addEventListener("input", apply);
  ticks.forEach((one) => one.addEventListener("change", apply));
  // A link into a file that is folded up opens it.
  const open = () => {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    const file = target && target.closest("details.file");
    if (file) {
      file.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", open);
  open();
  apply();
})();
