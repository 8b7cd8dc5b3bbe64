"""A program that tells its secret in every way it can; run by itself, since logs and traces belong
to a whole process.

python hostile_program.py ENDPOINT LOG_FILE CANARY [open]

Prints its metrics. With `open` the redaction is taken away, so that a test can see that it looks in
the right places.
"""

import asyncio
import logging
import sys
from pathlib import Path

from opentelemetry import metrics

from portico.adapters.telemetry import metrics as instruments
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.logs import LogOptions, write_logs
from portico.adapters.telemetry.setup import Observing, TelemetryOptions
from portico.adapters.telemetry.spans import span
from portico.kernel.json import JsonValue


class LetsEverythingThrough(KnownSecrets):
    def clean(self, text: str) -> str:
        return text

    def clean_json(self, value: JsonValue) -> JsonValue:
        return value


def main(endpoint: str, file: str, canary: str, *rest: str) -> None:
    secrets = LetsEverythingThrough() if rest == ("open",) else KnownSecrets([canary])
    write_logs(LogOptions(file=Path(file)), secrets)
    observing = Observing(TelemetryOptions(version="1", endpoint=endpoint), secrets)
    _tell_the_log(canary)
    _tell_a_trace(canary)
    _tell_a_metric(canary)
    print(asyncio.run(observing.metrics_text()))
    observing.close()


def _tell_the_log(canary: str) -> None:
    log = logging.getLogger("portico.hostile")
    log.info("argument %s", canary, extra={"field": {"deep": [canary]}})
    try:
        _fail(canary)
    except ValueError:
        log.exception("failed")


def _tell_a_trace(canary: str) -> None:
    try:
        with span(f"name {canary}", {"attribute": canary, "list": f"[{canary}]"}) as current:
            current.set_attribute(f"name-{canary}", 1)
            current.set_attribute("several", [canary, "b"])
            current.add_event(f"event {canary}", {"detail": canary})
            _fail(canary)
    except ValueError:
        pass


def _tell_a_metric(canary: str) -> None:
    """No function of ours takes a text of a user's; this is what one would do if it did."""
    instruments.run_started(canary)
    metrics.get_meter("hostile").create_counter("hostile").add(1, {f"a{canary}": canary})


def _fail(canary: str) -> None:
    try:
        raise KeyError(canary)  # noqa: TRY301 # a chain is what is wanted
    except KeyError as error:
        raise ValueError(f"about {canary}") from error


if __name__ == "__main__":
    main(*sys.argv[1:])
