"""Servers of tools, as the command line says them and is told them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from portico.gateway.core.launch import referred, value_json
from portico.interfaces.cli.errors import BadUsage
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.redaction import blacked_out

_LONGEST: Final = 120
"""Letters of what a tool says of itself, where many are shown."""
_REASON: Final = 200


def launch_of(
    command: Sequence[str],
    *,
    url: str | None,
    env: Sequence[str],
    header: Sequence[str],
    transport: str | None,
    folder: str | None,
) -> JsonObject:
    """Raises `BadUsage`."""
    if (url is None) == (not command):
        raise BadUsage("Name either a command, after --, or --url.")
    if url is not None:
        if env or folder:
            raise BadUsage("--env and --folder are for a command.")
        return _set(type="http", url=url, headers=_values(header, "--header"), transport=transport)
    if header or transport:
        raise BadUsage("--header and --transport are for --url.")
    return _set(
        type="stdio",
        command=command[0],
        arguments=[
            each if (found := referred(each)) is None else value_json(found) for each in command[1:]
        ],
        environment=_values(env, "--env"),
        folder=folder,
    )


def _set(**fields: JsonValue) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _values(pairs: Sequence[str], option: str) -> JsonObject:
    found: dict[str, JsonValue] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise BadUsage(f"{option} is NAME=VALUE, NAME=secret:NAME or NAME=$VARIABLE.")
        found[name.strip()] = _value(value)
        if isinstance(found[name.strip()], str) and blacked_out(pair) != pair:
            raise BadUsage(
                f"The value of {option} {name} looks like a secret, and would be kept as it is.",
                fix="Give it to Portico by `portico secrets set github`, and name where it is: "
                f"{option} '{name}=secret:github'.",
            )
    return found


def _value(text: str) -> JsonValue:
    if text.startswith("$"):
        return {"env": text[1:].strip("{}")}
    return text if (found := referred(text)) is None else value_json(found)


def server_row(server: Mapping[str, Any]) -> JsonObject:
    return {
        "name": server["name"],
        "state": state(server),
        "tools": server["tools"].get("live", 0) or sum(server["tools"].values()),
        "tokens": server["tokens"],
        "phase": server["vitals"]["phase"],
        "label": server["label"],
        "may_reach": server["confinement"]["reaches"],
        "origin": server["origin"],
    }


def state(server: Mapping[str, Any]) -> str:
    """In one word or two, the most urgent thing first."""
    if server.get("gone"):
        return "gone"
    if not server["enabled"]:
        return "off"
    if not server["launch_approved"]:
        return "waits for approval"
    if not server["approved"]:
        return "failed" if server["failure"] else "tools wait for approval"
    waiting = sum(server["tools"].get(standing, 0) for standing in ("new", "changed"))
    if waiting:
        return f"approved, {waiting} in quarantine"
    return "approved, failed last" if server["failure"] else "approved"


def failures(servers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Of those that should work and do not, why."""
    for server in servers:
        if server["failure"] and server["enabled"] and not server.get("gone"):
            reason = str(server["failure"])
            told = reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"
            yield f"{server['name']} failed: {told} (portico servers show {server['name']})"


def server_facts(server: Mapping[str, Any]) -> JsonObject:
    vitals = server["vitals"]
    return {
        "name": server["name"],
        "state": state(server),
        "command": server["command"],
        "may_reach": server["confinement"]["reaches"],
        "origin": server["origin"],
        "label": server["label"],
        "clearance": server["clearance"],
        "trusted": server["trusted"],
        "approved_by": server["approved_by"],
        "approved_at": server["approved_at"],
        "identity": server["identity"],
        "protocol": server["era"],
        "listed_at": server["listed_at"],
        "failure": server["failure"],
        "tools": ", ".join(f"{count} {name}" for name, count in server["tools"].items()),
        "tokens": server["tokens"],
        "phase": vitals["phase"],
        "process": vitals["process"],
        "starts": vitals["starts"],
        **({"lacking": vitals["lacking"]} if vitals.get("lacking") else {}),
        "launch_pin": server["launch_pin"],
    }


def approved(review: Mapping[str, Any]) -> bool:
    waiting = any(each["standing"] == "pending" for each in review["tools"])
    return review["launch_approved"] and review["listed"] and not waiting


def offered_row(tool: Mapping[str, Any]) -> JsonObject:
    """A tool as somebody decides about it."""
    return {
        "tool": tool["tool"].partition(".")[2],
        "standing": tool["standing"],
        "proposed": tool["proposed"],
        "why": tool["refused"] or tool["why"],
        "says": _first_line(tool["description"]),
    }


def review_rows(review: Mapping[str, Any]) -> list[JsonObject]:
    """A line for each place that changed; a tool that came or went has one by itself."""
    launch: JsonObject = {"tool": "", "standing": "how it starts"}
    rows = [_change(launch, each, "command") for each in review.get("launch_changes", ())]
    for tool in review["tools"]:
        named = {"tool": tool["tool"].partition(".")[2], "standing": tool["standing"]}
        changes = [_change(named, each) for each in tool["changes"]]
        if not changes and tool["standing"] not in {"live", "pending"}:
            says = _first_line(tool["description"]) if tool["standing"] == "new" else ""
            changes = [named | {"place": "", "before": "", "after": tool["refused"] or says}]
        rows.extend(changes)
    said: JsonObject = {"tool": "", "standing": "beside its tools"}
    return [*rows, *(_change(said, each) for each in review["said"])]


def _first_line(text: str) -> str:
    """Enough to know what it claims to be; `portico tools show` has all of it."""
    first = " ".join(next(iter(text.strip().splitlines()), "").split())
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 2]} …"


def _change(
    named: Mapping[str, JsonValue], change: Mapping[str, Any], within: str = ""
) -> JsonObject:
    return {
        **named,
        "place": " ".join(filter(None, [within, change["path"]])),
        "before": change["before"],
        "after": change["after"],
    }
