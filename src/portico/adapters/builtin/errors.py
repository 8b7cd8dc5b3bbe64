"""What Portico's own tools refuse.

PorticoError
├── WorkspaceFull   no more fits into the workspace
├── BadBody         no text, and no bytes as they are written in base64
├── OneOfTwo        two ways to say the same, and both were used
└── NothingToWrite  none of them was
"""

from portico.kernel.errors import Kind, PorticoError


class WorkspaceFull(PorticoError):
    kind = Kind.EXHAUSTED
    code = "workspace_full"
    title = "The workspace is full"
    fix = "Remove what is not needed any more: `list_files` shows what is there."

    def __init__(self, used: int, largest: int) -> None:
        super().__init__(
            f"The workspace holds {used:,} bytes, and may hold {largest:,}: this does not fit."
        )
        self.used = used
        self.largest = largest


class BadBody(PorticoError):
    kind = Kind.INVALID
    code = "bad_body"
    title = "Not what can be written or sent"
    fix = "Give `text` in Unicode, or bytes as `base64`: its standard alphabet, with padding."

    def __init__(self, reason: str) -> None:
        super().__init__(f"What was given cannot be used: {reason}.")
        self.reason = reason


class OneOfTwo(PorticoError):
    kind = Kind.INVALID
    code = "one_of_two"
    title = "Said twice"

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"Both `{one}` and `{other}` were given.", fix=f"Give `{one}` or `{other}`, not both."
        )


class NothingToWrite(PorticoError):
    kind = Kind.INVALID
    code = "nothing_to_write"
    title = "Nothing to write"
    fix = "Give `text` or `base64`; for an empty file, an empty `text`."

    def __init__(self, path: str) -> None:
        super().__init__(f"It was not said what {path[:200]!r} is to hold.")
        self.path = path
