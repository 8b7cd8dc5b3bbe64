"""Write the reference pages that the code itself knows best; `--check` only says if they are stale.

python docs/generate.py              writes them
python docs/generate.py --check      exits with 1 if one differs from what would be written
python docs/generate.py --beside DIR  puts the pages as text into a site that was built there
"""

import asyncio
import importlib
import inspect
import json
import logging
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

from cyclopts import App
from docstring_parser import parse
from fastapi.exceptions import RequestValidationError
from licences import licences
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from starlette.responses import Response
from written.benchmarks import benchmarks
from written.code_map import code_map
from written.llms import beside, llms
from written.metrics import metrics
from written.testing_doors import testing_doors

import portico
from portico.adapters.builtin.server import OFFERED, VERSION
from portico.adapters.builtin.tool import Offered
from portico.adapters.tokens import O200k
from portico.app.use_cases import Dependencies, assemble
from portico.interfaces.cli.app import build
from portico.interfaces.cli.errors import InternalFailure, exit_for
from portico.interfaces.cli.server import Refused
from portico.interfaces.http import problems
from portico.interfaces.http.app import routes
from portico.interfaces.mcp.bridge.definitions import EVERY, BridgeTool
from portico.interfaces.mcp.bridge.resources import TEMPLATES
from portico.interfaces.mcp.debate.definitions import EVERY as OF_DEBATES
from portico.interfaces.mcp.debate.definitions import DebateTool
from portico.kernel.errors import PorticoError
from portico.kernel.json import canonical
from portico.sandbox.core.probes import GROUPS, TRIALS, Backend, Situation, Trial, Verdict
from portico.settings.model import Settings
from portico.workflows.core.plan_documents import plan_schema

REFERENCE: Final = Path(__file__).parent / "reference"
_AS_BUILT: Final = "development"
"""A page that is kept here is of no version yet; a running server tells its own."""

_NOTE: Final = "<!-- Written by docs/generate.py: change the code, then run it. -->\n"

_CONFIGURATION: Final = """\
# Configuration

Settings are read once, when a command starts, from these places; the first one that has a value
wins:

1. a flag of the command, where it has one (`portico serve --port 3200`),
2. the environment: `PORTICO_SECTION__KEY`, with two underscores between section and key; an empty
   value counts as not set,
3. `portico.toml` in the folder that the command is started in, for `log.level` and `log.format`
   and nothing else,
4. `portico.toml` in your configuration folder (`portico config path` shows where it is),
5. `provisioned.toml` beside it: the addresses that `portico db provision` has written,
6. the default.

`--config FILE` or `PORTICO_CONFIG=FILE` puts one file in the place of 3 and 4.
`PORTICO_HOME=FOLDER` puts every folder that Portico uses below `FOLDER`; see [Files](files.md).

A folder may have come from somebody else, so its file decides nothing that is trusted: any other
setting in it is refused, with its line ([why](../decisions/0043-a-project-file-decides-nothing-trusted.md)).
If you mean to use such a file, name it: `--config portico.toml`.

A string in a file of yours may name environment variables: `${VAR}`, `${env:VAR}`,
`${VAR:-default}`. In the file of 3 they are not resolved.

In a file a value must have its type: `port = 3200`, not `"3200"`. From the environment and from
flags a text is read as what the setting is; `true`, `yes`, `on` and their opposites are truth
values. A variable with one underscore where two are meant, `PORTICO_SERVER_PORT`, is an error.

A server reads its settings when it starts: start it again after a change. Which servers of tools
there are is noticed while it runs: [`gateway.imports`](#gatewayimports), `[servers.NAME]`, and the
files that are imported ([how](../how-to/import-servers.md)).

| command | what it does |
|---|---|
| `portico config show --origin` | every value in force, and where it came from |
| `portico config get server.port` | one value in force |
| `portico config set server.port 3200` | writes it into the file in force, the one that `config path` names, and leaves the rest of it alone; says so if another place wins |
| `portico config unset server.port` | takes it out of that file |
| `portico config validate` | names file, line and mend of what is wrong |
| `portico config schema` | the JSON Schema, for editors |
"""

_CLI: Final = """\
# Command line

Every command takes the options below. Data goes to standard output, talk to standard error. At a
terminal there are tables and colours; in a pipe there are plain lines, the columns parted by
tabs. `NO_COLOR` is obeyed. [Exit codes](exit-codes.md) say how it went.

`init`, `config`, `embeddings`, `db` and `doctor` work in their own process. `servers`, `tools`, `search`,
`call`, `run`, `plan`, `workflows`, `runs`, `agents`, `models`, `bridge`, `debate`, `stdio`, `approvals`, `policy`, `contexts`, `audit`, `secrets`, `keys`, `people`,
`spaces`, `status` and `join` talk to the running server, with the key that `init` or `join --save` has left in the
key file: to this machine's own, or to the one that [`client.server`](configuration.md#clientserver)
names.

| option | what it does |
|---|---|
"""

_ERRORS: Final = """\
# Errors

Every error has a stable `code`. Over REST it comes as `application/problem+json` (RFC 9457), with
`type` `urn:portico:problem:CODE`; on the command line it is printed with what to do about it, and
with `--json` as an object on standard error. Programs should look at the code: the sentences may
get better.

The kind of an error decides the HTTP status and the exit code; a few codes have one of their own.
An error that only the command line meets is listed with the status that its kind would give it.
What nobody foresaw is `internal_error`: status 500 over REST, exit code 1 on the command line,
where `--debug` shows the traceback.

"""


def configuration() -> str:
    parts = [_NOTE, _CONFIGURATION]
    for section, field in Settings.model_fields.items():
        tables = [each for each in get_args(field.annotation) if each is not str]  # by name
        model = cast("type[BaseModel]", tables[0] if tables else field.annotation)
        section = f"{section}.NAME" if tables else section
        parts.append(f"\n## {section}\n\n{inspect.getdoc(model)}\n")
        for name, setting in model.model_fields.items():
            parts.append(_setting(section, name, setting))
        parts += [_tables(section, name, each) for name, each in _lists_of_tables(model)]
    return "".join(parts)


def _lists_of_tables(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, setting in model.model_fields.items():
        inside = get_args(setting.annotation)[:1]
        if inside and isinstance(inside[0], type) and issubclass(inside[0], BaseModel):
            yield name, inside[0]


def _tables(section: str, name: str, model: type[BaseModel]) -> str:
    path = f"{section}.{name}"
    parts = [f"\n## [[{path}]]\n\n{inspect.getdoc(model)}\n"]
    parts += [_setting(path, field.alias or n, field) for n, field in model.model_fields.items()]
    return "".join(parts)


def _setting(section: str, name: str, field: FieldInfo) -> str:
    default = field.default if field.default is not PydanticUndefined else None
    shown = "not set" if default is None else f"`{json.dumps(default)}`"
    variable = f"PORTICO_{section}__{name}".upper()
    in_file = "." in section or _type(field) == "list of tables"
    told = "only in the file" if in_file else f"`{variable}`"
    return (
        f"\n### {section}.{name}\n\n{_one_line(field.description)}\n\n"
        f"| type | default | environment |\n|---|---|---|\n"
        f"| {_type(field)} | {shown} | {told} |\n"
    )


def _type(field: FieldInfo) -> str:
    kinds = [kind for kind in _alternatives(field.annotation) if kind is not NoneType]
    text = " or ".join(_type_name(kind) for kind in kinds)
    limits = {
        word: getattr(bound, word)
        for bound in field.metadata
        for word in ("ge", "le")
        if getattr(bound, word, None) is not None
    }
    return f"{text} from {limits['ge']} to {limits['le']}" if len(limits) == 2 else text


def _alternatives(hint: object) -> Sequence[object]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else [hint]


def _type_name(kind: object) -> str:
    if get_origin(kind) is Annotated:
        return _type_name(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        tables = isinstance(get_args(kind)[0], type) and issubclass(get_args(kind)[0], BaseModel)
        return "list of tables" if tables else "list of texts"
    if get_origin(kind) is Mapping:
        return "texts by name"
    if get_origin(kind) is list:
        return f"{_type_name(get_args(kind)[0])}, repeatable"
    names = {
        str: "text",
        int: "number",
        float: "number",
        bool: "`true` or `false`",
        SecretStr: "secret text",
    }
    return names.get(cast("type", kind), getattr(kind, "__name__", str(kind)).lower())


def command_line() -> str:
    app = build(
        {"bench": ("portico.bench.command:app", "Measure the figures that the docs quote.")}
    )
    options = {
        "--json": "Answer in JSON.",
        "--quiet": "No talk, only data.",
        "--no-input": "Never ask.",
        "--debug": "Show tracebacks.",
        "--config PATH": "Use this configuration file.",
        "--version": "Which version this is.",
        "--help, -h": "Show what there is, and exit.",
    }
    parts = [_NOTE, _CLI, *(f"| `{name}` | {what} |\n" for name, what in options.items())]
    for name, command in _commands(app):
        parts.append(f"\n## portico {name}\n")
        parts += _with_below(name, command)
    return "".join(parts)


def _with_below(name: str, command: App) -> Iterator[str]:
    """A command and those below it, a heading deeper each."""
    below = list(_commands(command))
    if not below or command.default_command is not None:
        yield _command(name, command)
    elif " " in name:
        yield f"\n{_one_line(command.help)}\n"
    for verb, leaf in below:
        whole = f"{name} {verb}"
        yield f"\n{'#' * (len(whole.split()) + 1)} portico {whole}\n"
        yield from _with_below(whole, leaf)


def _commands(app: App) -> Iterator[tuple[str, App]]:
    for name, command in app.resolved_commands().items():
        if not name.startswith("-"):
            yield name, command


def _command(name: str, command: App) -> str:
    if command.default_command is None:
        return f"\n{command.help}\n"
    told = parse(inspect.getdoc(command.default_command) or "")
    about = {each.arg_name: _one_line(each.description) for each in told.params}
    given = [argument for argument in command.assemble_argument_collection() if argument.show]
    rows = [_parameter(argument, about) for argument in given]
    usage = " ".join(["portico", name, *_positional(given), *(["[OPTIONS]"] if rows else [])])
    table = "\n| parameter | type | what it is |\n|---|---|---|\n" + "".join(rows) if rows else ""
    first, rest = told.short_description or "", told.long_description or ""
    if not told.blank_after_short_description:  # it goes on in the next line
        begun, _, rest = rest.partition("\n\n")
        first = f"{first} {begun}"
    more = "".join(_paragraphs(rest))
    return f"\n```text\n{usage}\n```\n\n{_one_line(first)}\n{more}{table}"


def _paragraphs(text: str) -> Iterator[str]:
    """One that is a command is shown as code."""
    for paragraph in filter(None, map(_one_line, text.split("\n\n"))):
        yield f"\n`{paragraph}`\n" if paragraph.startswith("portico ") else f"\n{paragraph}\n"


def _positional(arguments: Iterable[Any]) -> Iterator[str]:
    for argument in arguments:
        if argument.field_info.kind is inspect.Parameter.POSITIONAL_ONLY:
            word = argument.name
            yield word if argument.required else f"[{word}]"
        elif argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL:
            yield f"[{argument.name} …]"


def _parameter(argument: Any, about: Mapping[str, str]) -> str:  # noqa: ANN401 # cyclopts' own
    field = argument.field_info
    kinds = [kind for kind in _alternatives(argument.hint) if kind is not NoneType]
    kind = " or ".join(map(_type_name, kinds))
    name = argument.name
    if bool in kinds:
        kind = "flag"
    notes = [about.get(field.name, "")]
    notes += [f"Or the environment variable `{each}`." for each in argument.parameter.env_var or ()]
    if argument.required:
        notes.append("Required.")
    elif field.default not in (None, False, "", inspect.Parameter.empty):
        notes.append(f"Default: `{field.default}`.")
    made_up = ("--no-", "--empty-")  # by the library, for everything there is
    more = (each for each in argument.names if each != name and not each.startswith(made_up))
    spelled = "`, `".join([name, *more])
    return f"| `{spelled}` | {kind} | {' '.join(filter(None, notes))} |\n"


def errors() -> str:
    known = {error.code: error for error in _every_error()}
    rows = "".join(
        f"| [`{code}`](#{code}) | {error.kind} | {problems.status_of(_blank(error))} |"
        f" {int(exit_for(_blank(error)))} |\n"
        for code, error in sorted(known.items())
    )
    table = f"| code | kind | HTTP status | exit code |\n|---|---|---|---|\n{rows}"
    sections = "".join(_section(code, known[code]) for code in sorted(known))
    wire = "".join(
        f"| `{found['code']}` | {found['status']} | {found['title']} | {found['fix'] or ''} |\n"
        for found in _wire_problems()
    )
    return (
        f"{_NOTE}{_ERRORS}{table}\n## Only over REST\n\n"
        f"| code | HTTP status | title | fix |\n|---|---|---|---|\n{wire}{sections}"
    )


def _every_error() -> Iterator[type[PorticoError]]:
    for module in pkgutil.walk_packages(portico.__path__, "portico."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting = [PorticoError]
    while waiting:
        found = waiting.pop().__subclasses__()
        waiting += found
        yield from (
            each for each in found if each not in (Refused, InternalFailure) and hasattr(each, "code")
        )


def _blank(error: type[PorticoError]) -> PorticoError:
    """One without its facts: what is asked of it is the same for all of its kind."""
    return cast("PorticoError", error.__new__(error))


def _section(code: str, error: type[PorticoError]) -> str:
    about = _one_line(inspect.getdoc(error)) if error.__doc__ else ""
    fix = error.fix or "Told with the error: it depends on the case."
    return (
        f"\n## {code}\n\n{error.title}.{' ' + about if about else ''}\n\n"
        f"What to do: {fix}\n\n"
        f"`{error.__module__}.{error.__qualname__}`\n"
    )


def _wire_problems() -> Iterator[dict[str, Any]]:
    logging.disable()
    request = cast("Any", SimpleNamespace(method="GET", scope={}))
    for status, (code, title, fix) in sorted(problems._BY_STATUS.items()):
        yield {"code": code, "status": status, "title": title, "fix": fix}
    yield _body(asyncio.run(problems.on_invalid_request(request, RequestValidationError([]))))
    yield _body(asyncio.run(problems.on_unexpected(request, Exception())))
    logging.disable(logging.NOTSET)


def _body(response: Response) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(response.body))
    return found


def openapi() -> str:
    nothing = cast("Any", None)
    doors = Dependencies(
        key_ring=nothing,
        keys=nothing,
        sessions=nothing,
        principals=nothing,
        spaces=nothing,
        receipts=nothing,
        book=nothing,
        runs=nothing,
        queue=nothing,
        kinds=nothing,
        event_log=nothing,
        bus=nothing,
        seal=nothing,
        unit_of_work=nothing,
        audit=nothing,
        audit_log=nothing,
        audit_heads=nothing,
        contexts=nothing,
        clock=nothing,
        entropy=nothing,
        pepper=b"",
        store_status=nothing,
        leavings=nothing,
        version=_AS_BUILT,
        base_url="http://127.0.0.1:3100",
    )

    @asynccontextmanager
    async def running() -> Any:  # noqa: ANN401 # never entered
        yield

    return json.dumps(routes(assemble(doors), nothing, running).openapi(), indent=2) + "\n"


_BOX: Final = """\
# What a box holds

Servers of tools and commands of agents run in a box. There are two kinds: **bubblewrap** has files,
processes and a network of its own, and inside it Landlock, seccomp and limits; **landlock** has the last
three alone, for machines that give no namespaces. When Portico starts it tries to get out of each, and
offers the first that held; `portico doctor` shows what came of it. What holds was found out by trying, not
by reading what it should do ([why](../decisions/0079-a-box-is-what-its-probes-say.md)).

Below is every attempt there is, {count} in all, and what comes of it: as root (things in the box then run as
another account), as an ordinary user, and as a user who may have no namespaces. A test makes all of them, in
each box and each situation, and fails if one does not end as it stands here. Those with a star ({quick} of
them) are made at every start. What lies outside to be reached is as open as it can be, and belongs to the
account of the box: it is not the rights of a file that hold.

Not bounded: how much is written, all files together, into a folder that was granted to be written.
"""


def box() -> str:
    heads = [(backend, situation) for backend in Backend for situation in Situation]
    shown = [head for head in heads if TRIALS[0].declared(*head) is not Verdict.ABSENT]
    titles = [f"{backend}: {situation}" for backend, situation in shown]
    top = f"| attempt | {' | '.join(titles)} | first wall |\n|---|{'---|' * len(shown)}---|\n"
    quick = sum(trial.quick for trial in TRIALS)
    groups = "".join(
        f"\n## {title}\n\n{top}{''.join(_trial(trial, shown) for trial in group)}"
        for title, group in GROUPS.items()
    )
    opened = "".join(
        f"- `{trial.name}` in {backend}: {why}\n"
        for trial in TRIALS
        for backend, why in trial.open_in.items()
    )
    head = _BOX.format(count=len(TRIALS), quick=quick)
    return f"{_NOTE}{head}\n## What is not held\n\n{opened}{groups}"


def _trial(trial: Trial, shown: Sequence[tuple[Backend, Situation]]) -> str:
    verdicts = [trial.declared(*head) for head in shown]
    said = [each if each is Verdict.HELD else f"**{each}**" for each in verdicts]
    walls = " / ".join(dict.fromkeys(trial.walls[each] for each in Backend))
    star = " \\*" if trial.quick else ""
    return f"| `{trial.name}`{star}: {trial.sentence} | {' | '.join(said)} | {walls} |\n"


_BUILTIN: Final = """\
# Built-in tools

Portico brings a few tools of its own, as a server of the gateway that is called `builtin`. It is in every
space, and waits for approval as any other server does ([how](../how-to/use-built-in-tools.md),
[why](../decisions/0085-built-in-tools-are-a-server.md)). This is version {version} of it.

Where the [box](box.md) is not offered, `shell` is not listed; `portico servers show builtin` says why. The
tools for files and `shell` share one workspace, a folder of whoever calls, which holds up to 1 GB. What a
tool refuses comes back as an answer with `isError`, and in `structuredContent` a `code`, a `message` and
mostly a `fix` ([errors](errors.md)).

| tool | effect | what it is for |
|---|---|---|
"""


def builtin_tools() -> str:
    rows = "".join(
        f"| [`{each.name}`](#{each.name}) | `{each.effect}` | {each.definition['title']} |\n"
        for each in OFFERED
    )
    return f"{_NOTE}{_BUILTIN.format(version=VERSION)}{rows}{''.join(map(_tool, OFFERED))}"


def _tool(offered: Offered) -> str:
    said = cast("dict[str, Any]", offered.definition)
    return (
        f"\n## {offered.name}\n\n{said['description']}\n"
        f"\n| argument | type | what it is |\n|---|---|---|\n{_fields(said['inputSchema'], 'Required.')}"
        f"\n| in the answer | type | what it is |\n|---|---|---|\n{_fields(said['outputSchema'], 'Always there.')}"
    )


_BRIDGE: Final = """\
# Tools of the bridge

What an MCP client finds at `/mcp/bridge` ([how to connect one](../how-to/bridge-for-agents.md)): {number} tools,
which cost {tokens:,} tokens together as o200k counts them. Whoever may only read is shown those that only read.
A key with `bridge:read` reads, one with `bridge:write` writes as well.

- People are named, not numbered: `to`, `mentions`, `add`, `remove` take names as messages and `portico people list` show them.
- A project is given by its name or its id. Of several with the same name the most secret one is meant.
- `label` is a [label](../explanation/labels.md) as text, `team+finance`. Without one, what is written is as secret
  as the place where it is written and as all that was read in this task; the answer says `raised` if that is more
  than the place asks for.
- `upto` is a label too: what is more secret is left out, and so it does not raise you.
- A field that is not known is refused, and so is one of another type: nothing is passed over.
- An answer is a text for a model, and in `structuredContent` the same for a program. What others wrote is set in, so
  that it cannot be taken for words of the bridge. A refusal has `isError`; its text begins with a
  [code](errors.md) and ends with what to do, and `_meta` has both under `portico/error`.

## Resources

| address | what it is |
|---|---|
{resources}
What is listed is no more secret than what you have read in this task: many clients list unasked, and a list must not
raise whoever has not asked for it. A conversation can be subscribed to, with `subscriptions/listen` (2026-07-28) or
`resources/subscribe` (before): you are told its address whenever something was said there that you may read, and
nothing else. One session or stream follows up to 64 conversations.

## Tools

| tool | what it does | hint |
|---|---|---|
"""

_BRIDGE_ARGUMENTS: Final = {
    "upto": "The most secret that you want to be told of.",
    "label": "How secret it is; see above.",
    "after": "The id, or the key, of the last one that you have seen.",
    "limit": "How many at most; 20, up to 200.",
    "project": "Its name or id.",
    "conversation": "Its id.",
    "read.conversations": "Ids; up to 16 under one cursor.",
    "read.cursor": "What the last `read` of the same conversations, with the same `upto`, has given.",
    "read.wait": "Seconds to wait for something new, at most 20.",
    "read.before": "What is `older` in an answer without `cursor`, or `before` in one with it.",
    "read.thread": "The id of a message in it.",
    "read.attachment": "The digest of a file, up to a megabyte.",
    "read.peek": "Leave it unread.",
    "send.to": "To whom it is directed; others who are cleared can read it as well.",
    "send.mentions": "Besides those whom the text names with an `@`.",
    "send.key": "Of your own choice; with the same one a message that was sent before is not sent again.",
    "send.reply_to": "The id of the message that it answers.",
    "send.ack_within": "Those in `to` are to acknowledge it within so many seconds.",
    "conversation_set.add": "Who takes part from now on.",
    "conversation_set.remove": "Who does no more.",
    "conversation_set.muted": "Not counted as unread, for yourself.",
    "change.lower_to": "Less secret: a person is asked, and a copy is sent if they say yes.",
    "memory_get.history": "All versions, the newest first.",
    "memory_find.words": "All of them must be in the key or the value.",
    "memory_find.prefix": "How keys begin.",
    "memory_set.forget": "Its history stays.",
    "lease.resource": "A name, or a pattern: `*` is anything but `/`, `**` anything.",
    "lease.seconds": "How long; 600.",
    "lease.queue": "To be in the queue if it is another's.",
    "lease.lease": "Its id.",
    "lease.token": "That of your lease, or of your claim.",
    "task.task": "Its id.",
    "task.token": "That of your claim.",
    "task.depends": "Ids of what has to be over first.",
    "task.state": "`open`, `claimed`, `done` or `dropped`; all, if left out.",
    "task.to": "A name; whoever comes, if left out.",
    "task.outcome": "What came of it.",
    "task.key": "Of your own choice; with the same one nothing is added twice.",
    "project_set.note": "Beside `doing`.",
    "project_set.doing": "For two minutes, unless you say it again.",
    "attach.text": "What is in it; or `base64`.",
    "attach.media_type": "`text/plain` of a text, else `application/octet-stream`.",
}


def bridge_tools() -> str:
    rows = "".join(
        f"| [`{tool.name}`](#{tool.name}) | {tool.description.replace('|', chr(92) + '|')} | "
        f"{_hint(tool)} |\n"
        for tool in EVERY
    )
    resources = "".join(f"| `{it['uriTemplate']}` | {it['description']} |\n" for it in TEMPLATES)
    tokens = sum(O200k().count(canonical(tool.listed()).decode()) for tool in EVERY)
    head = _BRIDGE.format(number=len(EVERY), tokens=tokens, resources=resources)
    return f"{_NOTE}{head}{rows}{''.join(map(_bridge_tool, EVERY))}"


def _bridge_tool(tool: BridgeTool) -> str:
    return _tool_of(tool, _BRIDGE_ARGUMENTS)


_DEBATE: Final = """\
# Tools of debates

What an MCP client finds at `/mcp/debate`, or over `portico stdio --face debate`: {number} tools, which cost {tokens:,}
tokens together as o200k counts them. Everybody is shown what they may use: `debates:read` is for `replay` and
`debate_status`, `debates:run` for `debate`, `analyze`, `outcome` and to stop a debate, `debates:join` for `join_debate`.

- `debate` and `analyze` answer with what came of it if that is within `wait`, else with the id of what goes on:
  `debate_status` waits for it. One with `guests` answers at once, since its guests need the id.
- `estimate_only` asks nobody and spends nothing.
- A field that is not known is refused, and so is one of another type: it may have been a bound that was meant to hold.
- An answer is a text for a model, and in `structuredContent` the same for a program. What voices said is set in, so
  that it cannot be taken for words of ours. A refusal has `isError`; its text begins with a [code](errors.md) and ends
  with what to do, and `_meta` has both under `portico/error`.
- What you are told of a debate raises what you have read to its [label](../explanation/labels.md).

## Tools

| tool | what it does | hint |
|---|---|---|
"""

_DEBATE_ARGUMENTS: Final = {
    "question": "What is asked.",
    "task": "What is to be analysed.",
    "debate": "Its id, `dbt_…`.",
    "kind": "Of the question; by its words, if left out. All but `open` have answers that can be counted.",
    "choices": "The answers that there are.",
    "topic": "What the voices' records are kept by; `general`.",
    "preset": "How it is held; by the kind of the question, if left out.",
    "voices": "Who is asked: `openai:gpt-5`, `agent:NAME`, `program:claude`; those of the settings, if left out.",
    "roles": "Personas, dealt to the voices in turn: `critic`, `security+architect` for both at once, "
    "`openai:gpt-5=critic` for that voice.",
    "budget": "Tokens that it may spend, at most; that of the settings, if left out.",
    "deadline": "Seconds after which it is decided with the answers in hand.",
    "project": "Its name or id.",
    "memory": "Keys of the project's memory that every voice reads.",
    "material": "What it is about, read by every voice.",
    "label": "How secret it is, if it is more than what you have read.",
    "shared": "With its project; else only you can read it.",
    "unbounded": "Also ask voices that cannot be held to a maximum.",
    "guests": "Seats for those who call `join_debate`.",
    "estimate_only": "Only say what it would cost.",
    "wait": "Seconds to wait for it, at most 50.",
    "key": "Of your own choice; with the same one nothing is begun twice.",
    "parts": "Sub-questions, at most; 6.",
    "join_debate.wait": "Seconds to wait until something is asked of you, at most 50.",
    "join_debate.answer": "To what you were asked.",
    "rationale": "Why, in a few sentences.",
    "evidence": "What it rests on.",
    "confidence": "How sure you are, 0 to 1.",
    "veto": "What you object to, where you sit as a specialist.",
    "changed_because": "In the second round, the error in your first answer; without it that one counts.",
    "outcome.right": "Whether the decision was right.",
    "outcome.answer": "What is right, where it was not.",
    "source": "Who says so.",
    "note": "Beside it.",
    "replay.thoroughness": "As if it had been this, 0 to 1.",
    "without": "Voices as if they had not been there.",
    "rounds": "1 or 2.",
    "words": "Of the question.",
    "stop": "End it now, by the answers in hand. Only whoever has started it can; a part is stopped with its analysis.",
    "after": "The id of the last one that you have seen.",
}


def debate_tools() -> str:
    rows = "".join(
        f"| [`{tool.name}`](#{tool.name}) | {tool.description} | {_hint(tool)} |\n"
        for tool in OF_DEBATES
    )
    tokens = sum(O200k().count(canonical(tool.listed()).decode()) for tool in OF_DEBATES)
    told = "".join(_tool_of(tool, _DEBATE_ARGUMENTS) for tool in OF_DEBATES)
    return f"{_NOTE}{_DEBATE.format(number=len(OF_DEBATES), tokens=tokens)}{rows}{told}"


def _tool_of(tool: BridgeTool | DebateTool, arguments: Mapping[str, str]) -> str:
    rows = ""
    for name, field in tool.properties.items():
        own = arguments.get(f"{tool.name}.{name}", arguments.get(name, ""))
        if not own and "description" in field:
            own = f"{str(field['description']).capitalize()}."
        needed = "Required." if name in tool.required else ""
        told = " ".join(filter(None, [own, needed]))
        rows += f"| `{name}` | {_json_type(field)} | {told} |\n"
    table = f"\n| argument | type | what it is |\n|---|---|---|\n{rows}" if rows else ""
    return f"\n## {tool.name}\n\n{tool.description}\n{table}"


def _hint(tool: BridgeTool | DebateTool) -> str:
    hints = tool.effect.hints
    if "readOnlyHint" in hints:
        return "read-only"
    return "destructive" if hints["destructiveHint"] else "not destructive"


def _fields(schema: Mapping[str, Any], needed: str, within: str = "") -> str:
    rows = ""
    for name, field in schema["properties"].items():
        notes = [field.get("description", "")]
        if name in schema["required"]:
            notes.append(needed)
        if "default" in field and field["default"] != "":
            notes.append(f"Default: `{field['default']}`.")
        told = " ".join(filter(None, notes)).replace("|", "\\|")
        rows += f"| `{within}{name}` | {_json_type(field)} | {told} |\n"
        if "properties" in field.get("items", {}):
            rows += _fields(field["items"], needed, f"{within}{name}[].")
    return rows


def _json_type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    kinds = field.get("type", "anything")
    text = " or ".join(kinds) if isinstance(kinds, list) else kinds
    most = field.get("maxLength", field.get("maximum"))
    return f"{text}, at most {most:,}" if most else text


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def plan_schema_text() -> str:
    return json.dumps(plan_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: Final = {
    "benchmarks.md": lambda: f"{_NOTE}{benchmarks()}",
    "configuration.md": configuration,
    "box.md": box,
    "bridge-tools.md": bridge_tools,
    "builtin-tools.md": builtin_tools,
    "cli.md": command_line,
    "debate-tools.md": debate_tools,
    "errors.md": errors,
    "metrics.md": lambda: f"{_NOTE}{metrics()}",
    "licences.md": lambda: licences(_NOTE),
    "openapi.json": openapi,
    "plan.schema.json": plan_schema_text,
    "testing.md": lambda: f"{_NOTE}{testing_doors()}",
    "../subsystems/map.md": lambda: f"{_NOTE}{code_map()}",
    "../llms.txt": llms,  # the last: it tells of the others
}


def main(arguments: Sequence[str]) -> int:
    if "--beside" in arguments:
        beside(Path(arguments[-1]))
        return 0
    stale = []
    for name, write in PAGES.items():
        file, text = REFERENCE / name, write()
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            file.write_text(text, encoding="utf-8")
    if "--check" in arguments and stale:
        print(f"stale: {', '.join(stale)}; run: python docs/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
