"""The running server, as most commands talk to it."""

import os
import re
import secrets
import ssl
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import httpx2

from portico.interfaces.cli.house import House
from portico.kernel.errors import Flaw, Kind, PorticoError

_KINDS: Final = {
    401: Kind.DENIED,
    403: Kind.DENIED,
    404: Kind.NOT_FOUND,
    409: Kind.CONFLICT,
    421: Kind.DENIED,
    422: Kind.INVALID,
    429: Kind.EXHAUSTED,
    503: Kind.UNAVAILABLE,
}
FIXES: Final = {
    "not_authenticated": "Make a new key: portico init, on the server's machine.",
    "tool_not_found": "Find it: portico search WHAT IT SHOULD DO",
    "project_not_found": "See which there are: portico bridge projects list",
    "conversation_not_found": "See which there are: portico bridge conversations list",
    "message_not_found": "See which there are: portico bridge read CONVERSATION",
    "work_not_found": "See which there is: portico bridge work list PROJECT",
    "bad_tool_ref": "Write it as server.tool; portico tools list shows the names.",
}
"""Where the server's own words are for a program."""
_FOR_AGENTS: Final = (
    "Run `portico init` on the server's machine; elsewhere make one: portico keys create NAME"
    " --agent --save"
)
_USUAL: Final = 30.0
_LONG: Final = 3660.0
"""Seconds for what a server of tools has a part in: the longest that one may be given, and then
some."""
_NAMED: Final = re.compile(r"filename\*=UTF-8''([^;]+)")
_SLOW: Final = ("/calls", "/restart", "/approve-launch", "/test")
_SILENCE: Final = 60
"""Seconds; a server that lives says so four times as often."""


class NotRunning(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "not_running"
    title = "Portico is not running"
    fix = "Start it: portico up"

    def __init__(self, url: str) -> None:
        super().__init__(f"Nothing answers at {url}.")


class NotReached(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "not_reached"
    title = "The server cannot be reached"
    fix = "See that it runs there; which one it is says the setting client.server."

    def __init__(self, url: str) -> None:
        super().__init__(f"Nothing answers at {url}.")


class NoAnswer(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "no_answer"
    title = "The server takes too long"
    fix = "See how it is: portico status"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The server was there, and had not answered after {seconds:g} s.")


class NoKey(PorticoError):
    kind = Kind.DENIED
    code = "no_key"
    title = "There is no key to come in with"
    fix = "Run `portico init` on the server's machine, or `portico join --save LINK` elsewhere."

    def __init__(self, file: Path, *, fix: str | None = None) -> None:
        super().__init__(f"There is no key in {file}.", fix=fix)


class Refused(PorticoError):
    """What the server said, in its own words and under its own code."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(str(problem.get("detail", f"The server answered {status}.")))
        self.kind = _KINDS.get(status, Kind.UNAVAILABLE)
        self.code = str(problem.get("code", "http_error"))
        self.title = str(problem.get("title", "The server refused"))
        self.fix = FIXES.get(self.code, problem.get("fix"))
        self.flaws = tuple(
            Flaw(detail["field"], detail["message"]) for detail in problem.get("errors", ())
        )

    kind = Kind.UNAVAILABLE
    code = "server_refused"
    title = "The server refused"


@dataclass(frozen=True, slots=True)
class Stream:
    began_at: datetime | None
    """By the server's clock, which need not be ours."""
    lines: Iterator[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A file that the server keeps, and what it says of it."""

    content: bytes
    name: str
    media_type: str
    label: str


class Server:
    """Our own server is met on a socket that nobody else can open: its port, while it does not
    run, could be anybody's, and would be sent the key."""

    def __init__(
        self,
        house: House,
        *,
        key: str | None = None,
        url: str | None = None,
        context: str | None = None,
    ) -> None:
        """`key` and `url` of None: those of this installation; `context`: the key's own task."""
        where = house.whereabouts()
        other = url or where.remote
        self._url = other or where.server_url
        self._missing = NotReached(self._url) if other else NotRunning(self._url)
        self._socket = None if other else where.private_socket
        self._key = key or read_key(where.key_file)
        self._task = {} if context is None else {"Portico-Context": context}

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 # JSON, shown as it is
        return self._ask("GET", path, params={k: v for k, v in query.items() if v is not None})

    def post(self, path: str, body: object = None, *, key: str | None = None) -> Any:  # noqa: ANN401 # likewise
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return self._ask("POST", path, json=body, headers=headers)

    def patch(self, path: str, body: object) -> Any:  # noqa: ANN401 # likewise
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._ask("PATCH", path, json=body, headers=headers)

    def put(self, path: str, body: object, **query: object) -> Any:  # noqa: ANN401 # likewise
        return self._ask("PUT", path, json=body, params=query)

    def delete(self, path: str, **query: object) -> None:
        self._ask("DELETE", path, params=query)

    def pages(self, path: str, *, limit: int = 200, **query: object) -> Iterator[Any]:
        """Every item, page after page of so many."""
        after = None
        while True:
            page = self.get(path, limit=limit, after=after, **query)
            yield from page["data"]
            after = page["next"]
            if after is None or not page["data"]:
                return

    def lines(self, path: str) -> Iterator[str]:
        try:
            with self._client() as client, client.stream("GET", f"/api/v1{path}") as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise Refused(answer.status_code, _problem(answer))
                yield from answer.iter_lines()
        except httpx2.TransportError as error:
            raise self._missing from error

    @contextmanager
    def streaming(
        self, path: str, *, after: str | None = None, **query: str | Sequence[str]
    ) -> Iterator["Stream | None"]:
        """What the server tells for as long as it does; None if there is nothing more to tell.

        `after` is the mark of what was heard last.
        """
        headers = {"Accept": "text/event-stream"}
        if after is not None:
            headers["Last-Event-ID"] = after
        address = f"/api/v1{path}"
        try:
            with (
                self._client(timeout=_SILENCE) as client,
                client.stream("GET", address, params=query, headers=headers) as answer,
            ):
                if answer.status_code >= 400:
                    answer.read()
                    raise Refused(answer.status_code, _problem(answer))
                over = answer.status_code == 204
                yield None if over else Stream(_date(answer), answer.iter_lines())
        except httpx2.TransportError as error:
            raise self._missing from error

    def upload(self, path: str, content: bytes, media_type: str, **query: object) -> Any:  # noqa: ANN401 # likewise
        given = {name: value for name, value in query.items() if value is not None}
        headers = {"Content-Type": media_type}
        return self._ask("POST", path, content=content, headers=headers, params=given)

    def download(self, path: str) -> "Downloaded":
        answer = self._answered("GET", path)
        named = _NAMED.search(answer.headers.get("content-disposition", ""))
        return Downloaded(
            content=answer.content,
            name=unquote(named[1]) if named else "",
            media_type=answer.headers.get("content-type", ""),
            label=answer.headers.get("portico-label", ""),
        )

    def _ask(self, method: str, path: str, **sent: Any) -> Any:  # noqa: ANN401 # likewise
        answer = self._answered(method, path, **sent)
        return answer.json() if answer.content else None

    def _answered(self, method: str, path: str, **sent: Any) -> httpx2.Response:  # noqa: ANN401 # what the client takes
        patience = _LONG if path.endswith(_SLOW) else _USUAL
        try:
            with self._client(patience) as client:
                answer = client.request(method, f"/api/v1{path}", **sent)
        except httpx2.ReadTimeout as error:
            raise NoAnswer(patience) from error
        except httpx2.TransportError as error:
            raise self._missing from error
        if answer.status_code >= 400:
            raise Refused(answer.status_code, _problem(answer))
        return answer

    def _client(self, timeout: float = _USUAL) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        headers |= self._task
        transport = None
        trusted = self._trusted()
        if self._socket is not None:
            if not ours(self._socket):
                raise self._missing
            transport = httpx2.HTTPTransport(uds=str(self._socket), verify=trusted)
        return httpx2.Client(
            base_url=self._url,
            headers=headers,
            timeout=timeout,
            trust_env=False,
            transport=transport,
            verify=trusted,
        )

    def _trusted(self) -> ssl.SSLContext | bool:
        """Where nothing is encrypted nobody's certificate is: to load those of all authorities
        takes longer than most answers."""
        encrypted = self._socket is None and self._url.startswith("https:")
        return True if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def read_key(file: Path, *, agent: bool = False) -> str:
    """`agent`: of a program that acts for the user. Raises `NoKey`."""
    try:
        return file.read_text().strip()
    except OSError as error:
        raise NoKey(file, fix=_FOR_AGENTS if agent else None) from error


def _problem(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _date(answer: httpx2.Response) -> datetime | None:
    try:
        return parsedate_to_datetime(answer.headers["date"])
    except (KeyError, ValueError):
        return None


def ours(path: Path) -> bool:
    """Whether the socket is there, in a folder that is closed to everybody else."""
    try:
        folder = path.parent.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    return private and folder.st_uid == os.geteuid() and path.exists()
