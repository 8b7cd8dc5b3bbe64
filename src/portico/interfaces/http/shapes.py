"""Shapes that all subjects share: names, labels, ids, pages, and how long a client would wait."""

import base64
import binascii
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, Generic, TypeVar, cast

from fastapi import Depends, Header, Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic import JsonValue as WireJson

from portico.engine.core.errors import InvalidCursor
from portico.guard.core.principals import Role
from portico.kernel.json import JsonObject, JsonValue

_ID: Final = "[0-7][0-9a-hjkmnp-tv-z]{25}"
_COMPARTMENTS: Final = r"(\+[a-z0-9][a-z0-9-]{0,62}){0,20}"

_NAME: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+$"
_LABEL: Final = f"^(public|team|confidential|restricted){_COMPARTMENTS}$"
_KEY_ID: Final = "^[0-9A-Za-z]{12}$"
SECRET_NAME: Final = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"  # noqa: S105 # how it is spelt, not what it is
RULE_NAME: Final = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
_WILDCARD: Final = r"^[!-+\--~]+$"
_TEXT: Final = r"^[^\x00]*$"
_DIGEST: Final = "^[0-9a-f]{64}$"

HINTS: Final = {
    _NAME: "must be plain text on one line",
    _LABEL: "must be public, team, confidential or restricted, and compartments: team+finance",
    _KEY_ID: "must be a key's id, twelve letters and digits, as `portico keys list` shows it",
    _WILDCARD: "must be a tool with wildcards, without spaces or commas: github.* or github.get_?",
    _TEXT: "must be text, without the letter NUL",
    SECRET_NAME: "must be letters, digits, -, _ and ., beginning with a letter or a digit",
    RULE_NAME: "must be letters, digits, -, _ and ., beginning with a letter or a digit",
    f"^prn_{_ID}$": "must be a principal's id: prn_…",
    f"^spc_{_ID}$": "must be a space's id: spc_…",
    f"^ctx_{_ID}$": "must be a task's id: ctx_…",
    f"^run_{_ID}$": "must be a run's id: run_…",
    f"^sug_{_ID}$": "must be a suggestion's id: sug_…",
    f"^(run|sug)_{_ID}$": "must be the id of a suggestion or of a run: sug_… or run_…",
    f"^prj_{_ID}$": "must be a project's id: prj_…",
    f"^cnv_{_ID}$": "must be a conversation's id: cnv_…",
    f"^msg_{_ID}$": "must be a message's id: msg_…",
    f"^lse_{_ID}$": "must be a lease's id: lse_…",
    f"^wrk_{_ID}$": "must be the id of a piece of work: wrk_…",
    f"^dbt_{_ID}$": "must be a debate's id: dbt_…",
    _DIGEST: "must be an attachment's digest, 64 hexadecimal digits",
}
"""What to say to whoever did not meet a pattern."""


class Body(BaseModel):
    """What is sent. A field that we do not know is refused: a slip in the name of a limit must
    not make a key without it."""

    model_config = ConfigDict(extra="forbid")


Switch = Annotated[bool, Field(strict=True)]
"""A yes or no, and no number that could be taken for one."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_NAME)]
OneLine = Annotated[str, StringConstraints(min_length=1, pattern=_NAME)]
Text = Annotated[str, StringConstraints(pattern=_TEXT)]
"""Of any length that a request may have, and of several lines."""
LabelText = Annotated[str, StringConstraints(max_length=300, pattern=_LABEL)]
Wildcard = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_WILDCARD)]
ToolList = Annotated[list[Wildcard], Field(max_length=200)]
Roles = Annotated[list[Role], Field(max_length=10)]
SpaceIdPath = Annotated[str, Path(pattern=f"^spc_{_ID}$")]
PrincipalIdPath = Annotated[str, Path(pattern=f"^prn_{_ID}$")]
PrincipalIdText = Annotated[str, StringConstraints(pattern=f"^prn_{_ID}$")]
KeyIdPath = Annotated[str, Path(pattern=_KEY_ID)]
ContextIdPath = Annotated[str, Path(pattern=f"^ctx_{_ID}$")]
RunIdPath = Annotated[str, Path(pattern=f"^run_{_ID}$")]
RunIdText = Annotated[str, StringConstraints(pattern=f"^run_{_ID}$")]
SuggestionIdText = Annotated[str, StringConstraints(pattern=f"^sug_{_ID}$")]
RunOrSuggestionText = Annotated[str, StringConstraints(pattern=f"^(run|sug)_{_ID}$")]
ProjectIdPath = Annotated[str, Path(pattern=f"^prj_{_ID}$")]
ProjectIdText = Annotated[str, StringConstraints(pattern=f"^prj_{_ID}$")]
ConversationIdPath = Annotated[str, Path(pattern=f"^cnv_{_ID}$")]
ConversationIdText = Annotated[str, StringConstraints(pattern=f"^cnv_{_ID}$")]
MessageIdPath = Annotated[str, Path(pattern=f"^msg_{_ID}$")]
MessageIdText = Annotated[str, StringConstraints(pattern=f"^msg_{_ID}$")]
LeaseIdPath = Annotated[str, Path(pattern=f"^lse_{_ID}$")]
WorkIdPath = Annotated[str, Path(pattern=f"^wrk_{_ID}$")]
WorkIdText = Annotated[str, StringConstraints(pattern=f"^wrk_{_ID}$")]
DebateIdPath = Annotated[str, Path(pattern=f"^dbt_{_ID}$")]
DigestPath = Annotated[str, Path(pattern=_DIGEST)]
DigestText = Annotated[str, StringConstraints(pattern=_DIGEST)]


def wire(value: JsonValue) -> WireJson:
    """The same value under the library's name for its type: it takes lists and dictionaries, and
    what came out of JSON is nothing else."""
    return cast("WireJson", value)


def wire_object(value: JsonObject) -> dict[str, WireJson]:
    return cast("dict[str, WireJson]", dict(value))


_ISO: Final = re.compile(
    r"[0-9]{4}(-[0-9]{2}){2}[Tt][0-9]{2}(:[0-9]{2}){2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _only_a_moment(text: object) -> object:
    """The library would also take a number, as seconds since 1970."""
    if isinstance(text, str) and not _ISO.fullmatch(text):
        raise ValueError("must be a moment, as in 2026-01-31T12:00:00Z")
    return text


Moment = Annotated[AwareDatetime, BeforeValidator(_only_a_moment)]

Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=200, description="Most items in this page.")]
After = Annotated[
    str | None, Query(max_length=200, description="`next` of the page before this one.")
]
DEFAULT_LIMIT: Final = 50


class Page(BaseModel, Generic[Item]):
    data: list[Item]
    next: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"Page[{', '.join(_title(each) for each in params)}]"


def _title(item: Any) -> str:  # noqa: ANN401 # as pydantic has it
    """Of a variable, its name."""
    shape = isinstance(item, type) and issubclass(item, BaseModel)
    return str(item.model_config["title"] if shape else item)


def opaque(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def position(cursor: str | None) -> str | None:
    """Raises `InvalidCursor`."""
    return None if cursor is None else _read(cursor, "ascii")


def text_position(cursor: str | None) -> str | None:
    """Where the position is somebody's own words. Raises `InvalidCursor`."""
    found = None if cursor is None else _read(cursor, "utf-8")
    if found is not None and "\0" in found:
        raise InvalidCursor
    return found


def _read(cursor: str, letters: str) -> str:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode(letters)
    except (binascii.Error, UnicodeError) as error:
        raise InvalidCursor from error


def next_cursor(found: Sequence[object], limit: int, last: str) -> str | None:
    """A full page may have a next one; asking costs less than counting."""
    return opaque(last) if len(found) == limit else None


_WAIT: Final = re.compile(r'(?:^|[,;])\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:$|[,;])', re.IGNORECASE)
LONGEST: Final = timedelta(seconds=60)


def _patience(
    prefer: Annotated[
        str | None,
        Header(
            max_length=500,
            description="`wait=10`: answer when the run has ended, or after that many seconds; at "
            "most 60.",
        ),
    ] = None,
) -> timedelta | None:
    """What is asked for in any other way is left alone, as RFC 7240 says."""
    found = _WAIT.search(prefer or "")
    return None if found is None else min(timedelta(seconds=int(found[1])), LONGEST)


Patience = Annotated[timedelta | None, Depends(_patience)]


def applied(patience: timedelta | None) -> dict[str, str]:
    if patience is None:
        return {}
    return {"Preference-Applied": f"wait={int(patience.total_seconds())}"}


ServerName = Annotated[str, Path(max_length=80, description="As `portico servers list` shows it.")]
