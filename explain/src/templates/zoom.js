// Charts of class "zoom" have their places along the width in per cent. This stretches them: in a
// scope by its buttons and by dragging, in a flame graph by a click on a box.
(function () {
  var GRID = "http://www.w3.org/2000/svg";
  function number(element, name) {
    var text = element.getAttribute(name);
    return text !== null && text.endsWith("%") ? parseFloat(text) : null;
  }
  function time(ns) {
    var size = Math.abs(ns), unit = size >= 999.5e6 ? ["s", 1e9] : size >= 999500 ? ["ms", 1e6] : size >= 999.5 ? ["µs", 1e3] : ["ns", 1];
    return (ns < 0 ? "−" : "") + +(size / unit[1]).toFixed(3) + " " + unit[0];
  }
  function Chart(svg) {
    var from = 0, to = 100, places = [];
    svg.querySelectorAll("*").forEach(function (element) {
      // The contents of a box move with it.
      if (element.parentNode.closest("svg") !== svg || element.hasAttribute("data-still")) return;
      ["x", "x1", "x2", "cx", "width"].forEach(function (name) {
        var place = number(element, name);
        if (place !== null) places.push([element, name, place]);
      });
    });
    function show(a, b) {
      var least = svg.classList.contains("flame") ? 0.02 : 0.002;
      var width = Math.min(100, Math.max(least, b - a));
      from = Math.min(Math.max(0, a), 100 - width);
      to = from + width;
      places.forEach(function (place) {
        var scaled = (place[1] === "width" ? place[2] : place[2] - from) * 100 / width;
        place[0].setAttribute(place[1], scaled.toFixed(4) + "%");
      });
      axis();
    }
    // The time axis of a scope is redrawn: round steps, counted from the chart's zero.
    function axis() {
      var group = svg.querySelector("g.axis-lines");
      if (!group) return;
      var start = +svg.dataset.start, span = +svg.dataset.span, bottom = +svg.dataset.bottom;
      var first = start + span * from / 100, seen = span * (to - from) / 100, step = 1;
      while (seen / step >= 6) step *= seen / step >= 30 ? 10 : seen / step >= 12 ? 5 : 2;
      var round = Math.pow(10, Math.floor(Math.log10(step)));
      step = [1, 2, 5, 10].map(function (n) { return n * round; }).find(function (n) { return n >= step; });
      group.textContent = "";
      for (var at = Math.ceil(first / step) * step; at <= first + seen; at += step) {
        var x = (at - first) / seen * 100;
        var line = document.createElementNS(GRID, "line");
        line.setAttribute("class", "grid");
        line.setAttribute("x1", x + "%"); line.setAttribute("x2", x + "%");
        line.setAttribute("y1", 0); line.setAttribute("y2", bottom);
        group.appendChild(line);
        if (x < 4 || x > 94) continue;
        var text = document.createElementNS(GRID, "text");
        text.setAttribute("class", "axis"); text.setAttribute("text-anchor", "middle");
        text.setAttribute("x", x + "%"); text.setAttribute("y", bottom + 16);
        text.textContent = Math.abs(at) < step / 2 ? "0" : time(at);
        group.appendChild(text);
      }
    }
    function scale(factor, about) {
      var middle = from + (to - from) * about;
      show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }
    if (svg.classList.contains("flame")) {
      svg.addEventListener("click", function (event) {
        var box = event.target.closest("svg.f");
        if (!box) return show(0, 100);
        var x = number(box, "x"), width = number(box, "width"), seen = to - from;
        // A click on a box that fills the width zooms out.
        if (width > 99.9) return show(0, 100);
        show(from + x * seen / 100, from + (x + width) * seen / 100);
      });
      return;
    }
    var drag = null;
    svg.addEventListener("pointerdown", function (event) {
      drag = { x: event.clientX, from: from, to: to };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      if (!drag) return;
      var moved = (event.clientX - drag.x) / svg.clientWidth * (drag.to - drag.from);
      show(drag.from - moved, drag.to - moved);
    });
    ["pointerup", "pointercancel"].forEach(function (name) {
      svg.addEventListener(name, function () { drag = null; });
    });
    svg.addEventListener("dblclick", function (event) {
      scale(0.25, (event.clientX - svg.getBoundingClientRect().left) / svg.clientWidth);
    });
    svg.addEventListener("wheel", function (event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      scale(event.deltaY > 0 ? 1.5 : 1 / 1.5, (event.clientX - svg.getBoundingClientRect().left) / svg.clientWidth);
    }, { passive: false });
    var buttons = svg.parentNode.querySelectorAll("button[data-zoom]");
    buttons.forEach(function (button) {
      button.parentNode.hidden = false;
      button.addEventListener("click", function () {
        var zero = -svg.dataset.start / svg.dataset.span * 100;
        // Zoom around time zero while it is visible.
        var about = zero > from && zero < to ? (zero - from) / (to - from) : 0.5;
        if (button.dataset.zoom === "all") show(0, 100);
        else scale(button.dataset.zoom === "in" ? 0.5 : 2, about);
      });
    });
  }
  document.querySelectorAll("svg.zoom").forEach(Chart);
})();
