// `portico ui` leads here with a session behind the #, which no server and no log is told of. It is
// exchanged for another at once; what stays in the history of the browser opens nothing. Whoever is
// logged in and comes without one is led on.
(() => {
  "use strict";
  const handed = location.hash.slice(1);
  if (!handed.startsWith("ptc_")) {
    const onward = document.querySelector("#onward");
    if (onward) location.replace(onward.href);
    return;
  }
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.querySelector("#handed");
  form.elements.handed.value = handed;
  form.requestSubmit();
})();
