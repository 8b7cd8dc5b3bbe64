// Keys, palette, theme: what every page has. Nothing here is needed to read.
(() => {
  "use strict";
  const one = (what, within = document) => within.querySelector(what);
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const seen = (each) => each.getClientRects().length > 0;
  const say = (text) => { one("#said").textContent = text; };
  window.portico = { one, all, seen, say };

  // Keys are called what they are called on the keyboard that is there.
  const name = () => {
    for (const key of all("kbd")) if (key.textContent.includes("⌘")) key.textContent = key.textContent.replace("⌘", "Ctrl ");
  };
  if (!/Mac|iP/.test(navigator.platform)) { name(); document.addEventListener("htmx:after:swap", name); }

  // Theme: kept in a cookie, so that the server draws the page in it at once.
  one("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = getComputedStyle(root).colorScheme.includes("dark") &&
      (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `portico_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
    document.dispatchEvent(new CustomEvent("portico:theme"));
  });

  // Palette.
  const palette = one("#palette"), typed = one("input", palette), found = one("#palette-found");
  const openPalette = () => {
    palette.showModal();
    typed.select();
    if (!found.children.length || typed.value === "") htmx.trigger(typed, "search");
  };
  one("#open-palette").addEventListener("click", openPalette);
  one("#palette-form").addEventListener("submit", (event) => {
    event.preventDefault();
    one("a", found)?.click();
  });
  palette.addEventListener("keydown", (event) => {
    const links = all("a", found), at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : typed).focus();
    else return;
    event.preventDefault();
  });
  // What is found while one is marked leaves the mark where it was; what is gone gives it back to the field.
  let last = null;
  palette.addEventListener("focusin", (event) => { last = event.target.getAttribute("href"); });
  new MutationObserver(() => {
    if (!palette.open || palette.contains(document.activeElement)) return;
    (all("a", found).find((each) => each.getAttribute("href") === last) ?? typed).focus();
  }).observe(found, { childList: true });
  for (const dialog of all("dialog")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
  one("#open-help").addEventListener("click", () => one("#help").showModal());

  // Copying: the text of the code beside the button.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(one("code", button.parentElement).textContent);
    button.textContent = "Copied";
    say("Copied");
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // Rows: j and k go from one [data-row] to the next; what is marked is what keys act on.
  const MARKED = "a,button,summary,[tabindex]"; // what of a row can be marked; else it is the row itself
  const rows = () => all("[data-row]").filter(seen);
  const marked = () => document.activeElement?.closest("[data-row]");
  const move = (by) => {
    const every = rows(), at = every.indexOf(marked());
    const next = at < 0 ? (by > 0 ? 0 : every.length - 1) : Math.max(0, Math.min(at + by, every.length - 1));
    const row = every[next];
    if (!row) return;
    const to = row.matches(MARKED) ? row : all(MARKED, row).find(seen) ?? row;
    if (to === row && !row.matches(MARKED)) row.tabIndex = -1;
    to.focus();
    row.scrollIntoView({ block: "nearest" });
  };
  // What has data-key is clicked when that key is pressed: in what is marked, else on the page.
  const act = (key) => {
    const fits = (within) => all(`[data-key="${key}"]`, within).find((each) => seen(each) && !each.disabled);
    const row = marked(), target = (row && fits(row)) ?? fits(document);
    if (!target) return false;
    if (target.matches("input:not([type=submit]),textarea,select")) target.focus();
    else if (target.matches("details")) { target.open = !target.open; one("summary", target)?.focus(); }
    else { if (target.matches("summary")) target.focus(); target.click(); }
    return true;
  };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.key === "Escape" && event.target.matches("input,textarea,select")) {
      // A browser would empty a search field, and with it what was found: it is left as it is.
      if (event.target.type === "search" && !event.target.closest("dialog")) event.preventDefault();
      event.target.blur();
    }
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (event.target.matches("input,textarea,select,[contenteditable]") || one("dialog[open]")) return;
    const key = event.key;
    if (going && event.timeStamp - going < 1500) {
      going = 0;
      const place = one(`[data-go="${CSS.escape(key)}"]`);
      if (place) { event.preventDefault(); place.click(); }
      return;
    }
    if (key === "g") { going = event.timeStamp; return; }
    if (key === "?") one("#help").showModal();
    else if (key === "/" && one("[data-search]")) one("[data-search]").focus();
    else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (!(key.length === 1 || key === "Enter" || key === "Escape") || key === "Enter" || !act(key)) return;
    event.preventDefault();
  });
})();
