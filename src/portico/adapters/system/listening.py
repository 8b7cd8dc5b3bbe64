"""Take the address before anything else is started, so that a clash is told at once."""

import errno
import os
import socket
from pathlib import Path

from portico.adapters.system.private_files import private_folder
from portico.kernel.errors import Kind, PorticoError


class AddressTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "address_taken"
    title = "The address is in use"

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Something listens on {host}:{port} already.",
            fix="If it is Portico, it runs already: portico status. "
            f"Else choose another port: portico serve --port {port + 1}",
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
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
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
