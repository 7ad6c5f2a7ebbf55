// flame.js - zoom and search in a flame graph; put into the picture as it is. Without it the picture is still whole.
//
// Each frame is <g class="frame" data-x data-w data-n data-v> with x and w as fractions of the whole. Click: this frame
// becomes the whole width. Typing in the box marks what matches. Escape: as it was.
"use strict";
(function () {
    const svg = document.documentElement;
    const width = Number(svg.dataset.width), left = Number(svg.dataset.left);
    const frames = Array.from(document.querySelectorAll(".frame"), function (g) {
        return { g: g, x: Number(g.dataset.x), w: Number(g.dataset.w), name: g.dataset.n,
                 rect: g.querySelector("rect"), text: g.querySelector("text") };
    });
    const status = document.getElementById("status"), reset = document.getElementById("reset");
    const box = document.getElementById("search"), found = document.getElementById("found");
    const CHAR = 7.25;                 // of the font in flame.css
    const SLACK = 1e-9;                // fractions are rounded

    function place(f, x, w) {
        const px = left + x * width, pw = w * width;
        f.rect.setAttribute("x", px.toFixed(2));
        f.rect.setAttribute("width", Math.max(pw - 0.2, 0.1).toFixed(2));
        const room = Math.floor((pw - 6) / CHAR);
        let label = "";
        if (room >= 3) label = f.name.length <= room ? f.name : f.name.slice(0, room - 1) + "\u2026";
        if (!f.text) {
            if (!label) return;
            f.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
            f.text.setAttribute("y", Number(f.rect.getAttribute("y")) + 12.5);
            f.g.appendChild(f.text);
        }
        f.text.setAttribute("x", (px + 3).toFixed(2));
        f.text.textContent = label;
    }

    function zoom(to) {
        for (const f of frames) {
            const inside = f.x >= to.x - SLACK && f.x + f.w <= to.x + to.w + SLACK;
            const deeper = Number(f.rect.getAttribute("y")) >= Number(to.rect.getAttribute("y"));
            const above = !deeper && f.x <= to.x + SLACK && f.x + f.w >= to.x + to.w - SLACK;
            f.g.classList.toggle("above", above);
            f.g.classList.toggle("gone", !above && !(inside && deeper));
            if (above) place(f, 0, 1);
            else if (inside && deeper) place(f, (f.x - to.x) / to.w, f.w / to.w);
        }
        reset.classList.toggle("gone", to === frames[0]);
    }

    function search(text) {
        let match = null, sum = 0;
        if (text) {
            try { const re = new RegExp(text, "i"); match = function (n) { return re.test(n); }; }
            catch (e) { match = function (n) { return n.includes(text); }; }
        }
        let end = -1;                  // matches below a match are counted once
        const hits = [];
        for (const f of frames) {
            const hit = match !== null && match(f.name);
            f.g.classList.toggle("found", hit);
            if (hit) hits.push(f);
        }
        hits.sort(function (a, b) { return a.x - b.x || b.w - a.w; });
        for (const f of hits) {
            if (f.x + SLACK < end) continue;
            sum += f.w;
            end = f.x + f.w;
        }
        found.textContent = text ? hits.length + " frames, " + (100 * sum).toFixed(2) + "%" : "";
    }

    for (const f of frames) {
        f.g.addEventListener("click", function () { zoom(f); });
        f.g.addEventListener("mouseover", function () { status.textContent = f.g.querySelector("title").textContent; });
        f.g.addEventListener("mouseout", function () { status.textContent = ""; });
    }
    reset.addEventListener("click", function () { zoom(frames[0]); });
    box.addEventListener("input", function () { search(box.value); });
    document.addEventListener("keydown", function (e) {
        if (e.key === "Escape") { box.value = ""; search(""); zoom(frames[0]); }
        if (e.key === "f" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); box.focus(); }
    });
})();
