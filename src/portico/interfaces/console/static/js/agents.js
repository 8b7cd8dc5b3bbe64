// The form of an agent: the sum of what is ticked, a search among what is there, and saving by key.
(() => {
  "use strict";
  const { one, all } = window.portico;
  const form = one("#agent-form"), tools = one("#agent-tools");
  if (!form || !tools) return;
  const count = new Intl.NumberFormat("en-US");
  const spaced = (number) => count.format(number).replaceAll(",", "\u2009");

  const sum = () => {
    let chosen = 0, tokens = 0;
    for (const server of all(".agents-server", tools)) {
      const whole = one("[data-whole]", server);
      if (whole.checked) { chosen += Number(whole.dataset.size); tokens += Number(whole.dataset.tokens); continue; }
      for (const leaf of all(".agents-leaf input:checked", server)) { chosen += 1; tokens += Number(leaf.dataset.tokens); }
    }
    one("#tools-chosen").textContent = spaced(chosen);
    one("#tools-tokens").textContent = spaced(tokens);
  };
  // Patterns are counted by the server: while there are any, its sum is the right one.
  tools.addEventListener("change", (event) => {
    const server = event.target.closest(".agents-server");
    if (event.target.matches("[data-whole]")) for (const leaf of all(".agents-leaf input", server)) leaf.checked = event.target.checked;
    else if (server && !event.target.checked) one("[data-whole]", server).checked = false;
    if (!one("#more").value.trim()) sum();
  });

  const find = one("#find");
  find.addEventListener("input", () => {
    const words = find.value.trim().toLowerCase();
    for (const server of all(".agents-server", tools)) {
      let seen = 0;
      for (const leaf of all(".agents-leaf", server)) {
        leaf.hidden = words !== "" && !leaf.dataset.text.includes(words);
        if (!leaf.hidden) seen += 1;
      }
      const more = one("[name=open]", server);
      server.hidden = words !== "" && !seen && !more && !server.dataset.server.includes(words);
      if (words !== "" && seen) server.open = true;
    }
  });
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    one("[name=look]", tools).click();
  });

  const save = one("#agent-save"), changed = one("#agent-changed");
  form.addEventListener("input", (event) => { if (changed && event.target !== find) changed.hidden = false; });
  document.addEventListener("keydown", (event) => {
    if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== "s" || !save) return;
    event.preventDefault();
    form.requestSubmit(save);
  });
})();
