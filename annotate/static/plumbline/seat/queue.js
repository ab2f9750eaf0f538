// Answers wait in the browser's own database until the server has them: they survive a
// reload, a crash and hours without network. Each has a key of its own, so that the
// server stores it once however often it is sent. A browser without a database gets the
// page as it is without scripts.

const RETRY_FIRST = 1000;
const RETRY_LAST = 30000;
const TRY_AGAIN = [408, 425, 429]; // of the refusals; a server's own failure counts too

const database = await new Promise((resolve, reject) => {
  const request = indexedDB.open("plumbline", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("waiting", { keyPath: "id" });
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

// Runs `work` on the store; resolves with its result when all of it is written.
const transact = (mode, work) => new Promise((resolve, reject) => {
  const transaction = database.transaction("waiting", mode, { durability: "relaxed" });
  const request = work(transaction.objectStore("waiting"));
  transaction.oncomplete = () => resolve(request?.result);
  transaction.onerror = () => reject(transaction.error);
});

const all = () => transact("readonly", (store) => store.getAll());
const put = (rows) => transact("readwrite", (store) => rows.forEach((row) => store.put(row)));

// Forgets rows that were stored, unless a newer answer has taken their place.
const forget = (rows) => transact("readwrite", (store) => rows.forEach(({ id, key }) => {
  const found = store.get(id);
  found.onsuccess = () => found.result?.key === key && store.delete(id);
}));

const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join("");

const isJson = ({ headers }) => headers.get("Content-Type")?.startsWith("application/json");

// Resolves with the server's answer, or null if it could not be reached. The token in
// the cookie may be newer than the page: somebody logged in in another tab.
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

// Resolves with the server's reply; with {error} if it takes nothing of this story now;
// with null if it could not be reached.
async function send(rows) {
  const find = (kind) => rows.find((row) => row.kind === kind);
  const body = JSON.stringify({
    answers: rows.filter((row) => row.kind === "answer")
      .map(({ id, key, answer }) => ({ id, key, ...answer })),
    comment: find("comment")?.text,
    submit: find("submit")?.submit,
  });
  let response = await ask(rows[0].url, body);
  if (response?.status === 403 && !isJson(response)) {
    await ask(location.href); // brings a new token
    response = await ask(rows[0].url, body);
  }
  if (!response || response.status >= 500 || TRY_AGAIN.includes(response.status)) return null;
  return isJson(response) ? response.json() : { error: " " };
}

// `tell(state, detail)` hears of saved, saving, waiting (how many stories) and refused
// (why); `onReply(code, reply)` of what the server says to a story that is submitted.
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
      while (again) {
        again = false;
        await (navigator.locks ? navigator.locks.request("plumbline", sendAll) : sendAll());
      }
      sending = null;
    })();
    return sending;
  }

  async function sendAll() {
    const waiting = (await all()).filter((row) => !row.refused).sort((a, b) => a.at - b.at);
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

  // Forgets what is stored, keeps what was refused. A story that could not be submitted
  // is sent again when its annotator says so.
  async function settle(rows, { error, refused }) {
    const why = (row) => error || refused[row.id];
    await put(rows.filter(why).map((row) => ({ ...row, refused: why(row) })));
    await forget(rows.filter((row) => !why(row)));
  }

  // What was refused is offered again: the reason may have passed.
  async function resume() {
    const rows = (await all()).filter((row) => row.refused);
    await put(rows.map(({ refused, ...row }) => row));
    await flush();
  }

  async function keep(kind, { code, url }, what, of = "") {
    say("saving");
    writing += 1;
    await put([{ id: `${code} ${kind}${of}`, key: newKey(), at: Date.now(), kind, code, url, ...what }]);
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
    answer: (story, answer) =>
      keep("answer", story, { answer }, ` ${answer.shot || ""} ${answer.question || ""}`),
    comment: (story, text) => keep("comment", story, { text }),
    submit: (story, submit) => keep("submit", story, { submit }),
  };
}
