"""The process under measurement in `just bench bridge`."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from benchmarks.bridge_cast import drawn_cast
from benchmarks.bridge_corpus import Corpus
from benchmarks.bridge_explained import explaining
from benchmarks.bridge_loading import load
from benchmarks.bridge_meaning import Meanings
from benchmarks.bridge_plans import buffers, grow
from benchmarks.bridge_reading import Readers
from benchmarks.bridge_sending import WRITERS, Senders
from benchmarks.bridge_vocabulary import vocabulary
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.conversations import PostgresConversations
from portico.adapters.postgres.bridge.memory import PostgresAttachments
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.principals import PostgresPeople
from portico.adapters.postgres.transaction import BusAfterCommit, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.bridge.conversations import OpenConversation
from portico.bridge.messages import SendMessage
from portico.bridge.read_state import ShowInbox
from portico.bridge.taint import TaintRecorder
from portico.kernel.ids import SpaceId

_SEED: Final = 10

Figures = dict[str, Any]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    messages: int = 500_000
    conversations: int = 200
    agents: int = 40
    people: int = 8
    vectors: int = 100_000
    graph: int = 5_000
    """Vectors of a label, from which on it has a graph."""
    rounds: int = 15
    asked: int = 300
    """Pages, words and pushes."""
    sends: int = 40
    """By each writer, each round."""
    plans: int = 0
    """How many times as long the history is made; 0, if at all."""


def corpus_of(space: SpaceId, sizes: Sizes) -> Corpus:
    """The same for the same sizes, wherever it is asked for."""
    cast = drawn_cast(
        space,
        _SEED,
        conversations=sizes.conversations,
        agents=sizes.agents,
        people=sizes.people,
    )
    return Corpus(cast, vocabulary(), sizes.messages, _SEED)


async def measured(
    addresses: Addresses, space: SpaceId, sizes: Sizes, progress: Progress
) -> Figures:
    corpus = corpus_of(space, sizes)
    with psycopg.connect(administrator(addresses), autocommit=True) as admin:
        kept = load(admin, corpus, sizes.vectors, progress)
        progress("making vectors and their graphs")
        meanings = Meanings(corpus)
        found = await meanings.load(admin, str(addresses.owner), kept, sizes.graph)
        async with _house(addresses, corpus) as (readers, senders):
            progress("measuring what is unread")
            found |= await readers.unread(sizes.rounds)
            progress("measuring pages")
            found |= await readers.pages(sizes.asked)
            progress("measuring words")
            found |= await readers.words(sizes.asked)
            progress("measuring meanings")
            found |= await meanings.recall(readers.transactions, admin, max(5, sizes.asked // 6))
            progress(f"measuring {WRITERS} writers")
            found |= await senders.ratio(sizes.rounds, sizes.sends)
            admin.execute("DELETE FROM portico.message WHERE seq >= 1000000000")
            admin.execute("VACUUM ANALYZE portico.message")
            if sizes.plans:
                found["buffers"] = await _plans(admin, readers, sizes, progress)
        found |= _versions(admin)
    return {**found, **_told(corpus)}


def _versions(admin: psycopg.Connection) -> Figures:
    told = admin.execute(
        "SELECT current_setting('server_version'), extversion FROM pg_extension"
        " WHERE extname = 'vector'"
    ).fetchone()
    server, vectors = told or ("", "")
    return {"postgresql": server, "pgvector": vectors}


async def _plans(
    admin: psycopg.Connection, readers: Readers, sizes: Sizes, progress: Progress
) -> Figures:
    progress("asking for plans")
    small = await buffers(readers.explaining, readers.corpus)
    whole = grow(admin, readers.corpus, sizes.plans, progress)
    progress(f"asking for plans among {whole:,} messages")
    large = await buffers(readers.explaining, readers.corpus)
    told: Figures = {name: [small[name], large[name]] for name in small}
    return {"messages": [sizes.messages, whole], **told}


def _told(corpus: Corpus) -> Figures:
    talks, everybody = corpus.cast.talks, corpus.cast.everybody
    parts = [sum(place in talk.members for talk in talks) for place in range(len(everybody))]
    return {
        "conversations": len(talks),
        "closed": sum(talk.closed for talk in talks),
        "people": len(everybody) - corpus.cast.agents,
        "takes_part_in": sum(parts) / len(parts),
        "vocabulary": len(corpus.speech.words),
        "longest": max(len(told.labels) for told in corpus.told),
        "shortest": min(len(told.labels) for told in corpus.told),
    }


async def pushed(
    addresses: Addresses, space: SpaceId, sizes: Sizes, *, url: str, key: str
) -> Figures:
    """To a follower of the server at `url`."""
    async with _house(addresses, corpus_of(space, sizes)) as (_, senders):
        return await senders.push(url, key, sizes.asked)


@asynccontextmanager
async def _house(addresses: Addresses, corpus: Corpus) -> AsyncIterator[tuple[Readers, Senders]]:
    clock, bus = SystemClock(), PostgresBus(addresses.app, system_entropy)
    async with (
        open_pool(addresses.app, WRITERS) as pool,
        open_pool(administrator(addresses), WRITERS) as admins,
        explaining(addresses.app) as explained,
        asyncio.TaskGroup() as background,
    ):
        transactions, bare = Transactions(pool), Transactions(admins)
        conversations = PostgresConversations(transactions, clock)
        messages = PostgresMessages(transactions)
        marks = TaintRecorder(PostgresTaskContexts(transactions, clock))
        speaking = background.create_task(bus.run())
        show_inbox = ShowInbox(
            conversations=conversations,
            messages=messages,
            read_state=PostgresReadState(transactions),
            taint=marks,
            clock=clock,
        )
        send_message = SendMessage(
            conversations=conversations,
            open_conversation=OpenConversation(conversations, marks),
            messages=messages,
            attachments=PostgresAttachments(transactions),
            people=PostgresPeople(transactions),
            taint=marks,
            bus=BusAfterCommit(bus, transactions),
            clock=clock,
            entropy=system_entropy,
        )
        yield (
            Readers(
                transactions=transactions,
                bare=bare,
                explaining=explained,
                show_inbox=show_inbox,
                corpus=corpus,
            ),
            Senders(transactions=transactions, bare=bare, send_message=send_message, corpus=corpus),
        )
        speaking.cancel()


def administrator(addresses: Addresses) -> str:
    """For whom there are no walls, in the same database."""
    name = conninfo_to_dict(addresses.app)["dbname"]
    return make_conninfo(str(addresses.admin), dbname=str(name))


def _space(addresses: Addresses) -> SpaceId:
    with psycopg.connect(administrator(addresses)) as admin:
        [(space,)] = admin.execute("SELECT space_id FROM portico.space")
    return SpaceId(space)


def main(what: str, sizes: Sizes) -> None:
    ground = AppContext()
    addresses = ground.store.addresses
    space = _space(addresses)
    if what == "push":
        key = ground.loaded.paths.key_file.read_text(encoding="utf-8").strip()
        found = asyncio.run(pushed(addresses, space, sizes, url=ground.server_url, key=key))
    else:
        found = asyncio.run(measured(addresses, space, sizes, _say))
    print(json.dumps(found), flush=True)


def _say(text: str) -> None:
    print(json.dumps({"progress": text}), flush=True)


def spelled(sizes: Sizes) -> str:
    return json.dumps(asdict(sizes))


if __name__ == "__main__":
    main(sys.argv[1], Sizes(**json.loads(sys.argv[2])))
