// What is being written is sent after a pause, and at once when its page is left.
const WAIT = 500; // ms after the last key

// `changed` hears when something begins to be written, and when it was sent.
export function openDrafts(changed) {
  const fields = new Map(); // what sends each; false: it cannot be sent as it is
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
    // Of a page that is left: what could not be sent goes with it.
    close() {
      flush();
      fields.clear();
    },
  };
}
