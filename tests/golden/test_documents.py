"""What is stored or sent as JSON: it can be read as it was written before, and is written so again.

`documents.json` has one of each, with every field set.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import pytest
from pydantic import BaseModel

from portico.adapters.client_entry import EntryStore
from portico.adapters.egress.approval_webhook import ApprovalWebhook
from portico.adapters.embeddings.encoders import read_page, write_page
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.monty.interpreter import StoredProgram
from portico.adapters.postgres.debate import mapping, seats
from portico.adapters.postgres.engine import runs
from portico.adapters.postgres.gateway import servers, tools
from portico.adapters.postgres.guard import logins
from portico.adapters.postgres.guard.logins import PostgresLoginClients
from portico.adapters.system.supervisor import SupervisorArgs
from portico.agents.core import events as agent_events
from portico.agents.core.activation import RunInput, TurnNoted
from portico.agents.core.agents import agent_facts, spec_from, spec_json
from portico.agents.core.model_requests import message_as_json, message_of
from portico.bridge.core.declassification import signed_content
from portico.bridge.core.taint import about_archive
from portico.debate.core import events as debate_events
from portico.debate.core.debates import DebaterAnswer, DebateSpec, Decision
from portico.debate.debates import _wished
from portico.engine.core.idempotency import WriteOutcome
from portico.engine.core.runs import Failure
from portico.engine.core.store import TableSize
from portico.engine.idempotency import WriteRequest
from portico.gateway.core.calls import ResultId, ToolResult
from portico.gateway.core.confinement import profile_from, profile_json, unboxed_from, unboxed_json
from portico.gateway.core.inferred_schema import shape_from, shape_json
from portico.gateway.core.launch import from_json, to_json
from portico.gateway.core.results import answer_from, answer_kept
from portico.gateway.core.servers import Identity
from portico.guard import policy_gate
from portico.guard.core.access_request import (
    AccessRequest,
    ActionTarget,
    Allowed,
    Denied,
    NeedsApproval,
)
from portico.guard.core.approvals import Approval, ApprovalRequester
from portico.guard.core.audit import head_from, head_line
from portico.guard.core.oauth_logins import LoginPlace
from portico.interfaces.console.screens.bridge import overview
from portico.interfaces.http import agent_runs as sent_events
from portico.interfaces.http.idempotency import Asking
from portico.kernel.effect import Effect
from portico.kernel.ids import Id
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from portico.learning.core import argument_derivations
from portico.learning.core.observation import FOLLOWS, RECORD, Increment, LabelModel
from portico.learning.core.observed_calls import EdgeKey
from portico.learning.core.past_plans import read_skeleton, skeleton_document
from portico.learning.core.prefetch_gates import read_switches, switches_json
from portico.workflows.core.plan_documents import plan_document, read_plan
from portico.workflows.core.plan_report import discreet, outline_from
from portico.workflows.core.plan_values import step_document
from portico.workflows.core.programs import (
    Source,
    Turn,
    TurnState,
    left_from,
    source_from,
    turn_from,
)
from portico.workflows.run_context import StoredOutput as KeptOutput
from portico.workflows.run_context import noted_of
from tests.golden import values
from tests.golden.values import ANA, APPROVAL, AT, CALLER, CONTEXT, DOCUMENTS, RUN, SPACE, uuid

LOGIN: Final = LoginPlace(
    space=SPACE, principal=ANA, server=Id(uuid(9)), name="files", url="https://mcp.example.com"
)
BOTH_WAYS: Final[Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], object]]]] = {
    "launch by stdio": (from_json, to_json),
    "launch by HTTP": (from_json, to_json),
    "launch of our own": (from_json, to_json),
    "sandbox profile": (profile_from, profile_json),
    "consent to no sandbox": (unboxed_from, unboxed_json),
    "what a server says it is": (lambda told: Identity(**told), servers._identity_json),
    "definition of a tool": (
        lambda told: tools._definition_from(json.dumps(told)),
        lambda its: json.loads(tools._definition_text(its)),
    ),
    "stored answer": (answer_from, lambda its: answer_kept(*its)),
    "failure": (runs._failure, Failure.as_json),
    "plan": (lambda told: read_plan(told, JmespathExpressions()), plan_document),
    "outline": (
        lambda told: outline_from({"outline": told}),
        lambda its: [each.as_json() for each in its],
    ),
    "program": (source_from, Source.as_json),
    "turn of a program": (turn_from, Turn.as_json),
    "what a turn left": (left_from, TurnState.as_json),
    "snapshot of a program": (
        lambda told: StoredProgram.read(b64decode(told)),
        lambda its: b64encode(its.write()).decode(),
    ),
    "inferred schema": (shape_from, shape_json),
    "steps of a past plan": (read_skeleton, skeleton_document),
    "edge": (EdgeKey.parse, str),
    "derivation": (argument_derivations.read, argument_derivations.written),
    "counters": (
        lambda told: LabelModel.of(PUBLIC, [Increment(*each) for each in told]),
        lambda its: [*its.counted()],
    ),
    "switches": (read_switches, switches_json),
    "agent": (spec_from, spec_json),
    "what an agent is started with": (RunInput.from_json, RunInput.as_json),
    "turn of an agent": (TurnNoted.from_json, TurnNoted.as_json),
    "messages": (
        lambda told: [message_of(each) for each in told],
        lambda its: [message_as_json(each) for each in its],
    ),
    "events of an agent": (
        lambda told: [agent_events.happening_of(*each) for each in told],
        lambda its: [agent_events.happening_json(each) for each in its],
    ),
    "events of a debate": (
        lambda told: [debate_events.happening_of(*each) for each in told],
        lambda its: [debate_events.happening_json(each) for each in its],
    ),
    "debater": (mapping.voice_from, mapping.voice_json),
    "reply": (seats.reply_from, seats.reply_json),
    "decision": (Decision.from_json, Decision.as_json),
    "answer in a debate": (DebaterAnswer.from_json, DebaterAnswer.as_json),
    "tokens of a login": (
        lambda told: logins.tokens_from(json.dumps(told).encode()),
        lambda its: json.loads(logins.tokens_text(its)),
    ),
    "begun login": (
        lambda told: logins.attempt_from(json.dumps(told).encode(), LOGIN),
        lambda its: json.loads(logins.attempt_text(its)),
    ),
    "head of the audit": (
        lambda told: head_from(json.dumps(told)),
        lambda its: json.loads(head_line(its[0], its[1], AT)),
    ),
    "order of a supervisor": (
        lambda told: SupervisorArgs.read(json.dumps(told)),
        lambda its: json.loads(its.written()),
    ),
}


def sent() -> object:
    read, _ = BOTH_WAYS["events of an agent"]
    events = read(DOCUMENTS["events of an agent"])
    return [(sent_events.NAMES[type(each)], sent_events.happening_json(each)) for each in events]


def counted() -> object:
    layer = LabelModel(PUBLIC)
    layer.note(FOLLOWS, "before", "after")
    layer.note(RECORD, DOCUMENTS["edge"], "", 0)
    return [*layer.counted()]


AIM: Final = ActionTarget(tool="files.write", server="files", effect=Effect.LOCAL_WRITE, pin="p")
DECIDED: Final = [kind("rule", "reason") for kind in (Allowed, NeedsApproval, Denied)]
ONE_WAY: Final[Mapping[str, Callable[[], object]]] = {
    "counters": counted,
    "actions in two parts": lambda: [
        *(
            policy_gate._entry(AccessRequest(caller=CALLER, target=AIM), each, {}).action
            for each in DECIDED
        ),
        about_archive("project", RUN, AT).action,
        about_archive("project", RUN, None).action,
    ],
    "table in `db info`": lambda: asdict(TableSize(name="run", rows=1, size=2)),
    "what a step gave": lambda: step_document(ToolResult([{"type": "text", "text": '{"a": 1}'}])),
    "journal of a call": lambda: noted_of(KeptOutput(ResultId(uuid(21)), 7, admitted=True)),
    "failure in private": lambda: discreet(ValueError("hush"), "read", "res_1").as_json(),
    "agent in the audit": lambda: agent_facts(
        RunInput.from_json(DOCUMENTS["what an agent is started with"]).agent
    ),
    "events of an agent, sent": sent,
    "debate": lambda: mapping.body_json(values.DEBATE),
    "what a debate is asked for": lambda: _wished(
        DebateSpec(question="Is it?", deadline=timedelta(seconds=9), label=values.FINANCE)
    ),
    "declassification": lambda: json.loads(signed_content(SPACE, values.DECLASSIFICATION)),
}


def plain(value: object) -> Any:
    """As it is once it was JSON."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("what", BOTH_WAYS)
def test_what_was_written_before_is_read_and_written_again(what: str) -> None:
    read, write = BOTH_WAYS[what]

    assert plain(write(read(DOCUMENTS[what]))) == DOCUMENTS[what]


@pytest.mark.parametrize("what", ONE_WAY)
def test_what_is_written_is_as_ever(what: str) -> None:
    assert plain(ONE_WAY[what]()) == DOCUMENTS[what]


def test_there_is_one_event_of_each_type() -> None:
    agents, debates = DOCUMENTS["events of an agent"], DOCUMENTS["events of a debate"]

    assert {type_ for type_, _ in agents} == {*agent_events.TYPES.values()}
    assert {type_ for type_, _ in debates} == {*debate_events.TYPES.values()}


def test_what_connect_has_written_is_known_again(tmp_path: Path) -> None:
    copy, name, told = DOCUMENTS["connected client"]
    (tmp_path / name).write_text(json.dumps(told))
    kept = EntryStore(tmp_path)
    [made] = kept.all()
    (tmp_path / name).unlink()

    assert kept.save(made, b"{}").name == copy
    assert json.loads((tmp_path / name).read_text()) == told


def test_the_page_of_an_encoder_is_read_and_written_as_ever(tmp_path: Path) -> None:
    page = tmp_path / "encoder.json"
    page.write_text(json.dumps(DOCUMENTS["encoder"]))
    write_page(tmp_path, read_page(tmp_path))

    assert json.loads(page.read_text()) == DOCUMENTS["encoder"]


async def test_a_login_client_is_stored_as_ever() -> None:
    """Its secret apart from its settings, sealed."""
    asked: list[Any] = []

    class Connected:
        async def execute(self, query: str, given: dict[str, Any]) -> "Connected":
            asked.append(given)
            return self

        async def fetchone(self) -> dict[str, Any]:
            return {"settings": DOCUMENTS["login client"], "sealed": b"sealed"}

    class Transactions:
        @asynccontextmanager
        async def begin(self, caller: object) -> AsyncIterator[Connected]:
            yield Connected()

    vault = values.anything(encrypt=lambda *_: b"sealed", decrypt=lambda *_: b"hush")
    clients = PostgresLoginClients(cast("Any", Transactions()), vault)
    client = await clients.get(CALLER, Id(uuid(9)))
    assert client is not None
    await clients.put(CALLER, Id(uuid(9)), client)

    assert asked[1]["settings"].obj == DOCUMENTS["login client"]


async def test_the_webhook_is_told_as_ever() -> None:
    posted: list[Any] = []

    async def post(url: str, *, content: bytes, headers: dict[str, str]) -> Any:
        posted.append([json.loads(content), headers])
        return values.anything(status_code=200)

    approval = Approval(
        id=APPROVAL,
        space=SPACE,
        requester=ApprovalRequester(ANA, "ana", PrincipalKind.AGENT),
        context=CONTEXT,
        tool="files.write",
        server="files",
        effect=Effect.LOCAL_WRITE,
        pin="p",
        launch="l",
        hash="h",
        label=PUBLIC,
        tainted=False,
        arguments={},
        rule="default:writes",
        reason="r",
        asked_at=AT,
        expires_at=AT + timedelta(hours=1),
        run=RUN,
    )
    webhook = ApprovalWebhook(
        url="https://example.com",
        secret=lambda: "hush",
        look=cast("Any", None),
        client=cast("Any", None),
        clock=values.anything(now=lambda: AT),
        base_url="https://portico",
    )
    await webhook._sent(values.anything(post=post), approval)

    assert posted == [DOCUMENTS["webhook"]]


class Wished(BaseModel):
    name: str


async def test_a_write_is_known_again_by_operation_path_body_and_rights() -> None:
    asked: list[WriteRequest] = []

    async def do_once(caller: object, ask: WriteRequest, action: object) -> WriteOutcome:
        asked.append(ask)
        return WriteOutcome({"id": "x"}, replayed=False)

    use = values.anything(do_once=do_once)
    caller = replace(CALLER, scopes=frozenset({"keys:write", "keys:read"}), tools=(("files.*",),))
    asking = Asking(use, caller, "/api/v1/keys", "k")
    await asking.once("keys.issue", Wished(name="a"), values.anything(), status=201)
    await asking.made_once(
        "bridge.projects.create", Wished(name="a"), values.anything(), values.anything()
    )
    desk = values.anything(caller=CALLER, services=values.anything(use=use))
    await overview._made_once(
        desk, "console.bridge.project", {}, values.anything(once="k"), values.anything()
    )

    assert plain([[ask.operation, ask.request] for ask in asked]) == DOCUMENTS["repeatable writes"]


def test_no_document_is_frozen_that_nothing_gives() -> None:
    apart = {"connected client", "encoder", "login client", "repeatable writes", "webhook"}

    assert DOCUMENTS.keys() == {*BOTH_WAYS, *ONE_WAY, *apart}
