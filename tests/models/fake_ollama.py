"""A server that cuts prompts as Ollama does, counting with SmolLM2's own tokenizer.

No Ollama can be had in tests. This one is written after its `chatPrompt` and its runner: whole
messages are left out, the oldest first, the system's and the last one stay; what does not fit even
so is cut in its middle; and the answer says nothing of it but how many tokens were read.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.adapters.embeddings.serving import serving
from tests.models.vocabulary import vocabulary

MODEL = "smollm2:135m"


@dataclass
class FakeOllama:
    version: str = "0.13.5"
    refuses: bool = True
    """As newer ones do, if `truncate` is false."""
    own_room: int | None = None
    """That it has whatever it is told."""
    counts: bool = True
    """Whether it says what it has read."""
    window: int = 8192
    capabilities: tuple[str, ...] = ("completion", "tools")
    answer: str = "I have read it all."
    raw: bool = False
    """Whether letters beyond ASCII go out as they are, as from Go, and the answer in one piece."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    _known: list[int] = field(default_factory=list)
    """What is left in its cache of the last prompt."""

    @contextmanager
    def serving(self) -> Iterator[str]:
        routes = [
            Route("/api/chat", self._chat, methods=["POST"]),
            Route("/api/show", self._show, methods=["POST"]),
            Route("/api/tags", self._tags),
            Route("/api/version", self._version),
        ]
        with serving(routes) as url:
            yield url

    def read(self, body: dict[str, Any]) -> tuple[list[dict[str, Any]], list[int]]:
        """The messages that it keeps, and the tokens that it reads."""
        room = self._room(body)
        system = [each for each in body["messages"] if each["role"] == "system"]
        rest = [each for each in body["messages"] if each["role"] != "system"]
        while len(rest) > 1 and len(_tokens([*system, *rest])) > room:
            rest = rest[1:]
        tokens = _tokens([*system, *rest])
        half = room // 2
        return [*system, *rest], tokens if len(tokens) <= room else tokens[:4] + tokens[-half:]

    def _room(self, body: dict[str, Any]) -> int:
        asked: int = body.get("options", {}).get("num_ctx", 4096)
        return self.own_room or min(asked, self.window)

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        if body["model"] != MODEL:
            return JSONResponse({"error": f"model '{body['model']}' not found"}, 404)
        whole, room = len(_tokens(body["messages"])), self._room(body)
        if self.refuses and body.get("truncate") is False and whole > room:
            told = f"prompt too long; exceeded max context length by {whole - room} tokens"
            return JSONResponse({"error": told}, 400)
        kept, tokens = self.read(body)
        return StreamingResponse(self._spoken(kept, tokens), media_type="application/x-ndjson")

    async def _spoken(self, kept: list[dict[str, Any]], tokens: list[int]) -> AsyncIterator[str]:
        told = f"{self.answer} ({len(kept)} messages)"
        words = [f"{told} "] if self.raw else [f"{word} " for word in told.split()]
        for word in words:
            said = {"role": "assistant", "content": word}
            yield _line(ascii_only=not self.raw, message=said, done=False)
        read = len(tokens)
        if self.version.startswith("0.3."):  # at least one is always read again
            read = max(read - _in_common(self._known, tokens), 1)
        self._known = tokens
        counts: dict[str, Any] = (
            {"prompt_eval_count": read, "eval_count": len(words)} if self.counts else {}
        )
        yield _line(
            message={"role": "assistant", "content": ""}, done=True, done_reason="stop", **counts
        )

    async def _show(self, request: Request) -> Response:
        if (await request.json())["model"] != MODEL:
            return JSONResponse({"error": "model not found"}, 404)
        return JSONResponse(
            {
                "capabilities": list(self.capabilities),
                "model_info": {"llama.context_length": self.window, "llama.block_count": 30},
                "template": "{{ .Messages }}",
            }
        )

    async def _tags(self, _request: Request) -> Response:
        return JSONResponse({"models": [{"name": MODEL, "model": MODEL, "size": 1}]})

    async def _version(self, _request: Request) -> Response:
        return JSONResponse({"version": self.version})


def _in_common(one: list[int], other: list[int]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _tokens(messages: list[dict[str, Any]]) -> list[int]:
    said = [f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in messages]
    return vocabulary().tokens("".join([*said, "<|im_start|>assistant\n"]))


def _line(*, ascii_only: bool = True, **told: Any) -> str:
    whole = {"model": MODEL, "created_at": "2026-01-01T00:00:00Z", **told}
    return json.dumps(whole, ensure_ascii=ascii_only) + "\n"
