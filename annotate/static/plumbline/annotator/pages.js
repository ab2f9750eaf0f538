// Prefetches and caches the next pages with their pictures, so that moving between stories
// works offline.

const MOST_BEHIND = 8;

const pathOf = (address) => address.split("?")[0];

export const pageOf = (root, address) => ({
  url: pathOf(address),
  title: root.title,
  main: root.querySelector("main"),
  place: root.querySelector("#place"),
});

// The parts of a page, viewers and kinds of questions; each has its own script.
export const partsOf = (root) =>
  [...new Set([...root.querySelectorAll("[data-part]")].map(({ dataset }) => dataset.part))];

// The loaded scripts serve only pages with the same parts.
const kindOf = (root) => partsOf(root).join();

// Returns null if the page cannot be shown without loading scripts.
async function fetchPage(address, withVideos, signal) {
  const response = await fetch(address, { signal });
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok || kindOf(parsed) !== kindOf(document)) return null;
  const page = pageOf(parsed, address);
  document.adoptNode(page.main);
  const all = (name) => [...page.main.querySelectorAll(name)];
  // Pictures of examples load when they are opened.
  const loaded = all("img:not(.example img)").map((image) => new Promise((done) => {
    image.loading = "eager";
    image.onload = image.onerror = ({ type }) => done(type === "load");
  }));
  // Reading a video to its end puts it into the browser's cache.
  for (const { src } of withVideos ? all("video") : []) {
    await (await fetch(src, { priority: "low", signal })).blob();
  }
  return (await Promise.all(loaded)).every(Boolean) ? page : null;
}

export function openPages() {
  const kept = new Map(); // by address
  const finished = new Set(); // perhaps not known to the server yet
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

  // Browsers keep only a few pictures decoded.
  function decodeNext() {
    next()?.main.querySelectorAll("img").forEach((image) => image.decode().catch(() => {}));
  }

  async function fetchAll(url) {
    const response = await fetch(url, { signal });
    if (!response.ok) return;
    const { pages, rest } = await response.json();
    if (url !== wanted) return;
    document.getElementById("rest").hidden = !rest;
    // Without a network, an earlier story's list is given, with this story in it.
    const following = pages.slice(pages.map(pathOf).indexOf(here) + 1);
    const named = following.filter((each) => !finished.has(pathOf(each)));
    coming = named.map(pathOf);
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
        // Errors are expected offline and after leaving.
        .catch((error) => error instanceof TypeError || signal.aborted || reportError(error));
    },
    // After a skip, the prefetched pages are no longer next.
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
    // After going back, this story is next.
    turnBack() {
      coming.unshift(here);
    },
  };
}
