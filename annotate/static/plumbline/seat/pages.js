// The next pages are fetched with their pictures, and kept: going on and back needs no
// network.

const MOST_BEHIND = 8;

const pathOf = (address) => address.split("?")[0];

export const pageOf = (root, address) => ({
  url: pathOf(address),
  title: root.title,
  main: root.querySelector("main"),
  place: root.querySelector("#place"),
});

// What is shown, and the kinds of questions: each has its script.
export const partsOf = (root) =>
  [...new Set([...root.querySelectorAll("[data-part]")].map(({ dataset }) => dataset.part))];

// The scripts that are loaded serve one kind of page.
const kindOf = (root) => partsOf(root).join();

// Null: it cannot be shown at once.
async function fetchPage(address, withVideos, signal) {
  const response = await fetch(address, { signal });
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok || kindOf(parsed) !== kindOf(document)) return null;
  const page = pageOf(parsed, address);
  document.adoptNode(page.main);
  const all = (name) => [...page.main.querySelectorAll(name)];
  // Those of examples come when they are looked at.
  const loaded = all("img:not(.example img)").map((image) => new Promise((done) => {
    image.loading = "eager";
    image.onload = image.onerror = ({ type }) => done(type === "load");
  }));
  // Read to the end, a video is in the browser's store.
  for (const { src } of withVideos ? all("video") : []) {
    await (await fetch(src, { priority: "low", signal })).blob();
  }
  return (await Promise.all(loaded)).every(Boolean) ? page : null;
}

export function openPages() {
  const kept = new Map(); // by address
  const finished = new Set(); // the server may not know it yet
  let coming = []; // addresses, in order
  let here;
  let wanted;
  let fetching = Promise.resolve();
  const leaving = new AbortController();
  const { signal } = leaving;

  const next = () => kept.get(coming[0]);

  const count = () => {
    document.body.dataset.ahead = coming.filter((url) => kept.has(url)).length;
  };

  // Browsers keep few pictures decoded.
  function decodeNext() {
    next()?.main.querySelectorAll("img").forEach((image) => image.decode().catch(() => {}));
  }

  async function fetchAll(url) {
    const response = await fetch(url, { signal });
    if (!response.ok) return;
    const { pages, rest } = await response.json();
    if (url !== wanted) return;
    document.getElementById("rest").hidden = !rest;
    const named = pages.filter((each) => !finished.has(pathOf(each)));
    coming = named.map(pathOf).filter((each) => each !== here);
    for (const [i, address] of named.entries()) {
      if (url !== wanted) return;
      const page = kept.get(pathOf(address)) ?? await fetchPage(address, i < 2, signal);
      if (page) kept.set(page.url, page);
      count();
      if (!i) decodeNext();
    }
  }

  return {
    prepare(url) {
      wanted = url;
      decodeNext();
      fetching = fetching.then(() => fetchAll(url))
        // No network, or left.
        .catch((error) => error instanceof TypeError || signal.aborted || reportError(error));
    },
    // A story that is given away has no pages after it.
    leave: () => leaving.abort(),
    find: (url) => kept.get(url),
    keep(page) {
      here = page.url;
      wanted = "";
      kept.delete(here);
      kept.set(here, page);
      coming = coming.filter((url) => url !== here);
      count();
      [...kept.keys()].filter((url) => !coming.includes(url)).slice(0, -MOST_BEHIND)
        .forEach((url) => kept.delete(url));
    },
    finished,
    next,
    // Whoever goes back finds this story next.
    turnBack() {
      coming.unshift(here);
    },
  };
}
