// What is drawn below and above the graph, on canvases of its own: soft halos, and labels that never
// lie over one another. Whoever comes first has the place; the next takes another side, or is left
// out. Dots count too: a label covers as few of them as it can.
window.porticoLayers = (() => {
  "use strict";
  const CELL = 48, widths = new Map(), halos = new Map();
  const begun = (canvas, { width, height }) => {
    const dense = devicePixelRatio || 1, wide = Math.round(width * dense), high = Math.round(height * dense);
    if (canvas.width !== wide || canvas.height !== high) {
      Object.assign(canvas, { width: wide, height: high });
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    }
    const to = canvas.getContext("2d");
    to.setTransform(dense, 0, 0, dense, 0, 0);
    to.clearRect(0, 0, width, height);
    return { to, width, height };
  };
  const halo = (colour) => {
    if (halos.has(colour)) return halos.get(colour);
    const made = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
    const to = made.getContext("2d"), soft = to.createRadialGradient(32, 32, 0, 32, 32, 32);
    soft.addColorStop(0, `${colour}30`);
    soft.addColorStop(1, `${colour}00`);
    to.fillStyle = soft;
    to.fillRect(0, 0, 64, 64);
    halos.set(colour, made);
    return made;
  };
  const names = (to, width, height, outline, blocked) => {
    const boxes = [], dots = new Map();
    const cells = (box) => {
      const found = [];
      for (let x = Math.floor(box.x / CELL); x <= Math.floor((box.x + box.w) / CELL); x += 1) {
        for (let y = Math.floor(box.y / CELL); y <= Math.floor((box.y + box.h) / CELL); y += 1) found.push(`${x},${y}`);
      }
      return found;
    };
    const inside = (box) => box.x >= 2 && box.y >= 2 && box.x + box.w <= width - 2 && box.y + box.h <= height - 2;
    const free = (box) => [...blocked, ...boxes].every((it) => box.x + box.w + 4 <= it.x || it.x + it.w + 4 <= box.x || box.y + box.h + 2 <= it.y || it.y + it.h + 2 <= box.y);
    const covered = (box) => {
      const seen = new Set();
      for (const cell of cells(box)) {
        for (const dot of dots.get(cell) ?? []) {
          const dx = Math.max(box.x - dot.x, 0, dot.x - box.x - box.w), dy = Math.max(box.y - dot.y, 0, dot.y - box.y - box.h);
          if (dx * dx + dy * dy < dot.r * dot.r) seen.add(dot);
        }
      }
      return seen.size;
    };
    const dot = (x, y, r) => {
      const its = { x, y, r };
      for (const cell of cells({ x: x - r, y: y - r, w: 2 * r, h: 2 * r })) {
        if (!dots.has(cell)) dots.set(cell, []);
        dots.get(cell).push(its);
      }
    };
    // `spots` gives places for a text of this size, the best first; `most` dots may be covered.
    const put = (text, { spots, size, weight, colour, most = Infinity }) => {
      const font = `${weight} ${size}px Inter, sans-serif`, key = font + text;
      to.font = font;
      if (!widths.has(key)) widths.set(key, to.measureText(text).width);
      const w = widths.get(key), h = size + 3;
      const open = spots(w, h).map(([x, y]) => ({ x, y, w, h, text })).filter((box) => inside(box) && free(box))
        .map((box) => ({ box, cost: covered(box) })).filter((each) => each.cost <= most).sort((a, b) => a.cost - b.cost);
      if (!open.length) return false;
      const { box } = open[0];
      boxes.push(box);
      to.lineJoin = "round";
      to.lineWidth = 3.5;
      to.strokeStyle = outline;
      to.strokeText(text, box.x, box.y + size);
      to.fillStyle = colour;
      to.fillText(text, box.x, box.y + size);
      return true;
    };
    return { boxes, dot, put };
  };
  return { begun, halo, names };
})();
