"""A built-in tool: what it says of itself, takes, answers and refuses."""

import binascii
import re
from base64 import b64decode, b64encode
from codecs import lookup
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from portico.gateway.core.calls import ToolResult, UpstreamTarget
from portico.gateway.core.errors import OfferNotFound, UpstreamDown
from portico.gateway.core.servers import BUILTIN
from portico.gateway.ports import ClientChannel
from portico.kernel.effect import Effect
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

# What Portico's own tools refuse.
#
# PorticoError
# ├── WorkspaceFull   no more fits into the workspace
# ├── InvalidBody     no text, and no bytes as they are written in base64
# ├── OneOfTwo        two ways to say the same, and both were used
# └── NothingToWrite  none of them was


class WorkspaceFull(PorticoError):
    kind = Kind.EXHAUSTED
    code = "workspace_full"
    title = "The workspace is full"
    fix = "Remove what is not needed any more: `list_files` shows what is there."

    def __init__(self, used: int, largest: int) -> None:
        super().__init__(
            f"The workspace holds {used:,} bytes, and may hold {largest:,}: this does not fit."
        )
        self.used = used
        self.largest = largest


class InvalidBody(PorticoError):
    kind = Kind.INVALID
    code = "bad_body"
    type_name = "BadBody"
    title = "Not what can be written or sent"
    fix = "Give `text` in Unicode, or bytes as `base64`: its standard alphabet, with padding."

    def __init__(self, reason: str) -> None:
        super().__init__(f"What was given cannot be used: {reason}.")
        self.reason = reason


class OneOfTwo(PorticoError):
    kind = Kind.INVALID
    code = "one_of_two"
    title = "Said twice"

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"Both `{one}` and `{other}` were given.", fix=f"Give `{one}` or `{other}`, not both."
        )


class NothingToWrite(PorticoError):
    kind = Kind.INVALID
    code = "nothing_to_write"
    title = "Nothing to write"
    fix = "Give `text` or `base64`; for an empty file, an empty `text`."

    def __init__(self, path: str) -> None:
        super().__init__(f"It was not said what {path[:200]!r} is to hold.")
        self.path = path


# What a tool of ours answers: words for a model, and the same in a form for programs.

_WRITTEN: Final = re.compile(
    r"(utf-(8|16|32)|iso8859-|cp|koi8|gb|big5|shift_jis|euc_|iso2022_|ascii|mac-)[a-z0-9_-]*"
)


def told(words: str, structured: JsonObject, *, failed: bool = False) -> ToolResult:
    return ToolResult([{"type": "text", "text": words}], structured, failed=failed)


def refusal(error: PorticoError) -> ToolResult:
    """A journey that broke inside a tool is that tool's failure, with what to do about it."""
    fix = {} if error.fix is None else {"fix": error.fix}
    words = " ".join([str(error), *fix.values()])
    return told(words, {"code": error.code, "message": str(error), **fix}, failed=True)


def content(body: bytes, charset: str = "utf-8") -> JsonObject:
    """As `text` if it is one, else as `base64`."""
    try:
        return {"text": body.decode(_known(charset))}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def words_of(shown: JsonObject) -> str:
    """What `content` made of it, for somebody who reads."""
    if "text" in shown:
        return str(shown["text"])
    return f"(not a text; in base64)\n{shown['base64']}"


def _known(charset: str) -> str:
    """Somebody else has named it. One that nobody knows is none; nor is what Python calls a codec
    and no text is written in: some of those take a time that grows with the square."""
    try:
        name = lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _WRITTEN.fullmatch(name) else "utf-8"


# What a tool of ours was given: checked against its schema before, read here by its kind.


def text(arguments: JsonObject, name: str, otherwise: str = "") -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else otherwise


def number(arguments: JsonObject, name: str, otherwise: int) -> int:
    value = arguments.get(name)
    return int(value) if isinstance(value, int | float) else otherwise


def texts(arguments: JsonObject, name: str) -> Mapping[str, str]:
    value = arguments.get(name)
    return {key: str(each) for key, each in value.items()} if isinstance(value, Mapping) else {}


def body(arguments: JsonObject) -> bytes:
    """From `text` or `base64`, or nothing at all. Raises `InvalidBody`, `OneOfTwo`."""
    if "text" in arguments and "base64" in arguments:
        raise OneOfTwo("text", "base64")
    try:
        if "base64" in arguments:
            return b64decode(text(arguments, "base64"), validate=True)
        return text(arguments, "text").encode()
    except UnicodeEncodeError as error:
        raise InvalidBody("there is half of a surrogate pair in it") from error
    except (binascii.Error, ValueError) as error:
        raise InvalidBody("it is not base64") from error


@dataclass(frozen=True, slots=True)
class Offered:
    definition: JsonObject
    """In the protocol's own form."""
    effect: Effect
    """What the list that comes with Portico proposes for it."""

    @property
    def name(self) -> str:
        return str(self.definition["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvocation:
    """On whose behalf a tool is called, and for how long at most."""

    space: SpaceId
    caller: PrincipalId
    seconds: float
    acting: Principal | None = None
    """The caller with all that they may; nobody where something is read before it is asked for."""

    @property
    def requester(self) -> Principal:
        """Raises `UpstreamDown`."""
        if self.acting is None:
            raise UpstreamDown(BUILTIN, "nobody is calling")
        return self.acting


class BuiltinTool(Protocol):
    offered: ClassVar[Offered]

    async def lacking(self) -> str | None:
        """Why it cannot be offered on this machine, if it cannot."""
        ...

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        """`arguments` are as its schema asks for. Any `PorticoError` is its own failure."""
        ...


class Everywhere:
    """One that needs nothing of the machine."""

    async def lacking(self) -> str | None:
        return None


Door = TypeVar("Door")


@dataclass(frozen=True, slots=True)
class InternalTool(Generic[Door]):
    """One that asks another part of Portico, which is put together after the tools are."""

    find: Callable[[], Door | None]
    offered: ClassVar[Offered]

    async def lacking(self) -> str | None:
        if self.find() is None:
            return f"There is no {self.offered.name}: this Portico has nothing that it could ask."
        return None

    @property
    def door(self) -> Door:
        """Raises `UpstreamDown`."""
        found = self.find()
        if found is None:
            raise UpstreamDown(BUILTIN, "it is not put together yet")
        return found


def schema(properties: Mapping[str, JsonValue], *, required: Sequence[str] = ()) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def hints(
    *, reads: bool = False, destroys: bool = False, again: bool = False, outside: bool = False
) -> JsonObject:
    """`again`: to do it twice is to do it once."""
    return {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": again,
        "openWorldHint": outside,
    }


# What a part of Portico that only has tools says to whoever asks for anything else.


class NothingBeside:
    async def read_resource(
        self,
        target: UpstreamTarget,  # noqa: ARG002 # it has none
        uri: str,
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
        line: ClientChannel | None = None,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("resource", uri)

    async def get_prompt(
        self,
        target: UpstreamTarget,  # noqa: ARG002 # it has none
        name: str,
        arguments: Mapping[str, str],  # noqa: ARG002 # it has none
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
        line: ClientChannel | None = None,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("prompt", name)

    async def complete(
        self,
        target: UpstreamTarget,  # noqa: ARG002 # it has none
        params: JsonObject,  # noqa: ARG002 # it has none
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("prompt", "")
