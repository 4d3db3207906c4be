// Checks the layout of the page; returns {charts, wrong}: the number of charts and the faults.
(() => {
  // Nested charts are boxes that stretch; only outer ones are counted.
  const inner = (it) => it.parentNode.closest("svg");
  const wrong = [], charts = [...document.querySelectorAll("svg")].filter((it) => !inner(it));
  for (const closed of document.querySelectorAll("details")) closed.open = true;
  const root = document.documentElement, width = window.innerWidth;
  if (root.scrollWidth > width) {
    const out = [...document.querySelectorAll("body *")].find((it) =>
      !it.closest(".scroll") && it.getBoundingClientRect().right > width + 1);
    wrong.push(`the page is ${root.scrollWidth} wide for ${out ? out.outerHTML.slice(0, 120) : "?"}`);
  }
  const head = document.querySelector(".verdicts li") || document.querySelector("h1");
  const verdict = head.getBoundingClientRect();
  const shown = verdict.top >= 0 && verdict.top < window.innerHeight / 2 && verdict.height > 0;
  if (!shown || !head.textContent.trim()) wrong.push("the verdict is not visible without scrolling");
  const ink = (of) => getComputedStyle(of).color;
  if (ink(head) === getComputedStyle(document.body).backgroundColor) wrong.push("the verdict has no contrast");
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
})()
