// The pages that come next are fetched with their pictures while one is judged, and kept
// when they are left, so that going on and going back need no network.

const MOST_BEHIND = 8;

const parts = (root) => ({
  main: root.querySelector("main"),
  place: root.querySelector("#place"),
});

const pathOf = (address) => address.split("?")[0];

export const pageHere = () =>
  ({ url: location.pathname, title: document.title, ...parts(document) });

// Fetches a page and waits until its pictures can be shown at once. Null: it cannot be.
async function fetchPage(address) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok) return null;
  const url = pathOf(address);
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  const page = { url, title: parsed.title, ...parts(parsed) };
  if (!page.main.querySelector("#seat")) return null;
  document.adoptNode(page.main);
  page.main.querySelectorAll("video").forEach((video) => video.load());
  const shown = [...page.main.querySelectorAll("img")].map((image) => {
    image.loading = "eager";
    return image.decode().then(() => true, () => false);
  });
  // Where a picture is broken, or the network was lost, the page is fetched in its turn.
  return (await Promise.all(shown)).every(Boolean) ? page : null;
}

export function openPages() {
  const kept = new Map(); // the stories of this visit, by address
  const finished = new Set(); // those that the server may not know to be done yet
  let coming = []; // addresses, in order
  let here = ""; // the address of the story on the page
  let wanted = ""; // where to ask for what comes after it
  let fetching = false;

  async function fetchAll(url) {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    if (!response.ok) return;
    const named = (await response.json()).pages.filter((each) => !finished.has(pathOf(each)));
    coming = named.map(pathOf).filter((each) => each !== here); // they may be on by now
    for (const address of named) {
      const page = kept.has(pathOf(address)) ? null : await fetchPage(address);
      if (page && !kept.has(page.url)) kept.set(page.url, page);
      document.documentElement.dataset.ahead = coming.filter((one) => kept.has(one)).length;
    }
  }

  return {
    // Fetches what comes after the story on the page, one after the other.
    async prepare(url) {
      wanted = url;
      if (fetching) return;
      fetching = true;
      try {
        while (wanted) {
          const from = wanted;
          wanted = "";
          await fetchAll(from);
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // the network failed
      } finally {
        fetching = false;
      }
    },
    find: (url) => kept.get(url),
    // Keeps a story that is shown now, and lets go of those long behind.
    keep(page) {
      here = page.url;
      kept.delete(here);
      kept.set(here, page);
      coming = coming.filter((url) => url !== here);
      const behind = [...kept.keys()].filter((url) => !coming.includes(url));
      behind.slice(0, -MOST_BEHIND).forEach((url) => kept.delete(url));
    },
    finish: (url) => finished.add(url),
    // The next story, if it is here.
    next: () => kept.get(coming[0]),
    // Whoever goes back finds the story that is left as the next one.
    comesNext(url) {
      coming = [url, ...coming.filter((each) => each !== url)];
    },
  };
}
