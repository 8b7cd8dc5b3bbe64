// A run while it runs: what has happened to which step is asked for, a few times a second at most,
// and only that is drawn anew. A step is chosen without loading the page again.
(() => {
  "use strict";
  const run = document.querySelector("#run");
  if (!run) return;
  const { one, all } = window.portico;
  const PAUSE = 250; // at least, between two askings
  const FEW = 40; // names in one asking
  const { path, live: id } = run.dataset;
  let waiting = new Set(), timer = null, asking = false, last = 0, slow = 0;

  const query = (more = {}) => {
    const given = { zoom: run.dataset.zoom, find: run.dataset.find, ...more };
    const told = Object.entries(given).filter(([, value]) => value);
    return new URLSearchParams(told).toString();
  };
  let picked = new URLSearchParams(location.search).get("step") ?? ""; // else what matters most
  const get = (where, target, swap) => htmx.ajax("GET", where, { source: run, target, swap });

  // What moves: bars that grow are begun by hand, since a drawing that comes later is not new to
  // the clock of the page; the time that has gone is told once a second while there is any.
  const begin = () => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const each of all("#run-timeline animate:not([data-on])")) {
      each.dataset.on = "1";
      each.beginElement();
    }
  };
  const took = (seconds) => {
    if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 100) return `${seconds.toFixed(1)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  };
  let ahead = Infinity; // of this machine's clock before the server's; an answer that was quick knows best
  const tick = () => {
    const shown = one("#run-kpis [data-since]");
    if (!shown || document.hidden) return;
    shown.textContent = took(Math.max(0, (Date.now() - ahead - Number(shown.dataset.since)) / 1000));
  };
  const wind = () => {
    const shown = one("#run-kpis [data-since]");
    if (!shown) return;
    const said = Number(shown.dataset.elapsed) * 1000;
    ahead = Math.min(ahead, Date.now() - Number(shown.dataset.since) - said);
  };
  setInterval(tick, 1000);

  // Edges have the looks of what they join.
  const joined = () => {
    const state = (at) => one(`#n${at}`)?.dataset.s;
    for (const edge of all("#run-plan .run-edges path")) {
      const from = state(edge.dataset.f), to = state(edge.dataset.t);
      const look = from !== "done" ? "" : to === "running" ? "flow" : "done";
      if (edge.getAttribute("class") !== look) edge.setAttribute("class", look);
    }
  };
  const mark = () => {
    const name = one("#inspector")?.dataset.for;
    for (const each of all(".run-node,.run-row")) {
      if (each.dataset.step === name) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  };

  const inspect = (name, swap) => get(`${path}/steps/${encodeURIComponent(name)}?${query()}`, "#inspector", swap);
  const whole = (part, name) => part === "inspector" ? inspect(name, "outerMorph")
    : get(`${path}/${part}?${query({ step: name })}`, `#run-${part}`, "outerHTML");
  const ask = async () => {
    timer = null;
    if (asking || document.hidden) return;
    asking = true;
    const names = [...waiting].slice(0, FEW);
    for (const name of names) waiting.delete(name);
    const began = performance.now();
    try {
      const more = {
        steps: names.includes("*") ? "*" : names.join(","),
        step: picked,
        mark: one("#inspector")?.dataset.mark,
        shape: one("#run-plan")?.dataset.shape,
        scale: one("#run-timeline")?.dataset.scale,
      };
      if (!more.shape) { // there was nothing to draw, and maybe now there is
        const drawn = await fetch(`${path}/plan?${query()}`);
        if (drawn.ok && (await drawn.text()).includes("run-node")) location.reload();
        return;
      }
      await get(`${path}/parts?${query(more)}`, "#run-more", "none");
      const told = one("#run-more").dataset;
      joined();
      begin();
      for (const part of told.anew?.split(" ").filter(Boolean) ?? []) await whole(part, told.picked);
      for (const name of told.more?.split(",").filter(Boolean) ?? []) waiting.add(name);
      if (told.anew?.includes("plan")) joined();
      mark();
      begin();
      wind();
    } catch { waiting.add("*"); } finally {
      asking = false;
      last = performance.now();
      slow = last - began;
    }
    if (waiting.size) soon();
  };
  const soon = () => {
    if (timer || asking) return;
    const pause = Math.max(PAUSE, 2 * slow); // whoever is slow is asked less often
    timer = setTimeout(ask, Math.max(30, last + pause - performance.now()));
  };
  document.addEventListener("portico:happened", ({ detail }) => {
    if (detail.topic !== id) return;
    waiting.add(detail.type === "reset" ? "*" : String(detail.facts?.step ?? "-"));
    soon();
  });
  document.addEventListener("portico:again", () => { waiting.add("*"); soon(); });
  // What happened after the page was drawn and before its stream stood is asked for once.
  if (one("#run-state").dataset.over === "0") {
    const dot = one("#live");
    new MutationObserver((_, observer) => {
      if (dot.dataset.state !== "live") return;
      observer.disconnect();
      waiting.add("*");
      soon();
    }).observe(dot, { attributes: true });
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden && waiting.size) soon(); });

  // Choosing a step.
  const choose = async (name) => {
    picked = name;
    await inspect(name, "outerHTML");
    history.replaceState(null, "", `${path}?${query({ step: name })}`);
    mark();
    const [node] = all(".run-node").filter((each) => each.dataset.step === name);
    node?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const pane = one("#inspector");
    if (pane.getBoundingClientRect().top > innerHeight - 120) pane.scrollIntoView({ block: "nearest" });
  };
  run.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-step]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    choose(link.dataset.step);
  });

  wind();
  begin();
  const canvas = one(".run-canvas"), node = one('.run-node[aria-current="true"]');
  if (canvas && node) {
    const box = node.getBoundingClientRect(), pane = canvas.getBoundingClientRect();
    if (box.right > pane.right) canvas.scrollLeft += box.right - pane.right + 40;
  }
})();
