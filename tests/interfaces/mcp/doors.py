"""What stands at each face of MCP, and which scopes it takes: a table for each face."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from portico.gateway.core.calls import Verb
from portico.gateway.core.resources_and_prompts import our_uri
from portico.guard.core.principals import Scope
from portico.interfaces.mcp.bridge.server import BRIDGE as BRIDGE_PATH
from portico.interfaces.mcp.debate.server import DEBATE as DEBATE_PATH
from tests.interfaces.mcp.gateway import ERAS

MODERN, LEGACY = ERAS
ONE: Final = "/mcp/servers/box"
READ, CALL, WRITE = Scope.TOOLS_READ, Scope.TOOLS_CALL, Scope.TOOLS_WRITE
LOOK, TALK = Scope.BRIDGE_READ, Scope.BRIDGE_WRITE
SEE, RUN, JOIN = Scope.DEBATES_READ, Scope.DEBATES_RUN, Scope.DEBATES_JOIN


@dataclass(frozen=True)
class Door:
    """All of `needs` opens it, and nothing less does."""

    needs: frozenset[Scope]
    params: Mapping[str, Any]
    eras: tuple[str, ...] = ERAS
    lasts: bool = False
    """Answers for as long as somebody listens: only the refusals are asked for."""
    asks: bool = False
    """Whoever is let through waits for a person's word."""
    path: str | None = None
    """That of the face, if left away."""

    @property
    def tool(self) -> str:
        return str(self.params["name"])


@dataclass(frozen=True)
class Table:
    """All that stands at one face: `tools` are those that it lists."""

    path: str
    methods: Mapping[str, Door]
    tools: Sequence[Door]
    others: Sequence[Door]
    refusals: frozenset[str] = frozenset({"not_permitted"})

    def doors(self, era: str) -> Iterable[tuple[str, Door]]:
        yield from ((method, it) for method, it in self.methods.items() if era in it.eras)
        yield from (("tools/call", it) for it in (*self.tools, *self.others))


def door(*needs: Scope, params: Mapping[str, Any] | None = None, **more: Any) -> Door:
    return Door(frozenset(needs), params or {}, **more)


def call(
    tool: str, /, *needs: Scope, asks: bool = False, path: str | None = None, **given: Any
) -> Door:
    return door(*needs, params={"name": tool, "arguments": given}, asks=asks, path=path)


def by(verb: Verb, tool: str, *needs: Scope, asks: bool = False) -> Door:
    return call(verb, *needs, asks=asks, tool=f"box.{tool}", arguments={})


LOOKED: Final = by(Verb.READ, "look", CALL)
OF_THE_SERVER: Final = [
    call("look", CALL, path=ONE),
    call("fetch", CALL, path=ONE),
    call("note", CALL, WRITE, path=ONE),
    call("send", CALL, WRITE, path=ONE),
    call("wipe", CALL, WRITE, asks=True, path=ONE),
    call("odd", CALL, WRITE, asks=True, path=ONE),
]
_GREETINGS: Final = {
    "initialize": door(eras=(LEGACY,)),
    "ping": door(eras=(LEGACY,)),
    "server/discover": door(eras=(MODERN,)),
}
_NOBODY: Final = "0" * 26
_PROMPT: Final = {"type": "ref/prompt", "name": "box__hello"}
_TOOLS_NEWS: Final = {"notifications": {"toolsListChanged": True}}
_CITY: Final = {"ref": _PROMPT, "argument": {"name": "city", "value": "p"}}
GATEWAY: Final = Table(
    "/mcp",
    {
        **_GREETINGS,
        "logging/setLevel": door(params={"level": "info"}, eras=(LEGACY,)),
        "subscriptions/listen": door(READ, params=_TOOLS_NEWS, eras=(MODERN,), lasts=True),
        "tools/list": door(READ),
        "resources/list": door(READ),
        "resources/templates/list": door(READ),
        "prompts/list": door(READ),
        "resources/read": door(CALL, params={"uri": our_uri("box", "file:///notes")}),
        "prompts/get": door(CALL, params={"name": "box__hello"}),
        "completion/complete": door(CALL, params=_CITY),
    },
    [
        call("search_tools", READ, queries=["look"]),
        call("describe_tools", READ, tools=["box.look"]),
        LOOKED,
        by(Verb.WRITE, "note", CALL, WRITE),
        by(Verb.DESTRUCTIVE, "wipe", CALL, WRITE, asks=True),
        call("read_result", CALL, result=f"res_{_NOBODY}"),
        call("run_workflow", CALL, plan={"steps": [{"id": "a", "tool": "box.look"}]}),
        call("workflow_status", run=f"run_{_NOBODY}"),
        call("run_program", CALL, code="1"),
        call("feedback", CALL, run=f"sug_{_NOBODY}", outcome="accepted"),
        call("box__look", READ, CALL),
    ],
    [
        *OF_THE_SERVER,
        call("read_result", CALL, result=f"apr_{_NOBODY}"),
        call("run_workflow", READ, intent="look into the box"),
        by(Verb.READ, "fetch", CALL),
        by(Verb.WRITE, "send", CALL, WRITE),
        by(Verb.DESTRUCTIVE, "odd", CALL, WRITE, asks=True),
    ],
    refusals=frozenset({"not_permitted", "refused"}),
)

_HERE: Final = "portico://conversations/HERE"
"""`HERE` is a conversation that is there."""
_OF_HERE: Final = {"notifications": {"resourceSubscriptions": [_HERE]}}
_LEASE: Final[Mapping[str, Any]] = {"lease": f"lse_{_NOBODY}", "token": 1}
_WORK: Final[Mapping[str, Any]] = {"task": f"wrk_{_NOBODY}"}
_MESSAGE: Final[Mapping[str, Any]] = {"message": f"msg_{_NOBODY}"}
BRIDGE: Final = Table(
    BRIDGE_PATH,
    {
        **_GREETINGS,
        "tools/list": door(),
        "resources/templates/list": door(),
        "resources/list": door(LOOK),
        "resources/read": door(LOOK, params={"uri": _HERE}),
        "resources/subscribe": door(LOOK, params={"uri": _HERE}, eras=(LEGACY,)),
        "resources/unsubscribe": door(params={"uri": _HERE}, eras=(LEGACY,)),
        "subscriptions/listen": door(LOOK, params=_OF_HERE, eras=(MODERN,), lasts=True),
    },
    [
        call("whoami", LOOK),
        call("projects", LOOK),
        call("project_set", TALK, name="egret", doing="there"),
        call("conversations", LOOK),
        call("conversation_set", LOOK, TALK, project="heron", title="Eggs"),
        call("send", TALK, conversation="HERE", body="a", to=["ana"]),
        call("read", LOOK, conversations=["HERE"]),
        call("inbox", LOOK),
        call("search", LOOK, query="a"),
        call("change", TALK, **_MESSAGE, body="b"),
        call("memory_get", LOOK, project="heron", key="a"),
        call("memory_set", LOOK, TALK, project="heron", key="a", value=1),
        call("memory_find", LOOK, project="heron"),
        call("lease", LOOK, TALK, do="take", project="heron", resource="a", queue=True),
        call("task", LOOK, TALK, do="add", project="heron", title="a"),
        call("attach", LOOK, TALK, project="heron", name="a.txt", text="a"),
    ],
    [
        call("projects", LOOK, project="heron"),
        call("project_set", LOOK, TALK, project="heron", doing="busy"),
        call("conversations", LOOK, conversation="HERE"),
        call("conversation_set", LOOK, TALK, conversation="HERE", add=["ana"]),
        call("read", LOOK, attachment="0" * 64),
        call("read", LOOK, thread=f"msg_{_NOBODY}"),
        call("change", TALK, **_MESSAGE, delete=True),
        call("change", TALK, **_MESSAGE, lower_to="public"),
        call("memory_set", LOOK, TALK, project="heron", key="b", forget=True),
        call("memory_get", LOOK, project="heron", key="a", history=True),
        call("lease", TALK, do="renew", **_LEASE),
        call("lease", TALK, do="release", **_LEASE),
        call("lease", LOOK, do="list", project="heron"),
        call("lease", LOOK, do="check", project="heron", resource="a", token=1),
        call("task", LOOK, do="list", project="heron"),
        call("task", LOOK, do="show", **_WORK),
        call("task", TALK, do="claim", **_WORK),
        call("task", TALK, do="hand_over", token=1, **_WORK),
        call("task", TALK, do="done", token=1, **_WORK),
    ],
)

_DEBATE: Final[Mapping[str, Any]] = {"debate": f"dbt_{_NOBODY}"}
DEBATE: Final = Table(
    DEBATE_PATH,
    {**_GREETINGS, "tools/list": door()},
    [
        call("debate", SEE, RUN, question="Is it so?", estimate_only=True),
        call("analyze", SEE, RUN, task="Move house", estimate_only=True),
        call("join_debate", JOIN, **_DEBATE),
        call("outcome", RUN, **_DEBATE, right=True),
        call("replay", SEE, **_DEBATE),
        call("debate_status", SEE),
    ],
    [
        call("join_debate", JOIN, **_DEBATE, answer="yes"),
        call("debate_status", SEE, **_DEBATE),
        call("debate_status", SEE, RUN, **_DEBATE, stop=True),
        call("debate", SEE, RUN, question="Is it so?", wait=0),
    ],
)
