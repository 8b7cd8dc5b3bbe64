"""Take the address before anything else is started, and tell who listens there otherwise."""

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from portico.adapters.system.files import private_folder
from portico.kernel.errors import Kind, PorticoError

_PROC: Final = Path("/proc")
_TABLES: Final = ("net/tcp", "net/tcp6")
_LISTENS: Final = "0A"


def listener_on(port: int) -> str | None:
    """`nginx (process 812)`; None where it is not told, as of the programs of other users."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in _PROC.glob("[0-9]*") if wanted else ():
        with suppress(OSError):
            if any(str(each.readlink()) in wanted for each in (process / "fd").iterdir()):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in _TABLES:
        with suppress(OSError):
            for line in (_PROC / table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                    yield words[9]


class AddressTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "address_taken"
    title = "The address is in use"

    def __init__(self, host: str, port: int, *, by_another: bool = False) -> None:
        """`by_another`: by the Portico of another installation."""
        serve = f"portico serve --port {port + 1}"
        told = (
            "It is the Portico of another installation. Choose another port for this one:"
            f" {serve}, or for good: portico config set server.port {port + 1}"
        )
        untold = (
            f"If it is Portico, it runs already: portico status. Else choose another port: {serve}"
        )
        super().__init__(
            f"Something listens on {host}:{port} already.", fix=told if by_another else untold
        )
        self.host = host
        self.port = port


class AddressRefused(PorticoError):
    kind = Kind.INVALID
    code = "address_refused"
    title = "The address cannot be used"
    fix = "Set server.host and server.port to an address of this machine and a port above 1023."


def listen(host: str, port: int) -> socket.socket:
    """Raises `AddressTaken`, `AddressRefused`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its name: only on what says that it is TCP does asyncio switch off the wait for more to
    # send, and an answer in two parts would then take 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressTaken(host, port) from error
        raise AddressRefused(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


def by_another(host: str, port: int, private_socket: Path | None) -> bool:
    """Whether it is a Portico that listens there, and not the one of this installation, which
    would answer on its private socket too."""
    return is_portico(host, port) and not (private_socket is None or answers(private_socket))


def is_portico(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=3)
    try:
        connection.request("GET", "/healthz")
        return b'"alive"' in connection.getresponse().read(100)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def is_ready(private_socket: Path, port: int) -> bool:
    """Whether the server of this installation answers there, and can be asked for anything."""
    return _asked(private_socket, port, "/readyz") is not None


def told_version(private_socket: Path, port: int, key: str) -> str | None:
    """Of the server of this installation; None if none answers, or the key is not known to it."""
    answer = _asked(private_socket, port, "/api/v1/status", Authorization=f"Bearer {key}")
    try:
        return None if answer is None else str(json.loads(answer)["version"])
    except (ValueError, KeyError):
        return None


def _asked(private_socket: Path, port: int, path: str, **headers: str) -> bytes | None:
    connection = HTTPConnection("localhost", port, timeout=3)
    with socket.socket(socket.AF_UNIX) as way:
        way.settimeout(3)
        try:
            way.connect(str(private_socket))
            connection.sock = way
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.read() if answer.status == HTTPStatus.OK else None
        except (OSError, HTTPException):
            return None


def answers(path: Path) -> bool:
    """Whether anybody listens on this socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def listen_privately(path: Path) -> socket.socket:
    """On a socket that this user alone can reach: whoever else may take our port in our absence,
    a client that comes this way is never answered by a stranger."""
    folder = private_folder(path.parent).lstat()
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise AddressRefused(
            f"The folder {path.parent} is not ours alone.", fix=f"Remove it: rm -r {path.parent}"
        )
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(2048)
    return listener
