"""`deploy/nginx.conf` as it stands, served by a real nginx on free ports."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from tests.serving import ROOT, free_port, wait_until

LACKS = "needs nginx: apt-get install nginx-light"
# What /etc/nginx/nginx.conf says around it, but for places to write to.
MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{}}
http {{
  include /etc/nginx/mime.types;
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/plumbline.conf;
}}
"""


def program() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Nginx:
    """Address of the server; its certificate is not checked."""

    port: int
    plain_port: int
    folder: Path

    def ask(self, path: str, how: str = "GET", **headers: str) -> Answer:
        """Ask for exactly this path, which no client makes prettier."""
        context = ssl._create_unverified_context()
        return _ask(
            HTTPSConnection("127.0.0.1", self.port, context=context), how, path, headers
        )

    def ask_plainly(self, path: str) -> Answer:
        """Ask without TLS."""
        return _ask(HTTPConnection("127.0.0.1", self.plain_port), "GET", path, {})


def _ask(
    connection: HTTPConnection, how: str, path: str, headers: dict[str, str]
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(how, path, headers=named)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, found, answer.read())
    finally:
        connection.close()


def own(text: str, changes: dict[str, str]) -> str:
    """Return the file with places of this test in it."""
    for before, after in changes.items():
        assert before in text, f"deploy/nginx.conf has no {before!r}"
        text = text.replace(before, after)
    return text


@contextmanager
def served(folder: Path, *, media: Path, web: str) -> Iterator[Nginx]:
    """Serve what a web server at `host:port` serves, and the files of a folder."""
    tls = folder / "tls"
    tls.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "1"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"),
            *("-keyout", tls / "privkey.pem", "-out", tls / "fullchain.pem"),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "web-servers.conf").write_text(f"server {web};\n")
    nginx = Nginx(free_port(), free_port(), folder)
    text = own(
        (ROOT / "deploy" / "nginx.conf").read_text(),
        {
            "  listen [::]:80 default_server;\n": "",
            "  listen [::]:443 ssl http2 default_server;\n": "",
            "listen 80 ": f"listen 127.0.0.1:{nginx.plain_port} ",
            "listen 443 ": f"listen 127.0.0.1:{nginx.port} ",
            "/srv/plumbline/media/": f"{media}/",
            "/etc/plumbline/tls/": f"{tls}/",
            "/etc/plumbline/web-servers.conf": f"{folder}/web-servers.conf",
        },
    )
    (folder / "plumbline.conf").write_text(text)
    user = "user root;" if Path("/proc/self").owner() == "root" else ""
    (folder / "main.conf").write_text(MAIN.format(folder=folder, user=user))
    command = [str(program()), "-p", str(folder), "-c", str(folder / "main.conf")]
    tried = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(nginx), 20, "nginx")
        yield nginx
    finally:
        process.terminate()
        process.wait(20)


def _listens(nginx: Nginx) -> bool:
    try:
        nginx.ask_plainly("/")
    except OSError:
        return False
    return True
