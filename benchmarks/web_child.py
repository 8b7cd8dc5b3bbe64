"""Fills the house of `just bench web`, while nobody serves it.

python -m benchmarks.web_child SIZES SEEDS
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.bridge_child import administrator
from benchmarks.bridge_corpus import Corpus
from benchmarks.web_loading import load_runs
from benchmarks.web_seeds import Seed
from benchmarks.web_sizes import Sizes
from benchmarks.web_stock import load_audit, load_calls, load_edges, load_talk, long_talk
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.app.app_context import AppContext
from portico.app.use_cases import use_cases
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_COUNTED = (
    *("run", "run_step", "event", "tool_call", "tool_edge", "approval", "debate", "message"),
    *("conversation", "audit_entry", "agent_run", "tool", "server"),
)


async def _owner(ground: AppContext) -> Principal:
    key = await asyncio.to_thread(ground.loaded.paths.key_file.read_text)
    async with open_pool(ground.store.addresses.app, 2) as pool:
        entry = await use_cases(ground, Transactions(pool)).authenticate(key.strip())
        return entry.principal


async def filled(sizes: Sizes, seeds: Sequence[Seed]) -> dict[str, Any]:
    ground = AppContext()
    addresses, me = ground.store.addresses, await _owner(ground)
    with psycopg.connect(administrator(addresses), autocommit=True) as admin:
        load_runs(admin, seeds, sizes, _say)
        load_calls(admin, sizes, _say)
        _say("drawing what was learnt of the order of calls")
        await load_edges(admin, addresses, me, sizes)
        load_audit(admin, me, sizes, _say)
        corpus = load_talk(admin, me, sizes, _say)
        admin.execute("VACUUM ANALYZE")
        return {"counts": _counts(admin), **_places(corpus, sizes)}


def _counts(admin: psycopg.Connection) -> dict[str, int]:
    told = {}
    for table in _COUNTED:
        asked = sql.SQL("SELECT count(*) FROM portico.{}").format(sql.Identifier(table))
        [(many,)] = admin.execute(asked)
        told[table] = int(many)
    [(waiting,)] = admin.execute("SELECT count(*) FROM portico.approval WHERE status = 'waiting'")
    return {**told, "waiting": int(waiting)}


def _places(corpus: Corpus, sizes: Sizes) -> dict[str, Any]:
    """Where the long conversation is, and one as they usually are."""
    told: dict[str, Any] = {}
    usual = sizes.messages // sizes.conversations
    for name, wanted in {"long_talk": sizes.long_talk, "talk": usual}.items():
        place = long_talk(corpus, wanted)
        talk = corpus.cast.talks[place]
        told[name] = {
            "project": _spelled(ProjectId, talk.project),
            "conversation": _spelled(ConversationId, talk.id),
            "messages": len(corpus.told[place].labels),
        }
    return told


def _spelled(kind: type[ProjectId | ConversationId], value: UUID) -> str:
    return str(kind(value))


def _say(text: str) -> None:
    print(json.dumps({"progress": text}), flush=True)


def main(sizes: str, seeds: str) -> None:
    given = [Seed(RunId.parse(run), share, like) for run, share, like in json.loads(seeds)]
    print(json.dumps(asyncio.run(filled(Sizes.read(sizes), given))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
