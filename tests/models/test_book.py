"""The book of models: what each kind of server says of its own, and who does not answer."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from portico.agents.core.errors import ModelNotFound, ModelUnavailable, ProviderNotFound
from portico.agents.core.model_requests import (
    FREE,
    ModelInfo,
    ModelInfoSource,
    ModelRef,
    Price,
    Support,
)
from tests.adapters.embeddings.serving import serving
from tests.models.doors import Doors, opened

pytestmark = [pytest.mark.process]

KEYS = {"env:KEY": "sk-test-0123456789abcdef"}
LIST = {"object": "list", "data": [{"id": "some-model", "object": "model", "owned_by": "me"}]}


class Servers:
    """Of answers by path; each counts what it was asked."""

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self.asked: list[str] = []
        self.authorized: list[str | None] = []

    def start(self, answers: dict[str, Any], *, status: int = 200) -> str:
        async def answer(request: Request) -> Response:
            self.asked.append(request.url.path)
            self.authorized.append(request.headers.get("authorization"))
            return JSONResponse(answers[request.url.path], status)

        async def shown(request: Request) -> Response:
            name = (await request.json())["model"]
            told = answers["/api/show"].get(name)
            return JSONResponse(told or {"error": "not found"}, 200 if told else 404)

        routes = [Route(path, answer) for path in answers if path != "/api/show"]
        routes += [Route("/api/show", shown, methods=["POST"])] if "/api/show" in answers else []
        return self._until.enter_context(serving(routes))

    def silent(self) -> str:
        """It lets whoever comes wait at the door."""
        door = self._until.enter_context(socket.create_server(("127.0.0.1", 0)))
        return f"http://127.0.0.1:{door.getsockname()[1]}"


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ExitStack() as until:
        yield Servers(until)


def by_name(models: "list[ModelInfo] | Any") -> dict[str, ModelInfo]:
    return {model.ref.name: model for model in models}


async def test_openrouter_says_all_of_it(servers: Servers) -> None:
    routed = {
        "id": "acme/large",
        "context_length": 200_000,
        "pricing": {"prompt": "0.000003", "completion": "0.000015"},
        "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
        "top_provider": {"context_length": 131_072, "max_completion_tokens": 8192},
        "supported_parameters": ["tools", "temperature"],
    }
    painter = {"id": "acme/painter", "architecture": {"output_modalities": ["image"]}}
    auto = {"id": "router/auto", "pricing": {"prompt": "-1", "completion": "-1"}}
    url = servers.start({"/api/v1/models": {"data": [routed, painter, auto]}})
    async with opened({"router": {"kind": "openrouter", "url": f"{url}/api/v1"}}) as doors:
        found = by_name(await doors.book.all(doors.caller))
        with pytest.raises(ModelNotFound):
            await doors.book.get(doors.caller, ModelRef("router", "acme/none"))

    assert set(found) == {"acme/large", "router/auto"}
    large = found["acme/large"]
    assert (large.window, large.max_output_tokens) == (131_072, 8192)
    assert (large.tools, large.vision, large.structured) == (Support.YES, Support.YES, Support.NO)
    assert large.price == Price(input=Decimal(3), output=Decimal(15))
    assert found["router/auto"].tools is Support.UNKNOWN
    assert found["router/auto"].price == FREE  # on this machine, as it is here


async def test_vllm_and_lm_studio_say_what_they_serve(servers: Servers) -> None:
    vllm = {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 32_768}]}
    listed = {"data": [{"id": name, "owned_by": "organization_owner"} for name in "abc"]}
    studio = {
        "data": [
            {
                "id": "a",
                "type": "vlm",
                "max_context_length": 131_072,
                "loaded_context_length": 4096,
                "capabilities": ["tool_use"],
            },
            {"id": "b", "type": "embeddings"},
        ]
    }
    one, other = (
        servers.start({"/v1/models": vllm}),
        servers.start({"/v1/models": listed, "/api/v0/models": studio}),
    )
    providers = {
        "vllm": {"kind": "compatible", "url": f"{one}/v1"},
        "studio": {"kind": "compatible", "url": f"{other}/v1"},
    }
    async with opened(providers) as doors:
        found = by_name(await doors.book.all(doors.caller))

    assert set(found) == {"qwen", "a", "c"}
    assert (found["qwen"].window, found["qwen"].structured) == (32_768, Support.YES)
    assert (found["a"].window, found["a"].tools, found["a"].vision) == (
        *(4096, Support.YES, Support.YES),
    )
    assert found["c"].told_by is ModelInfoSource.NOBODY


async def test_of_vendors_that_only_list_names_lists_tell_the_rest(servers: Servers) -> None:
    openai = {"data": [{"id": "gpt-4.1"}, {"id": "text-embedding-3-small"}, {"id": "new-thing"}]}
    can = {"image_input": {"supported": True}, "structured_outputs": {"supported": False}}
    claude = {"id": "claude-opus-5", "max_input_tokens": 777, "max_tokens": 7, "capabilities": can}
    one, other = (
        servers.start({"/v1/models": openai}),
        servers.start({"/v1/models": {"data": [claude, {"id": "claude-of-tomorrow"}]}}),
    )
    providers = {
        "openai": {"kind": "openai", "url": f"{one}/v1", "key": "env:KEY"},
        "claude": {"kind": "anthropic", "url": other, "key": "env:KEY"},
    }
    async with opened(providers, keys=KEYS, patience=30) as doors:
        found = by_name(await doors.book.all(doors.caller))

    assert set(found) == {"gpt-4.1", "new-thing", "claude-opus-5", "claude-of-tomorrow"}
    assert found["gpt-4.1"].told_by is ModelInfoSource.LIST
    assert (found["gpt-4.1"].window or 0) >= 1_000_000
    assert found["gpt-4.1"].tools is Support.YES
    assert found["gpt-4.1"].price == Price(input=Decimal(2), output=Decimal(8))
    assert (found["new-thing"].window, found["new-thing"].told_by) == (None, ModelInfoSource.NOBODY)
    opus = found["claude-opus-5"]
    assert (opus.window, opus.max_output_tokens, opus.told_by) == (777, 7, ModelInfoSource.SERVER)
    assert (opus.vision, opus.structured) == (Support.YES, Support.NO)
    assert opus.price != FREE
    assert servers.authorized.count(f"Bearer {KEYS['env:KEY']}") == 1


async def test_what_a_local_server_only_passes_on_is_not_on_this_machine(servers: Servers) -> None:
    shows = {
        "big-cloud": {"capabilities": ["completion"], "remote_host": "https://ollama.com:443"},
        "small": {"capabilities": ["completion", "tools"]},
        "older": {"template": "{{ .Tools }}", "model_info": {"llama.context_length": 8192}},
    }
    tags = {"models": [{"name": name} for name in (*shows, "unknown")]}
    url = servers.start({"/api/tags": tags, "/api/show": shows})
    async with opened({"ollama": {"kind": "ollama", "url": url}}) as doors:
        found = by_name(await doors.book.all(doors.caller))

    assert set(found) == {*shows, "unknown"}
    cloud, small = found["big-cloud"], found["small"]
    assert (cloud.local, str(cloud.clearance), cloud.price) == (False, "team", None)
    assert (small.local, str(small.clearance), small.price) == (True, "restricted", FREE)
    assert found["older"].tools is Support.YES
    assert found["unknown"].told_by is ModelInfoSource.NOBODY


async def test_one_that_does_not_answer_keeps_nobody_waiting(servers: Servers) -> None:
    here = servers.start({"/v1/models": LIST})
    elsewhere = servers.start({"/": {}})
    providers = {
        "here": {"kind": "compatible", "url": f"{here}/v1"},
        "silent": {"kind": "compatible", "url": f"{servers.silent()}/v1"},
        "gone": {"kind": "ollama", "url": "http://127.0.0.1:9"},
        "other": {"kind": "compatible", "url": f"{elsewhere}/v1"},
        "keyless": {"kind": "openai", "key": "env:NOT_SET"},
    }
    async with opened(providers, patience=0.5) as doors:
        models = await doors.book.all(doors.caller)
        states = {each.name: each for each in await doors.book.providers(doors.caller)}

    assert [str(model.ref) for model in models] == ["here:some-model"]
    assert {name for name, state in states.items() if state.reachable} == {"here"}
    assert states["here"].models == 1
    assert "no answer within 0.5 s" in (states["silent"].why or "")
    assert "nothing answers there" in (states["gone"].why or "")
    assert "its kind and its url" in (states["other"].why or "")
    assert "env:NOT_SET" in (states["keyless"].why or "")


async def test_what_was_said_is_good_for_a_while(servers: Servers) -> None:
    url = servers.start({"/v1/models": LIST})
    async with opened({"here": {"kind": "compatible", "url": f"{url}/v1"}}) as doors:
        async with asyncio.TaskGroup() as many:
            for _ in range(20):
                many.create_task(doors.book.all(doors.caller))
        once = len(servers.asked)
        await doors.book.get(doors.caller, ModelRef("here", "some-model"))
        await doors.book.all(doors.caller, fresh=True)

    assert once == 1
    assert len(servers.asked) == 2


async def test_a_model_that_is_not_listed_is_asked_for_by_name(servers: Servers) -> None:
    single = {"id": "hidden", "object": "model"}
    url = servers.start({"/v1/models": LIST, "/v1/models/hidden": single})
    async with opened({"here": {"kind": "compatible", "url": f"{url}/v1"}}) as doors:
        ref = ModelRef("here", "hidden")
        await doors.book.get(doors.caller, ref)
        model = await doors.book.get(doors.caller, ref)
        with pytest.raises(ModelNotFound, match="here:nowhere"):
            await doors.book.get(doors.caller, ModelRef("here", "nowhere"))

    assert model.ref == ref
    assert servers.asked.count("/v1/models/hidden") == 1


async def test_what_the_settings_say_wins(servers: Servers) -> None:
    url = servers.start({"/v1/models": LIST})
    told = {
        "kind": "compatible",
        "url": f"{url}/v1",
        "models": ["unlisted"],
        "window": 4096,
        "tools": True,
        "vision": False,
        "structured": True,
        "price_in": 0.5,
        "price_out": 1.5,
        "clearance": "team+finance",
    }
    async with opened({"here": told}) as doors:
        found = by_name(await doors.book.all(doors.caller))

    for model in (found["some-model"], found["unlisted"]):
        assert (model.window, model.tools, model.vision) == (4096, Support.YES, Support.NO)
        assert model.price == Price(input=Decimal("0.5"), output=Decimal("1.5"))
        assert str(model.clearance) == "team+finance"
        assert model.told_by is ModelInfoSource.SETTINGS


async def test_who_is_away_is_known_by_what_it_last_said() -> None:
    with ExitStack() as until:
        servers = Servers(until)
        url = servers.start({"/v1/models": LIST})
        doors_of = opened({"here": {"kind": "compatible", "url": f"{url}/v1"}}, good_for=0.0)
        doors: Doors = await doors_of.__aenter__()
        await doors.book.all(doors.caller)
    try:
        assert await doors.book.all(doors.caller) == []
        known = await doors.book.get(doors.caller, ModelRef("here", "some-model"))
        with pytest.raises(ModelUnavailable):
            await doors.book.get(doors.caller, ModelRef("here", "another"))
        with pytest.raises(ProviderNotFound):
            await doors.book.get(doors.caller, ModelRef("nobody", "x"))
    finally:
        await doors_of.__aexit__(None, None, None)

    assert known.ref.name == "some-model"
