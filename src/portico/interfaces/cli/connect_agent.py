"""`portico connect-agent`: an agent takes a seat in a conversation, under its own name."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from portico.bridge.core.answering import COOL_DOWN, MOST_ANSWERS, MOST_HOPS, Rules
from portico.bridge.core.errors import ConversationNotFound
from portico.interfaces.cli.agent_file import told_or_read
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.bridge_names import find_conversation
from portico.interfaces.cli.connect_loop import AtTable, Seat
from portico.interfaces.cli.connect_words import INSTRUCTIONS
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.moments import lasting
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, read_key
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.errors import Kind, PorticoError


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """The agent, as the server knows it by its own key."""

    id: str
    name: str
    server: AgentServer
    model: str | None
    """In place of its own."""


_NO_AGENT: Final = "agent_not_found"
_DAYS: Final = 7
"""For which its key would work if nobody could end it."""


def connect_agent(  # noqa: PLR0913 # an option each
    agent: str,
    /,
    *,
    conversation: str,
    model: str | None = None,
    instructions: str | None = None,
    most: int = MOST_ANSWERS,
    cool_down: str = f"{COOL_DOWN.seconds}s",
    hops: int = MOST_HOPS,
    remembers: int = 20,
    upto: LabelOption = None,
    key_file: Path | None = None,
    once: bool = False,
    at: At,
) -> int:
    """Have an agent take part in a conversation: it answers whoever names it, under its own name,
    until Ctrl-C.

    portico connect-agent helper --conversation plan

    It cannot go on for ever: it gives so many answers and no more, pauses between two answers to
    the same sender, and stops answering agents when no person has said anything for a while.
    Killed and connected again it goes on where it was, and answers nothing twice.

    Parameters
    ----------
    agent
        Which one: portico agents list
    conversation
        Its title, PROJECT/TITLE, or its id.
    model
        Ask this one instead of the agent's own: provider:model. If there is no such agent, it is
        made with it.
    instructions
        With --model, for an agent that is made: what it is told to be; @FILE for a text that
        stands there.
    most
        Answers, and then it leaves.
    cool_down
        Between two answers to the same sender.
    hops
        Answers of agents to agents without a person's word in between; 0: it answers people alone.
    remembers
        So many of the last messages it is told of when it answers.
    upto
        It reads nothing that is more secret than this, and so says nothing that has to be.
    key_file
        A key of the agent's own, where none can be made for it:
        portico keys create NAME --to AGENT
    once
        Answer what waits for it, and leave.
    """
    rules = Rules(
        most=most, cool_down=timedelta(seconds=lasting("--cool-down", cool_down)), hops=hops
    )
    with _let_in(at, agent, model, instructions, key_file) as (server, own):
        found = _joined(server, own, conversation)
        seat = Seat(
            agent=own.name,
            principal=own.id,
            conversation=found["id"],
            title=found["title"],
            label=found["label"],
            joined_at=datetime.fromisoformat(found["joined_at"]),
            model=own.model,
            upto=upto,
            remembers=max(1, remembers),
        )
        table = AtTable(own.server, at, seat, rules)
        table.begin()
        at.say(
            f"{seat.agent} takes part in {seat.title}, and answers whoever writes @{seat.agent}:"
            f" {most} times at most. Ctrl-C ends."
        )
        return table.stay(once=once)


@contextmanager
def _let_in(
    at: Terminal, agent: str, model: str | None, instructions: str | None, key_file: Path | None
) -> Iterator[tuple[AgentServer, _Own]]:
    """The server as whoever connects the agent meets it, and as the agent does."""
    if key_file is not None:
        server = AgentServer(at.house, key=read_key(key_file))
        me = server.get("/me")
        if me["name"] != agent or me["kind"] != "agent":
            raise BadUsage(
                f"That key is {me['name']}'s, and {agent} speaks for itself.",
                fix=f"Make one for it: portico keys create NAME --to {agent}",
            )
        yield server, _Own(id=me["id"], name=agent, server=server, model=model)
        return
    server = AgentServer(at.house)
    found, asks = _agent(server, at, agent, model, instructions)
    issued = _issued(server, found)
    its = AgentServer(at.house, key=issued["key"])
    try:
        yield server, _Own(id=found["principal"], name=found["name"], server=its, model=asks)
    finally:
        with suppress(PorticoError):  # it ends by itself, later
            server.delete(path_to("keys", issued["id"]))


def _agent(
    server: AgentServer, at: Terminal, name: str, model: str | None, instructions: str | None
) -> tuple[dict[str, Any], str | None]:
    """The one that is there, or one that is made, and the model that it is to be asked with in
    place of its own. Raises `BadUsage`."""
    if model is not None:
        server.check_model(model)
    try:
        found: dict[str, Any] = server.get(path_to("agents", name))
    except Refused as error:
        if error.code == _NO_AGENT and _comes_by_itself(server, name):
            error.fix = (
                f"{name} comes in with a key of its own, and whoever has that speaks for it. What"
                " is connected here is an agent that Portico runs; make one, under another name:"
                " portico agents new NAME"
            )
            raise
        if error.code != _NO_AGENT or model is None:
            raise
        told = INSTRUCTIONS if instructions is None else told_or_read(instructions)
        made = server.post("/agents", {"name": name, "model": model, "instructions": told})
        at.say(f"{name} is there. When you need it no more: portico agents remove {name}")
        return made, None
    if instructions is not None:
        raise BadUsage(
            f"{name} is there already, and has been told what to be.",
            fix=f"Change that: portico agents edit {name}; or name another.",
        )
    return found, model


def _comes_by_itself(server: AgentServer, name: str) -> bool:
    """Whether it is one of those that `portico people add` adds, as far as one may know."""
    try:
        known = list(server.pages("/principals"))
    except Refused:
        return False
    return any((each["name"], each["kind"]) == (name, "agent") for each in known)


def _issued(server: AgentServer, found: dict[str, Any]) -> dict[str, Any]:
    """A key of the agent's own: what is said with it is said by the agent, in a task that has read
    nothing yet. Raises what the server refuses."""
    name = found["name"]
    wish = {"name": f"connect-agent {name}", "principal": found["principal"], "days": _DAYS}
    try:
        made: dict[str, Any] = server.post("/keys", wish)
    except Refused as error:
        if error.kind is Kind.DENIED:
            error.fix = (
                f"Have somebody make one who may: portico keys create NAME --to {name}; keep it in"
                " a file of your own, and say --key-file FILE"
            )
        raise
    return made


def _joined(server: AgentServer, own: _Own, text: str) -> dict[str, Any]:
    """The conversation, with since when the agent takes part. Raises `BadUsage`."""
    found = find_conversation(server, text)
    path = path_to("conversations", found["id"], "participants")
    its = own.server
    try:
        its.post(path, {})
    except Refused as error:
        if error.code != ConversationNotFound.code or its is server:
            raise
        server.post(path, {"principal": own.id})
    try:
        there = its.get(path_to("conversations", found["id"], "participants"))["data"]
    except Refused as error:
        if error.code != ConversationNotFound.code:
            raise
        raise BadUsage(
            f"{own.name} is not cleared for what is {found['label']}.",
            fix=f"Label the agent so: portico agents edit {own.name}",
        ) from error
    since = next(each["joined_at"] for each in there if each["principal"] == own.id)
    return found | {"joined_at": since}
