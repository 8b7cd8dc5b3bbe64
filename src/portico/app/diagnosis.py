"""`portico doctor`: every check there is, in the order in which one stands on another."""

from collections.abc import Sequence
from pathlib import Path

from portico.adapters.postgres.checks import CheckDatabase, CheckSchema, CheckWalls
from portico.adapters.system.checks import (
    CheckDisk,
    CheckLeftovers,
    CheckPort,
    CheckPrivateFiles,
    CheckPython,
)
from portico.app.checks import CheckBox, CheckKey, CheckRunning
from portico.app.client_checks import CheckClients
from portico.app.ground import Ground, reachable
from portico.app.model_checks import CheckContext
from portico.app.secret_checks import CheckSecrets, CheckVault
from portico.app.server_checks import CheckNode, CheckServers
from portico.engine.store import Diagnose
from portico.interfaces.cli.house import Importing


def diagnosis(ground: Ground, importing: Importing) -> Diagnose:
    paths, server = ground.loaded.paths, ground.loaded.settings.server
    private = ground.private_socket
    return Diagnose(
        checks=[
            CheckPython(),
            CheckDisk(paths.data),
            CheckPrivateFiles(_private_files(ground)),
            CheckDatabase(lambda: ground.store),
            CheckSchema(lambda: ground.store, ground.migrate),
            CheckWalls(lambda: ground.store),
            CheckKey(ground),
            CheckPort(reachable(server.host), server.port, private),
            CheckRunning(ground),
            CheckLeftovers(None if private is None else private.parent),
            CheckBox(ground),
            CheckNode(ground),
            CheckServers(ground, importing),
            CheckContext(ground),
            CheckClients(ground),
            CheckSecrets(ground),
            CheckVault(ground),
        ]
    )


def _private_files(ground: Ground) -> Sequence[Path]:
    paths = ground.loaded.paths
    return [
        paths.key_file,
        ground.agent_key_file,
        paths.demo_key_file,
        paths.demo_agent_key_file,
        paths.provisioned_file,
        paths.secrets,
        paths.passwords_file,
        paths.pepper_file,
        paths.identity_file,
        paths.secrets_file,
        paths.config_file,
        paths.postgres,
        *paths.postgres.glob("[0-9]*"),
        *paths.postgres.glob("run"),
        paths.log_file.parent,
        *paths.log_file.parent.glob("portico.log*"),
    ]
