// The number beside the slider, and from round to round by key.
(() => {
  "use strict";
  const slider = document.querySelector("#thoroughness"), shown = document.querySelector("#thorough-out");
  slider?.addEventListener("input", () => { shown.textContent = slider.value; });
  let at = 0;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-round]");
    const jump = event.target.closest("[href='#synthesis']");
    if (jump) { event.preventDefault(); const to = document.querySelector("#synthesis"); to.focus(); to.scrollIntoView({ block: "start" }); return; }
    if (!button) return;
    // The newest stands first; rounds are counted from the oldest.
    const rounds = [...document.querySelectorAll(".debate-round")].reverse();
    const focused = rounds.indexOf(document.activeElement);
    at = Math.max(0, Math.min((focused < 0 ? at : focused) + Number(button.dataset.round), rounds.length - 1));
    rounds[at]?.focus();
    rounds[at]?.scrollIntoView({ block: "nearest" });
  });
})();
