"""Requests to the server: paths, retries, pages, events followed."""

import json
import os
import re
import secrets
import ssl
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import httpx2

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.services import CliServices
from portico.kernel.errors import FieldError, Kind, PorticoError

AT_FIRST: Final = 10.0
"""Seconds for which a server that was never met is waited for by whoever wants to follow it."""
NOT_YET: Final = "The server is not there yet; waiting for it …"
_PAUSE: Final = 0.2

_Given = TypeVar("_Given")


def retry_until(
    ask: Callable[[], _Given],
    seconds: float,
    say: Callable[[str], None] = lambda _: None,
    *,
    enough: Callable[[_Given], bool] = lambda _: True,
) -> _Given:
    """What `ask` gives once it is enough, or at the last try. Raises what the last try raises."""
    until = time.monotonic() + seconds
    said = False
    while True:
        try:
            given = ask()
        except PorticoError as error:
            if error.kind is not Kind.UNAVAILABLE or time.monotonic() >= until:
                raise
        else:
            if enough(given) or time.monotonic() >= until:
                return given
        if not said:
            say(NOT_YET)
        said = True
        time.sleep(_PAUSE)


# Typed names become paths here and nowhere else.

_ELSEWHERE: Final = frozenset({".", ".."})


def api_path(*parts: str) -> str:
    """`/servers/docs/logs`; each part is one step, whatever letters it has.

    Raises `InvalidUsage` for what would lead elsewhere.
    """
    return "".join(f"/{_step(part)}" for part in parts)


def _step(part: str) -> str:
    if not part:
        raise InvalidUsage("A name is empty.", fix="Say which one is meant.")
    if part in _ELSEWHERE or "/" in part:
        raise InvalidUsage(
            f"{part!r} is nobody's name.", fix="Names have no /, and are not . or .."
        )
    return quote(part, safe="")


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
        self.field_errors = tuple(
            FieldError(detail["field"], detail["message"]) for detail in problem.get("errors", ())
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
        house: CliServices,
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


_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 2.0
_END: Final = "end"
RESET: Final = "reset"
"""Said by the server when something that was to be told is not kept any more."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """`mark` is where the server goes on if it is given back."""

    type: str
    data: dict[str, Any]
    mark: str | None = None


@dataclass(slots=True)
class Following:
    """One who follows. `say` is told, in words, when the server has gone and come again."""

    server: Server
    say: Callable[[str], None]
    began_at: datetime | None = None
    """By the server's clock."""
    _until: float = field(default_factory=lambda: time.monotonic() + AT_FIRST)
    """For so long a server that was never met is waited for."""
    _mark: str | None = None
    _met: bool = False
    _gone: bool = False

    def __call__(self, path: str, **query: str | Sequence[str]) -> Iterator[ReceivedEvent]:
        """Until the server has no more to tell, or for ever.

        A server that does not answer is waited for: at first for a while, and for ever once it
        has been met. Raises what the last try raises.
        """
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.server.streaming(path, after=self._mark, **query) as stream:
                    if stream is None:
                        return
                    self._here_again(stream.began_at)
                    pause = _FIRST_PAUSE
                    for told in parsed(stream.lines):
                        if told.type == _END:
                            return
                        self._mark = told.mark or self._mark
                        yield told
            except (NotRunning, NotReached, Refused) as error:
                if not self._worth_waiting(error):
                    raise
            self._gone_away()
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _worth_waiting(self, error: PorticoError) -> bool:
        waiting = self._met or time.monotonic() < self._until
        return waiting and error.kind is Kind.UNAVAILABLE

    def _here_again(self, now: datetime | None) -> None:
        self.began_at = self.began_at or now
        if self._gone:
            self.say("It is back." if self._met else "It is there.")
        self._met, self._gone = True, False

    def _gone_away(self) -> None:
        if not self._gone:
            gone = "The server has gone; waiting for it to come back …"
            self.say(gone if self._met else NOT_YET)
        self._gone = True


def parsed(lines: Iterable[str]) -> Iterator[ReceivedEvent]:
    """Server-sent events, each of which ends with an empty line."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            data = json.loads(fields["data"])
            yield ReceivedEvent(fields.get("event", "message"), data, fields.get("id"))
        fields = {}
