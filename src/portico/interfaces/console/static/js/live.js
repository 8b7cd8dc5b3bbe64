// One stream for all that a page shows. What has data-live names topics, and data-from is where its
// part is asked for when something happens in one of them; it is morphed, so what is typed stays.
(() => {
  "use strict";
  const PAUSE = 700; // at least, between two askings for the same part
  const dot = document.querySelector("#live");
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const topicsOf = (part) => part.dataset.live.split(/\s+/).filter(Boolean);
  const state = (name, words) => { dot.dataset.state = name; dot.lastElementChild.textContent = words; };
  const waiting = new WeakMap();
  htmx.config.morphIgnore.push("open"); // what somebody has unfolded stays unfolded

  const fetchPart = async (part) => {
    waiting.set(part, { last: Date.now(), due: null });
    if (!part.dataset.from || !part.isConnected) return; // while it waited it was drawn, and is over
    const swap = part.dataset.swap ?? "outerMorph";
    try { await htmx.ajax("GET", part.dataset.from, { target: part, swap }); } catch { /* comes again */ }
  };
  const refresh = (part) => {
    if (!part.dataset.from || !part.isConnected) return;
    const known = waiting.get(part) ?? { last: 0, due: null };
    if (known.due) return;
    if (document.hidden) { known.due = "shown"; waiting.set(part, known); return; }
    const least = Number(part.dataset.pause ?? PAUSE);
    const pause = Math.max(60, known.last + least - Date.now());
    known.due = setTimeout(() => fetchPart(part), pause);
    waiting.set(part, known);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    for (const part of parts()) {
      const known = waiting.get(part);
      if (known?.due === "shown") { known.due = null; refresh(part); }
    }
  });

  let source = null, followed = "", broken = false;
  const heard = (event) => {
    const happened = JSON.parse(event.data);
    document.dispatchEvent(new CustomEvent("portico:happened", { detail: happened }));
    for (const part of parts()) {
      const types = part.dataset.types?.split(/\s+/);
      const meant = topicsOf(part).includes(happened.topic) &&
        (!types || happened.type === "reset" || types.some((type) => happened.type.startsWith(type)));
      if (meant) refresh(part);
    }
  };
  const follow = () => {
    const topics = [...new Set(parts().flatMap(topicsOf))].sort().join(",");
    if (topics === followed && source && source.readyState !== EventSource.CLOSED) return;
    source?.close();
    followed = topics;
    source = new EventSource(`/live?topics=${encodeURIComponent(topics)}`);
    source.onopen = () => {
      state("live", "live");
      if (broken) for (const part of parts()) refresh(part); // the truth, whatever was missed
      if (broken) document.dispatchEvent(new CustomEvent("portico:again"));
      broken = false;
    };
    source.onmessage = heard;
    source.onerror = () => {
      broken = true;
      state("again", "reconnecting…");
      // A refusal ends it for good: then it is asked for anew, and a session that is over shows.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { followed = ""; follow(); }, 2000 + Math.random() * 2000);
    };
  };
  window.porticoLive = { follow, refresh };
  follow();
  document.addEventListener("htmx:after:swap", follow);
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) { followed = ""; broken = true; follow(); } });
})();
