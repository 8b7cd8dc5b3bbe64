"""The command tree, where a command is run and its failure told; `version` and `completion`."""

import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import (
    App,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
)

from portico.interfaces.cli.commands import COMMANDS, HELP, OPTIONS
from portico.interfaces.cli.errors import (
    Exit,
    InternalFailure,
    SystemRefused,
    exit_for,
    nobody_reads,
)
from portico.interfaces.cli.services import CliServices
from portico.interfaces.cli.terminal import PLAIN, STANDARD_INPUT, At, Terminal
from portico.kernel.errors import PorticoError
from portico.kernel.redaction import blacked_out

_GUESS: Final = " Did you mean "
_WIDEN: Final = ("--always", "--for-run", "--replace", "--tainted", "--unboxed", "--yes")
"""Options by which more is let through: nobody is to type one of them because it was guessed."""
_HELP: Final = frozenset({"--help", "-h"})
_FROM_FILES: Final = frozenset({"run", "plan", "workflows"})


def build(extra: Mapping[str, tuple[str, str]] | None = None) -> App:
    """Commands are named, not imported: each is loaded when it is run."""
    app = App(
        name="portico",
        help=HELP,
        help_format="plaintext",
        default_parameter=PLAIN,
        version_flags=[],
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    groups = {**COMMANDS, "Measure": extra or {}}
    for order, (title, commands) in enumerate(groups.items()):
        group = Group(title, sort_key=order)
        for place, (name, (where, _)) in enumerate(commands.items()):
            app.command(where, name=name, group=group, sort_key=place)
    app["--help"].group = Group("Options", sort_key=99)
    return app


def run(
    house: CliServices,
    arguments: Sequence[str],
    *,
    extra: Mapping[str, tuple[str, str]] | None = None,
) -> int:
    app = build(extra)
    if _HELP & {*arguments}:  # what it takes to draw is loaded for that alone
        from portico.interfaces.cli.help_text import Paragraphs

        app.help_formatter = Paragraphs()
        arguments = _asked_about(arguments)
    app.meta.group_parameters = Group("Options", sort_key=99)

    @app.meta.default
    def launch(
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        json: Annotated[bool, Parameter(negative="", help=OPTIONS["--json"])] = False,
        quiet: Annotated[bool, Parameter(negative="", help=OPTIONS["--quiet"])] = False,
        no_input: Annotated[bool, Parameter(negative="", help=OPTIONS["--no-input"])] = False,
        debug: Annotated[bool, Parameter(negative="", help=OPTIONS["--debug"])] = False,
        config: Annotated[Path | None, Parameter(help=OPTIONS["--config PATH"])] = None,
        version: Annotated[bool, Parameter(negative="", help=OPTIONS["--version"])] = False,
    ) -> int:
        terminal = Terminal(
            services=house.with_flags(config=config, flags={}) if config else house,
            json=json,
            quiet=quiet,
            no_input=no_input,
            debug=debug,
        )
        return _guarded(app, ["version"] if version else _with_standard_input(tokens), terminal)

    try:
        found: int | None = app.meta(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _usage(error, as_json="--json" in arguments)
    return found or Exit.OK  # help, which answers nothing


def _asked_about(arguments: Sequence[str]) -> Sequence[str]:
    """What is run in the demo has the help that it has elsewhere."""
    words = [word for word in arguments if not word.startswith("-")]
    if len(words) < 2 or words[0] != "demo":  # the demo, and something in it
        return arguments
    return [word for word in arguments if word != "demo"]


def _with_standard_input(tokens: Sequence[str]) -> Sequence[str]:
    """A - in the place of a file; where it stands for one, nothing else could be meant by it."""
    if not tokens or tokens[0] not in _FROM_FILES:
        return tokens
    return [STANDARD_INPUT if word == "-" else word for word in tokens]


def _guarded(app: App, tokens: Sequence[str], terminal: Terminal) -> int:
    try:
        return _call(app, tokens, terminal)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return nobody_reads()
    except CycloptsError:
        raise
    except Exception as error:  # noqa: BLE001 # the edge of this face: nothing gets past it
        if terminal.debug:
            import traceback

            print(blacked_out(traceback.format_exc()), file=sys.stderr, end="")
        told = _told(error)
        terminal.fail(told)
        return exit_for(told)


def _told(error: Exception) -> PorticoError:
    match error:
        case PorticoError():
            return error
        case OSError():
            return SystemRefused(error)
        case _:
            return InternalFailure(error)


def _call(app: App, tokens: Sequence[str], terminal: Terminal) -> int:
    command, bound, ignored = app.parse_args(tokens, exit_on_error=False, print_error=False)
    given: dict[str, Any] = {name: terminal for name, hint in ignored.items() if hint is Terminal}
    result = command(*bound.args, **bound.kwargs, **given)
    if isinstance(result, Coroutine):
        import asyncio

        result = asyncio.run(result)
    sys.stdout.flush()
    return result if isinstance(result, int) else Exit.OK


def _usage(error: CycloptsError, *, as_json: bool) -> int:
    command = " ".join(["portico", *(error.command_chain or ())])
    text, fix = blacked_out(_slip(error, command)), f"See what there is: {command} --help"
    if as_json:
        import json

        said = json.dumps({"error": {"code": "usage", "detail": text, "fix": fix}})
    else:
        said = f"✗ {text}\n  fix {fix}"
    print(said, file=sys.stderr)
    return Exit.USAGE


def _slip(error: CycloptsError, command: str) -> str:
    match error:
        case MissingArgumentError(argument=argument) if argument is not None:
            given = error.keyword or any(token.keyword for token in argument.tokens)
            return f"{argument.name} {'needs a value' if given else 'is missing'}."
        case UnusedCliTokensError() if "secrets" in (error.command_chain or ()):
            return f"{command} takes one NAME; a value is asked for, or read from standard input."
        case UnusedCliTokensError(unused_tokens=[*tokens]):
            return f"{command} has no use for: {' '.join(tokens)}"
        case _:
            told = str(error).strip()
            head, _, guess = told.partition(_GUESS)
            return head if any(option in guess for option in _WIDEN) else told


def version(*, at: At) -> None:
    """Which version this is."""
    import platform

    facts = {
        "portico": at.services.version,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    at.data(facts, f"portico {facts['portico']} (Python {facts['python']}, {facts['platform']})")


def completion(shell: Literal["bash", "zsh", "fish"], /, *, at: At) -> None:
    """Print the completion script for SHELL; add it to that shell's start-up file."""
    script = build().generate_completion(shell=shell)
    at.data({"shell": shell, "script": script}, script)
