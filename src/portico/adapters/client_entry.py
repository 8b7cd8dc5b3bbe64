"""Portico's entry in the configuration files of clients: shown, written, removed."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from portico.adapters.client_configs import ClientFiles, NotRead, read_bytes
from portico.adapters.system.files import private_folder, write_private
from portico.gateway.core.client_configs import Client
from portico.gateway.core.client_entry import (
    HOMES,
    ClientFileMalformed,
    ClientFileMoved,
    ClientFileUnreadable,
    DetectedClient,
    EntryStatus,
    Home,
    Proposal,
    Removal,
    Scope,
    Written,
    also_listed,
    entry_in,
    home_of,
    shown_diff,
    standing,
    switched_off,
    with_entry,
    without_entry,
)
from portico.gateway.core.config_documents import Described
from portico.gateway.core.config_edits import Trace
from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlaces:
    home: Path
    environment: Mapping[str, str]
    mac: bool
    which: Callable[[str], str | None] = shutil.which

    def file(self, client: Home, scope: Scope, folder: Path) -> Path:
        """Raises `ClientCannot`."""
        if scope == "project":
            return Path(client.project_file(str(folder)))
        places = self.all(client)
        there = [each for each in places if each.exists()]
        folders = [each for each in places if self._shows(each)]
        return (there or folders or places)[0]

    def others(self, client: Home, chosen: Path) -> Sequence[Path]:
        """Of other editions of the same client, which are here too."""
        return [each for each in self.all(client) if each != chosen and self._shows(each)]

    def all(self, client: Home) -> Sequence[Path]:
        return list(map(Path, client.files(self.environment, str(self.home), mac=self.mac)))

    def present(self, client: Home) -> bool:
        return any(map(self.which, client.programs)) or any(map(self._shows, self.all(client)))

    def _shows(self, file: Path) -> bool:
        """Its folder is there, and is a client's own."""
        return file.exists() or (file.parent != self.home and file.parent.exists())


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    client: str
    file: str
    existed: bool
    """Whether there was such a file before."""
    trace: Trace
    written: str
    """The digest of what we left there."""
    key: str | None = None
    """The id of the key that was made for it."""
    foreign: bool = False
    """Another entry of our name was there."""


@dataclass(frozen=True, slots=True)
class EntryStore:
    folder: Path

    def save(self, connection: Connection, before: bytes) -> Path:
        """The copy of the file as it was."""
        private_folder(self.folder)
        copy = self.copy_of(connection)
        copy.touch(0o600)
        copy.write_bytes(before)
        write_private(self._record(connection.file), json.dumps(asdict(connection), indent=2))
        return copy

    def of(self, file: str) -> Connection | None:
        return next((each for each in self.all() if each.file == file), None)

    def all(self) -> Iterator[Connection]:
        for record in sorted(self.folder.glob("*.json")):
            found: dict[str, Any] = json.loads(record.read_text())
            trace = Trace(**found.pop("trace"))
            yield Connection(**found, trace=trace)

    def copy_of(self, connection: Connection) -> Path:
        name = self._record(connection.file).stem
        return self.folder / f"{connection.client}-{name}.before"

    def forget(self, connection: Connection, *, copy_too: bool) -> None:
        self._record(connection.file).unlink(missing_ok=True)
        if copy_too:
            self.copy_of(connection).unlink(missing_ok=True)

    def _record(self, file: str) -> Path:
        return self.folder / f"{hashlib.sha256(file.encode()).hexdigest()[:12]}.json"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# A client's file as it is now, and another in its place: whole or not at all, with its owner and
# its mode, and only if nobody wrote it in between.


@dataclass(frozen=True, slots=True)
class Now:
    file: Path
    """Where a link leads to, if the client's file is one."""
    content: bytes | None
    """None if it is not there."""

    @property
    def text(self) -> str:
        """With its mark. Raises `ClientFileUnreadable`."""
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError as error:
            raise ClientFileUnreadable(str(self.file), "is not UTF-8") from error


def now(file: Path) -> Now:
    """Raises `ClientFileUnreadable`."""
    real = file.resolve()
    try:
        return Now(real, read_bytes(real))
    except NotRead as reason:
        raise ClientFileUnreadable(str(file), str(reason)) from reason


def put_in_place(was: Now, content: bytes | None, *, private: bool = False) -> None:
    """None takes it away. `private`: a file that is new is its owner's alone. Raises
    `ClientFileMoved`, `OSError`."""
    if content is None:
        _check(was)
        was.file.unlink()
        return
    was.file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=was.file.parent, prefix=f".{was.file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            _dress(stream.fileno(), was, private=private)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _check(was)
        Path(name).replace(was.file)
    finally:
        Path(name).unlink(missing_ok=True)


def others_can_read(file: Path) -> bool:
    return bool(stat.S_IMODE(file.stat().st_mode) & 0o044)


def _dress(handle: int, was: Now, *, private: bool) -> None:
    if was.content is None:
        os.fchmod(handle, 0o600 if private else 0o666 & ~_umask())
        return
    state = was.file.stat()
    if (state.st_uid, state.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # of a group that we are not in: its mode says who reads
            os.fchown(handle, -1, state.st_gid)
        os.fchown(handle, state.st_uid, -1)
    os.fchmod(handle, stat.S_IMODE(state.st_mode))


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def _check(was: Now) -> None:
    if now(was.file).content != was.content:
        raise ClientFileMoved(str(was.file))


_OURS: Final = (EntryStatus.SAME, EntryStatus.OTHERWISE)
_NOTHING: Final = "\ufeff \t\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnections:
    files: ClientFiles
    places: ClientPlaces
    stored: EntryStore
    folder: Path
    """The project that one is in."""
    started: Callable[[Home], JsonObject]
    """The entry by which a client starts us."""
    in_use: Callable[[], Sequence[Described]]
    """The servers that stand behind Portico."""
    notes: Sequence[str] = ()
    """About the entries that start us."""

    def found(self) -> Sequence[DetectedClient]:
        return [self._found(each) for each in HOMES]

    def proposed(self, name: str, scope: Scope = "user", *, key: str | None = None) -> Proposal:
        """`key`: over HTTP, with this one. Raises `UnknownClient`, `ClientCannot`,
        `ClientFileMalformed`, `ClientFileUnreadable`."""
        home = home_of(name)
        file = self.places.file(home, scope, self.folder)
        was = now(file)
        entry = self.started(home) if key is None else home.reached(self.files.own_url, key)
        edited = with_entry(str(file), was.text, home.names, entry)
        return Proposal(
            home=home,
            scope=scope,
            file=str(file),
            present=scope == "project" or self.places.present(home),
            entry=entry,
            status=self._standing(home, file, was.text, entry),
            before=None if was.content is None else was.text,
            after=edited.text,
            trace=edited.trace,
            alone=with_entry(file.name, "", home.names, entry).text,
            diff=shown_diff(self.files.written(file), was.text, edited.text),
            also_listed=self._also_listed(home, file, edited.text),
            notes=list(self._notes(home, file, edited.text, scope, started=key is None)),
        )

    def write(self, proposal: Proposal, key: str | None = None) -> Written:
        """`key`: the id of the one in it. Raises `ClientFileMoved`, `OSError`."""
        was = now(Path(proposal.file))
        before = None if proposal.before is None else proposal.before.encode()
        if was.content != before:
            raise ClientFileMoved(proposal.file)
        content = proposal.after.encode()
        copy = self._keep(proposal, was, digest(content), key)
        put_in_place(was, content, private=key is not None)
        exposed = key is not None and others_can_read(was.file)
        note = f"Others on this machine can read the key in {proposal.file}: chmod 600 it."
        return Written(
            copy=None if was.content is None else str(copy), notes=[note] if exposed else []
        )

    def ours(self, name: str | None) -> Sequence[Removal]:
        """Every file of that client, or of any, that Portico is in. Raises `UnknownClient`,
        `ClientFileMalformed`, `ClientFileUnreadable`."""
        homes = HOMES if name is None else [home_of(name)]
        return [
            removal
            for home in homes
            for file in {each.resolve(): each for each in self._files(home)}.values()
            if (removal := self._removal(home, file)) is not None
        ]

    def take_out(self, removal: Removal) -> None:
        """Raises `ClientFileMoved`, `OSError`."""
        was = now(Path(removal.file))
        if was.content != removal.before.encode():
            raise ClientFileMoved(removal.file)
        put_in_place(was, None if removal.after is None else removal.after.encode())
        record = self.stored.of(str(was.file))
        if record is not None:
            self.stored.forget(record, copy_too=removal.as_before)

    def _found(self, home: Home) -> DetectedClient:
        file = self.places.file(home, "user", self.folder)
        problem, state = None, None
        try:
            state = self._standing(home, file, now(file).text, self.started(home))
        except (ClientFileMalformed, ClientFileUnreadable) as error:
            problem = str(error)
        return DetectedClient(
            home=home,
            file=str(file),
            present=self.places.present(home),
            status=state,
            problem=problem,
        )

    def _standing(self, home: Home, file: Path, text: str, entry: JsonObject) -> EntryStatus:
        return standing(home, self._client(home, file), self.files.place(file), text, entry)

    def _client(self, home: Home, file: Path) -> Client:
        own = file in self.places.all(home)
        return home.client if own or home.project is None else home.project

    def _also_listed(self, home: Home, file: Path, text: str) -> Sequence[str]:
        place = self.files.place(file)
        return also_listed(self._client(home, file), place, text, self.in_use())

    def _notes(
        self, home: Home, file: Path, text: str, scope: Scope, *, started: bool
    ) -> Iterator[str]:
        if started:
            yield from self.notes
        if switched_off(self._client(home, file), self.files.place(file), text):
            yield f"{file} itself switches the entry off: {home.title} will not use it."
        if scope == "project":
            yield "The entry holds a path of this machine: do not share it with the project."
        else:
            for other in self.places.others(home, file):
                yield f"Another edition of {home.title} is here, and is not connected: {other}"

    def _keep(self, proposal: Proposal, was: Now, written: str, key: str | None) -> Path:
        """If our own entry is written anew, what was before it is what was before the first."""
        earlier = self.stored.of(str(was.file))
        content = was.content or b""
        existed, trace = was.content is not None, proposal.trace
        foreign = proposal.status is EntryStatus.FOREIGN
        if earlier is not None and proposal.status is EntryStatus.OTHERWISE:
            existed, trace = earlier.existed, earlier.trace
            if earlier.written == digest(content) and self.stored.copy_of(earlier).exists():
                content, foreign = self.stored.copy_of(earlier).read_bytes(), earlier.foreign
        return self.stored.save(
            Connection(
                client=proposal.home.name,
                file=str(was.file),
                existed=existed,
                trace=trace,
                written=written,
                key=key,
                foreign=foreign,
            ),
            content,
        )

    def _files(self, home: Home) -> Iterator[Path]:
        """Of links to one file, as the client calls it comes last, and counts."""
        yield from (Path(each.file) for each in self.stored.all() if each.client == home.name)
        if home.project is not None:
            yield Path(home.project_file(str(self.folder)))
        yield from self.places.all(home)

    def _removal(self, home: Home, file: Path) -> Removal | None:
        was = now(file)
        record = self.stored.of(str(was.file))
        state = self._standing(home, file, was.text, self.started(home))
        if was.content is None or state is EntryStatus.NONE:
            return None
        if state is EntryStatus.FOREIGN and record is None:
            return None
        restored = self._as_it_was(home, file, was, record)
        after = restored if restored is not None else self._without(home, file, was.text, record)
        gone = record is not None and not record.existed and not after.strip(_NOTHING)
        return Removal(
            home=home,
            file=str(file),
            before=was.text,
            after=None if gone else after,
            as_before=restored is not None or gone,
            foreign=state is EntryStatus.FOREIGN,
            diff=shown_diff(self.files.written(file), was.text, after),
            key=record.key if record else None,
            copy=str(self.stored.copy_of(record)) if record and record.existed else None,
        )

    def _as_it_was(self, home: Home, file: Path, was: Now, record: Connection | None) -> str | None:
        """What was there before `connect`, if nobody has written the file since."""
        if record is None or was.content is None or record.written != digest(was.content):
            return None
        copy = self.stored.copy_of(record)
        if not copy.exists():
            return None
        text = copy.read_bytes().decode()
        ours = not record.foreign and entry_in(str(file), text, home.names) is not None
        return None if ours else text

    def _without(self, home: Home, file: Path, text: str, record: Connection | None) -> str:
        """Also if it is there twice."""
        trace = record.trace if record else Trace()
        text = without_entry(str(file), text, home.names, trace)
        while self._standing(home, file, text, self.started(home)) in _OURS:
            text = without_entry(str(file), text, home.names, trace)
        return text
