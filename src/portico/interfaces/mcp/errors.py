"""What only this face refuses.

PorticoError
├── NoSuchDoor       the path leads to no server of ours
├── NoSuchQuestion   nobody waits here for this answer
├── TooManyWaiting   too many calls wait for answers of their callers
├── TooManyListening too many want to hear of changes
└── TooManySessions  too many are open, and all of them in use
"""

from portico.kernel.errors import Kind, PorticoError


class NoSuchDoor(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_door"
    title = "There is no such address"
    fix = (
        "The gateway is at /mcp, one server behind it at /mcp/servers/NAME, the bridge at "
        "/mcp/bridge, debates at /mcp/debate."
    )

    def __init__(self) -> None:
        super().__init__("No MCP server is at this address.")


class NoSuchQuestion(PorticoError):
    kind = Kind.INVALID
    code = "no_such_question"
    title = "Nobody waits for this answer"
    fix = "Call the tool again without requestState, and answer what it asks within five minutes."

    def __init__(self) -> None:
        super().__init__(
            "No call waits here for this answer: it was answered already, it has expired, it was "
            "another call, or another process of Portico holds it."
        )


class TooManyWaiting(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_waiting"
    title = "Too many calls wait for an answer"
    fix = "Answer those that wait, or let them expire: they do so after five minutes."

    def __init__(self) -> None:
        super().__init__("Too many calls wait for their callers' answers already.")


class TooManyListening(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_listening"
    title = "Too many listen already"
    fix = "List again now and then instead."

    def __init__(self) -> None:
        super().__init__("Too many clients listen for changes already.")


class TooManySessions(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_sessions"
    title = "Too many sessions are open"
    fix = "End a session that is not needed (DELETE), or try again later."

    def __init__(self) -> None:
        super().__init__("Too many sessions are open, and all of them are in use.")
