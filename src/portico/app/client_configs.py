"""Configuration files of clients on this machine: read, and connected with Portico."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from portico.adapters.client_configs import ClientFiles
from portico.adapters.client_entry import ClientConnections, ClientPlaces, EntryStore
from portico.app.app_context import AppContext
from portico.gateway.core.config_documents import Described
from portico.settings.load import own_file, process_environment

# The configuration files of other programs, as this installation sees them.


def client_files(ground: AppContext) -> ClientFiles:
    environment = process_environment()
    return ClientFiles(
        home=Path.home(),
        environment=environment,
        own_url=ground.server_url,
        own_file=own_file(environment, ground.config).absolute(),
    )


_GIVEN: Final = ("PORTICO_HOME", "PORTICO_CONFIG")
"""Variables that say which installation it is; a client would start the usual one without them."""
_CACHES: Final = frozenset({"archive-v0", "environments-v2"})
"""Folders of uv's cache, in which `uvx` runs programs."""


def connections(ground: AppContext) -> ClientConnections:
    files = client_files(ground)
    environment = process_environment()
    program = own_program(sys.argv[0], sys.executable)
    named = ["--config", str(ground.config.absolute())] if ground.config else []
    given = {
        name: str(Path(environment[name]).expanduser().absolute())
        for name in _GIVEN
        if environment.get(name) and not (named and name == "PORTICO_CONFIG")
    }
    return ClientConnections(
        files=files,
        places=ClientPlaces(home=files.home, environment=environment, mac=sys.platform == "darwin"),
        stored=EntryStore(ground.loaded.paths.clients),
        folder=Path.cwd(),
        started=lambda home: home.started([*program, *named], given),
        in_use=lambda: _in_use(ground),
        notes=list(_notes(ground, program[0], environment)),
    )


def own_program(called: str, python: str) -> Sequence[str]:
    """The whole command that starts us: a client may not know this shell's `PATH`. A link is not
    followed: what it leads to may be another one after an upgrade."""
    if Path(called).name == "portico" and (found := shutil.which(called)):
        return [str(Path(found).absolute())]
    beside = Path(python).with_name("portico")
    return [str(beside)] if beside.exists() else [python, "-m", "portico"]


def _in_use(ground: AppContext) -> Sequence[Described]:
    files = client_files(ground)
    named = (files.own_file, *files.absolute(ground.loaded.settings.gateway.imports))
    return [each for path in named if (each := files.read(str(path))) is not None]


def _notes(ground: AppContext, program: str, environment: Mapping[str, str]) -> Iterator[str]:
    if not ground.agent_key_file.exists() and ground.loaded.settings.client.server is None:
        yield "Portico is not set up here yet: portico init"
    if _CACHES & set(Path(program).parts):
        yield (
            f"{program} is in a cache, and may go at any time. Install Portico, and connect "
            "again: uv tool install portico"
        )
    others = sorted(
        name for name in environment if name.startswith("PORTICO_") and name not in _GIVEN
    )
    if others:
        named = next((each for each in others if "__" in each), "PORTICO_SETTING")
        setting = named.removeprefix("PORTICO_").lower().replace("__", ".")
        yield (
            f"Set here, and not where the client starts Portico: {', '.join(others)}. What is to "
            f"last belongs into portico.toml: portico config set {setting} VALUE"
        )
