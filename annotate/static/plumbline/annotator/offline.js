// Copies of this visit's stories on this device, for a reload without a network.

const NAME = "plumbline visit ";
const GIVEN = "plumbline-given";
const MOST = 12; // stories whose answers are kept
const PATIENCE = 2000; // ms to wait for the service worker

const link = `${location.pathname.split("/", 3).join("/")}/`;

// Absent without HTTPS. Frames of platforms and previews keep no copies.
const isVisit = self === top && link.startsWith("/rate/");
const serviceWorker = isVisit ? navigator.serviceWorker : undefined;
// Some browsers refuse in private windows.
const refused = new Promise((resolve) => serviceWorker?.register("/rate/worker.js")
  .catch(() => null).then((made) => made || resolve()));

// Whether the service worker showed a copy of this page.
export const isCopy = "copy" in document.documentElement.dataset;

// Resolves once pages that are fetched are kept.
export const ready = !serviceWorker || serviceWorker.controller || Promise.race([
  refused,
  new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve)),
  new Promise((resolve) => setTimeout(resolve, PATIENCE)),
]);

export const shown = (path) =>
  serviceWorker?.ready.then(({ active }) => active.postMessage(path));

const stored = () => JSON.parse(localStorage.getItem(GIVEN)) ?? {};

function store(answers) {
  try {
    localStorage.setItem(GIVEN, JSON.stringify(answers));
  } catch {
    localStorage.removeItem(GIVEN); // it is full
  }
}

// Answers that a copy lacks, also those that the server has.
export const given = (code) => Object.values(stored()[code] ?? {});

export function remember(row) {
  if (!serviceWorker) return;
  const { [row.code]: story, ...others } = stored();
  const latest = Object.entries(others).slice(1 - MOST);
  store(Object.fromEntries([...latest, [row.code, { ...story, [row.id]: row }]]));
}

// The server's page has all answers that arrived.
export function renew(code) {
  const { [code]: _story, ...others } = stored();
  store(others);
}

// Deletes the copies of other visits, or of all.
export async function forget(isAll) {
  const names = await globalThis.caches?.keys() ?? [];
  const old = names.filter((name) => name.startsWith(NAME) && (isAll || name !== NAME + link));
  old.forEach((name) => caches.delete(name));
  if (isAll || old.length) localStorage.removeItem(GIVEN);
}
