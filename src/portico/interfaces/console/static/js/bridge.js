// Answering without leaving the page, and sending by key. Everything works without this.
(() => {
  "use strict";
  const post = document.querySelector("#bridge-post");
  if (!post) return;
  const body = post.querySelector("#body"), reply = post.querySelector("[name=reply]");
  const line = post.querySelector("#bridge-replying");
  const answer = (id, who) => {
    reply.value = id;
    line.hidden = !id;
    line.querySelector("b").textContent = who;
    body.focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-reply],[data-no-reply],[href='#body']");
    if (!link || event.ctrlKey || event.metaKey) return;
    if (link.matches("[href='#body']")) { event.preventDefault(); body.focus(); return; }
    event.preventDefault();
    const said = link.closest("[data-who]");
    answer(link.dataset.reply ?? "", said?.dataset.who ?? "");
  });
  body.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) { event.preventDefault(); post.requestSubmit(); }
  });
  // A popover is closed by a click elsewhere, or by Escape.
  const pops = () => [...document.querySelectorAll("details.bridge-people[open],details.bridge-to[open]")];
  document.addEventListener("click", (event) => { for (const pop of pops()) if (!pop.contains(event.target)) pop.open = false; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") for (const pop of pops()) pop.open = false; });
})();
