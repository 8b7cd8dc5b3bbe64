"""What the model of an agent is shown of its tools and of their results."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.agents.core.model_requests import ToolShown
from portico.agents.core.tool_calls import CALL, SEARCH, Offer
from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef, vendor_names
from portico.gateway.core.results import pages, text_of
from portico.gateway.core.servers import AGENTS
from portico.gateway.core.untrusted_text import cut
from portico.gateway.search import RankTools
from portico.kernel.budget import Tokenizer
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

READ: Final = "read_result"
"""The tool by which a model reads on in what was too long to be given at once."""
_NOTHING: Final = "It was done, and answered nothing."
_UNKNOWN: Final = "It was done. Nobody knows what it answered."


def words_of_answer(answer: ToolResult) -> str:
    others = [_named(block) for block in answer.content if not _has_text(block)]
    text = text_of(answer)
    if not text and answer.structured is not None:
        text = json.dumps(answer.structured, ensure_ascii=False)
    return "\n".join([*([text] if text else []), *others]) or _NOTHING


def words_of_document(document: JsonObject) -> str:
    """Of what a step of a run keeps of an answer."""
    content = document.get("content")
    blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    if not blocks and document.get("text") is None and document.get("json") is None:
        return _UNKNOWN
    answer = ToolResult(
        [block for block in blocks if isinstance(block, Mapping)],
        document.get("structuredContent"),
    )
    return words_of_answer(answer)


def words_of_error(message: str, fix: str | None) -> str:
    return message if not fix else f"{message} {fix}"


def words_of_refusal(error: PorticoError) -> str:
    return words_of_error(str(error), error.fix)


def first_page(text: str, size: int, name: str) -> str:
    """Its beginning, and how to go on, if it is longer than that."""
    if len(text) <= size:
        return text
    found = pages(text, size)
    more = f'{READ}(result="{name}", page=2)'
    return f"{found[0]}\n[page 1 of {len(found)}; {len(text):,} characters. The next: {more}]"


def page_of(text: str, size: int, number: int) -> str:
    found = pages(text, size)
    at = min(max(number, 1), len(found))
    return f"{found[at - 1]}\n[page {at} of {len(found)}]"


def _has_text(block: JsonObject) -> bool:
    resource = block.get("resource")
    inner = resource if isinstance(resource, Mapping) else block
    return isinstance(inner.get("text"), str)


def _named(block: JsonObject) -> str:
    kind, mime = _told(block.get("type")), _told(block.get("mimeType"))
    link = _told(block.get("uri"))
    return f"[{' '.join(filter(None, [kind or 'something', mime, link]))}, which is not shown here]"


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


_LONGEST: Final = 1_024
"""Characters of what a server says of a tool."""
_WORDS: Final = 2_000
"""Characters of what people said, by which tools are looked for."""
_REMEMBERED: Final = 256
_ANYTHING: Final[JsonObject] = {"type": "object", "additionalProperties": True}

_SEARCH: Final = ToolShown(
    SEARCH,
    "Find tools by what they should do. Answers with their names and what they take; call them "
    f"with {CALL}.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What should be done, in a few words."}
        },
        "required": ["query"],
    },
)
_CALL: Final = ToolShown(
    CALL,
    f"Call a tool that {SEARCH} has found, by its name.",
    {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": "Such as server.tool."},
            "arguments": _ANYTHING,
        },
        "required": ["tool", "arguments"],
    },
)
_READ: Final = ToolShown(
    READ,
    "Read on in an answer that was too long to be given at once.",
    {
        "type": "object",
        "properties": {
            "result": {"type": "string", "description": "As the end of its first page names it."},
            "page": {"type": "integer", "minimum": 1},
        },
        "required": ["result", "page"],
    },
)
OWN: Final = (_SEARCH, _CALL, _READ)


@dataclass(slots=True, kw_only=True)
class Offers:
    catalogues: Catalogs
    look_up: RankTools
    tokenizer: Tokenizer
    _known: OrderedDict[tuple[object, str, int, int], Offer] = field(default_factory=OrderedDict)

    async def __call__(self, caller: Principal, words: str, most: int, tokens: int) -> Offer:
        shelf = await self.catalogues.offered(caller)
        if not shelf.tools:
            return Offer(names={})
        place = (shelf.version, words[:_WORDS], most, tokens)
        found = self._known.get(place)
        if found is None:
            found = await self._offer(caller, shelf, words[:_WORDS], most, tokens)
            self._known[place] = found
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    async def _offer(
        self, caller: Principal, shelf: CatalogSnapshot, words: str, most: int, tokens: int
    ) -> Offer:
        if len(shelf.tools) < most:
            every = [shelf.tools[ref] for ref in sorted(shelf.tools)]
            named = vendor_names(shelf.tools)
            shown = [_shown(tool, named) for tool in every]
            if sum(map(self._size, [*shown, _READ])) <= tokens:
                return Offer(shown=[*shown, _READ], names=_names(named, every))
        best = await self._best(caller, shelf, words, most - len(OWN), tokens)
        named = vendor_names(shelf.tools)
        shown = [_shown(tool, named) for tool in best]
        return Offer(shown=[*OWN, *shown], names=_names(named, best), searched=True)

    async def _best(
        self, caller: Principal, shelf: CatalogSnapshot, words: str, most: int, tokens: int
    ) -> Sequence[CallableTool]:
        if most <= 0 or not words.strip():
            return []
        finder = await self.catalogues.finder(caller)
        matches = await self.look_up(finder, [words], most)
        named = vendor_names(shelf.tools)
        left = tokens - sum(map(self._size, OWN))
        best: list[CallableTool] = []
        for match in matches.found[:most]:
            tool = shelf.tools.get(match.ref)
            size = 0 if tool is None else self._size(_shown(tool, named))
            if tool is not None and size <= left:
                best.append(tool)
                left -= size
        return best

    def _size(self, shown: ToolShown) -> int:
        return self.tokenizer.count(
            f"{shown.name} {shown.description} {json.dumps(shown.schema, ensure_ascii=False)}"
        )


def _shown(tool: CallableTool, named: Mapping[ToolRef, str]) -> ToolShown:
    its = tool.definition
    told = cut(its.description or its.title, _LONGEST)
    return ToolShown(named[tool.ref], told, _object(its.input_schema))


def _object(schema: JsonObject) -> JsonObject:
    """Vendors want it said that arguments are an object."""
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def _names(named: Mapping[ToolRef, str], tools: Sequence[CallableTool]) -> Mapping[str, str]:
    return {READ: READ, **{named[tool.ref]: str(tool.ref) for tool in tools}}


@dataclass(frozen=True, slots=True)
class GatewayToolNames:
    catalogues: Catalogs

    async def names(self, caller: Principal) -> Sequence[str]:
        shelf = await self.catalogues.offered(caller)
        return sorted(map(str, shelf.tools))

    async def servers(self, caller: Principal) -> Sequence[str]:
        """Other agents among them, also before one is exposed."""
        return sorted({AGENTS, *(await self.catalogues.offered(caller)).servers})
