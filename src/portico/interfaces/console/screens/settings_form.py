"""What the pages of settings share: tabs, labels, lists, values shown once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import Form, InvalidForm
from portico.interfaces.console.page import PageContext
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import InvalidLabel, Label, Level
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Tab:
    path: str
    name: str
    scopes: tuple[Scope, ...] = ()
    """Any of these opens it; none: it is everybody's."""


_TABS: Final = (
    Tab("/settings", "You"),
    Tab("/settings/keys", "Keys", (Scope.KEYS_OWN, Scope.KEYS_READ)),
    Tab("/settings/people", "People", (Scope.PRINCIPALS_READ,)),
    Tab("/settings/policy", "Policy", (Scope.POLICY_READ,)),
    Tab("/settings/secrets", "Secrets", (Scope.SECRETS_READ,)),
    Tab("/settings/about", "About", (Scope.STATUS_READ,)),
)


def tabs(caller: Principal) -> Sequence[Tab]:
    return [tab for tab in _TABS if not tab.scopes or any(map(caller.may, tab.scopes))]


_PAGE: Final = 200
_MOST: Final = 1000
_LONGEST_LIST: Final = 200


def levels(caller: Principal) -> Sequence[str]:
    """Those that the caller may give: the lowest first."""
    return [str(level) for level in Level if level <= caller.clearance.level]


def maybe_label(form: Form, name: str) -> Label | None:
    """A level, and compartments beside it; None if no level was chosen. Raises `InvalidForm`."""
    level = form.maybe(name, most=20)
    inside = words_in(form, f"{name}_compartments")
    if level is None:
        if inside:
            raise InvalidForm(name, "must be chosen where compartments are named")
        return None
    try:
        return Label.parse("+".join([level, *inside]))
    except InvalidLabel as error:
        raise InvalidForm(name, str(error.fix)) from error


def words_in(form: Form, name: str) -> tuple[str, ...]:
    """Separated by commas, blanks or lines. Raises `InvalidForm`."""
    text = form.maybe(name, most=20_000) or ""
    words = tuple(dict.fromkeys(text.replace(",", " ").split()))
    if len(words) > _LONGEST_LIST:
        raise InvalidForm(name, f"must be at most {_LONGEST_LIST}")
    return words


def name_in(form: Form, field: str = "name") -> str:
    """As REST takes it: plain text on one line. Raises `InvalidForm`."""
    name = form.text(field, most=100)
    if not name.isprintable():
        raise InvalidForm(field, "must be plain text on one line")
    return name


def typed(form: Form | None, *fields: str) -> dict[str, str]:
    """What stands in a form that is drawn again: what was typed, or nothing."""
    sent = {} if form is None else form.fields
    return {name: next(iter(sent.get(name, ())), "") for name in fields}


async def names(desk: PageContext) -> Mapping[PrincipalId, str]:
    """Of who there is, as far as whoever looks may know."""
    known = {desk.caller.id: desk.caller.name}
    if not desk.caller.may(Scope.PRINCIPALS_READ):
        return known
    after: PrincipalId | None = None
    while len(known) < _MOST:
        found = await desk.services.use.list_principals(desk.caller, after=after, limit=_PAGE)
        known |= {each.id: each.name for each in found}
        if len(found) < _PAGE:
            break
        after = found[-1].id
    return known


async def shown_once(
    desk: PageContext, ask: WriteRequest, make: Callable[[], Awaitable[StoredResponse]]
) -> Mapping[str, JsonValue]:
    """What a form makes, with what is shown with it once and never kept: whoever sends the form
    again is answered without that."""
    may: list[JsonValue] = [*sorted(desk.caller.scopes)]
    request: JsonObject = {"form": ask.request, "scopes": may}
    receipt = await desk.services.use.do_once(
        desk.caller, WriteRequest(ask.operation, request, ask.key), make
    )
    return receipt.body
