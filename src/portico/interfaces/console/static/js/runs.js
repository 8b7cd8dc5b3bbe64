// A box that was ticked has the focus, and letters typed there are for the list all the same.
(() => {
  "use strict";
  document.addEventListener("keydown", (event) => {
    if (!event.target.matches?.("#runs-list input[type=checkbox]")) return;
    if (event.metaKey || event.ctrlKey || event.altKey || !["j", "k", "s", "c", "Enter"].includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const link = event.target.closest("tr").querySelector("a");
    link.focus();
    if (event.key === "Enter") link.click();
    else link.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, bubbles: true, cancelable: true }));
  }, true);
})();
