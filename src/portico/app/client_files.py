"""The configuration files of other programs, as this installation sees them."""

from pathlib import Path

from portico.adapters.client_configs import ClientFiles
from portico.app.ground import Ground
from portico.settings.load import own_file, process_environment


def client_files(ground: Ground) -> ClientFiles:
    environment = process_environment()
    return ClientFiles(
        home=Path.home(),
        environment=environment,
        own_url=ground.server_url,
        own_file=own_file(environment, ground.config).absolute(),
    )
