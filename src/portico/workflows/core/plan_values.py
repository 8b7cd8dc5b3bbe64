"""Values in plans: inputs, references resolved, outputs."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from portico.gateway.core.calls import ToolResult
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.workflows.core.plan import (
    DEEPEST,
    FROM,
    INDEX,
    ITEM,
    JSON,
    LETTERS,
    LITERAL,
    NEEDED,
    TEXT,
    ArgumentTemplate,
    Effort,
    Expressions,
    Graph,
    Plan,
    PlanDiagnostic,
    PlanDiagnostics,
    Reference,
    Step,
    Template,
    Unreadable,
    did_you_mean,
    holds,
    inside_of,
    misfit,
    read_reference,
    read_template,
    references,
    seems_to_refer,
    write_template,
)

_ELSEWHERE: Final = {
    "args": "arguments",
    "params": "arguments",
    "parameters": "arguments",
    "input": "arguments",
    "with": "arguments",
    "depends_on": "after",
    "dependencies": "after",
    "needs": "after",
    "name": "id",
    "step": "id",
    "if": "when",
    "condition": "when",
    "foreach": "for_each",
    "loop": "for_each",
    "retries": "tries",
    "retry": "tries",
    "uses": "tool",
    "action": "tool",
}
"""What the fields of a step are called in plans for other programs."""
_FORMS: Final = {"$from": FROM, "$text": TEXT, "$literal": LITERAL, "$json": JSON}


def known_fields(
    given: JsonObject, fields: Mapping[str, JsonObject], place: str, faults: PlanDiagnostics
) -> JsonObject:
    """Those that there are and that fit; of all others it is said what is wrong with them."""
    for name in given:
        if name not in fields:
            fix = _meant(name, fields) or faults.guess(name, fields)
            fix = fix or f"There are: {', '.join(fields)}."
            faults.add(pointed(place, name), f"There is no field {name[:60]!r} here.", fix)
    for name in fields:
        if name in NEEDED and name not in given:
            faults.add(place, f"The field {name!r} is missing.")
    sound: dict[str, JsonValue] = {}
    for name, value in given.items():
        wrong = misfit(value, fields[name]) if name in fields else None
        if wrong is not None:
            faults.add(pointed(place, name), f"It {wrong}")
        elif name in fields:
            sound[name] = value
    return sound


def _meant(name: str, fields: Mapping[str, JsonObject]) -> str | None:
    """In other people's plans it is called so."""
    other = _ELSEWHERE.get(name.lower().replace("-", "_"))
    return f"Did you mean {other!r}?" if other in fields else None


def read_given(
    value: JsonValue, place: str, faults: PlanDiagnostics, depth: int = 0
) -> ArgumentTemplate:
    """What cannot be read is said, and null stands in its place."""
    if depth > DEEPEST:
        faults.add(place, f"It is nested more than {DEEPEST} levels deep.")
        return None
    match value:
        case Mapping() if any(key.startswith("$") for key in value):
            return _form(value, place, faults, depth)
        case Mapping():
            return {
                key: read_given(inner, pointed(place, key), faults, depth + 1)
                for key, inner in value.items()
            }
        case list() | tuple():
            return [
                read_given(inner, f"{place}/{number}", faults, depth + 1)
                for number, inner in enumerate(value)
            ]
        case str():
            faults.doubt(place, seems_to_refer(value))
            return _plain(value, place, faults)
        case _:
            return _plain(value, place, faults)


def read_schema(value: JsonValue, place: str, faults: PlanDiagnostics) -> JsonObject:
    """An input's: taken as it stands, or as JSON text where its own language has no null."""
    if isinstance(value, Mapping) and set(value) == {"$json"}:
        value = cast("JsonValue", read_given(value, place, faults))
    if isinstance(value, Mapping):
        return value
    faults.add(place, "It must be an object: a JSON Schema.")
    return {}


def write_given(given: ArgumentTemplate) -> JsonValue:
    """As `read_given` reads it."""
    match given:
        case Reference():
            written: dict[str, JsonValue] = {"$from": str(given)}
            return written | ({"default": write_given(given.default)} if given.has_default else {})
        case Template():
            return {"$text": write_template(given)}
        case Mapping() if any(key.startswith("$") for key in given):
            return {"$literal": cast("JsonObject", given)}  # it was read from one
        case Mapping():
            return {key: write_given(inner) for key, inner in given.items()}
        case str() if seems_to_refer(given):
            return {"$literal": given}
        case None | bool() | int() | float() | str():
            return given
        case _:
            return [write_given(inner) for inner in given]


def _form(value: JsonObject, place: str, faults: PlanDiagnostics, depth: int) -> ArgumentTemplate:
    forms = [key for key in value if key.startswith("$")]
    known = [key for key in forms if key in _FORMS]
    if len(known) != 1:
        for key in forms:
            _not_a_form(key, pointed(place, key), faults)
        return None
    name = known[0]
    sound = known_fields(value, _FORMS[name], place, faults)
    return _READERS[name](sound, place, faults, depth) if name in sound else None


def _not_a_form(key: str, place: str, faults: PlanDiagnostics) -> None:
    if key in _FORMS:
        faults.add(place, f"{key!r} stands beside another of its kind.", "Leave only one of them.")
        return
    forms = ", ".join(_FORMS)
    faults.add(
        place,
        f"{key[:60]!r} means nothing; there are {forms}.",
        'To pass such an object on as it is: {"$literal": {…}}.',
    )


def _from(value: JsonObject, place: str, faults: PlanDiagnostics, depth: int) -> ArgumentTemplate:
    default: JsonValue = None
    if "default" in value:
        default = _literal_default(value["default"], f"{place}/default", faults, depth)
    try:
        return read_reference(str(value["$from"]), default=default, has_default="default" in value)
    except Unreadable as error:
        faults.add(f"{place}/$from", str(error), "Write it as step.path: read.json.title.")
        return None


def _literal_default(
    value: JsonValue, place: str, faults: PlanDiagnostics, depth: int
) -> JsonValue:
    given = read_given(value, place, faults, depth + 1)
    if refers(given):
        faults.add(place, "A default is a value, and refers to nothing.")
        return None
    return cast("JsonValue", given)  # nothing else is left in it


def refers(given: ArgumentTemplate) -> bool:
    """Whether what it says depends on anything else."""
    return isinstance(given, Reference | Template) or any(
        refers(inner) for _, inner in inside_of(given)
    )


def _text(value: JsonObject, place: str, faults: PlanDiagnostics, _: int) -> ArgumentTemplate:
    try:
        return read_template(str(value["$text"]))
    except Unreadable as error:
        faults.add(f"{place}/$text", str(error), "A `${` that means itself is written `$${`.")
        return None


def _literal(
    value: JsonObject, place: str, faults: PlanDiagnostics, depth: int
) -> ArgumentTemplate:
    _check_plain(value["$literal"], f"{place}/$literal", faults, depth + 1)
    return value["$literal"]


def _json(value: JsonObject, place: str, faults: PlanDiagnostics, depth: int) -> ArgumentTemplate:
    try:
        parsed: JsonValue = json.loads(str(value["$json"]))
    except (ValueError, RecursionError) as error:
        faults.add(f"{place}/$json", f"It is not JSON: {error}.")
        return None
    _check_plain(parsed, f"{place}/$json", faults, depth + 1)
    return parsed


_READERS: Final[
    Mapping[str, Callable[[JsonObject, str, PlanDiagnostics, int], ArgumentTemplate]]
] = {
    "$from": _from,
    "$text": _text,
    "$literal": _literal,
    "$json": _json,
}


def _plain(value: JsonValue, place: str, faults: PlanDiagnostics) -> JsonValue:
    match value:
        case float() if not math.isfinite(value):
            faults.add(place, f"{value!r} is not a JSON number.")
        case str() if not _whole(value):
            faults.add(place, "It holds half of a surrogate pair, which no text can.")
        case None | bool() | int() | float() | str():
            return value
        case _:  # TOML has dates and times
            what = f"A {type(value).__name__} is not a JSON value."
            faults.add(place, what, "Write it as a text.")
    return None


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_plain(value: JsonValue, place: str, faults: PlanDiagnostics, depth: int) -> None:
    """Of what is taken as it stands: that it is JSON, and not too deep."""
    if depth > DEEPEST:
        faults.add(place, f"It is nested more than {DEEPEST} levels deep.")
    elif isinstance(value, Mapping | list | tuple):
        for name, inner in inside_of(value):
            _check_plain(cast("JsonValue", inner), pointed(place, name), faults, depth + 1)
    else:
        _plain(value, place, faults)


DOCUMENT_FIELDS: Final = ("content", "structuredContent", "text", "json")
ITEMS_FIELDS: Final = ("items",)


def step_document(answer: ToolResult) -> JsonObject:
    """`json` is the structured form, or the text read as JSON, or null."""
    text = "\n".join(_texts(answer.content))
    structured = answer.structured
    return {
        "content": list(answer.content),
        "structuredContent": structured,
        "text": text,
        "json": structured if structured is not None else _parsed(text),
    }


UNKNOWN_DOCUMENT: Final[JsonObject] = {
    "content": [],
    "structuredContent": None,
    "text": None,
    "json": None,
}
"""Of a step that was done, of which nobody knows what it answered: every path into it leads to
nothing."""


def items_document(documents: Sequence[JsonValue]) -> JsonObject:
    """Of a step that was done once for each item, in their order; null for one that failed."""
    return {"items": list(documents)}


def document_value(document: JsonValue) -> JsonValue:
    """What it says, in the form that is easiest to work with: `json` if there is any, or `text`;
    of many, the list of theirs."""
    if not isinstance(document, Mapping):
        return document
    items = document.get("items")
    if isinstance(items, Sequence) and not isinstance(items, str):
        return [document_value(item) for item in items]
    found = document.get("json")
    return document.get("text") if found is None else found


def _texts(content: Sequence[JsonObject]) -> list[str]:
    texts = (_inner(block).get("text") for block in content)
    return [text for text in texts if isinstance(text, str)]


def _inner(block: JsonObject) -> JsonObject:
    resource = block.get("resource")
    return resource if isinstance(resource, Mapping) else block


def _parsed(text: str) -> JsonValue:
    if not text.strip():
        return None
    try:
        found: JsonValue = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found


def _refuse(constant: str) -> JsonValue:
    raise ValueError(constant)  # NaN and the infinities, which Python reads and JSON has not


MOST_CHARACTERS: Final = 4_000_000
"""Of all that one step is given."""
_REFERENCE: Final = 10
"""Of work, for looking one up."""
_STRETCH: Final = 50_000
"""Of work: about five milliseconds."""

KnownDocuments = Mapping[str, JsonValue]
"""What is there by now: documents of steps by their ids (of one whose stand-in gave it, that), and
`inputs`. A step that gave nothing is not in it."""


class MissingValue(PorticoError):
    kind = Kind.INVALID
    code = "missing_value"
    title = "There is nothing where the plan refers to"
    fix = "Give the reference a default, or look at what the step really gave."

    def __init__(self, place: str, reference: str) -> None:
        super().__init__(f"{place}: {reference[:100]!r} leads to nothing.")
        self.place = place
        self.reference = reference


class GivenTooLarge(PorticoError):
    kind = Kind.EXHAUSTED
    code = "given_too_large"
    title = "The step would be given too much"
    fix = "Refer to the part that is needed, not to all that a step gave."

    def __init__(self) -> None:
        super().__init__(f"Its arguments would have more than {MOST_CHARACTERS:,} characters.")


class NotAList(PorticoError):
    kind = Kind.INVALID
    code = "not_a_list"
    title = "There is no list to go through"
    fix = "A for_each goes through a list; look at what the step really gave."

    def __init__(self, what: str) -> None:
        super().__init__(f"/for_each/in: what is there is {what}.")


class TooManyItems(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_items"
    title = "The list is longer than the plan allows"
    fix = "Raise `most` of its for_each, or choose fewer items by the path."

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"There are {count:,} items; the plan allows {most:,}.")
        self.count = count
        self.limit = most


def wanted(
    step: Step, known: KnownDocuments, expressions: Expressions, effort: Effort | None = None
) -> bool:
    """Whether its condition is met; a step that gave nothing is null there."""
    return step.when is None or holds(expressions.search(step.when, dict(known), effort))


def with_item(known: KnownDocuments, item: JsonValue, index: int) -> KnownDocuments:
    return {**known, ITEM: item, INDEX: index}


class Resolving:
    """A value being put together: first what it refers to is looked up, reference by reference, so
    that whoever has others to serve may do so in between, and then it is made."""

    def __init__(
        self,
        given: ArgumentTemplate,
        place: str,
        known: KnownDocuments,
        expressions: Expressions,
        effort: Effort | None = None,
    ) -> None:
        self._given = given
        self._place = place
        self._known = known
        self._expressions = expressions
        self._effort = Effort.of_run().of_step() if effort is None else effort
        self._left = MOST_CHARACTERS
        self._found: dict[int, JsonValue] = {}
        """By the identity of the reference, which the plan holds."""

    def __iter__(self) -> Iterator[None]:
        """Raises `MissingValue`, `GivenTooLarge`, and what `Expressions.search` raises."""
        told = self._effort.spent
        for place, reference in references(self._given, self._place):
            self._found[id(reference)] = self._looked_up(reference, place)
            if self._effort.spent - told > _STRETCH:
                told = self._effort.spent
                yield

    def value(self) -> JsonValue:
        """Once all was looked up."""
        return self._made(self._given)

    def _made(self, given: ArgumentTemplate) -> JsonValue:
        match given:
            case Reference():
                return self._found[id(given)]
            case Template():
                return "".join(self._part(part) for part in given.parts)
            case Mapping():
                return {key: self._made(inner) for key, inner in given.items()}
            case None | bool() | int() | float() | str():
                return given
            case _:
                return [self._made(inner) for inner in given]

    def _part(self, part: str | Reference) -> str:
        value = part if isinstance(part, str) else self._found[id(part)]
        return value if isinstance(value, str) else _written(value)

    def _looked_up(self, reference: Reference, place: str) -> JsonValue:
        value = self._known.get(reference.step)
        if value is not None and reference.path:
            value = self._expressions.search(reference.path, value, self._effort)
        if value is None and not reference.has_default:
            raise MissingValue(place, str(reference))
        value = reference.default if value is None else value
        # Before it is put anywhere: one large value may be referred to a thousand times.
        size = len(value) if isinstance(value, str) else len(_written(value))
        self._left -= size
        if self._left < 0:
            raise GivenTooLarge
        self._effort.spend(_REFERENCE + size // LETTERS)
        return value


def arguments(
    step: Step, known: KnownDocuments, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    return Resolving(dict(step.arguments), "/arguments", known, expressions, effort)


def as_arguments(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def items(
    step: Step, known: KnownDocuments, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    over: ArgumentTemplate = () if step.for_each is None else step.for_each.over
    return Resolving(over, "/for_each/in", known, expressions, effort)


def as_items(step: Step, value: JsonValue) -> Sequence[JsonValue]:
    """Raises `NotAList`, `TooManyItems`."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise NotAList(_NAMES.get(type(value).__name__, "an object"))
    if step.for_each is not None and len(value) > step.for_each.limit:
        raise TooManyItems(len(value), step.for_each.limit)
    return value


def output(
    plan: Plan, known: KnownDocuments, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    return Resolving(plan.output, "/output", known, expressions, effort)


def last_of(graph: Graph, known: KnownDocuments) -> JsonObject:
    return {name: document_value(known[name]) for name in graph.last if name in known}


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_NAMES: Final = {
    "str": "a text",
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
}


@dataclass(frozen=True, slots=True)
class LiteralArguments:
    step: Step
    place: str
    """Of the step in its plan."""
    schema: JsonObject
    """What its tool wants."""

    @property
    def values(self) -> JsonObject:
        """Those that are known."""
        given = self.step.arguments.items()
        known = {name: value for name, value in given if not refers(value)}
        return cast("JsonObject", known)  # nothing but JSON is left

    def diagnostics(self, flaws: Sequence[FieldError]) -> Iterator[PlanDiagnostic]:
        """`flaws` are those of the known values by themselves: what they say of the whole holds
        only where nothing else comes to it."""
        yield from self._missing()
        yield from self._unexpected()
        yield from self._texts()
        whole = len(self.values) == len(self.step.arguments)
        named = {*self._required(), *self._names()}
        for flaw in flaws:
            first, *rest = flaw.field.split(".")
            if first in self.values or (whole and first not in named):
                place = f"{self.place}/arguments"
                for name in [first, *rest] if flaw.field else []:
                    place = pointed(place, name)
                odd = not rest and first not in self._names()
                fix = did_you_mean(first, self._names()) if odd else None
                yield PlanDiagnostic(place, f"It {flaw.message}.", fix)

    def _missing(self) -> Iterator[PlanDiagnostic]:
        for name in self._required():
            if name not in self.step.arguments:
                what = f"{self.step.tool} needs the argument {name[:64]!r}."
                yield PlanDiagnostic(f"{self.place}/arguments", what, left_out=True)

    def _unexpected(self) -> Iterator[PlanDiagnostic]:
        """Only of those that are not known: of the others the check itself says it."""
        closed = self.schema.get("additionalProperties") is False
        if not closed or "patternProperties" in self.schema:
            return
        for name in self.step.arguments.keys() - self.values.keys() - set(self._names()):
            fix = did_you_mean(name, self._names())
            what = f"{self.step.tool} takes no argument {name[:64]!r}."
            yield PlanDiagnostic(pointed(f"{self.place}/arguments", name), what, fix)

    def _texts(self) -> Iterator[PlanDiagnostic]:
        for name, value in self.step.arguments.items():
            kinds = _types(self._property(name))
            if isinstance(value, Template) and kinds and "string" not in kinds:
                what = f"{self.step.tool} wants {' or '.join(kinds)} here, and not a text."
                fix = 'To take a value as it is, write {"$from": …}.'
                yield PlanDiagnostic(pointed(f"{self.place}/arguments", name), what, fix)

    def _required(self) -> Sequence[str]:
        return _listed(self.schema.get("required"))

    def _names(self) -> Sequence[str]:
        known = self.schema.get("properties")
        return [*known] if isinstance(known, Mapping) else []

    def _property(self, name: str) -> JsonValue:
        known = self.schema.get("properties")
        return known.get(name) if isinstance(known, Mapping) else None


def _types(schema: JsonValue) -> Sequence[str]:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return [kind] if isinstance(kind, str) else _listed(kind)


def _listed(value: JsonValue) -> Sequence[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [each for each in value if isinstance(each, str)]
