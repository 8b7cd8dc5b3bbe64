"""What happens above the low reader over REST, or where they take no part."""

from random import Random

from tests.storm.bridge_rest_twin import RestTwin, done
from tests.storm.bridge_twin import WORDS

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
