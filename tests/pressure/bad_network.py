"""A network that drops, delays, doubles and reorders requests, on this machine.

Stands before a server as a proxy does. A request may be lost before the server, its
reply after it; it may come late, twice, or long after its sender has given it up.
"""

import asyncio
import random
import threading
from collections import Counter
from contextlib import suppress

from tests.serving import free_port

FATES = ("passed", "lost", "unanswered", "cut", "late", "twice", "given up")
LATE, VERY_LATE = (0.05, 0.6), (0.5, 3.0)  # seconds
CLOSE = b"Connection: close\r\n"


class BadNetwork(threading.Thread):
    """The way to a port of this machine, over another one; nothing happens at first."""

    def __init__(self, port: int, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self.server, self.port, self.dice = port, free_port(), dice
        self.heal()
        self.met: Counter[str] = Counter()
        self.under_way: set[asyncio.Task] = set()
        self.loop = asyncio.new_event_loop()

    def ail(self) -> None:
        """Delay, drop or repeat every second request at random."""
        self.weights = [6, 1, 1, 1, 1, 1, 1]

    def heal(self) -> None:
        self.weights = [1, 0, 0, 0, 0, 0, 0]

    def told(self) -> str:
        """Say how many requests met which fate."""
        met = [f"{count} {fate}" for fate, count in self.met.items()]
        return f"requests: {', '.join(met)}"

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        listening = asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.loop.run_until_complete(listening)
        self.loop.run_forever()

    def stop(self) -> None:
        """Bring what is still under way, and no more."""

        async def end() -> None:
            here = asyncio.current_task()
            await asyncio.gather(*asyncio.all_tasks() - {here}, return_exceptions=True)
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.join()

    async def serve(self, reader, writer) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            request = await read_request(reader)
            fate = self.dice.choices(FATES, self.weights)[0]
            if request.startswith(b"GET /static/"):
                fate = "passed"  # a browser has them from before
            self.met[fate] += 1
            if reply := await self.reply(request, fate):
                writer.write(reply)
                await writer.drain()
        writer.close()

    async def reply(self, request: bytes, fate: str) -> bytes:
        """Return what reaches the sender; nothing where the line breaks."""
        if fate == "lost":
            return b""
        if fate == "given up":
            self.send_later(request, self.dice.uniform(*VERY_LATE))
            return b""
        if fate == "late":
            await asyncio.sleep(self.dice.uniform(*LATE))
        if fate == "twice":
            self.send_later(request, self.dice.uniform(0, LATE[1]))
        content = await self.send(request)
        if fate == "unanswered":
            return b""
        return content[: len(content) // 2] if fate == "cut" else content

    def send_later(self, request: bytes, seconds: float) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            with suppress(OSError):
                await self.send(request)

        task = self.loop.create_task(wait())
        self.under_way.add(task)  # who is referred to by nobody may vanish
        task.add_done_callback(self.under_way.discard)

    async def send(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server)
        writer.write(request)
        await writer.drain()
        content = await reader.read()
        writer.close()
        return content


async def read_request(reader) -> bytes:
    """Return a whole request, which asks for the connection to be closed after it."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    length = 0
    for line in kept:
        name, _colon, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = await reader.readexactly(length)
    return b"\r\n".join([first, *kept, CLOSE, b""]) + body
