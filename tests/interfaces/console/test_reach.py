"""Something in every room: what is above somebody is on no page, whoever may only read is offered
nothing else, and whatever others write is text."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape

import pytest

from portico.guard.core.principals import Role
from portico.kernel.label import Label
from tests.interfaces.console.bridge_scene import Scene, staged, words
from tests.interfaces.console.conftest import Browser, somebody
from tests.interfaces.console.requests_made import another_id
from tests.interfaces.console.run_stage import opened, ran
from tests.interfaces.console.shop import FIND, handed_on
from tests.interfaces.http.test_approvals import agent, asks
from tests.interfaces.http.test_debates import decided

NAME = "kestrel"
HOSTILE = "<img src=x onerror=alert(1)>"
FORM = {
    "name": NAME,
    "model": "local:small",
    "more": "files.read",
    "turns": "5",
    "tool_mode": "auto",
    "was": "1",
    "message": "Hi.",
}
LISTS = (
    *("/inbox?show=all", "/runs", "/runs/list", "/runs?show=running", "/chat", f"/chat?q={NAME}"),
    *(
        "/bridge",
        "/bridge/inbox",
        f"/bridge/search?q={NAME}",
        f"/bridge/search?q={NAME}&by=meaning",
    ),
    *("/debates", f"/debates?q={NAME}", "/debates/list", "/debates/new", "/tools"),
    *("/tools?q=find+a+customer", "/graph", "/graph/data?all=1", "/servers", "/agents"),
    *(f"/agents?q={NAME}", "/figures", "/figures/now", "/figures/table", "/figures/more"),
    *("/figures/csv", "/welcome", f"/palette?q={NAME}"),
)
_ID = re.compile(r"(?<=_)[0-9a-z]{26}")
_NOBODY = "0" * 26


@dataclass(frozen=True)
class Filled:
    """Addresses of what is there, and of what may be done to it."""

    scene: Scene = field(repr=False)
    run: str
    debate: str
    topics: Sequence[str]
    places: Sequence[str]
    acts: Sequence[str]

    @property
    def around(self) -> list[str]:
        """What everybody at the table may open."""
        project, at = self.scene.project, self.scene.at
        parts = ("", "/list", "/memory", f"/memory?q={NAME}", "/work", "/export", "/new")
        return [*(project + each for each in parts), at, f"{at}/newer", f"{at}/older"]


async def filled(console: Browser, label: str, word: str = NAME) -> Filled:
    """All of it Ana's, and as secret as that."""
    site, secret = console.site, {"label": label}
    find = {**FIND, "description": word, "inputSchema": {"properties": {word: {"x": 1}}}}
    await handed_on(console, find, server=NAME)
    await site.ask("PUT", f"/api/v1/servers/{NAME}/label", secret)
    await console.does("/agents/new", {**FORM, "description": word, "instructions": word, **secret})
    chat = await console.does("/chat", {"agent": NAME, "message": f"Between us: {word}"})
    await opened(console)
    plan = {"steps": [{"id": "look", "tool": "box.look", "arguments": {word: word}}]}
    run = f"/runs/{await ran(site, plan, intent=word, **secret)}"
    asked = await request(console, label, word)
    scene, bridge = await talked(console, label, word)
    wish = {"question": f"Is the {word} a bird?", "label": label}
    shared = {"project": scene.table.project, "shared": True}
    debate, private = [
        f"/debates/{(await decided(site, **wish, **more))['id']}" for more in (shared, {})
    ]
    tool = f"{NAME}.find_customer"
    places = [
        *(f"/servers/{NAME}", f"/servers/{NAME}/vitals", f"/tools/{tool}"),
        *(f"/tools/group?server={NAME}", f"/graph?from={tool}&to={NAME}.delete_customer"),
        *(f"/agents/{NAME}{each}" for each in ("", "/versions", "/export")),
        *(chat + each for each in ("", "/foot", "/trace", "/text/said-1", "/earlier")),
        *(run + each for each in ("", "/plan", "/timeline", "/log", "/export", "/steps/look")),
        *(asked + each for each in ("", "/part", "/why", "/arguments")),
        *(debate + each for each in ("", "/board", "/log", "/replay", "/seat/part")),
        *(*bridge, private),
    ]
    acts = [
        *(f"{run}/{each}" for each in ("cancel", "resume", "fork", "rerun")),
        *(f"{chat}/say", f"{asked}/answer", f"{debate}/seat"),
    ]
    topics = [each.rsplit("/", 1)[1] for each in (run, debate, bridge[0])]
    topics.append(f"talk:{chat.removeprefix('/chat/')}")
    return Filled(scene, run, debate, topics, places, acts)


async def request(console: Browser, label: str, word: str) -> str:
    _, bot = await agent(console.site)
    ana = (await console.site.use.authenticate(console.site.key)).principal
    approvals = console.site.gateway.approvals.show_approval.approvals
    plain = await asks(console.site, bot)
    made = replace(
        plain,
        id=another_id(plain),
        hash="another",
        label=Label.parse(label),
        tool=f"vault.{word}",
        reason=word,
        requester=replace(plain.requester, name=word),
        arguments={word: word, "old": word, "new": "b"},
        before=({"tool": word, "effect": word, "at": word, "outcome": word},),
    )
    await approvals.add(ana, made, b"{}")
    return f"/inbox/{made.id}"


async def talked(console: Browser, label: str, word: str) -> tuple[Scene, list[str]]:
    scene = await staged(console)
    ana, project, secret = scene.table.ana, scene.table.project, {"label": label}
    await scene.says("Three eggs.")
    await scene.says(f"The {word} nests here.", **secret)
    hidden = await scene.also(f"{word} watch", label)
    await ana.says(hidden.rsplit("/", 1)[1], f"{word} seen")
    other = await ana.got("POST", "/projects", {"name": f"{word} files", **secret})
    value, memory = {"value": word, **secret}, f"/projects/{project}/memory/value"
    await ana.got("PUT", memory, value, query=f"key={NAME}")
    await ana.got("POST", f"/projects/{project}/work", {"title": f"Guard the {word}", **secret})
    return scene, [hidden, f"/bridge/{other['id']}"]


@pytest.fixture
async def held(console: Browser) -> AsyncIterator[Browser]:
    """With debates carried out."""
    async with console.site.working():
        yield console


def told(body: bytes) -> str:
    """Without what was asked for, which is said again."""
    text = unescape(body.decode())
    for echo in (f'value="{NAME}"', f"“{NAME}”", f"q={NAME}"):
        text = text.replace(echo, "")
    return text


async def test_what_is_above_somebody_is_on_no_page_and_not_to_be_found(held: Browser) -> None:
    there = await filled(held, "confidential")
    mia = await somebody(held, "mia", role=Role.OPERATOR)

    for path in (*LISTS, *there.around):
        answer = await mia.get(path)

        assert answer.status in {200, 204}, path
        assert NAME not in told(answer.body), path
    for path in there.places:
        answer = await mia.get(path)
        nothing = await mia.get(_ID.sub(_NOBODY, path).replace(NAME, "osprey"))

        assert (answer.status, nothing.status) == (404, 404), path
        said = _ID.sub(_NOBODY, words(answer.body.decode())).replace(NAME, "osprey")
        assert said == words(nothing.body.decode()), path
    for path in there.acts:
        fields = {"step": "look", "answer": "once", "do": "join", "message": "Hi."}
        assert (await mia.post(path, fields)).status == 404, path
    cancelled = await mia.post("/runs/cancel", {"one": there.run.removeprefix("/runs/")})
    stopped = await mia.post(there.debate, {"do": "stop"})
    assert (cancelled.status, stopped.status) == (404, 404)
    assert NAME in await held.sees("/inbox?show=all")


async def test_a_stream_does_not_tell_of_what_is_above(held: Browser) -> None:
    there = await filled(held, "confidential")
    mia = await somebody(held, "mia")
    talk = there.scene.table.conversation

    async with mia.live("runs", talk, *there.topics) as stream:
        await stream.until(lambda: stream.status == 200)
        await there.scene.says(f"Another {NAME}.", label="confidential")
        await there.scene.says("For everybody.")
        await stream.until(lambda: any(each.data for each in stream.messages))

    found = [each.data for each in stream.messages if each.data]
    assert {each["topic"] for each in found} == {talk}
    assert NAME not in str(found)


async def test_what_others_write_is_text_on_every_page(held: Browser) -> None:
    there = await filled(held, "team", HOSTILE)
    seen = set()

    for path in (*LISTS, *there.around, *there.places, *(f"{path}<img>" for path in LISTS)):
        answer = await held.get(path)

        if "text/html" in answer.headers.get("content-type", ""):
            assert answer.status < 500, path
            assert b"<img" not in answer.body, path
            assert b"style=" not in answer.body, path
        if b"&lt;img src=x onerror=alert(1)&gt;" in answer.body:
            seen.add(path)
    assert len(seen) >= 40


OFFERS: Mapping[str, Sequence[str]] = {
    "/runs": ("Cancel</", 'type="checkbox"'),
    "/chat": ("<textarea",),
    "/bridge": ("/bridge/new",),
    "{at}": ("<textarea",),
    "/debates": ("/debates/new",),
    "{debate}": ("How did it turn out?", "Remove it", "Let more people read it"),
    "/tools": ("/tools/switch",),
    "/tools/kestrel.find_customer": ("/tools/effect", "/tools/rule"),
    "/servers": ("/servers/_add",),
    "/servers/kestrel": ("/servers/kestrel/switch", "/servers/kestrel/restart"),
    "/agents/kestrel": ("Save as version", "Remove"),
    "/figures": ("/figures/ahead",),
    "/settings": ('href="/settings/keys"',),
    "/welcome": ("Start with samples", "Make a key"),
}
"""What is on these pages for those who may use it."""
PAGES = (
    *("/servers/_add", "/servers/kestrel/review", "/debates/new", "/bridge/new", "/settings/keys"),
    *("/audit", "/audit/export"),
)
FORMS = (
    *("/chat", "/debates/new", "/tools/switch", "/servers/kestrel/switch"),
    *("/servers/kestrel/restart", "/servers/kestrel/allow", "/servers/kestrel/accept"),
    *("/servers/kestrel/remove", "/agents/new", "/agents/kestrel", "/agents/kestrel/remove"),
    *("/agents/kestrel/try", "/figures/ahead", "/settings/keys", "/welcome/samples"),
    *("/audit/verify", "/runs/cancel"),
)


async def test_whoever_may_only_read_is_offered_nothing_and_refused_all(held: Browser) -> None:
    there = await filled(held, "team")
    vera = await somebody(held, "vera", role=Role.VIEWER)
    named = {"at": there.scene.at, "debate": there.debate}
    fields = {
        **FORM,
        "agent": NAME,
        "label": "team",
        "question": "Is it?",
        "server": NAME,
        "to": "off",
        "pin": "x",
        "proposed": "all",
        "mode": "off",
        "holder": "me",
        "sample": "time",
        "one": there.run.removeprefix("/runs/"),
    }

    for path, offers in OFFERS.items():
        page = (await vera.sees(path.format(**named))).partition("<main")[2]
        assert [each for each in offers if each in page] == [], path
    assert "You may read here, and not write." in await vera.sees(there.scene.at)
    assert '<fieldset class="agents-parts" disabled>' in await vera.sees(f"/agents/{NAME}")
    statuses = {path: (await vera.get(path)).status for path in PAGES}
    statuses |= {path: (await vera.post(path, fields)).status for path in FORMS}
    statuses["say"] = (await vera.post(there.scene.at, {"body": "Hm.", "label": "team"})).status
    assert {path: status for path, status in statuses.items() if status != 403} == {}


@pytest.mark.parametrize(
    ("role", "page", "offer", "form"),
    [
        (Role.MEMBER, "/settings/people", "Invite somebody", "/settings/people"),
        (Role.MEMBER, "/settings/policy", "Make a rule", "/settings/policy"),
        (Role.OPERATOR, "/settings/secrets", "Set a secret", "/settings/secrets"),
        (Role.OPERATOR, "/settings", "/audit/export", "/audit/verify"),
    ],
)
async def test_who_may_less_is_not_offered_it_and_refused(
    console: Browser, role: Role, page: str, offer: str, form: str
) -> None:
    bo = await somebody(console, "bo", role=role)
    fields = {
        "name": "x",
        "value": "y",
        "role": "member",
        "clearance": "team",
        "decision": "deny",
        "tools": "*",
    }

    assert offer not in await bo.sees(page)
    assert (await bo.post(form, fields)).status == 403


async def test_who_may_read_a_debate_may_not_lead_it_nor_put_a_project_away(held: Browser) -> None:
    there = await filled(held, "team")
    mia = await somebody(held, "mia")
    archive = f"{there.scene.project}/archive"

    assert "Remove it" not in await mia.sees(there.debate)
    assert archive not in await mia.sees(there.scene.project)
    assert (await mia.post(there.debate, {"do": "promote", "to": "public"})).status == 404
    assert (await mia.post(archive, {"archived": "yes"})).status == 403
