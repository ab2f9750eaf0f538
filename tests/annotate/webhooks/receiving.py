"""Receivers of webhooks on this machine."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    """A server that keeps what it is sent, and replies with one status."""

    daemon_threads = True

    def __init__(self, status=204, headers=(), drip=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.headers, self.drip = status, dict(headers), drip
        self.received = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/hook?lab=1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers, body))
        if self.server.drip == "headers":
            self._drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            return
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.server.drip == "body":
            self._drip(b"")

    def _drip(self, first):
        """Send a byte, and another soon after, for as long as anybody listens."""
        try:
            self.wfile.write(first)
            while True:
                self.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, *_args):
        pass


@contextmanager
def receiver(**how):
    with Receiver(**how) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
