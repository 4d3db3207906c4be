// Layout faults of a page: its highest height before sections are unfolded, or null; true if it must show tables whole.
// Returns the number of charts and the faults.
(async ({ maxHeight, isWide }) => {
  // Nested charts are boxes that stretch; only outer ones are counted.
  const inner = (it) => it.parentNode.closest("svg");
  const wrong = [], charts = [...document.querySelectorAll("svg")].filter((it) => !inner(it));
  const root = document.documentElement, width = window.innerWidth;
  // Two frames: layout, then what observes it.
  const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (maxHeight && root.scrollHeight > maxHeight) {
    wrong.push(`the folded page is ${root.scrollHeight} pixels high, ${maxHeight} are permitted`);
  }
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const target = document.getElementById(link.hash.slice(1));
    const fold = target && target.querySelector(":scope > details");
    if (fold) {
      link.click();
      await new Promise((done) => setTimeout(done));
      await settled();
    }
    if (!target || fold && !fold.open) wrong.push(`the link ${link.hash} leads to nothing that is shown`);
  }
  scrollTo(0, 0);
  for (const closed of document.querySelectorAll("details")) closed.open = true;
  await settled();
  if (root.scrollWidth > width) {
    const out = [...document.querySelectorAll("body *")].find((it) =>
      !it.closest(".scroll") && it.getBoundingClientRect().right > width + 1);
    wrong.push(`the page is ${root.scrollWidth} wide for ${out ? out.outerHTML.slice(0, 120) : "?"}`);
  }
  for (const frame of document.querySelectorAll(".scroll")) {
    const name = frame.getAttribute("aria-label"), over = frame.scrollWidth - frame.clientWidth;
    if (over <= 1) continue;
    if (isWide) wrong.push(`${name}: ${over} pixels are cut off`);
    if (getComputedStyle(frame, "::before").content === "none") {
      wrong.push(`${name}: ${over} pixels are cut off without a hint to scroll`);
    }
  }
  for (const table of document.querySelectorAll("section table")) {
    const over = table.getBoundingClientRect().right - table.parentElement.getBoundingClientRect().right;
    if (over > 1 && !table.closest(".scroll")) wrong.push(`a table exceeds its frame by ${over} pixels`);
  }
  const head = document.querySelector(".verdicts li") || document.querySelector("h1");
  const verdict = head.getBoundingClientRect();
  const shown = verdict.top >= 0 && verdict.top < window.innerHeight / 2 && verdict.height > 0;
  if (!shown || !head.textContent.trim()) wrong.push("the verdict is not visible without scrolling");
  const ink = (of) => getComputedStyle(of).color;
  if (ink(head) === getComputedStyle(document.body).backgroundColor) wrong.push("the verdict has no contrast");
  // The colour of a legend's entry; a ring has that of its line.
  const colour = (swatch) => {
    const style = getComputedStyle(swatch), numbers = (text) => text.match(/[\d.]+/g).map(Number);
    const [r, g, b, alpha = 1] = numbers(style.backgroundColor);
    const shown = alpha === 0 ? numbers(style.borderTopColor).slice(0, 3) : [r, g, b];
    const paper = numbers(getComputedStyle(swatch.closest("section")).backgroundColor);
    return shown.map((part, at) => part * style.opacity + paper[at] * (1 - style.opacity));
  };
  const distance = (one, other) => Math.hypot(...one.map((part, at) => part - other[at]));
  for (const legend of document.querySelectorAll(".legend")) {
    const entries = [...legend.querySelectorAll("li")].map((it) =>
      ({ name: it.textContent.trim(), colour: colour(it.querySelector(".swatch")) }));
    for (const [at, one] of entries.entries()) {
      for (const other of entries.slice(at + 1)) {
        if (distance(one.colour, other.colour) < 24) wrong.push(`"${one.name}" and "${other.name}" share a colour`);
      }
    }
  }
  for (const chart of charts) {
    const name = chart.getAttribute("aria-label"), frame = chart.getBoundingClientRect();
    const marks = chart.querySelectorAll("line,rect,circle,path");
    if (frame.width < 50 || frame.height < 10 || marks.length === 0) {
      wrong.push(`${name}: nothing drawn on ${frame.width} x ${frame.height} pixels`);
    }
    // The box of a text is higher than its letters.
    const texts = [...chart.querySelectorAll("text")].map((it) => {
      const box = it.getBoundingClientRect();
      return { words: it.textContent, left: box.left, right: box.right, top: box.top + 2, bottom: box.bottom - 2 };
    });
    for (const [at, one] of texts.entries()) {
      // With `overflow: hidden` a chart clips at its edges.
      const hides = getComputedStyle(chart).overflow === "hidden";
      const [left, right] = hides ? [frame.left - 1, frame.right + 1] : [0, width];
      const cut = one.left < left || one.right > right;
      if (cut && !chart.closest(".scroll")) wrong.push(`${name}: "${one.words}" is cut off`);
      for (const other of texts.slice(at + 1)) {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (across > 1 && down > 1) wrong.push(`${name}: "${one.words}" and "${other.words}" overlap`);
      }
    }
  }
  return { charts: charts.length, wrong };
})
