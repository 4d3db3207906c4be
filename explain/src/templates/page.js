// Opens the folded section of a link, and marks frames that can be scrolled sideways.
(() => {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.closest("details") || target.querySelector("details"));
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  for (const link of document.links) if (link.hash) link.addEventListener("click", () => setTimeout(open));
  open();
  const mark = (it) => it.classList.toggle("wider", it.scrollWidth > it.clientWidth + 1);
  // A frame in a folded section has no size before the section is opened.
  const sizes = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
  for (const frame of document.querySelectorAll(".scroll")) { mark(frame); sizes.observe(frame); }
})();
