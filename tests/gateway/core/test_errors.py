"""What the gateway refuses is said in one sentence, with its facts."""

from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
    NoLogins,
    ResultNotFound,
    SchemaRefused,
    ToolRefused,
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
)
from portico.kernel.errors import PorticoError


def test_it_says_what_was_wrong() -> None:
    rows: list[tuple[PorticoError, str]] = [
        (SchemaRefused("is too deep"), "is too deep"),
        (ToolRefused("db.drop", "it hides text"), "it hides text"),
        (UpstreamDown("db", "it ended"), "it ended"),
        (UpstreamRefused("db", -32602, "no such prompt"), "no such prompt"),
        (UpstreamRefused("db", -32602, ""), "-32602"),
        (UpstreamTimedOut("db.drop", 30), "30 s"),
        (InputUnsupported("db.drop", "sampling"), "sampling"),
        (InputRefused("elicitation/create", "nobody answered"), "nobody answered"),
        (ResultNotFound("res_1"), "res_1"),
    ]

    for error, told in rows:
        assert told in str(error)


def test_a_server_that_nobody_logs_in_to_says_how_to_say_where() -> None:
    error = NoLogins("wiki")

    assert "'wiki'" in str(error)
    assert error.fix is not None
    assert "servers login-config wiki" in error.fix
