// graph.js - the wheel zooms a call graph, dragging moves it, a double click shows all of it again: in a browser, as the old
// tools' pictures have it; put in as it is. Without it the picture is still whole.
"use strict";
(function () {
    const svg = document.documentElement;
    if (svg.localName !== "svg") return;      // within a page, which has its own ways to move
    const first = svg.viewBox.baseVal, home = [first.x, first.y, first.width, first.height];
    const LEAST = 0.002, MOST = 4;            // of the whole, that the window may show
    let box = home.slice(), held = null;
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", "100%");

    function show() { svg.setAttribute("viewBox", box.join(" ")); }
    function place(event) {
        return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    }
    svg.addEventListener("wheel", function (event) {
        event.preventDefault();
        const p = place(event), factor = Math.pow(1.2, Math.sign(event.deltaY));
        if (box[2] * factor < home[2] * LEAST || box[2] * factor > home[2] * MOST) return;
        box = [p.x + (box[0] - p.x) * factor, p.y + (box[1] - p.y) * factor, box[2] * factor, box[3] * factor];
        show();
    }, { passive: false });
    svg.addEventListener("mousedown", function (event) {
        if (event.button !== 0) return;
        event.preventDefault();               // no text is marked
        held = place(event);
    });
    svg.addEventListener("mousemove", function (event) {
        if (!held) return;
        const p = place(event);
        box[0] += held.x - p.x;
        box[1] += held.y - p.y;
        show();
    });
    for (const end of ["mouseup", "mouseleave"]) svg.addEventListener(end, function () { held = null; });
    svg.addEventListener("dblclick", function () { box = home.slice(); show(); });
})();
