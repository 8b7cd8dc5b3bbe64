// The graph, drawn: places and sizes come from the server, so that nothing lies over anything. Labels
// are ours: the most central first, each only where no other is; nearer there is room for more.
(async () => {
  "use strict";
  const { one, all, say } = window.portico, layers = window.porticoLayers;
  const stage = one("#g"), wait = one("#graph-wait");
  if (!stage) return;
  const fail = (words) => { wait.textContent = words; };
  let data;
  try {
    const answer = await fetch(stage.dataset.from, { headers: { accept: "application/json" } });
    if (!answer.ok) throw new Error(String(answer.status));
    data = await answer.json();
  } catch { fail("The graph could not be asked for. Load the page again."); return; }

  // Colours: pre-mixed for both themes, since WebGL knows no light-dark() and blends nothing.
  const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const hex = (parts) => "#" + parts.map((n) => Math.round(n).toString(16).padStart(2, "0")).join("");
  const mix = (one, other, share) => one.map((n, i) => n * share + other[i] * (1 - share));
  let palette, ground, ink, line, strong;
  const readColours = () => {
    palette = [...one("#graph-colours").children].map((each) => rgb(getComputedStyle(each).color));
    [ground, ink, line, strong] = palette.splice(13);
  };
  const colourOf = (group) => palette[group > 0 ? (group - 1) % 12 + 1 : 0];

  const graph = new graphology.DirectedGraph();
  const ids = data.nodes.map(([id]) => id);
  for (const [id, x, y, size, group] of data.nodes) graph.addNode(id, { x, y: -y, size, group });
  for (const [from, to, sure, fed] of data.edges) {
    graph.mergeDirectedEdge(ids[from], ids[to], { fed, size: fed ? 1.1 + sure * 1.4 : 0.5 + sure * 0.6 });
  }
  const paint = () => {
    readColours();
    graph.forEachNode((id, its) => graph.setNodeAttribute(id, "color", hex(colourOf(its.group))));
    graph.forEachEdge((edge, its, from, to) => {
      const a = graph.getNodeAttribute(from, "group"), same = a === graph.getNodeAttribute(to, "group");
      const share = (its.fed ? 0.7 : 0.5) * (same ? 1 : 0.75);
      graph.setEdgeAttribute(edge, "color", hex(mix(same ? colourOf(a) : line, ground, share)));
    });
  };
  paint();

  let path = [], hovered = null, chosen = stage.dataset.tool || null, group = Number(stage.dataset.community) || null;
  const focus = () => hovered ?? chosen;
  const lit = (id) => {
    if (path.length) return path.includes(id);
    if (focus() && graph.hasNode(focus())) return id === focus() || graph.areNeighbors(id, focus());
    return group === null || graph.getNodeAttribute(id, "group") === group;
  };
  const any = () => path.length > 0 || group !== null || (focus() !== null && graph.hasNode(focus()));
  let renderer;
  try {
    renderer = new Sigma(graph, stage, {
      renderLabels: false, itemSizesReference: "positions", zIndex: true, minEdgeThickness: 0.7,
      zoomToSizeRatioFunction: (ratio) => (ratio > 1 ? ratio : Math.sqrt(ratio)), // farther off nothing grows into another
      minCameraRatio: 0.04, maxCameraRatio: 1.6, stagePadding: 46, defaultEdgeType: "line", defaultDrawNodeHover: () => {},
      nodeReducer: (id, its) => !any() ? its : lit(id) ? { ...its, zIndex: 2 } : { ...its, color: hex(mix(rgbOf(its.color), ground, 0.22)), zIndex: 0 },
      edgeReducer: (edge, its) => {
        if (!any()) return its;
        const [from, to] = graph.extremities(edge), at = path.indexOf(from);
        if (path.length && at >= 0 && path[at + 1] === to) return { ...its, color: hex(strong), size: 4, type: "arrow", zIndex: 3 };
        if (!path.length && focus() && (from === focus() || to === focus())) return { ...its, color: hex(mix(strong, ground, 0.75)), size: its.size + 0.8, type: "arrow", zIndex: 2 };
        if (!path.length && !focus() && lit(from) && lit(to)) return its;
        return { ...its, hidden: true };
      },
    });
  } catch { fail("This browser cannot draw the picture (WebGL). The lists beside it say the same."); return; }
  function rgbOf(text) { return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)); }
  const [left, right, top, bottom] = data.frame;
  renderer.setCustomBBox({ x: [left, right], y: [-bottom, -top] });
  wait.hidden = true;

  // Halos below, labels above, both on canvases of their own.
  const halos = renderer.createCanvas("halos", { beforeLayer: "edges" });
  const over = renderer.createCanvas("names", { afterLayer: "hoverNodes" });
  over.style.pointerEvents = "none";
  const begun = (canvas) => layers.begun(canvas, renderer.getDimensions());
  const drawHalos = () => {
    const { to, width, height } = begun(halos);
    const reach = Math.abs(renderer.graphToViewport({ x: 30, y: 0 }).x - renderer.graphToViewport({ x: 0, y: 0 }).x);
    graph.forEachNode((id, its) => {
      if (any() && !lit(id)) return;
      const at = renderer.graphToViewport(its);
      if (at.x < -reach || at.y < -reach || at.x > width + reach || at.y > height + reach) return;
      to.drawImage(layers.halo(its.color), at.x - reach, at.y - reach, 2 * reach, 2 * reach);
    });
  };
  const byRank = ids.slice().sort((a, b) => graph.getNodeAttribute(b, "size") - graph.getNodeAttribute(a, "size") || (a < b ? -1 : 1));
  const middles = Object.entries(data.names).map(([number, name]) => {
    const own = data.nodes.filter((node) => node[4] === Number(number));
    const top = Math.min(...own.map((node) => node[2] - node[3])), bottom = Math.max(...own.map((node) => node[2] + node[3]));
    return { name, group: Number(number), count: own.length, x: own.reduce((sum, node) => sum + node[1], 0) / own.length, y: -top, low: -bottom };
  }).sort((a, b) => b.count - a.count);
  let boxes = [];
  const blocked = () => all(".graph-find, .graph-tools").map((each) => ({ x: each.offsetLeft, y: each.offsetTop, w: each.offsetWidth, h: each.offsetHeight }));
  const drawNames = () => {
    const { to, width, height } = begun(over), ratio = renderer.getCamera().ratio;
    const names = layers.names(to, width, height, hex(ground), blocked()), busy = any();
    const seen = ids.flatMap((id) => {
      const its = graph.getNodeAttributes(id), at = renderer.graphToViewport(its), r = renderer.scaleSize(its.size);
      const shown = at.x > -40 && at.y > -20 && at.x < width + 40 && at.y < height + 20;
      if (shown && (!busy || lit(id))) names.dot(at.x, at.y, r);
      return shown ? [[id, { ...at, r: r + 4 }]] : [];
    });
    const places = new Map(seen);
    const name = (id, bold, most) => {
      const at = places.get(id);
      if (!at) return false;
      const spots = (w, h) => [[at.x + at.r, at.y - h / 2], [at.x - at.r - w, at.y - h / 2], [at.x - w / 2, at.y - at.r - h], [at.x - w / 2, at.y + at.r]];
      return names.put(id, { spots, size: bold ? 12.5 : 11.5, weight: bold ? 650 : 550, colour: hex(ink), most });
    };
    for (const id of path) name(id, true);
    if (focus()) name(focus(), true);
    if (!busy && ratio > 0.3) for (const each of middles) {
      const at = renderer.graphToViewport(each), low = renderer.graphToViewport({ x: each.x, y: each.low }).y;
      const spots = (w, h) => [-0.5, -0.2, -0.8].flatMap((by) => [[at.x + w * by, at.y - h - 5], [at.x + w * by, low + 5]]);
      names.put(each.name, { spots, size: 12.5, weight: 620, colour: hex(mix(colourOf(each.group), ink, 0.75)), most: 8 });
    }
    let room = path.length ? 0 : Math.min(240, Math.round((busy ? 60 : 20) / ratio));
    for (const [rank, id] of byRank.entries()) {
      if (room <= 0) break;
      if (busy && !lit(id)) continue;
      if (name(id, false, busy || rank < 14 / ratio ? 5 : 1)) room -= 1;
    }
    boxes = names.boxes;
  };
  renderer.on("afterRender", () => { drawHalos(); drawNames(); }); // only then is it known where things are
  const again = () => renderer.refresh({ skipIndexation: true });
  // Moving: pointer, buttons, keys.
  const camera = renderer.getCamera();
  const zoom = { in: () => camera.animatedZoom(1.6), out: () => camera.animatedUnzoom(1.6), fit: () => { [path, chosen, group] = [[], null, null]; mark(); camera.animatedReset(); again(); } };
  for (const button of all("[data-zoom]")) button.addEventListener("click", () => zoom[button.dataset.zoom]());
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  document.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step || event.target.closest("input,textarea,select,[role=region],ul,dialog") || one("dialog[open]")) return;
    event.preventDefault();
    const { x, y, ratio } = camera.getState();
    camera.animate({ x: x + step[0] * ratio * 0.12, y: y + step[1] * ratio * 0.12 }, { duration: 120 });
  });
  const mark = () => all(".graph-com").forEach((link) => link.toggleAttribute("aria-current", Number(link.dataset.community) === group));
  const look = (shown, least) => { // so that these are seen, and what is around them
    const at = shown.map((id) => renderer.getNodeDisplayData(id)), middle = (of) => (Math.min(...of) + Math.max(...of)) / 2;
    const [xs, ys] = [at.map((it) => it.x), at.map((it) => it.y)];
    const far = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) * 1.5;
    camera.animate({ x: middle(xs), y: middle(ys), ratio: Math.min(1, Math.max(least, far)) }, { duration: 400 });
  };
  const choose = (id, near) => {
    if (!graph.hasNode(id)) { say(`${id} is not in the picture`); return; }
    [chosen, group, path] = [id, null, []];
    mark();
    if (near) look([id], 0.3);
    htmx.ajax("GET", `/graph/chosen?tool=${encodeURIComponent(id)}`, { target: "#graph-chosen", swap: "innerHTML" });
    again();
  };
  renderer.on("enterNode", ({ node }) => { hovered = node; stage.style.cursor = "pointer"; again(); });
  renderer.on("leaveNode", () => { hovered = null; stage.style.cursor = ""; again(); });
  renderer.on("clickNode", ({ node }) => choose(node, false));
  renderer.on("clickStage", () => { [chosen, group, path] = [null, null, []]; mark(); again(); });
  one("#graph-tools").replaceChildren(...ids.map((id) => Object.assign(document.createElement("option"), { value: id })));
  const find = one("#graph-find");
  find.form.addEventListener("submit", (event) => { event.preventDefault(); choose(find.value.trim(), true); });
  find.addEventListener("change", () => { if (graph.hasNode(find.value)) choose(find.value, true); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#graph-chosen [data-tool], .graph-com");
    if (!link) return;
    event.preventDefault();
    if (link.dataset.tool) { choose(link.dataset.tool, true); return; }
    group = group === Number(link.dataset.community) ? null : Number(link.dataset.community);
    [chosen, path] = [null, []];
    mark();
    if (group === null) camera.animatedReset(); else look(ids.filter(lit), 0.2);
    again();
  });
  const told = () => all("#graph-path [data-hop]").map((each) => each.dataset.hop);
  let heard = "";
  const readPath = () => {
    if (told().join(" ") === heard) return;
    [path, heard, chosen, group] = [told(), told().join(" "), null, null];
    mark();
    again();
  };
  document.addEventListener("htmx:after:swap", readPath);
  const repaint = () => { paint(); again(); };
  document.addEventListener("portico:theme", repaint);
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", repaint);
  mark();
  again();
  readPath();
  if (chosen && graph.hasNode(chosen)) choose(chosen, true);
  window.porticoGraph = { renderer, graph, boxes: () => boxes };
})();
