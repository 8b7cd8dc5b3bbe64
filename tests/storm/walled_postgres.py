"""A house whose doors are those of the product: a real database behind all of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.approvals import PostgresApprovals
from portico.adapters.postgres.bridge_attachments import PostgresAttachments
from portico.adapters.postgres.bridge_conversations import PostgresConversations
from portico.adapters.postgres.bridge_declassifications import PostgresDeclassifications
from portico.adapters.postgres.bridge_leases import PostgresLeases
from portico.adapters.postgres.bridge_memory import PostgresMemory
from portico.adapters.postgres.bridge_messages import PostgresMessages
from portico.adapters.postgres.bridge_presence import PostgresPresences
from portico.adapters.postgres.bridge_projects import PostgresProjects
from portico.adapters.postgres.bridge_read_state import PostgresReadState
from portico.adapters.postgres.bridge_search import PostgresMessageSearch
from portico.adapters.postgres.bridge_vectors import PostgresMessageVectors
from portico.adapters.postgres.bridge_work import PostgresWorks
from portico.adapters.postgres.bus_after_commit import BusAfterCommit
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.people import PostgresPeople
from portico.adapters.postgres.principals import PostgresPrincipals
from portico.adapters.postgres.results import PostgresResults
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.task_contexts import PostgresTaskContexts
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.seals.aes_siv import AesSivSeal
from portico.adapters.seals.signing import Ed25519Signing
from portico.bridge.core.scan import found
from portico.bridge.embed_messages import EmbedMessages
from portico.guard.ask_approval import AskApproval
from portico.main.assemble_bridge import BridgeDoors
from portico.testing.guard import (
    a_space,
)
from portico.testing.vault import MemoryVault
from tests.storm.walled_house import MODEL, PEPPER, WalledHouse, meaning
from tests.storm.walled_inside import Inside, as_root, root_of


def without_waiting_for_the_disk(addresses: Addresses) -> None:
    """Nothing of it has to outlive a power cut."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        its = sql.Identifier(admin.info.dbname)
        admin.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(its))


@asynccontextmanager
async def walled_house(
    addresses: Addresses, *, space: str = "home", connections: int = 6
) -> AsyncIterator[WalledHouse]:
    engine = EnginePool(str(addresses.engine), 1)
    async with open_pool(addresses.app, connections) as pool, engine.pool:
        transactions = Transactions(pool)
        root = root_of(space)
        await PostgresSpaces(transactions).found(a_space(space), *root)
        vectors = PostgresMessageVectors(transactions, engine, MODEL)
        inside = Inside(space)
        approvals = PostgresApprovals(transactions)
        yield WalledHouse(
            doors=_doors(transactions, inside, inside.ask(approvals, transactions.begin)),
            principals=PostgresPrincipals(transactions),
            keys=PostgresKeys(transactions),
            approvals=approvals,
            results=PostgresResults(transactions, MemoryVault()),
            runs=inside.runs,
            errands=inside.errands,
            embed=EmbedMessages(vectors=vectors, meaning=meaning),
            root=as_root(root[0], root[1]),
            space_name=space,
        )


def _doors(transactions: Transactions, inside: Inside, ask: AskApproval) -> BridgeDoors:
    return BridgeDoors(
        projects=PostgresProjects(transactions),
        conversations=PostgresConversations(transactions, inside.clock),
        messages=PostgresMessages(transactions),
        read_state=PostgresReadState(transactions),
        people=PostgresPeople(transactions),
        search=PostgresMessageSearch(transactions, lambda: MODEL),
        meaning=meaning,
        memory=PostgresMemory(transactions, inside.clock),
        attachments=PostgresAttachments(transactions),
        leases=PostgresLeases(transactions),
        works=PostgresWorks(transactions),
        presences=PostgresPresences(transactions),
        declassifications=PostgresDeclassifications(transactions),
        scan=found,
        signing=Ed25519Signing.from_pepper(PEPPER),
        ask=ask,
        contexts=PostgresTaskContexts(transactions, inside.clock),
        key_ring=PostgresKeyRing(transactions),
        seal=AesSivSeal.from_pepper(PEPPER),
        bus=BusAfterCommit(inside.bus, transactions),
        together=transactions.begin,
        audit=inside.audit,
        clock=inside.clock,
        entropy=inside.entropy,
    )
