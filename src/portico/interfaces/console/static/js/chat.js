// A chat while it is being said: words are appended as they come, at most twenty times a second, and
// a turn that has ended is drawn by the server. Each piece says where it belongs, so that what is
// told again after a broken connection is not there twice.
(() => {
  "use strict";
  const { one, all, say } = window.portico;
  const FRAME = 50; // ms between two appendings
  const letters = (text) => Array.from(text); // the server counts letters, not halves of them

  // Forms: enter sends, shift and enter is a new line.
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-compose]");
    if (!form || !event.target.matches("textarea") || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "ArrowUp" && event.target.value === "" && form.matches(".chat-compose")) {
      const last = all(".chat-edit").at(-1);
      if (!last) return;
      event.preventDefault();
      last.open = true;
      one("textarea", last).focus();
    }
  });

  // The chat that is shown: there may be none yet, or another one after a form was sent.
  const box = () => one("#chat");
  const agent = () => box().dataset.agent;
  const named = (id) => document.getElementById(id);
  const key = (number) => `${box().dataset.run}-turn-${number}`;

  // The end stays in sight for whoever is there.
  const pane = () => box()?.closest("[data-scroll]") ?? document.scrollingElement;
  const atEnd = () => pane().scrollTop + pane().clientHeight >= pane().scrollHeight - 160;
  const toEnd = () => { if (box()) pane().scrollTop = pane().scrollHeight; };
  const keeping = (change) => { const end = atEnd(); change(); if (end) toEnd(); };
  if (!new URLSearchParams(location.search).has("at")) toEnd();

  const status = (words) => {
    const line = one("#chat-status");
    if (line && line.textContent !== words) line.textContent = words;
  };

  // Turns that are being said, by the ids of their elements.
  const turns = new Map();
  const turn = (number) => {
    const id = key(number);
    let known = turns.get(id), element = named(id);
    if (known?.element === element && element) return known;
    if (element && !("liveTurn" in element.dataset)) return null; // it is drawn already
    if (!element) {
      element = one("#chat-turn").content.firstElementChild.cloneNode(true);
      element.id = id;
      keeping(() => box().append(element));
    }
    const part = (node) => ({ node, attempt: 0, length: 0, waiting: "" });
    known = { number, element, text: part(one(".chat-typed", element)), thought: part(one(".chat-thought pre", element)) };
    turns.set(id, known);
    return known;
  };

  let due = null;
  const flush = () => {
    due = null;
    keeping(() => {
      for (const known of turns.values()) for (const part of [known.text, known.thought]) {
        if (!part.waiting) continue;
        part.node.append(document.createTextNode(part.waiting));
        part.waiting = "";
      }
    });
  };
  const add = (name, facts) => {
    const known = turn(facts.turn);
    if (!known) return;
    const part = known[name];
    if (facts.attempt < part.attempt) return;
    if (facts.attempt > part.attempt) { // asked anew: what came before is void
      Object.assign(part, { attempt: facts.attempt, length: 0, waiting: "" });
      part.node.replaceChildren();
    }
    const piece = letters(facts.text), fresh = piece.slice(Math.max(part.length - facts.offset, 0));
    part.length = Math.max(part.length, facts.offset + piece.length);
    part.waiting += fresh.join("");
    if (name === "thought") one(".chat-thought", known.element).hidden = false;
    if (part.waiting) due ??= setTimeout(flush, FRAME);
    status(`${agent()} is ${name === "text" ? "writing" : "thinking"}`);
  };

  // What is written down is drawn by the server.
  const asked = new Map();
  const draw = (number) => {
    const id = key(number), from = `/chat/${box().dataset.run}/turns/${number}`;
    clearTimeout(asked.get(id));
    asked.set(id, setTimeout(async () => {
      if (!box() || key(number) !== id) return;
      turn(number);
      flush();
      const end = atEnd();
      await htmx.ajax("GET", from, { target: named(id), swap: "outerMorph" });
      const drawn = named(id);
      if (drawn && !drawn.dataset.turn && !one(".chat-typed", drawn).textContent) drawn.remove(); // it never came
      drawn?.removeAttribute("data-live-turn");
      turns.delete(id);
      if (end) toEnd();
    }, 80));
  };
  const refresh = () => {
    for (const part of [named("chat-foot"), named("chat-fall")]) if (part) window.porticoLive.refresh(part);
  };

  const heard = (facts) => {
    const id = `${box().dataset.run}-said-${facts.number}`;
    let mine = named(id);
    if (!mine) {
      mine = one("#chat-said").content.firstElementChild.cloneNode(true);
      mine.id = id;
      one(".chat-bubble", mine).textContent = facts.text;
    }
    one(".chat-waits", mine)?.remove();
    if (!mine.isConnected || mine.nextElementSibling) keeping(() => box().append(mine));
  };
  const ended = () => {
    const last = Number(all("[data-turn]", box()).at(-1)?.dataset.turn ?? 0);
    for (const number of new Set([...turns.values()].map((known) => known.number).concat(last))) if (number) draw(number);
    for (const waits of all(".chat-waits", box())) waits.remove();
    one(".chat-compose textarea")?.setAttribute("placeholder", `Ask ${agent()} more…`);
    refresh();
  };

  const happenings = {
    "turn.began": (facts) => { if (turn(facts.turn)) status(`${agent()} is thinking`); },
    "text.added": (facts) => add("text", facts),
    "thought.added": (facts) => add("thought", facts),
    "turn.ended": (facts) => { draw(facts.turn); refresh(); },
    "tool.began": (facts) => { draw(facts.turn); status(`uses ${facts.tool}`); },
    "tool.waits": (facts) => { draw(facts.turn); status(`needs approval for ${facts.tool}`); },
    "tool.ended": (facts) => { draw(facts.turn); refresh(); status(`${facts.tool} ${facts.failed ? "failed" : "is done"}`); },
    "message.heard": heard,
    "noted": (facts) => status(facts.message),
    "run.ended": ended,
  };
  document.addEventListener("portico:happened", (event) => {
    const { topic, type, facts } = event.detail;
    if (box() && topic === `talk:${box().dataset.run}`) happenings[type]?.(facts);
  });
  // What the stream tells anew is taken in as above; these are asked for.
  document.addEventListener("portico:again", refresh);

  // What was sent is not sent again by the next message, which is another.
  document.addEventListener("htmx:after:request", (event) => {
    const form = event.target.closest?.("form.chat-compose");
    if (!form || !event.detail.ctx?.response?.raw?.ok) return;
    const fresh = crypto.getRandomValues(new Uint8Array(16));
    one("textarea", form).value = "";
    one("[name=once]", form).value = Array.from(fresh, (each) => each.toString(16).padStart(2, "0")).join("");
    say("Sent");
  });
  document.addEventListener("htmx:after:swap", (event) => {
    if (!event.target.closest?.("form.chat-compose, #try")) return;
    toEnd();
    one("#try textarea")?.focus();
  });
})();
