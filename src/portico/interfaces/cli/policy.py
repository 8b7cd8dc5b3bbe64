"""`portico policy`: explain decisions, list and change rules."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from cyclopts import App

from portico.guard.core.rules import fits
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, day
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

app = App(
    name="policy",
    help="Who may do what: explain it, allow, ask, deny.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

EffectName = Literal[
    "pure",
    "local_read",
    "external_read",
    "local_write",
    "external_write",
    "irreversible",
    "unknown",
]

_COLUMNS = ["name", "decision", "tools", "who", "more", "source", "made_by", "until"]
_SAID = {"allowed": "may use", "needs_approval": "needs approval for", "denied": "may not use"}


@app.command(name="explain", sort_key=1)
def explain(principal: str, tool: str, /, *, at: At) -> None:
    """What would be decided if PRINCIPAL called TOOL, why, and what would change it.

    Parameters
    ----------
    principal
        A name or an id; key:ID for exactly what one key can do, in its own task.
    tool
        As SERVER.TOOL.
    """
    found = Server(at.services).get("/policy/explain", principal=principal, tool=tool)
    at.data(found, _told(found))


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """Every rule in force, of portico.toml and of this space."""
    found = Server(at.services).get("/policy/rules")["data"]
    if not found:
        at.say("No rules but the defaults; make one: portico policy allow | ask | deny TOOLS…")
    rows = [
        each
        | {"who": each["who"] or "everybody", "more": _more(each), "until": day(each["expires_at"])}
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found})


@app.command(name="allow", sort_key=3)
def allow(  # noqa: PLR0913 # an option each
    *tools: str,
    who: list[str] | None = None,
    but: list[str] | None = None,
    effects: list[EffectName] | None = None,
    tainted: bool = False,
    upto: str = "public",
    days: int | None = None,
    name: str | None = None,
    at: At,
) -> None:
    """Allow TOOLS without asking; what denies them or asks for them counts before this.

    portico policy allow 'github.*' --but 'github.delete_*' --who kind:agent

    Parameters
    ----------
    tools
        As SERVER.TOOL; * stands for any characters, ? for one.
    who
        A name with wildcards, role:member, kind:agent or key:ID; may be given several times.
        Everybody, if left away.
    but
        Tools that it is not about; may be given several times.
    effects
        Only up to this effect.
    tainted
        Also in a task that has read what strangers wrote, or more than the server is cleared for.
    upto
        With --tainted: the most that such a task can have read, as in team or
        confidential+finance; no more than you may.
    days
        How long; until it is removed if left away.
    name
        What to call it.
    """
    rule: JsonObject = {
        "who": who or [],
        "except": but or [],
        "effects": effects or [],
        "tainted": tainted,
        "upto": upto,
    }
    _add(at, "allow", {**rule, "tools": [*tools], "days": days, "name": name})


@app.command(name="ask", sort_key=4)
def ask(  # noqa: PLR0913 # an option each
    *tools: str,
    who: list[str] | None = None,
    but: list[str] | None = None,
    effects: list[EffectName] | None = None,
    reads: bool = False,
    days: int | None = None,
    name: str | None = None,
    at: At,
) -> None:
    """Have somebody approve each call of TOOLS.

    Parameters
    ----------
    tools
        As SERVER.TOOL; * stands for any characters, ? for one.
    who
        A name with wildcards, role:member, kind:agent or key:ID; may be given several times.
        Everybody, if left away.
    but
        Tools that it is not about; may be given several times.
    effects
        From this effect on.
    reads
        For calls that only read, too.
    days
        How long; until it is removed if left away.
    name
        What to call it.
    """
    rule: JsonObject = {
        "who": who or [],
        "except": but or [],
        "effects": effects or [],
        "reads": reads,
    }
    _add(at, "ask", {**rule, "tools": [*tools], "days": days, "name": name})


@app.command(name="deny", sort_key=5)
def deny(
    *tools: str,
    who: list[str] | None = None,
    but: list[str] | None = None,
    effects: list[EffectName] | None = None,
    days: int | None = None,
    name: str | None = None,
    at: At,
) -> None:
    """Deny TOOLS, whatever else allows them.

    Parameters
    ----------
    tools
        As SERVER.TOOL; * stands for any characters, ? for one.
    who
        A name with wildcards, role:member, kind:agent or key:ID; may be given several times.
        Everybody, if left away.
    but
        Tools that it is not about; may be given several times.
    effects
        From this effect on.
    days
        How long; until it is removed if left away.
    name
        What to call it.
    """
    rule: JsonObject = {"who": who or [], "except": but or [], "effects": effects or []}
    _add(at, "deny", {**rule, "tools": [*tools], "days": days, "name": name})


@app.command(name="remove", sort_key=6)
def remove(name: str, /, *, at: At) -> None:
    """Take the rule NAME away; what it decided is decided by what is left.

    Parameters
    ----------
    name
        As `policy list` shows it.
    """
    Server(at.services).delete(api_path("policy", "rules", name))
    at.data({"removed": name}, f"Removed {name}.")


def _add(at: At, decision: str, rule: JsonObject) -> None:
    server = Server(at.services)
    made = server.post("/policy/rules", {**rule, "decision": decision})
    at.data(made, f"The rule {made['name']} is in force.")
    _warn_of_nothing(at, server, made["tools"])


def _warn_of_nothing(at: At, server: Server, patterns: Sequence[str]) -> None:
    """Said only by somebody who may see which tools there are."""
    with suppress(PorticoError):
        tools = [each["tool"] for each in server.pages("/tools")]
        besides = [
            f"{each['name']}.{what}"
            for each in server.get("/servers")
            for what in ("resource", "prompt", "completion")
        ]
        for pattern in patterns:
            if not any(fits(name, [pattern]) for name in tools + besides):
                at.say(f"{pattern} fits no tool that there is now.")


def _more(rule: dict[str, Any]) -> str:
    """What narrows it, or widens it, in a few words."""
    parts = []
    if rule["except"]:
        parts.append(f"but {' '.join(rule['except'])}")
    if rule["effects"]:
        parts.append(" ".join(rule["effects"]))
    if rule["reads"]:
        parts.append("reads")
    if rule["tainted"]:
        parts.append(f"tainted up to {rule['upto']}")
    if rule["context"]:
        parts.append(f"in {rule['context']}")
    return ", ".join(parts)


def _told(found: dict[str, Any]) -> str:
    who, tool = found["principal"], found["tool"]
    lines = [
        f"{who} {_SAID[found['decision']]} {tool}: {found['reason']}",
        f"  rule     {found['rule']}",
        f"  effect   {found['effect']}",
        f"  task     {_task(found)}",
    ]
    lines += [
        f"  matched  {rule['name']} ({rule['decision']}, {rule['source']})"
        for rule in found["matched"]
    ]
    lines += [
        f"  {other['when']}: {other['decision'].replace('_', ' ')}" for other in found["otherwise"]
    ]
    return "\n".join(lines)


def _task(found: dict[str, Any]) -> str:
    context, key = found["context"], found["key"]
    words = "what strangers wrote" if context["untrusted"] else "no strangers' words"
    read = f"has read {context['label']} and {words}"
    if key is not None:
        return f"of key {key}, {read}"
    return (
        f"of no key, {read}\n"
        "  keys     each has a task of its own, and may have fewer scopes and tools than this: "
        "portico policy explain key:ID TOOL"
    )
