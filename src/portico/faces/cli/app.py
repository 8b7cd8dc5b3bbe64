"""The command tree, and the one place where a command is run and its failure told."""

import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, CycloptsError, Group, Parameter

from portico.faces.cli.exits import Exit, exit_for
from portico.faces.cli.house import House
from portico.faces.cli.terminal import PLAIN, Terminal
from portico.kernel.errors import PorticoError

_HELP: Final = """One door for AI agents: to tools, models, each other and their people.

First time here: portico init, then portico serve."""

_COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Start": {
        "init": ("portico.faces.cli.init:init", "Set up this installation; safe to repeat."),
        "serve": ("portico.faces.cli.serve:serve", "Run the server, until Ctrl-C."),
        "status": ("portico.faces.cli.status:status", "How the running server is."),
        "doctor": ("portico.faces.cli.doctor:doctor", "Find what is wrong, and mend it."),
    },
    "Who": {
        "keys": ("portico.faces.cli.keys:app", "Make, list, rotate and revoke keys."),
        "people": ("portico.faces.cli.people:app", "Invite people, add agents, change roles."),
        "spaces": ("portico.faces.cli.spaces:app", "Found, export and delete spaces."),
        "join": ("portico.faces.cli.join:join", "Accept an invitation."),
    },
    "Upkeep": {
        "config": ("portico.faces.cli.config:app", "Show, check and change settings."),
        "db": ("portico.faces.cli.db:app", "The database: migrate, back up, restore, inspect."),
        "version": ("portico.faces.cli.about:version", "Which version this is."),
        "completion": ("portico.faces.cli.about:completion", "Completion script for a shell."),
    },
}


def build(extra: Mapping[str, tuple[str, str]] | None = None) -> App:
    """Commands are named, not imported: each is loaded when it is run."""
    app = App(
        name="portico",
        help=_HELP,
        help_format="plaintext",
        default_parameter=PLAIN,
        version_flags=[],
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    groups = {**_COMMANDS, "Measure": extra or {}}
    for order, (title, commands) in enumerate(groups.items()):
        group = Group(title, sort_key=order)
        for name, (where, text) in commands.items():
            app.command(where, name=name, help=text, group=group)
    app["--help"].group = Group("Options", sort_key=99)
    return app


def run(
    house: House,
    arguments: Sequence[str],
    *,
    extra: Mapping[str, tuple[str, str]] | None = None,
) -> int:
    app = build(extra)
    app.meta.group_parameters = Group("Options", sort_key=99)

    @app.meta.default
    def launch(
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        json: Annotated[bool, Parameter(negative="", help="Answer in JSON.")] = False,
        quiet: Annotated[bool, Parameter(negative="", help="No talk, only data.")] = False,
        no_input: Annotated[bool, Parameter(negative="", help="Never ask.")] = False,
        debug: Annotated[bool, Parameter(negative="", help="Show tracebacks.")] = False,
        config: Annotated[Path | None, Parameter(help="Use this configuration file.")] = None,
    ) -> int:
        terminal = Terminal(
            house=house.with_flags(config=config, flags={}) if config else house,
            json=json,
            quiet=quiet,
            no_input=no_input,
            debug=debug,
        )
        return _guarded(app, tokens, terminal)

    try:
        found: int | None = app.meta(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _usage(error, as_json="--json" in arguments)
    return found or Exit.OK  # help, which answers nothing


def _guarded(app: App, tokens: Sequence[str], terminal: Terminal) -> int:
    try:
        return _call(app, tokens, terminal)
    except PorticoError as error:
        if terminal.debug:
            import traceback

            traceback.print_exc()
        terminal.fail(error)
        return exit_for(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return Exit.OK


def _call(app: App, tokens: Sequence[str], terminal: Terminal) -> int:
    command, bound, ignored = app.parse_args(tokens, exit_on_error=False, print_error=False)
    given: dict[str, Any] = {name: terminal for name, hint in ignored.items() if hint is Terminal}
    result = command(*bound.args, **bound.kwargs, **given)
    if isinstance(result, Coroutine):
        import asyncio

        result = asyncio.run(result)
    return result if isinstance(result, int) else Exit.OK


def _usage(error: CycloptsError, *, as_json: bool) -> int:
    text, fix = str(error).strip(), "See what there is: portico --help"
    if as_json:
        import json

        said = json.dumps({"error": {"code": "usage", "detail": text, "fix": fix}})
    else:
        said = f"✗ {text}\n  fix {fix}"
    print(said, file=sys.stderr)
    return Exit.USAGE
