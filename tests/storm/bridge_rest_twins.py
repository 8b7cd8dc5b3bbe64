"""Two servers whose low reader lives the same life over REST, and which differ in what is above."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2

from tests.installation import Installation
from tests.storm.bridge_twins import WORDS
from tests.storm.bridge_wires import over
from tests.storm.twins import Hidden, Step, Twin

PASSING = {"date", "x-request-id", "traceparent"}
"""Headers that are of the moment alone."""


@dataclass(kw_only=True)
class RestTwin(Twin):
    root: httpx2.AsyncClient
    reader: httpx2.AsyncClient
    writer: httpx2.AsyncClient
    above: httpx2.AsyncClient
    reader_id: str
    news: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)
    talks: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    works: list[str] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    hidden_projects: list[str] = field(default_factory=list)
    more_for_others: bool = False
    """Whether whoever may see all of it is told something else."""

    async def move_in(self) -> None:
        for name in ("apollo", "hermes"):
            wish = {"name": name, "description": f"About {name}.", "label": "team"}
            self.projects.append((await done(self.writer, "POST", "/projects", wish))["id"])
        for number, project in enumerate(self.projects * 2):
            begun = {
                "project": project,
                "title": f"Talk {number}",
                "participants": [self.reader_id],
            }
            self.talks.append((await done(self.writer, "POST", "/conversations", begun))["id"])

    async def let_in(self) -> None:
        """From now on the reader may see all of it."""
        wish = {"clearance": "restricted"}
        await done(self.root, "PATCH", f"/principals/{self.reader_id}", wish)

    async def told(self, method: str, path: str, **asked: Any) -> object:
        """All that came back over the wire."""
        answer = await self.reader.request(method, path, **asked)
        headers = {name: value for name, value in answer.headers.items() if name not in PASSING}
        return {"status": answer.status_code, "headers": headers, "body": self._body(answer)}

    def _body(self, answer: httpx2.Response) -> object:
        if "ndjson" in answer.headers.get("content-type", ""):
            return [json.loads(line) for line in answer.text.splitlines()]
        if answer.content and "json" in answer.headers.get("content-type", ""):
            return answer.json()
        return answer.text

    async def listen(self) -> None:
        asked = {"conversation": self.talks}
        async with self.reader.stream("GET", "/bridge/events", params=asked) as told:
            async for line in told.aiter_lines():
                if line.startswith("data: "):
                    self.news.append(line)

    async def heard(self, by: httpx2.AsyncClient, talk: str, wish: object, **more: Any) -> Any:
        """What is said where the reader listens wakes them, once; nothing else is said before."""
        async with asyncio.timeout(60):
            while len(self.news) < len(self.talks):  # noqa: ASYNC110 # they do not listen yet
                await asyncio.sleep(0.005)
            before = len(self.news)
            path = f"/conversations/{talk}/messages"
            answer = await by.post(path, json=wish, **more)
            new = answer.status_code == 201 and "idempotency-replayed" not in answer.headers
            while new and len(self.news) == before:  # noqa: ASYNC110 # they hear of it elsewhere
                await asyncio.sleep(0.005)
        return answer.json()

    async def say(self, talk: str, **more: Any) -> str:
        body = f"{self.low_life.choice(WORDS)} {self.low_life.choice(WORDS)}"
        wish = {"body": body, "label": "team", **more}
        sent: str = (await self.heard(self.writer, talk, wish))["id"]
        self.said.append(sent)
        return sent


async def done(client: httpx2.AsyncClient, method: str, path: str, body: object = None) -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


@asynccontextmanager
async def rest_twin(
    house: Installation, low_life: Random, above: Random | None
) -> AsyncIterator[RestTwin]:
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(over(house, house.key))
        clients, ids = [], []
        for name, clearance in (("reader", "team"), ("writer", "team"), ("secret", "restricted")):
            wish = {"kind": "agent", "name": name, "clearance": clearance}
            ids.append((await done(root, "POST", "/principals", wish))["id"])
            key = {"name": f"{name}'s", "principal": ids[-1], "clearance": "restricted"}
            shown = (await done(root, "POST", "/keys", key))["key"]
            clients.append(await stack.enter_async_context(over(house, shown)))
        reader, writer, high = clients
        yield RestTwin(
            root=root,
            reader=reader,
            writer=writer,
            above=high,
            reader_id=ids[0],
            low_life=low_life,
            hidden_life=above,
        )


async def woken(twin: RestTwin) -> object:
    await twin.say(twin.low_life.choice(twin.talks))
    return twin.news[-1]


async def page_on(twin: RestTwin) -> object:
    talk = twin.low_life.choice(twin.talks)
    asked = {"cursor": twin.cursors[talk]} if talk in twin.cursors else {}
    limit = str(twin.low_life.choice([2, 50]))
    path = f"/conversations/{talk}/messages"
    told = await twin.told("GET", path, params={**asked, "limit": limit})
    twin.cursors[talk] = _body(told)["cursor"]
    return told


async def page_over_some(twin: RestTwin) -> object:
    some = twin.low_life.sample(twin.talks, 2)
    return await twin.told("GET", "/bridge/messages", params={"conversation": some, "limit": 3})


async def back(twin: RestTwin) -> object:
    path = f"/conversations/{twin.low_life.choice(twin.talks)}/messages"
    last = await twin.told("GET", path, params={"before": "end", "limit": 2})
    cursor = _body(last)["cursor"]
    return [last, await twin.told("GET", path, params={"before": cursor, "limit": 2})]


async def tail(twin: RestTwin) -> object:
    return await twin.told("GET", f"/conversations/{twin.talks[0]}/cursor")


async def inbox(twin: RestTwin) -> object:
    return [await twin.told("GET", "/inbox"), await twin.told("GET", "/inbox/total")]


async def marks_read(twin: RestTwin) -> object:
    path = f"/conversations/{twin.low_life.choice(twin.talks)}"
    page = await twin.told("GET", f"{path}/messages", params={"limit": 200})
    read = await twin.told("POST", f"{path}/read", json={"cursor": _body(page)["cursor"]})
    return [page, read, await twin.told("GET", "/inbox")]


async def lists(twin: RestTwin) -> object:
    limit = twin.low_life.choice([1, 50])
    told = []
    for path in ("/projects", "/conversations"):
        first = await twin.told("GET", path, params={"limit": limit})
        after = _body(first)["next"]
        told += [first]
        if after is not None:
            told += [await twin.told("GET", path, params={"limit": 3, "after": after})]
    return told


async def found(twin: RestTwin) -> object:
    word = twin.low_life.choice(WORDS)
    return await twin.told("GET", "/bridge/search", params={"q": word, "limit": 5})


async def remembers(twin: RestTwin) -> object:
    key = twin.low_life.choice(WORDS)
    version = twin.low_life.choice([None, 0, 1])
    wish = {"value": {"is": key}, **({} if version is None else {"version": version})}
    path = f"/projects/{twin.projects[0]}/memory/value"
    return await twin.told("PUT", path, params={"key": key}, json=wish)


async def recalls(twin: RestTwin) -> object:
    path, key = f"/projects/{twin.projects[0]}/memory", twin.low_life.choice(WORDS)
    return [
        await twin.told("GET", path),
        await twin.told("GET", f"{path}/search", params={"q": key}),
        await twin.told("GET", f"{path}/value", params={"key": key}),
        await twin.told("GET", f"{path}/history", params={"key": key}),
    ]


async def takes_lease(twin: RestTwin) -> object:
    path = f"/projects/{twin.projects[1]}/leases"
    wish = {"resource": f"src/{twin.low_life.choice(WORDS)}"}
    return [await twin.told("POST", path, json=wish), await twin.told("GET", path)]


async def works(twin: RestTwin) -> object:
    path, title = f"/projects/{twin.projects[0]}/work", twin.low_life.choice(WORDS)
    made = await twin.told("POST", path, json={"title": title, "depends": twin.works[-1:]})
    twin.works.append(_body(made)["id"])
    shown = await twin.told("GET", f"/work/{twin.works[-1]}")
    return [made, shown, await twin.told("GET", path)]


async def names_project(twin: RestTwin) -> object:
    """By names that are taken above."""
    name = f"{twin.low_life.choice(WORDS)} house"
    return await twin.told("POST", "/projects", json={"name": name, "label": "team"})


async def attaches(twin: RestTwin) -> object:
    word = twin.low_life.choice(WORDS)
    made = await twin.told(
        "POST",
        f"/projects/{twin.projects[0]}/attachments",
        params={"name": f"{word}.txt"},
        content=word.encode(),
        headers={"Content-Type": "text/plain"},
    )
    return [made, await twin.told("GET", f"/attachments/{_body(made)['digest']}")]


async def sends_once(twin: RestTwin) -> object:
    key = twin.low_life.choice(WORDS)
    wish = {"body": f"Once: {key}"}
    once = {"Idempotency-Key": key}
    return await twin.heard(twin.reader, twin.talks[0], wish, headers=once)


async def thread(twin: RestTwin) -> object:
    root = await twin.say(twin.talks[0])
    await twin.say(twin.talks[0], reply_to=root)
    return [
        await twin.told("GET", f"/messages/{root}/thread"),
        await twin.told("GET", f"/messages/{root}"),
        await twin.told("GET", f"/messages/{root}/versions"),
    ]


async def acknowledges(twin: RestTwin) -> object:
    me = [twin.reader_id]
    asked = {"until": "2026-01-01T00:00:00Z"}
    said = await twin.say(twin.talks[1], addressed=me, mentions=me, acknowledge=asked)
    path = f"/messages/{said}/acknowledgements"
    told = []
    if twin.low_life.random() < 0.5:
        told = [await twin.told("POST", path)]
    return [*told, await twin.told("GET", path)]


async def presence(twin: RestTwin) -> object:
    path = f"/projects/{twin.projects[0]}/presence"
    put = await twin.told("PUT", path, json={"doing": "there"})
    return [put, await twin.told("GET", path)]


async def takes_out(twin: RestTwin) -> object:
    return await twin.told("GET", f"/projects/{twin.low_life.choice(twin.projects)}/export")


async def participants(twin: RestTwin) -> object:
    talk = twin.low_life.choice(twin.talks)
    return await twin.told("GET", f"/conversations/{talk}/participants")


async def whoami(twin: RestTwin) -> object:
    return await twin.told("GET", "/whoami")


async def wrong(twin: RestTwin) -> object:
    path = f"/projects/{twin.projects[1]}/memory/value"
    return await twin.told("GET", path, params={"key": "no such key"})


def _body(told: object) -> dict[str, str]:
    assert isinstance(told, dict)
    body: dict[str, str] = told["body"]
    return body


SECRET = "restricted"


async def hidden_message(twin: RestTwin, random: Random) -> None:
    wish = {
        "body": " ".join(random.choices(WORDS, k=random.randint(1, 9))),
        "label": SECRET,
        "mentions": [twin.reader_id],
        "addressed": [twin.reader_id],
        "acknowledge": {"until": "2026-01-01T00:00:00Z"},
    }
    talk = random.choice(twin.talks)
    sent = await done(twin.above, "POST", f"/conversations/{talk}/messages", wish)
    twin.hidden.append(sent["id"])


async def hidden_change(twin: RestTwin, random: Random) -> None:
    if not twin.hidden:
        await hidden_message(twin, random)
    if random.random() < 0.5:
        its = random.choice(twin.hidden)
        await done(twin.above, "PATCH", f"/messages/{its}", {"body": "Otherwise."})
    else:
        its = twin.hidden.pop(random.randrange(len(twin.hidden)))
        await done(twin.above, "DELETE", f"/messages/{its}")


async def hidden_project(twin: RestTwin, random: Random) -> None:
    """By a name that the reader uses as well."""
    names = ["apollo", "hermes", *(f"{word} house" for word in WORDS)]
    free = names[len(twin.hidden_projects) :]
    name = free[0] if free else f"house {len(twin.hidden_projects)}"
    wish = {"name": name, "description": "Not for you.", "label": SECRET}
    twin.hidden_projects.append((await done(twin.above, "POST", "/projects", wish))["id"])


async def hidden_talk(twin: RestTwin, random: Random) -> None:
    wish = {
        "project": random.choice([*twin.projects, *twin.hidden_projects]),
        "title": "Talk 0",
        "label": SECRET,
        "participants": [twin.reader_id],
    }
    talk = (await done(twin.above, "POST", "/conversations", wish))["id"]
    await done(twin.above, "POST", f"/conversations/{talk}/messages", {"body": "nest river"})


async def closed_talk(twin: RestTwin, random: Random) -> None:
    """No more secret than what the reader may read, and yet not for them."""
    wish = {"project": random.choice(twin.projects), "title": "Talk 1", "closed": True}
    talk = (await done(twin.writer, "POST", "/conversations", wish))["id"]
    said = {"body": "river plans", "mentions": [twin.reader_id]}
    await done(twin.writer, "POST", f"/conversations/{talk}/messages", said)


async def hidden_things(twin: RestTwin, random: Random) -> None:
    word = random.choice(WORDS)
    path = f"/projects/{random.choice([*twin.projects, *twin.hidden_projects])}"
    value = {"value": "Not for you.", "label": SECRET}
    await done(twin.above, "PUT", f"{path}/memory/value?key={word}", value)
    await done(twin.above, "POST", f"{path}/work", {"title": word, "label": SECRET})
    answer = await twin.above.post(
        f"{path}/attachments",
        params={"name": "other.txt", "label": SECRET},
        content=word.encode(),
        headers={"Content-Type": "text/plain"},
    )
    assert answer.status_code < 300, answer.text
    if twin.hidden_projects:
        above = f"/projects/{twin.hidden_projects[-1]}"
        note = {"doing": "busy", "note": "Not for you."}
        await done(twin.above, "PUT", f"{above}/presence", note)
        lease = {"resource": f"src/{random.randrange(1_000_000)}"}
        await done(twin.above, "POST", f"{above}/leases", lease)


LOW_STEPS: Sequence[Step] = (
    *[woken] * 3,
    *[marks_read] * 3,
    *[page_on] * 2,
    *[inbox] * 2,
    *[lists] * 2,
    page_over_some,
    back,
    tail,
    found,
    remembers,
    recalls,
    takes_lease,
    works,
    names_project,
    attaches,
    sends_once,
    thread,
    acknowledges,
    presence,
    takes_out,
    participants,
    whoami,
    wrong,
)
HIDDEN_STEPS: Sequence[Hidden] = (
    *[hidden_message] * 3,
    hidden_project,
    hidden_talk,
    hidden_things,
    hidden_change,
    closed_talk,
)


async def lived_over_rest(
    house: Installation, steps: int, low_life: Random, above: Random | None
) -> RestTwin:
    async with rest_twin(house, low_life, above) as twin:
        await twin.move_in()
        async with twin.listening():
            await twin.live(steps, LOW_STEPS, HIDDEN_STEPS, 3)
            await twin.say(twin.talks[0])
            twin.transcript.note("news", twin.news)
        unread = await inbox(twin)
        await twin.let_in()
        twin.more_for_others = await inbox(twin) != unread
    return twin
