"""All that is behind the house of `just bench web`, in one process: its servers of tools, and
the models that its agents and its debates ask.

    python -m benchmarks.web_far PORT SERVERS TOOLS
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from benchmarks.web_tools import definitions, found, server_names

WORKER: Final = "worker"
VOICES: Final = ("gpt-heron", "claude-egret", "llama-ibis", "qwen-stork")
"""Each of another family."""
CHOICES: Final = ("PostgreSQL", "SQLite")
_AT_A_TIME: Final = 24
_ANSWER: Final = """There are **three** that fit:

- the first one is open
- so are the others

```json
{"state": "open"}
```
Shall I go on with the first?"""

Json = dict[str, Any]


class FarEnd:
    def __init__(self, servers: int, tools: int) -> None:
        names = server_names(servers)
        self._tools = {name: definitions(name, tools // servers) for name in names}

    async def tools(self, request: Request) -> Response:
        name, asked = request.path_params["name"], await request.json()
        if "id" not in asked:
            return Response(status_code=202)
        answer = self._answer(name, asked["method"], asked.get("params") or {})
        return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], **answer})

    def _answer(self, name: str, method: str, given: Json) -> Json:
        match method:
            case "initialize":
                said = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": name, "version": "1"},
                    "instructions": f"Whatever concerns {name}.",
                }
                return {"result": said}
            case "tools/list":
                return {"result": {"tools": self._tools[name]}}
            case "tools/call":
                text = json.dumps(found(given["name"], given.get("arguments") or {}))
                return {"result": {"content": [{"type": "text", "text": text}]}}
            case "ping":
                return {"result": {}}
            case _:
                return {"error": {"code": -32601, "message": f"There is no method {method}."}}


async def models(_request: Request) -> Response:
    listed = [{"id": name, "object": "model"} for name in (WORKER, *VOICES)]
    return JSONResponse({"object": "list", "data": listed})


async def chat(request: Request) -> Response:
    asked: Json = await request.json()
    said, calls = _worked(asked) if asked["model"] == WORKER else (_voted(asked["model"]), [])
    if asked.get("stream"):
        return StreamingResponse(_streamed(asked, said, calls), media_type="text/event-stream")
    message = {"role": "assistant", "content": said, "tool_calls": calls or None}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(asked, said)}
    return JSONResponse({**_head(asked), **whole})


def _worked(asked: Json) -> tuple[str, list[Json]]:
    """Two tools of those that it is shown, then an answer."""
    if asked["messages"][-1]["role"] == "tool":
        return _ANSWER, []
    shown = [each["function"]["name"] for each in asked.get("tools", ())][:2]
    calls = [
        {
            "index": place,
            "id": f"call_{len(asked['messages'])}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"query": "what is open"})},
        }
        for place, name in enumerate(shown)
    ]
    return "I look at what is there first.", calls


def _voted(model: str) -> str:
    answer = CHOICES[model == VOICES[1]]
    why = f"{answer} is what I would take, and here is why: it lasts, and two can read it at once."
    return json.dumps({"answer": answer, "confidence": 0.7, "rationale": why})


def _streamed(asked: Json, said: str, calls: list[Json]) -> Iterator[bytes]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": said[at : at + _AT_A_TIME]} for at in range(0, len(said), _AT_A_TIME)]
    deltas += [{"tool_calls": [call]} for call in calls]
    for delta in deltas:
        yield _event(asked, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
    reason = "tool_calls" if calls else "stop"
    yield _event(asked, choices=[{"index": 0, "delta": {}, "finish_reason": reason}])
    yield _event(asked, choices=[], usage=_usage(asked, said))
    yield b"data: [DONE]\n\n"


def _event(asked: Json, **facts: object) -> bytes:
    whole = {**_head(asked), "object": "chat.completion.chunk", **facts}
    return f"data: {json.dumps(whole)}\n\n".encode()


def _head(asked: Json) -> Json:
    return {"id": "said", "created": int(time.time()), "model": asked["model"]}


def _usage(asked: Json, said: str) -> Json:
    read, written = len(json.dumps(asked["messages"])) // 4, max(1, len(said) // 4)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def build(servers: int, tools: int) -> Starlette:
    far = FarEnd(servers, tools)
    return Starlette(
        routes=[
            Route("/mcp/{name}", far.tools, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/v1/chat/completions", chat, methods=["POST"]),
        ]
    )


if __name__ == "__main__":
    port, servers, tools = map(int, sys.argv[1:4])
    uvicorn.run(build(servers, tools), port=port, log_level="error", access_log=False)
