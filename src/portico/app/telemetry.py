"""What is written down and measured of a running server: by its settings, without its secrets."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from portico.app.ground import Ground
from portico.kernel.errors import PorticoError

if TYPE_CHECKING:
    from portico.adapters.telemetry.setup import Observing
    from portico.adapters.telemetry.slow_calls import Thresholds


def write_down(ground: Ground, *, stream: bool = True) -> None:
    """Everything that is logged from here on, cleaned of every secret that is known by now.
    `stream`: also on standard error."""
    from portico.adapters.telemetry.logs import LogWishes, write_logs

    log = ground.loaded.settings.log
    ground.secrets.learn(*_configured(ground), *_stored(ground))
    wishes = LogWishes(
        level=log.level,
        rooms=log.level_of,
        form=log.format,
        file=ground.loaded.paths.log_file if log.file else None,
        keep_days=log.keep_days,
        stream=stream,
    )
    write_logs(wishes, ground.secrets)


def observe(ground: Ground) -> "Observing":
    from portico.adapters.telemetry.setup import ObserveWishes, Observing

    telemetry = ground.loaded.settings.telemetry
    wishes = ObserveWishes(
        service=telemetry.service_name,
        version=ground.version,
        measure=telemetry.metrics,
        endpoint=telemetry.otlp_endpoint,
        headers=telemetry.header_values,
        sample_ratio=telemetry.sample_ratio,
    )
    return Observing(wishes, ground.secrets)


def thresholds(ground: Ground) -> "Thresholds":
    from portico.adapters.telemetry.slow_calls import Thresholds

    log = ground.loaded.settings.log
    return Thresholds(warning=log.slow_warning, error=log.slow_error)


def _configured(ground: Ground) -> Iterator[str]:
    from portico.adapters.postgres.addresses import password_of

    settings = ground.loaded.settings
    yield from ground.loaded.secrets()
    for value in settings.telemetry.header_values.values():
        yield value
        yield value.rpartition(" ")[2]  # without its scheme: Bearer …
    database = settings.database
    for dsn in (database.dsn, database.owner_dsn, database.engine_dsn):
        if dsn is not None:
            yield password_of(dsn.get_secret_value())


def _stored(ground: Ground) -> Iterator[str]:
    """What `init` has left in files; what is not there yet cannot be told."""
    from portico.adapters.postgres.addresses import password_of

    with suppress(PorticoError):
        addresses = ground.store.addresses
        known = (addresses.app, addresses.owner, addresses.engine, addresses.admin)
        yield from (password_of(address) for address in known if address is not None)
    with suppress(PorticoError):
        yield ground.pepper().decode(errors="replace").strip()
    with suppress(OSError):
        key = ground.loaded.paths.key_file.read_text().strip()
        yield key.rpartition("_")[2]
