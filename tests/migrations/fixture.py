"""Small filled databases of earlier versions, as dumps, for every later version to upgrade."""

import asyncio
import os
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np
import psycopg
from psycopg.conninfo import conninfo_to_dict

from portico.adapters.postgres.addresses import Addresses, without_password
from portico.adapters.postgres.agents.agents import PostgresAgents
from portico.adapters.postgres.agents.traces import PostgresTraces
from portico.adapters.postgres.engine.idempotency import PostgresReceipts
from portico.adapters.postgres.gateway.calls import PostgresCallHistory
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.gateway.tools import PostgresTools, PostgresVectors
from portico.adapters.postgres.guard.audit import PostgresAudit
from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys, PostgresSessions
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.spaces import PostgresSpaces, PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import (
    PostgresEdgeStore,
    PostgresLearnedCounts,
    PostgresObservedFlows,
    PostgresShapes,
    PostgresToolUsageStore,
)
from portico.adapters.postgres.learning.suggestions import PostgresPastPlans, PostgresSuggestions
from portico.adapters.postgres.store import known_migrations
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.postgres.workflows.saved import PostgresSavedWorkflows
from portico.engine.core.idempotency import Claim, StoredResponse
from portico.gateway.core.calls import Call, CallId, CallOutcome, ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace, shape_of
from portico.gateway.core.servers import Unsandboxed
from portico.guard.authentication import Authenticate
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Role
from portico.guard.keys import IssueKey, KeySpec
from portico.guard.principals import AddPrincipal, PrincipalSpec
from portico.guard.sessions import OpenSession
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.tool_graph import EdgeKind, Sightings, ToolEdge
from portico.sandbox.core.profile import NetworkEndpoint, Profile
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent, an_agent_run
from portico.testing.gateway import a_saved_workflow, a_server, a_tool, an_approved_server
from portico.testing.learning import a_past_plan, a_suggestion
from portico.testing.memory_store import SeededEntropy, TickingClock
from portico.testing.secrets import MemoryVault
from tests.copies import Template
from tests.migrations.bridge_fixture import fill_bridge
from tests.migrations.debate_fixture import fill_debates
from tests.servers import embedded_store, reachable_folder, wheel

FOLDER: Final = Path(__file__).parent / "fixtures"
FIXTURES: Final = sorted(FOLDER.glob("*.sql"))


def load_fixture(database: Addresses, file: Path) -> None:
    """In the place of what the database holds."""
    with psycopg.connect(str(database.owner), autocommit=True) as owner:
        owner.execute("DROP SCHEMA portico CASCADE")
        owner.execute(file.read_bytes())


def write_fixture() -> Path:
    """The end state of this version; run by `just fixture` when the schema has changed."""
    with reachable_folder() as folder:
        store = embedded_store(folder)
        store.start_here(create=True)
        try:
            with Template(store.addresses).copy() as database:
                asyncio.run(_fill(database))
                return _dump(database)
        finally:
            store.server.release()


def _dump(database: Addresses) -> Path:
    last = known_migrations()[-1]
    target = FOLDER / f"{last.number:04}_{last.name}.sql"
    target.parent.mkdir(exist_ok=True)
    password = conninfo_to_dict(str(database.owner))["password"]
    text = subprocess.run(
        [
            wheel(18)["pg_dump"],
            "--inserts",
            "--enable-row-security",
            "--schema=portico",
            f"--dbname={without_password(str(database.owner))}",
        ],
        env={**os.environ, "PGPASSWORD": str(password)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith(("--", "\\", "SET ")) or "check_function_bodies" in line
    ]
    target.write_text("\n".join(line for line in kept if line.strip()) + "\n")
    return target


async def _fill(database: Addresses) -> None:
    clock, entropy, pepper = TickingClock(), SeededEntropy("fixture"), b"fixture"
    async with open_pool(database.app, 2) as pool:
        transactions = Transactions(pool)
        keys, principals = PostgresKeys(transactions), PostgresPrincipals(transactions)
        audit = PostgresAudit(transactions, lambda *_: None)
        for name in ("home", "other"):
            install = InstallHome(
                spaces=PostgresSpaces(transactions),
                unit_of_work=transactions.begin,
                audit=audit,
                clock=clock,
                entropy=entropy,
                pepper=pepper,
            )
            installed = await install(SpaceSpec(name=name, admin="ana"))
            admin = as_principal(installed.admin)
            add = AddPrincipal(
                principals=principals,
                unit_of_work=transactions.begin,
                audit=audit,
                clock=clock,
                entropy=entropy,
            )
            robot = await add(
                admin,
                PrincipalSpec(
                    kind=PrincipalKind.AGENT,
                    name="robot",
                    roles=frozenset({Role.MEMBER}),
                    clearance=Label(Level.CONFIDENTIAL, frozenset({"finance"})),
                ),
            )
            issue = IssueKey(
                keys=keys,
                principals=principals,
                unit_of_work=transactions.begin,
                audit=audit,
                clock=clock,
                entropy=entropy,
                pepper=pepper,
            )
            await issue(admin, KeySpec(name="robot's", principal=robot.id))
            log_in = OpenSession(
                authenticate=Authenticate(
                    key_ring=PostgresKeyRing(transactions), clock=clock, pepper=pepper
                ),
                sessions=PostgresSessions(transactions),
                unit_of_work=transactions.begin,
                audit=audit,
                clock=clock,
                entropy=entropy,
                pepper=pepper,
            )
            await log_in(installed.key.key.reveal(), "Firefox on Linux")
            await PostgresSpaceSettings(transactions).put(admin, "greeting", {"text": "Grüß Gott"})
            await PostgresReceipts(transactions).once(
                admin, Claim.of("keys.issue", "k1", {"name": "x"}), _answer
            )
            await _fill_gateway(transactions, admin, clock, entropy)
            await _fill_agents(transactions, admin)
            await fill_bridge(transactions, admin, robot.id, clock, entropy)
            await fill_debates(transactions, admin, clock)


async def _fill_gateway(
    transactions: Transactions, admin: Principal, clock: TickingClock, entropy: SeededEntropy
) -> None:
    servers, tools = PostgresServers(transactions), PostgresTools(transactions)
    files, mail = an_approved_server("files"), a_server("mail", origin="/home/ana/.mcp.json")
    consent = Unsandboxed(by="ana", at=clock.now(), launch_pin=mail.launch_pin)
    profile = Profile(write=("/srv/files",), reach=(NetworkEndpoint("files.example", 443),))
    files, mail = replace(files, profile=profile), replace(mail, unsandboxed=consent)
    changed = a_tool("files.write", effect=Effect.LOCAL_WRITE)
    for server in (files, mail):
        await servers.add(admin, server)
    await tools.put(
        admin,
        files.id,
        [
            a_tool("files.read", effect=Effect.LOCAL_READ),
            replace(changed, definition=a_tool("files.write", "Else.").definition, pin="other"),
            replace(a_tool("files.odd"), refused="has a name that is empty"),
        ],
    )
    vectors = {"key": np.array([0.25, -0.5], np.float32)}
    await PostgresVectors(transactions).put(admin, "model", vectors)
    now, ref = clock.now(), ToolRef("files", "read")
    call = Call(
        id=CallId.mint(now, entropy),
        principal=admin.id,
        ref=ref,
        effect=Effect.LOCAL_READ,
        pin=changed.pin,
        arguments={"path": "/ä"},
        started_at=now,
        took=timedelta(milliseconds=7),
        outcome=CallOutcome.DONE,
    )
    await PostgresCallHistory(transactions, clock, "fixture").record_start(admin, call)
    result = ResultId.mint(now, entropy)
    kept, results = StoredResult(content=["x"]), PostgresResults(transactions, MemoryVault())
    await results.keep(admin, result, kept, now + timedelta(days=1))
    await PostgresToolUsageStore(transactions).found(admin, [ref], "read a file", now)
    await PostgresToolUsageStore(transactions).used(admin, {ref: 3}, now)
    await PostgresSavedWorkflows(transactions).put(admin, a_saved_workflow("tidy-up"))
    read = ToolPlace(files.id, "read")
    learnt = {read: ObservedSchema(changed.pin, 3, shape_of({"size": 1, "größe": None}))}
    await PostgresShapes(transactions).learn(admin, learnt)
    passed = Passed(read, "json.size", ToolPlace(files.id, "write"), "size")
    await PostgresObservedFlows(transactions).learn(admin, {passed: 2})
    edge = ToolEdge(read, ToolPlace(files.id, "write"), EdgeKind.FEEDS)
    label, seen = admin.clearance, Sightings(3, 2, now)
    await PostgresEdgeStore(transactions).learn(admin, label, {edge: seen})
    key = CountKey.of("next", f'["{files.id}","größe"]')
    await PostgresLearnedCounts(transactions).learn(admin, label, {key: Count(3, 2, now)})
    past = a_past_plan(admin, "größe der Dateien", label=label, at=now)
    await PostgresPastPlans(transactions).learn(admin, past)
    suggested = a_suggestion(admin, label=label, at=now, past=[past.id])
    await PostgresSuggestions(transactions).keep(admin, suggested)


async def _fill_agents(transactions: Transactions, admin: Principal) -> None:
    traces, run = PostgresTraces(transactions), an_agent_run(admin)
    await PostgresAgents(transactions).add(admin, an_agent(admin))
    await traces.add(admin, run, a_saying(run, "Grüß Ana."))
    await traces.add_turn(admin, a_turn(run))
    await traces.add_use(admin, a_use(run))


async def _answer() -> StoredResponse:
    return StoredResponse({"id": "x"}, {"key": "never kept"})


if __name__ == "__main__":
    print(write_fixture())
