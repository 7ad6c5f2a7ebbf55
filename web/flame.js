// flame.js - zoom, search and keys in a flame graph, as a picture or as a page; put in as it is. Without it the picture is
// still whole.
//
// Each frame is <g class="frame" data-x data-w data-p> with x and w as fractions of the whole and p the number of its caller
// among the frames, callers first. Its <title> has the name, and on a second line the value. Click or Enter: this frame
// becomes the whole width. Arrows: caller, largest callee, siblings. Typing in the box marks what matches.
"use strict";
(function () {
    const svg = document.getElementById("flame"), isPage = svg.classList.contains("page");
    const status = document.getElementById("status"), reset = document.getElementById("reset");
    const box = document.getElementById("search"), found = document.getElementById("found");
    const tip = document.getElementById("tip"), hint = status.textContent;
    const CHAR = 7.25, LEFT = 10;      // of the font in flame.css; of the picture
    let left = LEFT, width = 1180;
    const frames = Array.from(document.querySelectorAll(".frame"), function (g, i) {
        const title = g.querySelector("title"), lines = title.textContent.split("\n");
        if (tip) { title.remove(); g.setAttribute("aria-label", lines.join(" ")); }
        return { g: g, i: i, x: Number(g.dataset.x), w: Number(g.dataset.w), name: lines[0], value: lines[1],
                 parent: null, children: [], rect: g.querySelector("rect"), text: g.querySelector("text") };
    });
    for (const f of frames) {
        if (f.i > 0) { f.parent = frames[Number(f.g.dataset.p)]; f.parent.children.push(f); }
    }
    let zoomed = frames[0], here = null;

    function place(f, x, w) {
        const px = left + x * width, pw = w * width;
        f.rect.setAttribute("x", px.toFixed(2));
        f.rect.setAttribute("width", (pw > 3 ? pw - 0.6 : 0.9 * pw).toFixed(2));
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

    // Callers come before what they call, so one pass tells who is below the frame.
    function zoom(to) {
        const above = new Set();
        for (let f = to.parent; f; f = f.parent) above.add(f);
        zoomed = to;
        for (const f of frames) {
            f.inside = f === to || (f.parent !== null && f.parent.inside === true);
            f.g.classList.toggle("above", above.has(f));
            f.g.classList.toggle("gone", !f.inside && !above.has(f));
            if (above.has(f)) place(f, 0, 1);
            else if (f.inside) place(f, (f.x - to.x) / to.w, f.w / to.w);
        }
        reset.classList.toggle("gone", to === frames[0]);
    }

    function search(text) {
        let match = null, sum = 0, n = 0;
        if (text) {
            try { const re = new RegExp(text, "i"); match = function (name) { return re.test(name); }; }
            catch (e) { match = function (name) { return name.includes(text); }; }
        }
        for (const f of frames) {      // matches below a match are counted once
            const hit = match !== null && match(f.name);
            f.hit = hit || (f.parent !== null && f.parent.hit);
            f.g.classList.toggle("found", hit);
            if (hit) n++;
            if (hit && !(f.parent && f.parent.hit)) sum += f.w;
        }
        found.textContent = text ? n + " frames, " + (100 * sum).toFixed(2) + "%" : "";
    }

    function tell(f) { status.textContent = f ? f.name + "  " + f.value : hint; }

    function go(f) {                   // the frame that keys are about
        if (!f) return;
        if (here) here.g.classList.remove("here");
        here = f;
        here.g.classList.add("here");
        here.rect.scrollIntoView({ block: "nearest" });
        tell(here);
    }

    function sibling(f, step) {
        const all = f.parent ? f.parent.children : [f];
        return all[all.indexOf(f) + step];
    }

    function showTip(e, f) {
        tip.textContent = f.name + "\n" + f.value;
        tip.classList.remove("gone");
        const r = tip.getBoundingClientRect();
        tip.style.left = Math.max(0, Math.min(e.clientX + 12, window.innerWidth - r.width - 4)) + "px";
        tip.style.top = (e.clientY + 16 + r.height > window.innerHeight ? e.clientY - r.height - 8 : e.clientY + 16) + "px";
    }

    function fit() {                   // a page uses all the width there is
        left = 0;
        width = Math.max(svg.getBoundingClientRect().width, 300);
        zoom(zoomed);
    }

    for (const f of frames) {
        f.g.addEventListener("click", function () { go(f); zoom(f); });
        f.g.addEventListener("mousemove", function (e) { tell(f); if (tip) showTip(e, f); });
        f.g.addEventListener("mouseleave", function () { tell(here); if (tip) tip.classList.add("gone"); });
    }
    reset.addEventListener("click", function () { zoom(frames[0]); });
    box.addEventListener("input", function () { search(box.value); });
    document.addEventListener("keydown", function (e) {
        const typing = document.activeElement === box, at = here || zoomed;
        if (e.key === "Escape") { box.value = ""; search(""); zoom(frames[0]); box.blur(); return; }
        if ((e.key === "f" && (e.ctrlKey || e.metaKey)) || (e.key === "/" && !typing)) { e.preventDefault(); box.focus(); return; }
        if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
        if (e.key === "Enter") zoom(at);
        else if (e.key === "Backspace") { zoom(zoomed.parent || zoomed); go(zoomed); }
        else if (e.key === "ArrowUp") go(at.parent);
        else if (e.key === "ArrowDown") go(here ? at.children[0] : at);
        else if (e.key === "ArrowLeft") go(sibling(at, -1));
        else if (e.key === "ArrowRight") go(sibling(at, 1));
        else return;
        e.preventDefault();
    });
    if (isPage) { fit(); window.addEventListener("resize", fit); }
})();
