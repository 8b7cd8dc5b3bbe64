"""Ids made from content, pins, fingerprints, seals and signatures, each from a fixed input."""

import base64
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import pytest

from portico.adapters.cross_domain import agent_toolbox, debaters
from portico.adapters.crypto import AesSivSeal, Ed25519Signing, RingVault, head
from portico.adapters.egress.approval_webhook import signature
from portico.adapters.postgres.bridge import visibility
from portico.adapters.postgres.guard.logins import BEGUN_IN
from portico.adapters.system.files import short_folder
from portico.agents.core.conversations import question_key
from portico.agents.core.model_requests import message_of
from portico.bridge import activity as bridge_cursors
from portico.bridge.core.activity import Direction
from portico.bridge.core.attachments import Digest
from portico.bridge.core.declassification import pin_of, signed_content
from portico.bridge.core.leases import LeaseSpec
from portico.bridge.core.messages import NewMessage, ReplyRequest
from portico.bridge.core.projects import ProjectId
from portico.bridge.leases import TakeLease
from portico.debate import debates
from portico.debate.activation import Activation
from portico.debate.core.analysis import SubQuestion, part_of
from portico.debate.core.debaters import DebaterRequest
from portico.debate.core.debates import DebateSpec
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.debate.core.vote_weights import pair_name
from portico.debate.debates import keyed_id
from portico.engine import runs
from portico.engine.core.idempotency import Claim
from portico.engine.event_log import Cursors
from portico.gateway.core.calls import ResultId, claim_of, sealed_with
from portico.gateway.core.catalog_snapshot import ToolRef, slug, vendor_name
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.launch import from_json
from portico.gateway.core.pins import definition_pin, launch_pin, set_pin
from portico.gateway.core.search_text import EmbeddingModel, content_key, fingerprint
from portico.gateway.core.server_approval import look_pin
from portico.guard.approvals import sealed_for
from portico.guard.core.access_request import AccessRequest, Action, ActionTarget
from portico.guard.core.contexts import context_of
from portico.guard.core.keys import ApiKey
from portico.guard.core.oauth_logins import (
    LoginPlace,
    browser_mark,
    client_context,
    digest_of,
    login_context,
)
from portico.guard.core.tokens import ShownToken, grant_id
from portico.guard.core.vault import VaultKey, VaultKeys
from portico.interfaces.cli.connect_agent import run_key
from portico.interfaces.http.v1 import chat
from portico.kernel.effect import Effect
from portico.kernel.ids import Id, RunId
from portico.kernel.label import PUBLIC
from portico.learning.core.argument_derivations import Fixed, ValueDerivation
from portico.learning.core.observed_calls import call_key, form_of
from portico.learning.core.past_plans import PastPlanId
from portico.learning.core.prefetch_predictor import Guess, bucket
from portico.workflows import control, programs
from portico.workflows import runs as start_workflow
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_progress import inner_name
from portico.workflows.core.programs import ProgramSpec
from portico.workflows.runs import WorkflowSpec
from tests.golden import values
from tests.golden.values import (
    ANA,
    APPROVAL,
    AT,
    CALLER,
    CONVERSATION,
    DOCUMENTS,
    FINANCE,
    MESSAGE,
    PEPPER,
    RUN,
    SPACE,
    anything,
    uuid,
)

VAULT_KEY: Final = VaultKey(bytes(range(32)))
KEY: Final = ApiKey("AbCdEfGhIjKl", "s" * 43)
ACT: Final = AccessRequest(
    caller=CALLER,
    target=ActionTarget(
        tool="files.write", server="files", effect=Effect.LOCAL_WRITE, pin="p1", launch="l1"
    ),
    arguments={"path": "/é", "size": 1.0, "deep": {"b": [None, True], "a": 10**20}},
)
SENT: Final = NewMessage(
    conversation=CONVERSATION,
    body="Hello",
    label=FINANCE,
    reply_to=MESSAGE,
    mentions=(ANA,),
    addressed=(ANA,),
    attachments=(Digest("ab" * 32),),
    acknowledge=ReplyRequest(until=AT),
    key="k",
)
PLACE: Final = LoginPlace(space=SPACE, principal=ANA, server=Id(uuid(9)), name="x", url="https://x")
MODEL: Final = EmbeddingModel("static", 8, "f1")
TOOL: Final = ToolPlace(values.SERVER.id, "read")
SIGNING: Final = Ed25519Signing.from_pepper(PEPPER)


def of_voice() -> str | None:
    asked = DebaterRequest(
        debater=values.DEBATE.debaters[0],
        system="Be brief.",
        prompt="Is it?",
        schema=None,
        prompt_tokens=10,
        max_output_tokens=90,
        timeout=timedelta(seconds=1),
        label=FINANCE,
        ceiling=FINANCE,
        key="said:1:a",
    )
    return debaters._wish(asked).key


def long_step() -> str:
    leg = anything(debate=anything(part_of=values.DEBATE.id, id=values.DEBATE.id))
    return Activation.step(leg, "said:1:" + "x" * 300)


def signed() -> str:
    return SIGNING.sign(signed_content(SPACE, values.DECLASSIFICATION))


PART: Final = part_of(
    values.DEBATE,
    SubQuestion(question="And why?", kind=QuestionKind.OPEN),
    {},
    place=1,
    cap=Cap(),
    now=AT,
)
MADE: Final[Mapping[str, Callable[[], object]]] = {
    "run by claim": lambda: RunId.of_claim(SPACE, ANA, "workflow", "k"),
    "context of a key": lambda: context_of(CALLER),
    "context of a principal": lambda: context_of(replace(CALLER, key=None)),
    "context of a place": lambda: context_of(replace(CALLER, place="console")),
    "lease": lambda: TakeLease._id(
        anything(), CALLER, LeaseSpec(project=ProjectId(uuid(8)), resource="src/**", key="k")
    ),
    "debate": lambda: keyed_id(CALLER, DebateSpec(question="Is it?", key="k")),
    "analysis": lambda: keyed_id(CALLER, DebateSpec(question="?", key="k", analyze=True)),
    "part of an analysis": lambda: PART.id,
    "seed of a part": lambda: PART.seed,
    "call of a run": lambda: claim_of(RUN, "read", 2).id,
    "result of a call": lambda: claim_of(RUN, "read", 2).result,
    "the same call before": lambda: claim_of(RUN, "read", 2).first,
    "stored plan": lambda: start_workflow._handle(
        CALLER,
        WorkflowSpec(plan=Plan(steps=()), key="k", label=FINANCE),
        {"plan": {"steps": []}, "given": {"a": 1}},
    ),
    "stored program": lambda: programs._handle(
        CALLER, ProgramSpec(code="a", inputs={"b": 1}, key="k", label=FINANCE)
    ),
    "answer to an agent": lambda: agent_toolbox._handle(
        anything(durable=anything(run=RUN)), "call-1-0"
    ),
    "fork": lambda: control._fingerprint(RUN, ["b", "a"], {"a": {"x": 1}}),
    "past plan": lambda: PastPlanId.of(SPACE, ANA, FINANCE, "Mail bo@example.com", [{"id": "s1"}]),
    "inner step": lambda: inner_name("a-step-with-a-name-of-more-than-thirty-letters"),
    "chat with an agent": lambda: question_key("clerk", [*map(message_of, DOCUMENTS["messages"])]),
    "chat with voices": lambda: debates._chat_key(
        DebateSpec(question="Is it?", preset=Preset.VOTE, material="m")
    ),
    "key sent to /v1": lambda: chat._digest("k"),
    "answer of join": lambda: run_key({"id": "msg_1"}, "Is it?"),
    "run of a voice": of_voice,
    "step of a debate": long_step,
    "pair of answers": lambda: pair_name("yes", "no", 7),
    "grant of a token": lambda: grant_id(
        PEPPER,
        ShownToken("", {}, {"iss": "i", "sub": "s", "client_id": "c"}),
        "named ana",
    ),
    "name for vendors": lambda: vendor_name(ToolRef("files", "read.é")),
    "name of a server": lambda: slug("日本"),
    "folder of a socket": lambda: short_folder(cast("Any", "/a/" + "long" * 30)),
    "act": lambda: ACT.hash,
    "reading a resource": lambda: replace(ACT, action=Action.READ_RESOURCE).hash,
    "definition": lambda: definition_pin({"name": "é", "inputSchema": {"type": "object"}}),
    "definition with floats": lambda: definition_pin({"a": [1.0, {"b": 2.0}], "c": 1}),
    "launch by stdio": lambda: launch_pin(from_json(DOCUMENTS["launch by stdio"])),
    "launch by HTTP": lambda: launch_pin(from_json(DOCUMENTS["launch by HTTP"])),
    "launch of our own": lambda: launch_pin(from_json(DOCUMENTS["launch of our own"])),
    "set of tools": lambda: set_pin(
        [
            replace(values.TOOL, ref=ToolRef("files", "b"), pin="2"),
            replace(values.TOOL, ref=ToolRef("files", "a"), pin="1"),
            replace(values.TOOL, gone=True),
        ]
    ),
    "look at a server": lambda: look_pin(values.SERVER),
    "what a run was asked": lambda: runs._fingerprint(values.A_RUN),
    "claim": lambda: Claim.of("keys.issue", "k", {"a": 1}).fingerprint,
    "message": lambda: visibility.digest_of(SENT).hex(),
    "declassification pin": lambda: pin_of(MESSAGE, FINANCE, PUBLIC, "Hello"),
    "declassification": signed,
    "approved arguments": lambda: sealed_for(APPROVAL),
    "stored result": lambda: sealed_with(SPACE, ANA, ResultId(uuid(7))),
    "login": lambda: PLACE.context == login_context(SPACE, ANA, Id(uuid(9))) and PLACE.context,
    "begun login": lambda: BEGUN_IN,
    "login client": lambda: client_context(SPACE, Id(uuid(9))),
    "state of a login": lambda: digest_of("state").hex(),
    "mark of a browser": lambda: browser_mark("state"),
    "vault key": lambda: VAULT_KEY.id,
    "head of what is sealed": lambda: head(VAULT_KEY.id),
    "API key": KEY.reveal,
    "digest of an API key": lambda: KEY.digest(PEPPER).hex(),
    "public key": lambda: SIGNING.public,
    "event cursor": lambda: Cursors.of(
        AesSivSeal.from_pepper(PEPPER), SPACE, ["runs", "ahead"]
    ).text({"runs": 7, "ahead": 0}),
    "bridge cursor": lambda: bridge_cursors.Cursors(AesSivSeal.from_pepper(PEPPER)).text(
        CALLER, {CONVERSATION: 7}
    ),
    "bridge cursor back": lambda: bridge_cursors.Cursors(
        AesSivSeal.from_pepper(PEPPER), Direction.BACK
    ).text(CALLER, {CONVERSATION: 7}),
    "webhook": lambda: signature("whsec_c2VjcmV0", "apr_1", "1700000000", b"{}"),
    "embedding model": lambda: fingerprint("table", "é"),
    "embedded text": lambda: content_key(MODEL, "text"),
    "call ahead": lambda: call_key(TOOL, {"path": "/a"}).hex(),
    "sign of a word": lambda: bucket("letters"),
    "derivations": lambda: (
        Guess(
            form_of(TOOL, {"a": 1, "b": 2}),
            {"a": 1, "b": 2},
            {"b": Fixed("2"), "a": ValueDerivation("result", "json.id", "", "int", "only")},
            0.5,
        ).made
    ),
}


GOLDEN: Final = tomllib.loads((Path(__file__).parent / "digests.toml").read_text())


@pytest.mark.parametrize("what", MADE)
def test_the_same_input_gives_the_same_text_as_ever(what: str) -> None:
    made = MADE[what]()

    assert (made.decode("latin-1") if isinstance(made, bytes) else str(made)) == GOLDEN[what]


def test_no_text_is_frozen_that_nothing_gives() -> None:
    assert GOLDEN.keys() == MADE.keys()


def test_what_was_sealed_by_the_vault_is_opened() -> None:
    vault = RingVault(VaultKeys((VAULT_KEY,)))
    sealed = base64.b64decode(
        "djFlNGNmZmM5NcnwdPHQoZhT8G3q7FAecOHyZmshXvwhfnGMy8eMWgUMRVV+2g8qlW1W"
    )

    assert vault.decrypt(sealed, sealed_for(APPROVAL)) == b'{"path":"/a"}'


def test_a_signature_still_holds() -> None:
    assert SIGNING.holds(signed_content(SPACE, values.DECLASSIFICATION), GOLDEN["declassification"])
