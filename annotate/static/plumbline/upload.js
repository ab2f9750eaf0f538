// Upload of a zip, a table or a folder in parts; an interrupted upload continues.
(() => {
  "use strict";

  const page = document.getElementById("upload");
  const words = page.dataset;
  const status = document.getElementById("upload-status");
  const bar = document.getElementById("upload-bar");
  const amount = document.getElementById("upload-amount");
  const token = page.querySelector("[name=csrfmiddlewaretoken]").value;
  const chooser = document.getElementById("upload-choose");
  const running = document.getElementById("upload-running");
  const pause = document.getElementById("upload-pause");
  const MB = 1e6;
  // A part takes about two seconds, so that no request holds the server for long.
  const FIRST_PART = 2 ** 19;
  const SMALLEST_PART = 2 ** 17;
  const GOAL_SECONDS = 2;
  const LONGEST_PAUSE = 30;
  // Files that systems add to folders.
  const HIDDEN = /(^|\/)(\.|__|thumbs\.db$|desktop\.ini$)/i;

  let paused = false;
  let sending = false;

  // CRC-32, as the server computes it.
  const table = Uint32Array.from({ length: 256 }, (_, n) => {
    let value = n;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  const crc32 = (bytes) => {
    let value = -1;
    for (const byte of bytes) value = (value >>> 8) ^ table[(value ^ byte) & 255];
    return (value ^ -1) >>> 0;
  };

  const say = (text, isError = false) => {
    status.textContent = text;
    status.classList.toggle("error", isError);
  };
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const wait = (seconds) => new Promise((done) => { setTimeout(done, seconds * 1000); });
  const megabytes = (bytes) => (bytes / MB).toLocaleString(undefined, { maximumFractionDigits: bytes < 10 * MB ? 1 : 0 });

  async function post(url, body) {
    try {
      return await fetch(url, { method: "POST", body, headers: { "X-CSRFToken": token, Accept: "application/json" } });
    } catch (error) {
      if (error instanceof TypeError) return null; // no network
      throw error;
    }
  }
  const answer = async (response) => response.json().catch(() => ({ error: filled(words.failed, { status: response.status }) }));

  // The bytes of all files, one after another.
  function cut(files, from, size) {
    const pieces = [];
    let at = 0;
    for (const { file } of files) {
      const start = Math.max(from - at, 0);
      const end = Math.min(from + size - at, file.size);
      if (start < end) pieces.push(file.slice(start, end));
      at += file.size;
      if (at >= from + size) break;
    }
    return new Blob(pieces);
  }

  function show(received, total, speed) {
    bar.max = total;
    bar.value = received;
    const left = speed ? Math.ceil((total - received) / speed / 60) : 0;
    const text = left > 1 ? words.amountLeft : words.amount;
    amount.textContent = filled(text, { received: megabytes(received), total: megabytes(total), minutes: left });
  }

  async function send(name, files) {
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    if (files.length > Number(words.mostFiles)) return say(filled(words.tooMany, { n: files.length.toLocaleString() }), true);
    if (total > Number(words.mostMb) * MB) return say(filled(words.tooLarge, { total: megabytes(total) }), true);
    if (!total) return say(words.nothing, true);
    const listed = files.map(({ path, file }) => [path, file.size, file.lastModified]);
    const begun = await post(words.begin, JSON.stringify({ name, files: listed, benchmark: words.benchmark }));
    if (!begun) return say(words.offline, true);
    if (begun.redirected) return say(words.loggedOut, true);
    const place = await answer(begun);
    if (!begun.ok) return say(place.error, true);
    let { received } = place;
    say(filled(received ? words.goesOn : words.started, { name }));
    chooser.hidden = true;
    running.hidden = false;
    pause.focus();
    sending = true;
    let size = FIRST_PART;
    let failures = 0;
    let speed = 0;
    show(received, total, speed);
    while (received < total) {
      if (paused) { await wait(0.2); continue; }
      const began = performance.now();
      let bytes;
      try {
        bytes = new Uint8Array(await cut(files, received, size).arrayBuffer());
      } catch {
        return stop(words.unreadable);
      }
      const response = await post(`${place.part}?offset=${received}&crc=${crc32(bytes)}`, bytes);
      if (response?.redirected) return stop(words.loggedOut);
      if (response?.ok) {
        ({ received } = await answer(response));
        const seconds = (performance.now() - began) / 1000;
        const now = bytes.length / seconds;
        speed = speed ? 0.8 * speed + 0.2 * now : now;
        size = Math.round(Math.min(Number(words.largestPart), 2 * size, Math.max(SMALLEST_PART, now * GOAL_SECONDS)));
        if (failures) say(filled(words.goesOn, { name }));
        failures = 0;
        show(received, total, speed);
        continue;
      }
      const refused = response && await answer(response);
      if (response?.status === 409 && refused.received !== undefined) {
        ({ received } = refused);
        continue;
      }
      failures += 1;
      const isFinal = response && response.status < 500 && response.status !== 429 && (response.status !== 400 || failures > 3);
      if (isFinal) return stop(refused.error);
      const seconds = Math.min(2 ** failures, LONGEST_PAUSE);
      say(filled(words.again, { seconds }), true);
      size = SMALLEST_PART;
      await wait(seconds);
    }
    sending = false;
    location.assign(place.page);
  }

  function stop(text) {
    sending = false;
    chooser.hidden = false;
    running.hidden = true;
    say(text, true);
  }

  function start(name, files) {
    if (sending) return;
    const wanted = files.filter(({ path }) => !HIDDEN.test(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
    if (!wanted.length) say(words.nothing, true);
    else send(name, wanted).catch((error) => { stop(filled(words.failed, { status: error.message })); throw error; });
  }

  page.addEventListener("change", ({ target }) => {
    const files = [...target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    target.value = "";
    if (!files.length) return;
    const folder = files[0].path.includes("/") ? files[0].path.split("/")[0] : "";
    start(folder || files[0].file.name, files);
  });

  // A folder that is dropped is read level by level.
  const entriesOf = async (reader) => {
    const found = [];
    for (;;) {
      const some = await new Promise((done, fail) => { reader.readEntries(done, fail); });
      if (!some.length) return found;
      found.push(...some);
    }
  };
  async function collect(entry, above) {
    const path = above + entry.name;
    if (HIDDEN.test(path)) return [];
    if (entry.isFile) return [{ path, file: await new Promise((done, fail) => { entry.file(done, fail); }) }];
    const found = [];
    for (const child of await entriesOf(entry.createReader())) found.push(...await collect(child, `${path}/`));
    return found;
  }
  const zone = document.getElementById("upload-zone");
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => { zone.classList.remove("over"); });
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const dropped = [...event.dataTransfer.files].map((file) => ({ path: file.name, file }));
    say(words.reading);
    try {
      const files = entries.length ? (await Promise.all(entries.map((entry) => collect(entry, "")))).flat() : dropped;
      start(entries[0]?.name || files[0]?.path || "", files);
    } catch {
      say(words.unreadable, true);
    }
  });

  // Buttons stand for the inputs, whose own looks differ between browsers.
  page.addEventListener("click", ({ target }) => {
    const input = target.dataset.opens && document.getElementById(target.dataset.opens);
    if (input) input.click();
  });
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? words.resume : words.pause;
    say(paused ? words.paused : words.continued);
  });
  addEventListener("beforeunload", (event) => { if (sending) event.preventDefault(); });
})();
