"""Names that somebody keeps: in a store, a script, a dashboard or a configuration.

`names.toml` has them all, read out of the source by their form, so that a name which a rename adds,
changes or loses is seen wherever it stands. A new feature adds its names to it.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from cyclopts import App
from pydantic import BaseModel

from portico.adapters.cross_domain.promotion import PROMOTION
from portico.adapters.dbos import system
from portico.agents.core.activation import KIND
from portico.bridge.declassification import DECLASSIFICATION
from portico.debate.conduct import DEBATE
from portico.debate.debates import ANALYSIS
from portico.engine.core.runs import Activation, Discreet, QueuePlacement, failure_of
from portico.engine.drill import DRILL
from portico.gateway.approved_calls import APPROVED_CALL
from portico.interfaces.cli.app import build
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.label import Level
from portico.learning.core.prefetch_gates import ARRIVAL, GATES
from portico.settings.model import Settings
from portico.workflows.core.programs import PROGRAM
from portico.workflows.execution import WORKFLOW
from tests.golden.strings import SOURCE, classes, constants, sources, strings
from tests.golden.values import RUN

GOLDEN: Final[Mapping[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "names.toml").read_text()
)
_DOTTED: Final = re.compile(r"[a-z_{}]+(?:\.[a-z_{}]+)+")
_FILE: Final = re.compile(
    r".*\.(?:age|conf|controllers|css|d|html|identity|js|json|key|lock|log|max|md|mod|ndjson|new|npy"
    r"|npz|onnx|pid|plist|procs|py|safetensors|sock|sql|toml|txt|types|undone|xml|cache)"
)
_FILLED: Final = re.compile(r"[a-z0-9_{}]*[-:/#~][-:/#~a-z0-9_{}]*")
_ADDRESS: Final = re.compile(r"/|https?:|#|(?:\{\})*/(?!~)")
_BEGINS: Final = re.compile(r"[a-z_{}~/-]*[a-z}][-:~]|/?~[a-z-]+")
_OURS: Final = re.compile(r"(?i)portico(?!__)[_/-][a-z0-9_/{}-]+")  # not schemas of OpenAPI
_IN_SQL: Final = re.compile(
    r"(?:set_config|current_setting|hashtextextended|pg_notify)\('(portico[\w. ]+)'"
    r"|LISTEN (portico\w+)"
)


def dotted() -> Iterator[str]:
    """Audit actions, events, operations, loggers, attributes of spans, settings."""
    for text in strings():
        named = re.search("[a-z]", text.replace("{}", ""))
        if _DOTTED.fullmatch(text) and named and not (_FILE.fullmatch(text) or is_module(text)):
            yield text


def is_module(text: str) -> bool:
    """Such as are started or loaded by name: they are moved on purpose."""
    path = SOURCE.parent.joinpath(*text.split("."))
    return text.count(".") > 1 and (path.is_dir() or path.with_suffix(".py").is_file())


def loggers() -> Iterator[str]:
    """People set the level of each by its name."""
    for text in sources():
        yield from re.findall(r'getLogger\("([^"]+)"\)', text)


def filled_in() -> Iterator[str]:
    """Steps of journals, topics, keys, subjects of limits, and how each of them begins."""
    for text in strings():
        filled = "{}" in text and _FILLED.fullmatch(text) and re.search("[a-z]", text)
        if (filled and not _ADDRESS.match(text)) or _BEGINS.fullmatch(text):
            yield text


def of_ours() -> Iterator[str]:
    """Metrics, cookies, headers, variables of the environment, keys of `_meta`."""
    for text in strings():
        if _OURS.fullmatch(text) and not is_module(text.replace("/", ".")):
            yield text


def steps() -> Iterator[str]:
    """What journals call them, where it is said right there."""
    for text in sources():
        for name in re.findall(r'\.(?:step|start|sleep|publish)\(\s*f?"([^"]+)"', text):
            yield re.sub(r"\{[^{}]*\}", "{}", name)


def in_sql() -> Iterator[str]:
    """Variables that policies read, names of locks and of channels."""
    for text in (*sources(), *sources(form="*.sql")):
        yield from filter(None, ("".join(found) for found in _IN_SQL.findall(text)))


def enums() -> Iterator[str]:
    """The values of each, in their order: they are stored and sent."""
    for node in classes("Enum)"):
        kinds = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if kinds & {"StrEnum", "IntEnum", "Enum"}:
            yield "|".join(value for _, value in constants(node))


def errors() -> Iterator[str]:
    """The code of each, and the `type` of a failure that it is the cause of."""
    for node in classes("\n    code"):
        found = {"type_name": node.name, **dict(constants(node))}
        if "code" in found:
            yield f"{found['code']} {found['type_name']}"


def commands(app: App | None = None, before: str = "") -> Iterator[str]:
    """Functions that are named otherwise are other commands. What each takes is in its help."""
    for name, command in (app or build()).resolved_commands().items():
        if name.startswith("-"):
            continue
        yield f"{before}{name}"
        yield from commands(command, f"{before}{name} ")


def settings() -> Iterator[str]:
    """Sections and names in them; each is an environment variable, too."""
    for section, part in Settings():
        yield section
        if isinstance(part, BaseModel):
            yield from (f"{section}.{name}" for name in type(part).model_fields)


def prefixes() -> Iterator[str]:
    for node in classes("\n    prefix = "):
        yield from (value for name, value in constants(node) if name == "prefix")


FOUND: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "dotted": dotted,
    "filled_in": filled_in,
    "of_ours": of_ours,
    "loggers": loggers,
    "steps": steps,
    "in_sql": in_sql,
    "enums": enums,
    "errors": errors,
    "commands": commands,
    "settings": settings,
    "prefixes": prefixes,
    "gates": lambda: chain((each.name for each in GATES), (each.name for each in ARRIVAL)),
}


@pytest.mark.parametrize("which", FOUND)
def test_names_are_as_ever(which: str) -> None:
    found, known = {*FOUND[which]()}, {*GOLDEN[which]}

    assert (sorted(found - known), sorted(known - found)) == ([], []), "what is new, what is gone"


def test_no_logger_is_named_after_its_module() -> None:
    assert [text for text in sources() if "getLogger(__name__)" in text] == []


def test_levels_are_spelled_and_ordered_as_ever() -> None:
    """Their names come from those of the members."""
    assert {str(level): int(level) for level in Level} == {
        "public": 0,
        "team": 1,
        "confidential": 2,
        "restricted": 3,
    }


def test_what_the_engine_hands_out_is_called_as_ever() -> None:
    kinds = [KIND, WORKFLOW, PROGRAM, DEBATE, ANALYSIS, APPROVED_CALL, DECLASSIFICATION, PROMOTION]

    assert [*kinds, DRILL] == [
        "agent",
        "workflow",
        "program",
        "debate",
        "analysis",
        "approved_call",
        "declassification",
        "debate_promotion",
        "drill",
    ]
    assert (system.APPLICATION, system.VERSION, system.LEG) == ("portico", "1", "portico.leg")
    assert system.SERIALIZER.name() == "portable_json"
    assert QueuePlacement().queue == "runs"
    assert Activation(RUN, 3).name == "00000000-0000-0000-0000-000000000004:3"


def test_an_error_whose_class_was_renamed_keeps_its_type() -> None:
    class Renamed(PorticoError):
        type_name = "Earlier"
        kind, code, title = Kind.INVALID, "renamed", "Renamed"

    class Below(Renamed):
        code = "below"

    kept = Discreet(failure_of(Renamed("it was")))

    assert failure_of(kept).type == "Earlier"
    assert failure_of(Below("it was")).type == "Below"
