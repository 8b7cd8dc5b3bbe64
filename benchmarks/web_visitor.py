"""Somebody who looks at the console, without a browser: one connection, one session."""

import http.client
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urlsplit

_FORM: Final = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Sec-Fetch-Site": "same-origin",
}
_PATIENCE: Final = 120.0


class NotLetIn(Exception):
    """The console did not take the key."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    kind: str
    body: bytes
    seconds: float

    @property
    def whole(self) -> bool:
        """A page, and not a part of one."""
        return self.kind == "text/html" and b"<html" in self.body[:300]


@dataclass(slots=True)
class Visitor:
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    _line: http.client.HTTPConnection | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def log_in(self, key: str) -> str:
        """The cookie. Raises `NotLetIn`."""
        line = self._connected()
        line.request("POST", "/login", urlencode({"key": key, "to": ""}), _FORM)
        answer = line.getresponse()
        answer.read()
        cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        if answer.status != 303 or not cookie:
            raise NotLetIn(f"POST /login answered {answer.status}")
        self.headers["Cookie"] = cookie
        return cookie

    def get(self, path: str) -> Answer:
        """Timed from the question to the last byte; a connection that has gone is made before."""
        line = self._connected()
        try:
            return self._got(line, path)
        except (http.client.RemoteDisconnected, ConnectionError):
            line.close()  # it was idle for too long
            line.connect()
            return self._got(line, path)

    def _got(self, line: http.client.HTTPConnection, path: str) -> Answer:
        began = time.perf_counter()
        line.request("GET", path, headers=self.headers)
        answer = line.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - began
        kind = (answer.getheader("content-type") or "").partition(";")[0]
        return Answer(answer.status, kind, body, seconds)

    def _connected(self) -> http.client.HTTPConnection:
        if self._line is None:
            self._line = http.client.HTTPConnection(self.host, timeout=_PATIENCE)
            self._line.connect()
        return self._line

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
