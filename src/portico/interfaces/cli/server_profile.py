"""What a server may reach, shown and said at a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from portico.gateway.core.servers import Hold
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.json import JsonObject

NOT_BOXED: Final = "NOT BOXED"
_SHOWN: Final = ("network", "reach", "write", "read")


def profile(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *,
    read: list[str] | None = None,
    write: list[str] | None = None,
    network: Literal["none", "public"] | None = None,
    reach: list[str] | None = None,
    only: bool = False,
    proposed: bool = False,
    default: bool = False,
    at: At,
) -> None:
    """Show what a server may reach, or say what it may.

    What it may reach is its own program, a home of its own, and what is said here; nothing else
    exists for it. What is said is added to what it may reach already, unless --only is said too;
    its process is ended.

    portico servers profile notes --write ~/notes --network none

    Parameters
    ----------
    name
        Which one.
    read
        A folder or a file that it may read; may be given several times.
    write
        A folder that it may also change; may be given several times.
    network
        public: any public address over HTTP and HTTPS. none: only what is named with --reach.
    reach
        A place as host:port, which may be this machine; may be given several times.
    only
        Exactly what is said with it, and nothing that it could reach before.
    proposed
        Take the tighter profile that is proposed for it.
    default
        Go back to what follows from how it is started.
    """
    server, stated = Server(at.house), [read, write, network, reach]
    given = any(each is not None for each in stated)
    if given + proposed + default > 1:
        raise BadUsage("Say what it may reach, or --proposed, or --default: one of the three.")
    if only and not given:
        raise BadUsage("With --only say what it may reach: --read, --write, --reach, --network.")
    if default:
        server.delete(path_to("servers", name, "profile"))
    elif proposed:
        _put(server, name, _proposed(server, name))
    elif given:
        before = server.get(path_to("servers", name, "profile"))["profile"]
        kept = dict.fromkeys(("read", "write", "reach"), ()) if only else before
        said = {"read": _whole(read), "write": _whole(write), "reach": reach or []}
        after = {each: [*dict.fromkeys([*kept[each], *said[each]])] for each in said}
        _put(server, name, {**after, "network": network or before["network"]})
    _show(at, server.get(path_to("servers", name, "profile")), changed=given or proposed or default)


def _put(server: Server, name: str, profile: JsonObject) -> None:
    server.put(path_to("servers", name, "profile"), profile)


def _proposed(server: Server, name: str) -> JsonObject:
    found: JsonObject | None = server.get(path_to("servers", name, "profile"))["proposed"]
    if found is None:
        raise BadUsage(f"Nothing tighter is known for {name}.")
    return found


def _whole(paths: Sequence[str] | None) -> list[str]:
    """As this machine and this folder understand them."""
    if "" in (paths or ()):
        raise BadUsage("A path is empty. Is a variable in it not set?")
    return [str(Path(path).expanduser().absolute()) for path in paths or ()]


def _show(at: Terminal, found: Mapping[str, Any], *, changed: bool) -> None:
    if at.json:
        at.data(dict(found), "")
        return
    if found["hold"] == Hold.UNBOXED:
        at.alarm(f"{NOT_BOXED}: {found['name']} runs with all rights of Portico itself.")
    at.facts(_facts(found))
    if found["proposed"] and found["profile"] != found["proposed"]:
        at.say(f"Something tighter is known to suffice: {_line(found['proposed'])}")
        at.say(f"  portico servers profile {found['name']} --proposed")
    if changed:
        at.say("It is started anew with the next call.")


def _facts(found: Mapping[str, Any]) -> JsonObject:
    consent = found["consent"]
    agreed = None if consent is None else f"{consent['by']}, {consent['at']}"
    return {
        "name": found["name"],
        "command": found["command"],
        "may_reach": found["reaches"],
        **{field: found["profile"][field] for field in _SHOWN},
        "home": "its own",
        "let_out_as": found["let_out"],
        "said_by": "somebody" if found["stated"] else "nobody: it follows from the command",
        **({} if agreed is None else {"unboxed_by": agreed}),
    }


def _line(profile: Mapping[str, Any]) -> str:
    named = (f"{field}: {_words(profile[field])}" for field in _SHOWN if profile[field])
    return " · ".join(named)


def _words(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
