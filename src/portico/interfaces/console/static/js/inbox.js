// Approvals: what is marked is what is shown, keys act on that alone, and new ones are told of.
(() => {
  "use strict";
  const one = (what) => document.querySelector(what);
  const wide = matchMedia("(min-width: 901px)");
  const SETTLE = 900; // ms after something new is shown, in which no key answers it
  let shownAt = performance.now(), loading = null;
  const detail = () => one("#inbox-detail");
  const rowOf = (element) => element?.closest?.("#inbox-list [data-row]");

  // Moving over the list opens what is marked, beside it.
  const mark = (id) => {
    for (const row of document.querySelectorAll("#inbox-list [data-row]")) {
      if (row.dataset.id === id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    const list = one("#inbox-list"), from = new URL(list.dataset.from, location.href);
    from.searchParams.set("marked", id);
    list.dataset.from = from.pathname + from.search;
  };
  const open = async (id, path) => {
    loading = id;
    mark(id);
    try { await htmx.ajax("GET", `/inbox/${id}/part`, { target: detail(), swap: "outerHTML" }); } catch { /* the link works */ }
    if (loading !== id) return;
    loading = null;
    shownAt = performance.now();
    if (path) history.replaceState(null, "", path);
  };
  // Whoever goes by Tab passes the rows on the way to what is shown: it stays, and Enter opens.
  let due = 0, passing = false;
  addEventListener("keydown", (event) => { passing = event.key === "Tab"; }, true);
  addEventListener("pointerdown", () => { passing = false; }, true);
  document.addEventListener("focusin", (event) => {
    const row = rowOf(event.target);
    if (!row || passing || !wide.matches || row.dataset.id === (loading ?? detail().dataset.id)) return;
    loading = row.dataset.id;
    clearTimeout(due);
    due = setTimeout(() => open(row.dataset.id, row.href), 90);
  });

  // Where nobody is anywhere yet, they are at what is shown: j goes on from there.
  if (wide.matches && document.activeElement === document.body) {
    one("#inbox-list [aria-current]")?.focus({ preventScroll: true });
  }

  // A key answers only what has been on the screen for a moment: a second press is not a second yes.
  addEventListener("keydown", (event) => {
    if (!["a", "x", "e", "w"].includes(event.key) || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.matches("input,textarea,select")) return;
    const row = rowOf(document.activeElement), shown = detail().dataset.id;
    const other = loading || (row && wide.matches && row.dataset.id !== shown);
    const answers = event.key === "a" || event.key === "x";
    const early = answers && (event.repeat || performance.now() - shownAt < SETTLE);
    if (other || early) { event.preventDefault(); event.stopImmediatePropagation(); }
  }, true);
  // Sent once: whoever presses again while the answer is under way sends nothing.
  let sent = false;
  document.addEventListener("submit", (event) => {
    if (!event.target.closest("#inbox-detail")) return;
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; });

  // What happens to the one that is shown; and the first one where nothing was.
  document.addEventListener("portico:happened", (event) => {
    const { topic, type, facts } = event.detail;
    if (topic !== "approvals") return;
    if (facts.approval === detail().dataset.id) porticoLive.refresh(detail());
    if (type === "approval.asked") tell(facts.approval);
  });
  document.addEventListener("portico:again", () => porticoLive.refresh(detail()));
  document.addEventListener("htmx:after:swap", () => {
    const first = one("#inbox-list [data-row]");
    if (first && wide.matches && !loading && !detail().dataset.id) open(first.dataset.id, null);
  });

  // A notification says that there is one, and not what: others may see the screen.
  const button = one("#inbox-notify");
  const tell = (id) => {
    if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
    const note = new Notification("Portico: somebody waits for your answer", { tag: id });
    note.onclick = () => { focus(); location.assign(`/inbox/${encodeURIComponent(id)}`); };
  };
  const offer = () => { button.hidden = !("Notification" in window) || Notification.permission !== "default"; };
  if (button) {
    offer();
    button.addEventListener("click", async () => { await Notification.requestPermission(); offer(); });
  }
})();
