// The pages that come next are fetched with their pictures while one is judged, and kept
// when they are left, so that going on and going back need no network.

const MOST_BEHIND = 8;

const pathOf = (address) => address.split("?")[0];

export const pageOf = (root, address) => ({
  url: pathOf(address),
  title: root.title,
  main: root.querySelector("main"),
  place: root.querySelector("#place"),
});

// The scripts that are loaded serve one kind of page.
const kindOf = (root) =>
  [".player", ".shots", ".checklist"].map((part) => !root.querySelector(part)).join();

// Null: it cannot be shown at once.
async function fetchPage(address, withVideos) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok || kindOf(parsed) !== kindOf(document)) return null;
  const page = pageOf(parsed, address);
  document.adoptNode(page.main);
  const all = (name) => [...page.main.querySelectorAll(name)];
  // Read to the end, a video is in the browser's store.
  for (const { src } of withVideos ? all("video") : []) {
    await (await fetch(src, { priority: "low" })).blob();
  }
  const shown = all("img").map((image) => {
    image.loading = "eager";
    return image.decode().then(() => true, () => false);
  });
  return (await Promise.all(shown)).every(Boolean) ? page : null;
}

export function openPages() {
  const kept = new Map(); // by address
  const finished = new Set(); // the server may not know it yet
  let coming = []; // addresses, in order
  let here = "";
  let wanted = "";
  let fetching = Promise.resolve();

  async function fetchAll(url) {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    if (!response.ok) return;
    const { pages, rest } = await response.json();
    document.getElementById("rest").hidden = !rest;
    const named = pages.filter((each) => !finished.has(pathOf(each)));
    coming = named.map(pathOf).filter((each) => each !== here);
    for (const [i, address] of named.entries()) {
      const page = kept.has(pathOf(address)) ? null : await fetchPage(address, i < 2);
      if (page && !kept.has(page.url)) kept.set(page.url, page);
      document.documentElement.dataset.ahead = coming.filter((one) => kept.has(one)).length;
    }
  }

  return {
    prepare(url) {
      wanted = url;
      fetching = fetching.then(() => url === wanted && fetchAll(url))
        .catch((error) => error instanceof TypeError || reportError(error)); // no network
    },
    find: (url) => kept.get(url),
    keep(page) {
      here = page.url;
      kept.delete(here);
      kept.set(here, page);
      coming = coming.filter((url) => url !== here);
      const behind = [...kept.keys()].filter((url) => !coming.includes(url));
      behind.slice(0, -MOST_BEHIND).forEach((url) => kept.delete(url));
    },
    finished,
    next: () => kept.get(coming[0]),
    // Whoever goes back finds the story that is left as the next one.
    comesNext(url) {
      coming = [url, ...coming.filter((each) => each !== url)];
    },
  };
}
