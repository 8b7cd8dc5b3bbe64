"""A real OAuth server and a real server of tools behind it, as processes; and a browser."""

import base64
import hashlib
import json
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx2

from tests.real_servers.install import NODE
from tests.scenarios.node_packages import installed
from tests.servers import free_port

VERSION = "9.13.3"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_FORM = re.compile(r'<form[^>]*action="([^"]+)"')
_FIELD = re.compile(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


@dataclass(frozen=True)
class Provider:
    port: int

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def provider(
    *,
    lasts: int = 600,
    scopes: Sequence[str] = ("tools",),
    clients: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Provider]:
    made = Provider(free_port())
    told = {"port": made.port, "lasts": lasts, "scopes": list(scopes), "clients": list(clients)}
    command = [NODE, HERE / "provider.mjs", installed("oidc-provider", VERSION)]
    with _running(command, told):
        yield made


@dataclass(frozen=True)
class ToolServer:
    port: int
    book: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def calls(self) -> list[dict[str, str]]:
        """Whose token came with each, and for whom it said it was."""
        if not self.book.exists():
            return []
        return [json.loads(line) for line in self.book.read_text().splitlines()]


@contextmanager
def tool_server(issuer: str, folder: Path) -> Iterator[ToolServer]:
    made = ToolServer(free_port(), folder / "calls.jsonl")
    told = {"port": made.port, "issuer": issuer, "book": str(made.book)}
    with _running([sys.executable, "-m", "tests.sign_in.tool_server"], told):
        yield made


@contextmanager
def _running(command: Sequence[str | Path], told: object) -> Iterator[None]:
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(told))
        process.stdin.close()
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@dataclass
class Browser:
    """Of one person: it follows links, fills in the two forms, and remembers cookies."""

    name: str
    visited: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._client = httpx2.Client(follow_redirects=False, timeout=30, trust_env=False)

    def open(self, url: str, *, until: str = "/oauth/callback/") -> httpx2.Response:
        """Goes on until it is at an address that begins with `until`, and opens that too."""
        answer = self._client.get(url)
        for _ in range(20):
            self.visited.append(str(answer.url))
            if urlsplit(str(answer.url)).path.startswith(until):
                return answer
            answer = self._next(answer, until)
        raise AssertionError(self.visited)

    def code_at(self, url: str, redirect: str) -> str:
        """Where it is sent at the end, which is not opened."""
        answer = self._client.get(url)
        for _ in range(20):
            place = answer.headers.get("location", "")
            if place.startswith(redirect):
                return str(place)
            answer = self._next(answer, None)
        raise AssertionError(answer.text)

    def _next(self, answer: httpx2.Response, _until: str | None) -> httpx2.Response:
        if answer.status_code in {302, 303}:
            return self._client.get(urljoin(str(answer.url), answer.headers["location"]))
        form = _FORM.search(answer.text)
        assert form is not None, answer.text
        fields = {name: unescape(value) for name, value in _FIELD.findall(answer.text)}
        if 'name="login"' in answer.text:
            fields |= {"login": self.name, "password": "any"}
        return self._client.post(urljoin(str(answer.url), unescape(form[1])), data=fields)

    def get(self, url: str | httpx2.URL) -> httpx2.Response:
        return self._client.get(url)

    def close(self) -> None:
        self._client.close()


def token_for(provider: Provider, who: str, resource: str, scope: str) -> str:
    """As a program of theirs gets one: registered, by code and PKCE, for one resource."""
    redirect = "http://127.0.0.1:1/back"
    client = {
        "redirect_uris": [redirect],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    known = httpx2.post(f"{provider.issuer}/reg", json=client).json()["client_id"]
    verifier = secrets.token_urlsafe(32)
    hashed = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    asked = {
        "client_id": known,
        "redirect_uri": redirect,
        "response_type": "code",
        "code_challenge": hashed.rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": resource,
        "scope": scope,
    }
    browser = Browser(who)
    place = browser.code_at(f"{provider.issuer}/auth?{urlencode(asked)}", redirect)
    browser.close()
    form = {
        "grant_type": "authorization_code",
        "code": parse_qs(urlsplit(place).query)["code"][0],
        "redirect_uri": redirect,
        "client_id": known,
        "code_verifier": verifier,
        "resource": resource,
    }
    return str(httpx2.post(f"{provider.issuer}/token", data=form).json()["access_token"])
