// Sends drafts after a pause in typing, and at once when the page is left.
const WAIT = 500; // ms after the last key press

// `changed` is called when a draft begins, and when it was sent.
export function openDrafts(changed) {
  const fields = new Map(); // the function that sends each field; it returns false for an invalid value
  let timer;

  function flush() {
    clearTimeout(timer);
    timer = 0;
    const before = [...fields];
    fields.clear();
    for (const [field, send] of before) {
      if (send() === false) fields.set(field, send);
    }
    if (before.length) changed();
  }

  document.addEventListener("visibilitychange", () => document.hidden && flush());
  return {
    flush,
    has: (field) => fields.has(field),
    state: () => (timer ? "saving" : fields.size && "refused"),
    write(field, send, wait = WAIT) {
      fields.set(field, send);
      clearTimeout(timer);
      timer = setTimeout(flush, wait);
      changed();
    },
    drop(field) {
      if (fields.delete(field)) changed();
    },
    // Drafts that could not be sent are dropped with their page.
    close() {
      flush();
      fields.clear();
    },
  };
}
