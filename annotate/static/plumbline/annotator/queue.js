// Queues answers in the browser's database until the server has stored each once.
import { remember } from "./offline.js";

const RETRY_FIRST = 1000;
const RETRY_LAST = 30000;
const MOST_ROWS = 200; // the server's limit per request

const link = location.pathname.split("/", 3).join("/"); // the link whose rows are reported

const database = await new Promise((resolve, reject) => {
  const request = indexedDB.open("plumbline", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("waiting", { keyPath: "id" });
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const transact = (mode, work) => new Promise((resolve, reject) => {
  const transaction = database.transaction("waiting", mode, { durability: "relaxed" });
  const request = work(transaction.objectStore("waiting"), transaction);
  transaction.oncomplete = () => resolve(request?.result);
  transaction.onabort = () => reject(transaction.error);
});

const all = async () =>
  (await transact("readonly", (store) => store.getAll())).sort((a, b) => a.at - b.at);

// Newer answers with the same id stay.
const forget = (rows) => transact("readwrite", (store) => rows.forEach(({ id, key }) => {
  store.get(id).onsuccess = ({ target }) => target.result?.key === key && store.delete(id);
}));

// The server orders events from one tab by their times, in whatever order they arrive.
const tab = sessionStorage.getItem("plumbline-tab") ?? Math.random();
sessionStorage.setItem("plumbline-tab", tab);

// Times increase even if the clock is set back.
function nextTime() {
  const at = Math.max(Date.now(), Number(sessionStorage.getItem("plumbline-last")) + 1);
  sessionStorage.setItem("plumbline-last", at);
  return at;
}

const isJson = ({ headers }) => headers.get("Content-Type")?.startsWith("application/json");

// Returns null without a network.
export const ask = (url, body, keepalive = false) => fetch(url, {
  method: "POST",
  body,
  keepalive,
  signal: AbortSignal.timeout?.(20000),
  headers: {
    Accept: "application/json",
    "X-CSRFToken": document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || "",
  },
}).catch((error) => {
  if (error instanceof TypeError || error.name === "TimeoutError") return null;
  throw error;
});

// Resolves with the reply. {error}: the story takes no rows now (`gone`: ever);
// {}: try again later; null: no network.
async function send(rows) {
  const body = JSON.stringify({ rows });
  let response = await ask(rows[0].url, body);
  if (response?.status === 403 && !isJson(response)) {
    await ask(location.href); // sets a new CSRF token
    response = await ask(rows[0].url, body);
  }
  if (!response) return null;
  if (response.status >= 500 || [408, 425, 429].includes(response.status)) return {};
  if (!isJson(response)) return { error: " " };
  const gone = response.status === 404;
  return response.json().then((reply) => ({ gone, ...reply }), () => ({})); // the reply was cut off
}

// Like `send`, in several requests. The submission comes last, and only if nothing before it
// was refused. After an interruption everything is sent again, which is idempotent.
async function sendInBatches(rows) {
  const isSubmit = ({ kind }) => kind === "submit";
  let left = [...rows.filter((row) => !isSubmit(row)), ...rows.filter(isSubmit)];
  let merged = { refused: {} };
  while (left.length) {
    const reply = await send(left.slice(0, MOST_ROWS));
    if (!reply?.refused) return reply;
    merged = { ...reply, refused: { ...merged.refused, ...reply.refused } };
    left = left.slice(MOST_ROWS);
    if (Object.keys(merged.refused).length) left = left.filter((row) => !isSubmit(row));
  }
  return merged;
}

// Calls `tell` with saved, saving, waiting (number), refused (reason), lost (reason, code).
// Other tabs are notified of new rows (`onRow`) and of the server's replies.
export function openQueue(here, tell, onReply, onRow) {
  const others = new BroadcastChannel("plumbline");
  others.onmessage = ({ data: [code, reply, row] }) => (row ? onRow?.(row) : onReply(code, reply));
  const refused = new Map(); // refused for now, with reasons
  const unsent = new Map(); // entered on this page
  let sending = Promise.resolve();
  let writing = 0;
  let asked = 0;
  let delay = RETRY_FIRST;
  let timer;

  function flush() {
    clearTimeout(timer);
    asked += 1;
    sending = sending.catch(() => {}).then(() =>
      navigator.locks?.request("plumbline", sendAll) ?? sendAll());
    return sending;
  }

  async function sendAll() {
    asked -= 1;
    const waiting = (await all()).filter(({ id, key }) => refused.get(id)?.key !== key);
    const codes = new Set(waiting.map(({ code }) => code));
    if (codes.size) tell("saving");
    let problem;
    for (const code of codes) {
      const rows = waiting.filter((row) => row.code === code);
      const reply = await sendInBatches(rows);
      if (!reply) break;
      if (!reply.error && !reply.refused) continue;
      delay = RETRY_FIRST;
      codes.delete(code);
      await settle(code, rows, reply);
      if (code === here()) problem = reply.problem;
      if (!rows.some(({ kind }) => kind === "submit")) continue;
      onReply(code, reply);
      others.postMessage([code, reply]);
    }
    const kept = [...refused.values()].filter(({ url }) => url.startsWith(link));
    problem ||= kept.find(({ code }) => code === here())?.why;
    if (codes.size) {
      timer = setTimeout(flush, delay);
      delay = Math.min(delay * 2, RETRY_LAST);
    }
    for (const { code } of kept) codes.add(code);
    if (problem) tell("refused", problem);
    else if (codes.size) tell("waiting", codes.size);
    else if (!writing && !asked) tell("saved");
  }

  async function settle(code, rows, reply) {
    const done = [];
    let lost = code !== here() && reply.problem;
    for (const row of rows) {
      const { why, final } = reply.refused?.[row.id] ?? { why: reply.error, final: reply.gone };
      refused.delete(row.id);
      if (unsent.get(row.id)?.key === row.key) unsent.delete(row.id);
      if (final) lost ||= why;
      if (why && !final) refused.set(row.id, { ...row, why });
      else done.push(row);
    }
    await forget(done);
    if (lost) tell("lost", lost, code);
  }

  // Refused rows are sent again, because the reason may be gone.
  function resume() {
    refused.clear();
    return flush();
  }

  // A page closes before its database answers, so its rows are sent directly.
  function leave() {
    const rows = [...unsent.values()].filter(({ kind }) => kind !== "submit");
    for (const url of new Set(rows.map((row) => row.url))) {
      ask(url, JSON.stringify({ rows: rows.filter((row) => row.url === url) }), true);
    }
  }

  async function keep(kind, { code, url }, what, of = "") {
    tell("saving");
    writing += 1;
    const [id, at] = [`${code} ${kind} ${of}`, nextTime()];
    const row = { ...what, id, key: `${at} ${tab}`, at, kind, code, url };
    unsent.set(id, row);
    remember(row);
    try {
      await transact("readwrite", (store, transaction) => {
        store.put(row);
        transaction.commit?.();
      });
      others.postMessage([code, null, row]);
    } catch {
      return tell("refused", " ");
    } finally {
      writing -= 1;
    }
    return resume();
  }

  addEventListener("online", () => {
    delay = RETRY_FIRST;
    flush();
  });

  return {
    flush,
    leave,
    resume,
    waiting: async (code) => (await all()).filter((row) => row.code === code),
    answer: (story, what) =>
      keep("answer", story, what, what.shot ? `shot ${what.shot}` : `question ${what.question}`),
    comment: (story, text) => keep("comment", story, { text }),
    shotComment: (story, what) => keep("shot_comment", story, what, `${what.shot} ${what.side}`),
    fault: (story, what) => keep("fault", story, what, Object.values(what)),
    submit: (story, what) => keep("submit", story, what),
  };
}
