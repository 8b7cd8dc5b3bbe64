"""Plans: steps, references, expressions and their faults."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, Protocol, Self, TypeAlias

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue, pointed


@dataclass(frozen=True, slots=True)
class Reference:
    """`{"$from": "read.content[0].text"}`: what an earlier step gave, or a part of it."""

    step: str
    """Or `inputs`, or inside a `for_each` `item` and `index`."""
    path: str = ""
    """JMESPath into what it gave; all of it if empty."""
    default: JsonValue = None
    has_default: bool = False
    """Otherwise a path to nothing is a fault, and a step that gave nothing is a reason to skip."""

    def __str__(self) -> str:
        joint = "." if self.path and not self.path.startswith("[") else ""
        return f"{self.step}{joint}{self.path}"


@dataclass(frozen=True, slots=True)
class Template:
    """`{"$text": "Dear ${who.json.name}, …"}`: texts and references in turn."""

    parts: Sequence[str | Reference]


ArgumentTemplate: TypeAlias = (
    "JsonValue | Reference | Template | Sequence[ArgumentTemplate] | Mapping[str, ArgumentTemplate]"
)
"""What an argument says: JSON in which references and templates stand anywhere."""


class OnError(StrEnum):
    STOP = "stop"
    """Nothing else is begun; what is under way ends."""
    SKIP = "skip"
    """Only what needs this is left out."""
    FALLBACK = "fallback"
    """Another step stands in, and what it gives is what this one would have given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach:
    """Once for each item of a list; `item` and `index` are at hand in its arguments."""

    over: ArgumentTemplate
    at_once: int = 8
    limit: int = 100
    """More items than this are a fault, not a surprise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    id: str
    tool: ToolRef
    arguments: Mapping[str, ArgumentTemplate] = field(default_factory=dict)
    after: Sequence[str] = ()
    """Only once these are over, however they ended."""
    when: str | None = None
    """JMESPath over everything that earlier steps gave, by their ids; false, null or empty: not."""
    for_each: ForEach | None = None
    on_error: OnError = OnError.STOP
    fallback: str | None = None
    """The step that stands in; it is not begun but for that."""
    timeout: timedelta | None = None
    tries: int = 1
    """Of a read, with growing pauses; whatever may change something is tried once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: Sequence[Step]
    name: str | None = None
    description: str | None = None
    inputs: JsonObject = field(default_factory=dict)
    """JSON Schema of its parameters by name, for a plan that is saved or run with values."""
    required: Sequence[str] = ()
    output: ArgumentTemplate = None
    """What it gives in the end; without one, what its last steps gave."""
    has_output: bool = False

    def step(self, name: str) -> Step:
        """Raises `KeyError`."""
        return {step.id: step for step in self.steps}[name]


MOST_FAULTS: Final = 200
_MOST_GUESSES: Final = 20
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class PlanDiagnostic:
    place: str
    """JSON pointer into the plan: `/steps/3/arguments/path/$from`; empty for the plan itself."""
    what: str
    fix: str | None = None
    line: int | None = None
    """Counted from 1, in the text that the plan was read from, if it was read from one."""
    column: int | None = None
    left_out: bool = field(default=False, compare=False)
    """It is an argument that nothing was said about, and something else may be able to give it."""

    def __str__(self) -> str:
        where = self.place or "the plan"
        if self.line is not None:
            where = f"line {self.line}, column {self.column} ({where})"
        return f"{where}: {self.what}" + (f" {self.fix}" if self.fix else "")


class InvalidPlan(PorticoError):
    kind = Kind.INVALID
    code = "bad_plan"
    type_name = "BadPlan"
    title = "The plan cannot be carried out"
    fix = "Mend what is named for each place; `portico plan schema` says what a plan may hold."

    def __init__(self, faults: Iterable[PlanDiagnostic]) -> None:
        self.diagnostics = tuple(faults)
        self.field_errors = tuple(
            FieldError(fault.place, _told(fault)) for fault in self.diagnostics
        )
        first = "; ".join(str(fault) for fault in self.diagnostics[:3])
        more = len(self.diagnostics) - 3
        super().__init__(f"{first}{f'; and {more} more' if more > 0 else ''}")


class PlanDiagnostics:
    """Those found so far. A text that has nothing right in it is not worth more than these: whoever
    sends one does not keep everybody else waiting."""

    def __init__(self) -> None:
        self.found: list[PlanDiagnostic] = []
        self._guesses = _MOST_GUESSES
        self._doubts: list[tuple[str, AbstractSet[str]]] = []

    def add(self, place: str, what: str, fix: str | None = None) -> None:
        if len(self.found) < MOST_FAULTS:
            self.found.append(PlanDiagnostic(place, what, fix))

    def doubt(self, place: str, names: AbstractSet[str]) -> None:
        """A text there seems to refer to these, and is none that refers to anything."""
        if names and len(self._doubts) < MOST_FAULTS:
            self._doubts.append((place, names))

    def settle_doubts(self, known: AbstractSet[str]) -> None:
        """Once it is known what could be meant: what is no step's name is only a text."""
        for place, names in self._doubts:
            if meant := sorted(names & known):
                what = f"It would be passed on as it stands, and seems to refer to {meant[0]!r}."
                fix = 'Write {"$text": "… ${step.path} …"}, or {"$literal": "…"} if it is meant so.'
                self.add(place, what, fix)

    def guess(self, name: str, known: Iterable[str]) -> str | None:
        """What may have been meant. Each guess takes its time, so that there are only so many."""
        self._guesses -= 1
        return did_you_mean(name, known) if self._guesses >= 0 else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """For a name that is not among those that there are."""
    names: Sequence[str] = list(known)
    close = get_close_matches(name[:_LONGEST_NAME], names, n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else None


def _told(fault: PlanDiagnostic) -> str:
    return f"{fault.what} {fault.fix}" if fault.fix else fault.what


# How much work may go into what the steps of a plan are given: of each step, and of the whole run.
#
# One expression is bounded by itself. There may be ten thousand of them, a thousand times each.

MOST_OF_STEP: Final = 10_000_000
"""As expressions count their work: a million is about a tenth of a second."""
MOST_OF_RUN: Final = 100_000_000
LETTERS: Final = 10
"""Characters given to a step that count as one."""
LETTERS_READ: Final = 20
"""Characters of what an earlier step gave that count as one."""


class TooMuchEffort(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_much_effort"
    title = "It takes too much to put together what steps are given"
    fix = "Refer to fewer and smaller parts, or go through fewer items."

    def __init__(self, whose: str) -> None:
        super().__init__(f"Putting together what {whose} is given takes too much work.")


class Effort:
    def __init__(self, most: int, whose: str, within: "Effort | None" = None) -> None:
        self._most = most
        self._whose = whose
        self._within = within
        self.spent = 0

    @classmethod
    def of_run(cls) -> Self:
        return cls(MOST_OF_RUN, "the whole run")

    def of_step(self) -> "Effort":
        """One step's, which is part of this."""
        return Effort(MOST_OF_STEP, "the step", self)

    def spend(self, work: int) -> None:
        """Raises `TooMuchEffort`."""
        self.spent += work
        if self.spent > self._most:
            raise TooMuchEffort(self._whose)
        if self._within is not None:
            self._within.spend(work)


WHOLE = "@"
"""Among the roots of an expression that looks at its document as a whole."""


class InvalidExpression(PorticoError):
    kind = Kind.INVALID
    code = "bad_expression"
    type_name = "BadExpression"
    title = "Not an expression"
    fix = "Expressions are JMESPath: `json.items[?ok].name`, `length(content) > `3``."

    def __init__(self, expression: str, position: int, what: str) -> None:
        super().__init__(f"{expression[:100]!r}, at character {position + 1}: {what}")
        self.position = position
        """In characters, from 0."""
        self.what = what


class ExpressionTooLarge(PorticoError):
    kind = Kind.EXHAUSTED
    code = "expression_too_large"
    title = "The expression takes or makes too much"
    fix = "Choose less of it: name the fields that are wanted, or filter first."

    def __init__(self, expression: str, what: str) -> None:
        super().__init__(f"{expression[:100]!r} {what}")
        self.what = what


class ExpressionFailed(PorticoError):
    kind = Kind.INVALID
    code = "expression_failed"
    title = "The expression does not fit what is there"
    fix = "Look at what the step gave, and use functions on what they are for."

    def __init__(self, expression: str, what: str) -> None:
        super().__init__(f"{expression[:100]!r}: {what}")
        self.what = what


class Expressions(Protocol):
    """Pure functions: the same expression over the same document always gives the same."""

    def check(self, expression: str) -> None:
        """Raises `InvalidExpression`, also for a function that there is none of."""
        ...

    def roots(self, expression: str) -> frozenset[str]:
        """The names that it looks up in its document itself, and `WHOLE` if it takes it as one.
        Raises `InvalidExpression`."""
        ...

    def search(
        self, expression: str, document: JsonValue, effort: Effort | None = None
    ) -> JsonValue:
        """None for a path to nothing; what it took is spent of `effort`. Raises
        `InvalidExpression`, `ExpressionTooLarge`, `ExpressionFailed` and `TooMuchEffort`; whatever
        the expression, within a fraction of a second."""
        ...


def holds(value: JsonValue) -> bool:
    """Whether a condition with this result is met, as JMESPath has it: not for false, null and
    what is empty, and for 0."""
    return not (value is None or value is False or value in ("", [], {}))


ID: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
INPUTS: Final = "inputs"
ITEM: Final = "item"
INDEX: Final = "index"
RESERVED: Final = frozenset({INPUTS, ITEM, INDEX})

_REFERENCE: Final = re.compile(rf"({ID})(?:\.(.+)|(\[.+))?", re.DOTALL)
_MEANT: Final = re.compile(rf"\$\{{\s*({ID})\s*[.\[}}]|\{{\{{\s*({ID})\s*[.\[}}]")
_OPENING: Final = re.compile(r"(\$+)\{")
_QUOTES: Final = "'\"`"


class Unreadable(ValueError):
    """Says why, to whoever knows the place."""


def read_reference(text: str, *, default: JsonValue = None, has_default: bool = False) -> Reference:
    """From `read.content[0].text` or `item[0]`. Raises `Unreadable`."""
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        what = f"{text[:60]!r} is not a step's id, or one with a dot and a path."
        function = " A function stands behind a pipe: read.json.list | length(@)."
        raise Unreadable(what + function if "(" in text else what)
    return Reference(found[1], (found[2] or found[3] or "").strip(), default, has_default)


def seems_to_refer(text: str) -> frozenset[str]:
    """Of a text that is taken as it stands: what it would refer to, were it a template."""
    return frozenset(found[1] or found[2] for found in _MEANT.finditer(text))


def read_template(text: str) -> Template:
    """`${…}` is a reference, `$${` stands for `${`, and so `$$${…}` is a `$` and a reference.
    Raises `Unreadable`."""
    parts: list[str | Reference] = []
    plain, at = "", 0
    while (opening := _OPENING.search(text, at)) is not None:
        dollars = len(opening[1])
        plain += text[at : opening.start()] + "$" * (dollars // 2)
        at = opening.end()
        if dollars % 2:
            end = _end(text, at)
            parts += [plain, read_reference(text[at:end])]
            plain, at = "", end + 1
        else:
            plain += "{"
    return Template(tuple(part for part in [*parts, plain + text[at:]] if part != ""))


def write_template(template: Template) -> str:
    written = ""
    for part in template.parts:
        if isinstance(part, str):
            written += _OPENING.sub(lambda found: f"{found[1] * 2}{{", part)
        else:
            dollars = len(written) - len(written.rstrip("$"))
            written += "$" * dollars + f"${{{part}}}"
    return written


def references(given: ArgumentTemplate, place: str = "") -> Iterator[tuple[str, Reference]]:
    """Each that stands in it, with its place."""
    if isinstance(given, Reference):
        yield f"{place}/$from", given
    elif isinstance(given, Template):
        inside = (part for part in given.parts if isinstance(part, Reference))
        yield from ((f"{place}/$text", part) for part in inside)
    else:
        for name, inner in inside_of(given):
            yield from references(inner, pointed(place, name))


def inside_of(given: ArgumentTemplate) -> Iterator[tuple[str, ArgumentTemplate]]:
    """What stands directly in a list or an object, by name or number."""
    if isinstance(given, Mapping):
        yield from given.items()
    elif isinstance(given, Sequence) and not isinstance(given, str):
        yield from ((str(number), inner) for number, inner in enumerate(given))


def _end(text: str, at: int) -> int:
    """Where the brace is that ends a reference: braces and quotes of its path do not count."""
    depth, quote = 0, ""
    start = at
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter == "}" and not depth:
            return at
        else:
            depth += (letter == "{") - (letter == "}")
        at += 1
    raise Unreadable(f"The `${{` before {text[start : start + 20]!r} is never closed by `}}`.")


MOST_STEPS: Final = 2_000
MOST_REFERENCES: Final = 10_000
MOST_FALLBACKS: Final = 8
"""That stand in for one another."""
MOST_ITEMS: Final = 1_000
MOST_AT_ONCE: Final = 64
MOST_TRIES: Final = 10
LONGEST_EXPRESSION: Final = 1_000
LONGEST_TIMEOUT: Final = 86_400
DEEPEST: Final = 32
"""Levels of values inside values, of what is written in an argument."""

ID_FIELD: Final[JsonObject] = {"type": "string", "pattern": f"^{ID}$"}
_GIVEN: Final[JsonObject] = {"$ref": "#/$defs/given"}

PLAN: Final[Mapping[str, JsonObject]] = {
    "$schema": {"type": "string", "description": "For editors; Portico does not look at it."},
    "name": {**ID_FIELD, "description": "What it is called, once it is saved."},
    "description": {
        "type": "string",
        "maxLength": 2_000,
        "description": "What it does, for whoever chooses it.",
    },
    "inputs": {
        "type": "object",
        "description": "Its parameters: JSON Schema of each by name.",
        "propertyNames": {"pattern": f"^{ID}$"},
        "additionalProperties": {"type": "object"},
    },
    "required": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The inputs that must be given.",
    },
    "steps": {
        "type": "array",
        "items": {"$ref": "#/$defs/step"},
        "minItems": 1,
        "maxItems": MOST_STEPS,
        "description": "Each begins as soon as what it needs is there; their order says nothing.",
    },
    "output": {
        **_GIVEN,
        "description": "What the plan gives in the end; without it, what its last steps gave.",
    },
}
STEP: Final[Mapping[str, JsonObject]] = {
    "id": {**ID_FIELD, "description": "By this the other steps know it."},
    "tool": {
        "type": "string",
        "pattern": r"^[^.]+\..+$",
        "maxLength": 300,
        "description": "server.tool",
    },
    "arguments": {
        "type": "object",
        "description": 'What the tool is given. {"$from": "read.json.path"} takes what an earlier '
        'step gave, {"$text": "Dear ${who.json.name}"} puts it into a text.',
        "additionalProperties": _GIVEN,
    },
    "after": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Steps that must be over first, however they ended.",
    },
    "when": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_EXPRESSION,
        "description": "JMESPath over earlier steps by their ids; the step is left out unless it "
        "holds: read.json.count > `3`",
    },
    "for_each": {
        "$ref": "#/$defs/forEach",
        "description": "Once for each item of a list, with `item` and `index` at hand.",
    },
    "on_error": {
        "$ref": "#/$defs/onError",
        "description": "stop (as it is without this), skip, or another step that stands in.",
    },
    "timeout": {
        "type": "number",
        "minimum": 0.001,
        "maximum": LONGEST_TIMEOUT,
        "description": "Seconds, of one try.",
    },
    "tries": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_TRIES,
        "description": "For a tool that only reads; whatever may change something is tried once.",
    },
}
FOR_EACH: Final[Mapping[str, JsonObject]] = {
    "in": {**_GIVEN, "description": "The list."},
    "at_once": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_AT_ONCE,
        "description": "How many at a time; 8 without this.",
    },
    "most": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ITEMS,
        "description": "More items than this are a failure; 100 without this.",
    },
}
FALLBACK: Final[Mapping[str, JsonObject]] = {
    "fallback": {"type": "string", "description": "The id of the step that stands in."}
}
FROM: Final[Mapping[str, JsonObject]] = {
    "$from": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_EXPRESSION,
        "description": "A step's id, and after a dot JMESPath into what it gave: its `json`, "
        "`text`, `content` or `structuredContent`; of a for_each its `items`.",
    },
    "default": {**_GIVEN, "description": "Taken where there is nothing."},
}
TEXT: Final[Mapping[str, JsonObject]] = {
    "$text": {
        "type": "string",
        "maxLength": 100_000,
        "description": "A text with ${step.path} in it; $${ stands for ${.",
    }
}
LITERAL: Final[Mapping[str, JsonObject]] = {
    "$literal": {"description": "Anything, taken as it stands."}
}
JSON: Final[Mapping[str, JsonObject]] = {
    "$json": {"type": "string", "description": "A value as JSON text: for null in TOML."}
}
NEEDED: Final = {"steps", "id", "tool", "in", "fallback", "$from", "$text", "$literal", "$json"}


def misfit(value: JsonValue, schema: JsonObject) -> str | None:
    """After "It"; None if it is."""
    kind = schema.get("type")
    if isinstance(kind, str) and not _is(value, kind):
        return f"must be {_NAMES[kind]}."
    match value:
        case str():
            return _text_misfit(value, schema)
        case bool() | None | Mapping():
            return None
        case int() | float():
            return _number_misfit(value, schema)
        case _:
            return _list_misfit(value, schema)


_NAMES: Final = {
    "string": "a text",
    "array": "a list",
    "object": "an object",
    "number": "a number",
    "integer": "a whole number",
}


def _is(value: JsonValue, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, Sequence) and not isinstance(value, str)
        case "object":
            return isinstance(value, Mapping)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _text_misfit(value: str, schema: JsonObject) -> str | None:
    pattern, longest = schema.get("pattern"), schema.get("maxLength")
    if isinstance(longest, int) and len(value) > longest:
        return f"must have at most {longest:,} characters."
    if isinstance(schema.get("minLength"), int) and not value:
        return "must not be empty."
    if isinstance(pattern, str) and re.fullmatch(pattern[1:-1], value) is None:
        server, found, tool = value.partition("__")
        meant = f" Did you mean {f'{server}.{tool}'!r}?" if found and pattern == _TOOL else ""
        return _PATTERNS[pattern] + meant
    return None


_TOOL: Final = r"^[^.]+\..+$"
_PATTERNS: Final[Mapping[JsonValue, str]] = {
    f"^{ID}$": "must begin with a letter or _, go on with letters, digits, _ and -, and have at "
    "most 64 characters.",
    _TOOL: "must be of the form server.tool.",
}


def _number_misfit(value: float, schema: JsonObject) -> str | None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        return f"must be at least {least}."
    if isinstance(most, int) and value > most:
        return f"must be at most {most:,}."
    return None


def _list_misfit(value: Sequence[JsonValue], schema: JsonObject) -> str | None:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(least, int) and len(value) < least:
        return f"must have at least {least}."
    if isinstance(most, int) and len(value) > most:
        return f"must have at most {most:,}, and has {len(value):,}."
    return None


@dataclass(frozen=True, slots=True)
class Need:
    """One step's need of another, and where the plan says so."""

    step: str
    needs: str
    place: str
    """In the step: `/arguments/path/$from`."""
    given: bool = True
    """It wants what that gives; otherwise only that it is over."""
    must: bool = True
    """Without what that gives, it cannot be done: there is no default."""


def needs_of(step: Step, expressions: Expressions) -> Iterator[Need]:
    """As the step itself says it. Raises `InvalidExpression`."""
    wanted = [*references(dict(step.arguments), "/arguments")]
    if step.for_each is not None:
        wanted += references(step.for_each.over, "/for_each/in")
    for place, reference in wanted:
        if reference.step not in RESERVED:
            must = not reference.has_default
            yield Need(step.id, reference.step, place, must=must)
    if step.when is not None:
        for root in sorted(expressions.roots(step.when) - RESERVED):
            yield Need(step.id, root, "/when", must=False)
    for number, name in enumerate(step.after):
        yield Need(step.id, name, f"/after/{number}", given=False, must=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """Of a plan that has been checked: every name in it is there, and nothing goes in circles."""

    needs: Mapping[str, Sequence[Need]]
    """By step, in the order in which they are written."""
    before: Mapping[str, Sequence[str]]
    """By step: all that must be over before it begins, those that may stand in included."""
    order: Sequence[str]
    """One that all of this allows: whatever a step waits for comes before it."""
    stands_in_for: Mapping[str, str]
    """By the id of a step that stands in: whom it stands in for."""
    last: Sequence[str]
    """Those that nobody needs, and that stand in for nobody."""

    def downstream(self, steps: Iterable[str]) -> frozenset[str]:
        """Themselves, and whatever waits for any of them."""
        found = set(steps)
        for name in self.order:
            if not found.isdisjoint(self.before[name]):
                found.add(name)
        return frozenset(found)


def graph_of(plan: Plan, expressions: Expressions) -> Graph:
    needs = {step.id: tuple(needs_of(step, expressions)) for step in plan.steps}
    stands_in = {step.fallback: step.id for step in plan.steps if step.fallback is not None}
    before = before_of(plan.steps, needs)
    order = topological(before)
    wanted = {need.needs for each in needs.values() for need in each}
    last = tuple(
        step.id for step in plan.steps if step.id not in wanted and step.id not in stands_in
    )
    return Graph(needs, before, order, stands_in, last)


def before_of(
    steps: Iterable[Step], needs: Mapping[str, Sequence[Need]]
) -> Mapping[str, Sequence[str]]:
    known = {step.id: step for step in steps}
    fallback = {step.id: step.fallback for step in known.values()}
    stands_in = {other: name for name, other in fallback.items() if other is not None}
    before: dict[str, Sequence[str]] = {}
    for name in known:
        wanted = [other for need in needs[name] for other in with_fallbacks(need.needs, fallback)]
        wanted += [stands_in[name]] if name in stands_in else []
        before[name] = tuple(dict.fromkeys(wanted))
    return before


def with_fallbacks(name: str, fallback: Mapping[str, str | None]) -> Iterator[str]:
    seen: set[str] = set()
    found: str | None = name
    while found is not None and found not in seen:
        seen.add(found)
        yield found
        found = fallback.get(found)


def topological(before: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """In the order of writing where nothing else decides; what goes in circles is not in it."""
    left = {name: len(each) for name, each in before.items()}
    after = waiting_on(before)
    ready = [name for name in before if not left[name]]
    order: list[str] = []
    for name in ready:  # it grows while it is gone through
        order.append(name)
        for other in after[name]:
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    return tuple(order)


def waiting_on(before: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """By step: those that wait for it."""
    after: dict[str, list[str]] = {name: [] for name in before}
    for name, each in before.items():
        for other in each:
            after[other].append(name)
    return after


@dataclass(frozen=True, slots=True)
class CriticalPath:
    steps: Sequence[str]
    seconds: float
    """What the plan takes at least, however much is done at once."""


def critical_path(graph: Graph, seconds: Callable[[str], float]) -> CriticalPath:
    """By what each step takes, for which there may be only estimates. What stands in for another
    is left out: it is not begun unless something fails."""
    until: dict[str, float] = {}
    longest: dict[str, str | None] = {}
    for name in graph.order:
        if name not in graph.stands_in_for:
            waits = [other for other in graph.before[name] if other not in graph.stands_in_for]
            last = max(waits, key=lambda other: until[other], default=None)
            until[name] = (0.0 if last is None else until[last]) + seconds(name)
            longest[name] = last
    end = max(until, key=lambda name: until[name], default=None)
    steps = tuple(reversed(tuple(_back_from(end, longest))))
    return CriticalPath(steps, 0.0 if end is None else until[end])


def _back_from(name: str | None, longest: Mapping[str, str | None]) -> Iterator[str]:
    while name is not None:
        yield name
        name = longest[name]


_MOST: Final = 20
"""That are named; who has more begins with these."""


def circles(before: Mapping[str, Sequence[str]]) -> Iterator[Sequence[str]]:
    """Each as the steps on it, the first one again at its end; each waits for the next."""
    left = {name: list(each) for name, each in before.items()}
    for _ in range(_MOST):
        ordered = set(topological(left))
        stuck = next((name for name in left if name not in ordered), None)
        if stuck is None:
            return
        found = _circle_from(stuck, left, ordered)
        yield found
        left[found[0]].remove(found[1])


def _circle_from(
    name: str, before: Mapping[str, Sequence[str]], ordered: set[str]
) -> Sequence[str]:
    """Whoever cannot begin waits for another that cannot: following them, one comes back."""
    seen: dict[str, int] = {}
    path: list[str] = []
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = next(other for other in before[name] if other not in ordered)
    return [*path[seen[name] :], name]
