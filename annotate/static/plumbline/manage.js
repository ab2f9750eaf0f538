// Pages of a study: a link is selected as a whole as soon as it has the focus.
(() => {
  "use strict";

  document.addEventListener("focusin", (event) => {
    if (event.target.matches(".link-field")) event.target.select();
  });
})();
