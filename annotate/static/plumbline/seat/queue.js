// Answers wait in the browser's database until the server has them, through reloads,
// crashes and hours without network. By its key the server stores each of them once.

const RETRY_FIRST = 1000;
const RETRY_LAST = 30000;
const TRY_AGAIN = [408, 425, 429]; // of the refusals; a server's own failure counts too

const database = await new Promise((resolve, reject) => {
  const request = indexedDB.open("plumbline", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("waiting", { keyPath: "id" });
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

// Resolves with what `work` on the store gives, once all of it is written.
const transact = (mode, work) => new Promise((resolve, reject) => {
  const transaction = database.transaction("waiting", mode, { durability: "relaxed" });
  const request = work(transaction.objectStore("waiting"));
  transaction.oncomplete = () => resolve(request?.result);
  transaction.onerror = () => reject(transaction.error);
});

const all = async () =>
  (await transact("readonly", (store) => store.getAll())).sort((a, b) => a.at - b.at);

// Changes rows, or forgets those that `change` leaves nothing of; newer answers in their
// place stay as they are.
const update = (rows, change) => transact("readwrite", (store) => rows.forEach((row) => {
  const found = store.get(row.id);
  found.onsuccess = () => {
    if (found.result?.key !== row.key) return;
    const changed = change(row);
    if (changed) store.put(changed);
    else store.delete(row.id);
  };
}));

const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join("");

const isJson = ({ headers }) => headers.get("Content-Type")?.startsWith("application/json");

// Resolves with the response; null: no network. The token in the cookie may be newer than
// the page: somebody logged in in another tab.
export const ask = (url, body) => fetch(url, {
  method: "POST",
  body,
  headers: {
    Accept: "application/json",
    "X-CSRFToken": document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || "",
  },
}).catch((error) => {
  if (error instanceof TypeError) return null; // the network failed
  throw error;
});

// Resolves with the reply; {error}: nothing of this story is taken now; null: no network.
async function send(rows) {
  const body = JSON.stringify({ rows });
  let response = await ask(rows[0].url, body);
  if (response?.status === 403 && !isJson(response)) {
    await ask(location.href); // brings a new token
    response = await ask(rows[0].url, body);
  }
  if (!response || response.status >= 500 || TRY_AGAIN.includes(response.status)) return null;
  // A reply that breaks off is asked for again.
  return isJson(response) ? response.json().catch(() => null) : { error: " " };
}

// `tell(state, detail)` hears of saved, saving, waiting (how many stories), refused (why);
// `onReply(code, reply)` of what the server says to a story that is submitted.
export function openQueue(tell, onReply) {
  // Another tab may send what waits here; it passes the reply on.
  const others = new BroadcastChannel("plumbline");
  others.onmessage = ({ data }) => onReply(...data);
  let told = "";
  let writing = 0; // answers that are on their way into the database
  let sending = null;
  let again = false;
  let delay = RETRY_FIRST;
  let timer;

  function say(state, detail) {
    told = state;
    tell(state, detail);
  }

  async function flush() {
    clearTimeout(timer);
    again = true;
    sending ||= (async () => {
      try {
        while (again) {
          again = false;
          await (navigator.locks ? navigator.locks.request("plumbline", sendAll) : sendAll());
        }
      } finally {
        sending = null;
      }
    })();
    return sending;
  }

  async function sendAll() {
    const waiting = (await all()).filter((row) => !row.refused);
    if (waiting.length) say("saving");
    for (const code of new Set(waiting.map((row) => row.code))) {
      const rows = waiting.filter((row) => row.code === code);
      const reply = await send(rows);
      if (!reply) {
        say("waiting", new Set((await all()).map((row) => row.code)).size);
        timer = setTimeout(flush, delay);
        delay = Math.min(delay * 2, RETRY_LAST);
        return;
      }
      delay = RETRY_FIRST;
      await settle(rows, reply);
      if (reply.problem) say("refused", reply.problem);
      if (!rows.some((row) => row.kind === "submit")) continue;
      onReply(code, reply);
      others.postMessage([code, reply]);
    }
    const refused = (await all()).find((row) => row.refused);
    if (refused) say("refused", refused.refused);
    else if (!again && !writing && told === "saving") say("saved");
  }

  // Forgets what is stored; what was refused is kept to be offered again.
  async function settle(rows, { error, refused }) {
    const why = (row) => error || refused[row.id];
    await update(rows, (row) => why(row) && { ...row, refused: why(row) });
  }

  // Sends what waits, and once more what was refused: the reason may have passed.
  async function resume() {
    const rows = (await all()).filter((row) => row.refused);
    await update(rows, ({ refused, ...row }) => row);
    await flush();
  }

  // Keeps what is said of a story instead of what was said of the same before.
  async function keep(kind, { code, url }, what, of = "") {
    say("saving");
    writing += 1;
    const [id, key] = [`${code} ${kind} ${of}`, newKey()];
    const row = { ...what, id, key, at: Date.now(), kind, code, url };
    await transact("readwrite", (store) => store.put(row));
    writing -= 1;
    resume();
  }

  addEventListener("online", () => {
    delay = RETRY_FIRST;
    flush();
  });

  return {
    resume,
    waiting: async (code) => (await all()).filter((row) => row.code === code),
    answer: (story, what) => keep("answer", story, what, what.shot || what.question),
    comment: (story, text) => keep("comment", story, { text }),
    submit: (story, what) => keep("submit", story, what),
  };
}
