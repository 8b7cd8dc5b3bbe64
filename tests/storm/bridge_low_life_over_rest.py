"""What the low reader does over REST and is told: the same at both servers."""

from tests.storm.bridge_rest_twin import RestTwin
from tests.storm.bridge_twin import WORDS


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
