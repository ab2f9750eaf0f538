// Service worker of annotators' pages: without a network, a reload brings the story back.
// The network goes first, so that an update never meets old scripts. The copies of a visit,
// which is everything under one link, are in a cache of their own. offline.js deletes it.

const NAME = "plumbline visit ";
const MOST = 40; // pages of stories, and lists of the next ones
const STORY = /^\/rate\/[^/]+\/story\/[^/]+\/$/;
const KEPT = /^\/static\/|^\/rate\/[^/]+\/story\/[^/]+\/(ahead\/)?$/;
const LIST = /\/ahead\/$/;
const FILES = /(?:src|href)="(\/static\/[^"]+)"/g;

const pathOf = (url = "/") => new URL(url, location).pathname;
const linkOf = (url) => /^\/rate\/[^/]+\//.exec(pathOf(url))?.[0];
const open = (link) => caches.open(NAME + link);

// A page is stored after its scripts, without which it would be of no use.
async function keep(link, path, response) {
  const cache = await open(link);
  if (STORY.test(path)) {
    const files = [...(await response.clone().text()).matchAll(FILES)].map((match) => match[1]);
    await Promise.all([...new Set(files)].map(async (file) =>
      await cache.match(file) || cache.add(file)));
  }
  await cache.put(path, response);
  const stories = (await cache.keys()).filter(({ url }) => KEPT.test(pathOf(url)) && linkOf(url));
  await Promise.all(stories.slice(0, -MOST).map((key) => cache.delete(key)));
}

// The copy says what it is, because answers were given after it was made.
async function marked(page) {
  const text = (await page.text()).replace("<html ", "<html data-copy ");
  return new Response(text, { headers: page.headers });
}

async function copyOf(link, { url, mode }) {
  const cache = await open(link);
  let copy = await cache.match(pathOf(url), { ignoreVary: true });
  if (!copy && LIST.test(url)) {
    const lists = (await cache.keys()).filter((key) => LIST.test(key.url));
    copy = lists.length && await cache.match(lists.at(-1)); // of an earlier story
  }
  // Pictures are in the browser's own cache.
  if (mode !== "navigate") return copy || fetch(url, { cache: "force-cache" });
  if (copy && STORY.test(pathOf(url))) return marked(copy);
  const last = await cache.match(link); // leads to the story in work
  return last?.headers.get("Location") === url ? null : last;
}

async function respond(event) {
  const { request, clientId } = event;
  const response = await fetch(request).catch(() => null);
  const path = pathOf(request.url);
  const isKept = KEPT.test(path) && response?.ok && !response.redirected;
  if (response && !isKept) return response;
  const link = linkOf(path) ?? linkOf((await clients.get(clientId))?.url);
  if (!response) return await copyOf(link, request).catch(() => null) ?? Response.error();
  if (link) event.waitUntil(keep(link, path, response.clone()).catch(() => {}));
  return response;
}

// A story is shown. It was perhaps loaded before this worker could see it.
async function show(path) {
  const cache = await open(linkOf(path));
  if (!await cache.match(path, { ignoreVary: true })) {
    const response = await fetch(path);
    if (!response.ok || response.redirected) return;
    await keep(linkOf(path), path, response);
  }
  await cache.put(linkOf(path), Response.redirect(path));
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("message", (event) => event.waitUntil(show(event.data).catch(() => {})));
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const isOurs = new URL(url).origin === location.origin && method === "GET";
  // Players ask for parts of videos, which are not stored.
  if (isOurs && !url.endsWith("/video/")) event.respondWith(respond(event));
});
