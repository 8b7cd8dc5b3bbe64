"""What the box refuses.

PorticoError
├── SandboxUnavailable      this machine cannot hold what was to be run
├── InvalidProfile          not a description of what a box may reach
├── InvalidNetworkEndpoint  not a host and a port
├── PathRefused             a path that leads out of the folder, or that no two readings agree on
├── FileTrouble             no such file, a folder where a file should be, no room
├── AddressRefused          an address that nobody allowed
├── FetchFailed             it could not be reached, or said too much, or took too long
├── CodeRefused             a program that cannot be read, or a snapshot that is none
├── CodeBusy                more programs wait than may
└── NotPlain                a value that JSON has no words for, or too many
"""

from portico.kernel.errors import Kind, PorticoError


class SandboxUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "box_unavailable"
    type_name = "BoxUnavailable"
    title = "No box"
    fix = "`portico doctor` says what is missing on this machine."

    def __init__(self, reason: str, *, fix: str | None = None) -> None:
        super().__init__(f"Nothing can be run here: {reason}.", fix=fix)
        self.reason = reason


class InvalidProfile(PorticoError):
    kind = Kind.INVALID
    code = "bad_profile"
    type_name = "BadProfile"
    title = "Not a profile"
    fix = "Name whole paths of folders that exist, and places as host:port."

    def __init__(self, reason: str, *, fix: str | None = None) -> None:
        super().__init__(f"That cannot be a profile: {reason}.", fix=fix)
        self.reason = reason


class InvalidNetworkEndpoint(PorticoError):
    kind = Kind.INVALID
    code = "bad_place"
    type_name = "BadPlace"
    title = "Not a place on the network"
    fix = "Write it as host:port, as in 127.0.0.1:11434 or [::1]:8080."

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:120]!r} is not of the form host:port.")
        self.text = text


class PathRefused(PorticoError):
    kind = Kind.DENIED
    code = "path_refused"
    title = "Outside the folder"
    fix = "Name a path inside the workspace, without links that lead out of it."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path[:200]!r} is refused: {reason}.")
        self.path = path


class FileTrouble(PorticoError):
    kind = Kind.NOT_FOUND
    code = "file_trouble"
    title = "The file cannot be used"
    fix = "`list_files` shows what is there."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path[:200]!r} cannot be used: {reason}.")
        self.path = path


class AddressRefused(PorticoError):
    kind = Kind.DENIED
    code = "place_refused"
    title = "An address that nobody allowed"
    fix = "An admin can allow exactly this place: `portico config set web.allow HOST:PORT`."

    def __init__(self, place: str, reason: str, *, fix: str | None = None) -> None:
        super().__init__(f"{place[:200]} is not reached from here: {reason}.", fix=fix)
        self.place = place
        self.reason = reason


class FetchFailed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "fetch_failed"
    title = "It could not be fetched"

    def __init__(self, place: str, reason: str, *, fix: str | None = None) -> None:
        super().__init__(f"{place[:200]} could not be fetched: {reason}.", fix=fix)
        self.place = place


class CodeRefused(PorticoError):
    kind = Kind.INVALID
    code = "code_refused"
    title = "Not a program that can be run here"
    fix = "It is a small Python: no generators, no imports beyond its few, functions are awaited."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The program cannot be run: {reason}.")
        self.reason = reason


class CodeBusy(PorticoError):
    kind = Kind.EXHAUSTED
    code = "code_busy"
    title = "Too many programs at once"
    fix = "Try again in a moment."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The program was not begun: {reason}.")


class NotPlain(PorticoError):
    kind = Kind.INVALID
    code = "not_plain"
    title = "Not a value that can be told"
    fix = "Give text, numbers, lists and objects, and no more of them than needed."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The value cannot be told: {reason}.")
        self.reason = reason
