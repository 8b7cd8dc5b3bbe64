"""Logs: JSON lines to standard error and to a daily file, a form for people on a terminal."""

import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, TextIO

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

from portico.adapters.system.files import open_to_others, private_folder
from portico.adapters.telemetry import metrics
from portico.adapters.telemetry.known_secrets import KnownSecrets, plain
from portico.adapters.telemetry.spans import current_trace


class DailyFile(logging.Handler):
    """Several processes may write to the same file: a line is one write, and whoever notices the
    new day first puts the old file aside."""

    def __init__(self, file: Path, keep_days: int) -> None:
        """Raises `OSError` if it cannot be written, or if others could read it."""
        super().__init__()
        self._file = file
        self._keep = timedelta(days=keep_days)
        self._day = date.min
        self._handle: int | None = None
        private_folder(file.parent)
        if open_to_others(file.parent):
            raise PermissionError(f"others can come to {file.parent}: chmod 700 {file.parent}")
        os.close(_opened(file))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            day = _day_of(record.created)
            if self._handle is None or day > self._day:
                self._handle = self._begin(day)
            line = self.format(record) + "\n"
            os.write(self._handle, line.encode(errors="backslashreplace"))
        except Exception:  # noqa: BLE001 # as every handler does: a log never breaks what it tells
            self.handleError(record)

    def close(self) -> None:
        self.acquire()
        try:
            self._let_go()
        finally:
            self.release()
        super().close()

    def _begin(self, day: date) -> int:
        self._let_go()
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            _alone(folder)
            self._put_aside(day)
            handle = _opened(self._file)
        finally:
            os.close(folder)
        self._day = day
        return handle

    def _let_go(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _put_aside(self, day: date) -> None:
        with suppress(FileNotFoundError):
            written = _day_of(self._file.stat().st_mtime)
            aside = self._file.with_name(f"{self._file.name}.{written}")
            if written < day and not aside.exists():
                self._file.rename(aside)
        oldest = f"{self._file.name}.{day - self._keep}"
        for past in self._file.parent.glob(f"{self._file.name}.????-??-??"):
            if past.name < oldest:
                past.unlink(missing_ok=True)


def _opened(file: Path) -> int:
    """Private from the first byte on, and never through a link that somebody laid there."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(file, flags, 0o600)


def _day_of(moment: float) -> date:
    return datetime.fromtimestamp(moment, UTC).date()


def _alone(folder: int) -> None:
    """Until the folder is closed: of two processes, one puts the file aside."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 # there is none on Windows

        fcntl.flock(folder, fcntl.LOCK_EX)


# Logs: JSON lines to standard error and to a file, a form for people on a terminal.
#
# Rooms and libraries log with the standard library. Everything they say goes through one chain of
# processors, at whose end stands the redaction, so that nothing gets past it: not in an argument,
# not in an extra field, not in a traceback.

Form = Literal["auto", "json", "human"]

_CHATTY: Final = ("uvicorn", "dbos")
"""Libraries that say something worth hearing below a warning, if one debugs."""
_NOISE: Final = frozenset(
    {"color_message", "applicationID", "applicationVersion", "executorID", "taskName"}
)
_RECORD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"} | _NOISE
_CONTROL: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}

_log: Final = logging.getLogger("portico.telemetry")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    level: str = "info"
    rooms: Mapping[str, str] = field(default_factory=dict)
    """Levels of loggers that have one of their own, by name."""
    form: Form = "auto"
    file: Path | None = None
    keep_days: int = 14
    stream: bool = True
    """Also on standard error."""


def write_logs(wishes: LogOptions, secrets: KnownSecrets) -> None:
    """For this whole process, in place of whatever was set up before."""
    shared = _processors(secrets)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    _take_over([*_streams(wishes, shared), _Counting()])
    _set_levels(wishes)
    if wishes.file is not None:
        _write_file(wishes.file, wishes.keep_days, _formatter(shared, _json()))


def _streams(wishes: LogOptions, shared: Sequence[Processor]) -> Iterator[logging.Handler]:
    if wishes.stream:
        stream = _Stream(sys.stderr)
        human = _for_people(wishes.form, sys.stderr)
        stream.setFormatter(_formatter(shared, _human(sys.stderr) if human else _json()))
        yield stream


def _write_file(file: Path, keep_days: int, formatter: logging.Formatter) -> None:
    """A house without a log file stands; it says so on standard error."""
    try:
        handler = _File(file, keep_days)
    except OSError as error:
        _log.warning("no log file: %s", error.strerror or error)
        return
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)


def _take_over(handlers: Sequence[logging.Handler]) -> None:
    """Handlers of a library's own would say things that nobody has cleaned."""
    root = logging.getLogger()
    for name in (None, *root.manager.loggerDict):
        logger = logging.getLogger(name)
        logger.propagate = True
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
    for handler in handlers:
        root.addHandler(handler)
    logging.getLogger("dbos").addHandler(logging.NullHandler())  # else it adds one of its own
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_broke
    sys.unraisablehook = _nobody_to_tell


def _set_levels(wishes: LogOptions) -> None:
    """Libraries are heard from warnings on, whatever the level, but for the chatty ones' info: at
    debug some of them tell headers and rows. Who wants to hear one names it in `rooms`."""
    level = _number(wishes.level)
    logging.getLogger().setLevel(max(level, logging.WARNING))
    logging.getLogger("portico").setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(
            logging.INFO if level == logging.DEBUG else max(level, logging.WARNING)
        )
    for name, own in wishes.rooms.items():
        logging.getLogger(name).setLevel(_number(own))


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _for_people(form: Form, stream: TextIO) -> bool:
    return form == "human" or (form == "auto" and stream.isatty())


def _formatter(shared: Sequence[Processor], rendering: Sequence[Processor]) -> logging.Formatter:
    return ProcessorFormatter(processors=[*shared, *rendering])


def _processors(secrets: KnownSecrets) -> Sequence[Processor]:
    def cleaned(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        clean = secrets.clean_json(plain(event))
        return dict(clean) if isinstance(clean, Mapping) else {}

    return [structlog.processors.format_exc_info, _described, cleaned]


def _json() -> Sequence[Processor]:
    return [structlog.processors.JSONRenderer()]


def _human(stream: TextIO) -> Sequence[Processor]:
    colors = stream.isatty() and not os.environ.get("NO_COLOR")
    return [
        _visible,
        ConsoleRenderer(colors=colors, exception_formatter=plain_traceback, pad_event_to=0),
    ]


def _described(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """What is told of each line, in this order, whoever wrote it."""
    record: logging.LogRecord = event.pop("_record")
    event.pop("_from_structlog", None)
    extra = {name: value for name, value in record.__dict__.items() if name not in _RECORD}
    extra = {name: value for name, value in extra.items() if not name.startswith("_")}
    return {
        "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": event.pop("event", ""),
        **current_trace(),
        **{name: value for name, value in extra.items() if name not in event},
        **event,
    }


def _visible(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """No text steers the terminal, and none but a traceback begins a line."""
    return {
        name: value.translate(_CONTROL if name == "exception" else {**_CONTROL, 10: "\\n"})
        if isinstance(value, str)
        else value
        for name, value in event.items()
    }


class _Telling(logging.Handler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 # the library's name
        """What logging itself would print here shows the arguments as they are."""
        kind = type(sys.exc_info()[1]).__name__
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(
                f'{{"level": "error", "logger": "portico.telemetry", "event": "a line of '
                f'{record.name} could not be written ({kind}), {record.module}:{record.lineno}"}}\n'
            )


class _Stream(_Telling, logging.StreamHandler[TextIO]):
    pass


class _File(_Telling, DailyFile):
    pass


class _Counting(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        metrics.log_line(record.levelname.lower())


def _thread_broke(broken: threading.ExceptHookArgs) -> None:
    if broken.exc_value is not None:
        name = broken.thread.name if broken.thread is not None else "?"
        _log.error("the thread %s broke", name, exc_info=broken.exc_value)


def _nobody_to_tell(broken: "sys.UnraisableHookArgs") -> None:
    if broken.exc_value is not None:
        _log.error("broke where nobody could be told", exc_info=broken.exc_value)
