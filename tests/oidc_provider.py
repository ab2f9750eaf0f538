"""A provider of OpenID Connect on this machine, with one person.

It checks what a real one checks: redirect address, client, secret, PKCE, and that a
code is used once. `spoil` changes the claims of the next tokens.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "plumbline", "a-secret-of-tests"


@cache
def private_key() -> rsa.RSAPrivateKey:
    """Return the key of all providers, which takes long to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """A provider; `person` has the claims of the person who logs in."""

    def __init__(self) -> None:
        self.person: dict[str, object] = {"sub": "a1", "preferred_username": "ann"}
        self.spoil: Callable[[dict], dict] = dict
        self.key = private_key()
        self.signing_key = self.key
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.answers = True
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.token(self)

            def log_message(self, *_args: object) -> None:
                """Keep the tests' output clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def get(self, asked: BaseHTTPRequestHandler) -> None:
        url = urlsplit(asked.path)
        given = dict(parse_qsl(url.query))
        if not self.answers:
            send(asked, {}, 503)
        elif url.path == "/realm/.well-known/openid-configuration":
            ends = {
                "authorization_endpoint": "authorize",
                "token_endpoint": "token",
                "userinfo_endpoint": "userinfo",
                "jwks_uri": "keys",
            }
            places = {name: f"{self.issuer}/{end}" for name, end in ends.items()}
            send(asked, places | {"issuer": self.issuer})
        elif url.path == "/realm/keys":
            key = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), True)
            send(asked, {"keys": [key | {"kid": "1", "alg": "RS256", "use": "sig"}]})
        elif url.path == "/realm/authorize":
            assert given["client_id"] == CLIENT, given
            assert given["response_type"] == "code", given
            assert given["code_challenge_method"] == "S256", given
            code = secrets.token_urlsafe(16)
            self.codes[code] = given
            back = urlencode({"code": code, "state": given["state"]})
            asked.send_response(302)
            asked.send_header("Location", f"{given['redirect_uri']}?{back}")
            asked.end_headers()
        elif url.path == "/realm/userinfo":
            scheme, _blank, token = asked.headers["Authorization"].partition(" ")
            assert scheme == "Bearer", scheme
            send(asked, self.person, 200 if token in self.tokens else 401)

    def token(self, asked: BaseHTTPRequestHandler) -> None:
        size = int(asked.headers["Content-Length"])
        given = dict(parse_qsl(asked.rfile.read(size).decode()))
        login = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        begun = self.codes.pop(given["code"], None)  # a code works once
        if (
            begun is None
            or asked.headers["Authorization"] != f"Basic {login}"
            or given["redirect_uri"] != begun["redirect_uri"]
            or challenge(given["code_verifier"]) != begun["code_challenge"]
        ):
            send(asked, {"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        claims = {
            **{"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300},
            **{"nonce": begun["nonce"], "sub": self.person["sub"]},
        }
        key, head = self.signing_key, {"kid": "1"}
        token = jwt.encode(self.spoil(claims), key, algorithm="RS256", headers=head)
        access = secrets.token_urlsafe(16)
        self.tokens.add(access)
        send(asked, {"access_token": access, "token_type": "Bearer", "id_token": token})


def challenge(verifier: str) -> str:
    """The transformation S256 of RFC 7636."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def send(asked: BaseHTTPRequestHandler, told: object, status: int = 200) -> None:
    body = json.dumps(told).encode()
    asked.send_response(status)
    asked.send_header("Content-Type", "application/json")
    asked.send_header("Content-Length", str(len(body)))
    asked.end_headers()
    asked.wfile.write(body)
