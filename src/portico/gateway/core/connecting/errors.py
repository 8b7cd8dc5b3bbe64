"""What keeps Portico from being put into the file of a client, or taken out.

PorticoError
├── UnknownClient
├── ClientCannot          it has no such file, or cannot be told of an address
├── ClientAbsent          nothing of it is on this machine
├── EntryDiffers          there is another entry of that name
├── ClientFileUnreadable  not a text, too large, or not to be read
├── ClientFileMalformed   not what it should be, and where
├── ClientFileMoved       somebody wrote it in the meantime
└── EditUnsafe            more than our own entry would have changed
"""

from collections.abc import Iterable

from portico.kernel.errors import Kind, PorticoError


class UnknownClient(PorticoError):
    kind = Kind.NOT_FOUND
    code = "unknown_client"
    title = "No such client is known"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        fix = f"One of: {', '.join(known)}. For any other, write the entry yourself: see the docs."
        super().__init__(f"No client is called {name[:40]!r}.", fix=fix)


class ClientCannot(PorticoError):
    kind = Kind.INVALID
    code = "client_cannot"
    title = "Not with this client"


class ClientAbsent(PorticoError):
    kind = Kind.NOT_FOUND
    code = "client_absent"
    title = "This client does not seem to be here"

    def __init__(self, title: str, file: str) -> None:
        super().__init__(
            f"Neither the program nor the folder of {title} is on this machine; its file would "
            f"be {file}.",
            fix="Start it once and try again, or have the file made all the same: --yes",
        )


class EntryDiffers(PorticoError):
    kind = Kind.CONFLICT
    code = "client_entry_differs"
    title = "There is another entry of that name"

    def __init__(self, file: str) -> None:
        super().__init__(
            f"{file} has an entry named portico that is another one; it is left as it is.",
            fix="To go on all the same: --yes. A copy of the file is kept.",
        )


class ClientFileUnreadable(PorticoError):
    kind = Kind.INVALID
    code = "client_file_unreadable"
    title = "The client's file cannot be read"
    fix = "Nothing was written. See the entry, and put it there yourself: portico connect … --print"

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file} {reason}.")


class ClientFileMalformed(PorticoError):
    kind = Kind.INVALID
    code = "client_file_malformed"
    title = "The client's file has a mistake in it"
    fix = "Mend it there, and try again. Nothing was written."

    def __init__(
        self, file: str, reason: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        super().__init__(f"{file}{place}: {reason}.")
        self.line = line
        self.column = column


class ClientFileMoved(PorticoError):
    kind = Kind.CONFLICT
    code = "client_file_moved"
    title = "The client's file changed in the meantime"
    fix = "Close the client, or wait until it has written its file, and try again."

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} is not as it was read; nothing was written.")


class EditUnsafe(PorticoError):
    kind = Kind.INVALID
    code = "client_edit_unsafe"
    title = "More than our own entry would have changed"
    fix = "Change it by hand; portico connect … --print shows the entry. Nothing was written."

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} is written in a way that our entry cannot be told apart in.")
