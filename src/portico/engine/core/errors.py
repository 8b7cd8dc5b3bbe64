"""What the engine room refuses.

PorticoError
├── StoreUnavailable    no PostgreSQL answers
├── StoreRefused        we will not start one like this (root, Windows, a folder open to others)
├── StoreOutdated       the database is of an older PostgreSQL than it should be
├── StoreBusy           others are using what was to be stopped or replaced
├── PasswordRefused     it answers, but not to us
├── NotProvisioned      the roles or the database are missing
├── AlreadyProvisioned  the roles are there, with passwords we do not know
├── SchemaEdited        a migration that was applied has since been changed
├── SchemaAhead         the database was migrated by a newer Portico
├── SchemaBehind        the database needs `db migrate`
├── BackupFailed
├── UpgradeFailed       it could not be brought to another PostgreSQL; the old one is in place
├── KeyReused           an idempotency key sent again with another request
├── TopicNotFound       no such topic, as far as this reader can know
├── TopicRefused        above the writer's clearance
├── InvalidCursor       not from us, or not for this
├── RunNotFound         no such run, as far as this caller can know
├── RunOver             it has ended; nothing more can be sent to it
├── RunNotOver          it has not ended; only what has can be taken up again
├── KindNotFound        nothing here does such runs
├── InvalidInput        not what a run of this kind can be given
├── StepNotFound        the run has no such step
├── StepNamedTwice      a run used a step's name twice
├── InvalidStepName     a step's name is too long, empty, or more than a line
├── InvalidEventType    what a work wanted to tell is not its to tell
├── StepFailed          what a step did went wrong, now or when it was first done
├── OwnTopic            a topic that only the house itself answers
├── RunWriteDown        less secret than what was read in the caller's task
├── LedElsewhere        a run that only its own room ends, takes up again and forks
└── AlreadyAnswered     somebody answered first
"""

from collections.abc import Iterable

from portico.engine.core.runs import Failure
from portico.kernel.errors import FieldError, Kind, PorticoError, many
from portico.kernel.label import PUBLIC, Label


class StoreUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "store_unavailable"
    title = "The database does not answer"
    fix = "See what is wrong: portico doctor"


class StoreRefused(PorticoError):
    kind = Kind.INVALID
    code = "store_refused"
    title = "The database cannot be used like this"


class StoreOutdated(PorticoError):
    kind = Kind.CONFLICT
    code = "store_outdated"
    title = "The database is of an older PostgreSQL"

    def __init__(self, have: int, wanted: int) -> None:
        super().__init__(f"The database is of PostgreSQL {have}; it should be of {wanted}.")
        self.have = have
        self.wanted = wanted
        self.fix = (
            "Bring it there, the old one is kept: portico db upgrade. "
            f"Or stay with it: portico config set database.version {have}"
        )


class StoreBusy(PorticoError):
    kind = Kind.CONFLICT
    code = "store_busy"
    title = "The database is in use"
    fix = "Stop the Portico processes that use it first, or pass --force."


class PasswordRefused(PorticoError):
    kind = Kind.DENIED
    code = "password_refused"
    title = "The database refuses the password"
    fix = (
        "Put the addresses right (portico config show --origin), or: portico db provision --rotate"
    )

    def __init__(self) -> None:
        super().__init__("The database server answers, but not to the password that we have.")


class NotProvisioned(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "not_provisioned"
    title = "The database is not set up"
    fix = "Set it up: portico init, or with a database of your own: portico db provision"


class AlreadyProvisioned(PorticoError):
    kind = Kind.CONFLICT
    code = "already_provisioned"
    title = "The roles exist already"
    fix = "Pass --rotate to give them new passwords; other installations on it then need those too."


class SchemaEdited(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_edited"
    title = "An applied migration has changed"
    fix = "Install the Portico version that applied it, or restore a backup."

    def __init__(self, name: str, message: str | None = None, *, fix: str | None = None) -> None:
        differs = f"The migration {name!r} differs from the one the database was given."
        super().__init__(message or differs, fix=fix)
        self.name = name


class SchemaAhead(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_ahead"
    title = "The database is newer than this Portico"
    fix = "Upgrade Portico: the database was migrated by a later version."

    def __init__(self, applied: int, known: int) -> None:
        super().__init__(f"The database is at migration {applied}; this Portico knows {known}.")
        self.applied = applied
        self.known = known


class SchemaBehind(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_behind"
    title = "The database needs migrating"
    fix = "Run: portico db migrate"

    def __init__(self, pending: int) -> None:
        super().__init__(f"The database lacks {many(pending, 'migration')}.")
        self.pending = pending


class BackupFailed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "backup_failed"
    title = "The backup or restore failed"


class UpgradeFailed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "upgrade_failed"
    title = "The database was not upgraded"


class KeyReused(PorticoError):
    kind = Kind.INVALID
    code = "idempotency_key_reused"
    title = "The idempotency key was used for another request"
    fix = "Send a new Idempotency-Key with a new request; repeat one only with the same body."

    def __init__(self, key: str, label: Label = PUBLIC) -> None:
        super().__init__(f"The idempotency key {key[:64]!r} belongs to a different request.")
        self.key = key
        self.label = label
        """Of what it has brought: whoever is refused knows that it is there."""


class TopicNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "topic_not_found"
    title = "There is no such topic"

    def __init__(self, topic: str) -> None:
        super().__init__(f"There is no topic {topic[:100]!r} here.")
        self.topic = topic


class TopicRefused(PorticoError):
    kind = Kind.DENIED
    code = "topic_refused"
    title = "Above your clearance"

    def __init__(self) -> None:
        super().__init__("What was to be written is above the writer's clearance.")


class InvalidCursor(PorticoError):
    kind = Kind.INVALID
    code = "bad_cursor"
    type_name = "BadCursor"
    title = "Not a cursor of ours"
    fix = "Send it exactly as it was given, to where it was given, or leave it away."

    def __init__(self) -> None:
        super().__init__("The cursor cannot be read.")


class RunNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "run_not_found"
    title = "There is no such run"
    fix = "See which there are: portico runs list"

    def __init__(self, run: str) -> None:
        super().__init__(f"There is no run {run[:64]!r} here.")
        self.run = run


class RunOver(PorticoError):
    kind = Kind.CONFLICT
    code = "run_over"
    title = "The run has ended"

    def __init__(self, run: str, status: str) -> None:
        super().__init__(f"The run {run} is {status}.")
        self.run = run
        self.status = status


class RunNotOver(PorticoError):
    kind = Kind.CONFLICT
    code = "run_not_over"
    title = "The run can not be taken up again"
    fix = "Only what failed, was cancelled or is stuck can be; a run that is done can be forked."

    def __init__(self, run: str, status: str) -> None:
        why = {"done": "nothing of it is left to do", "failed": "it would end so again"}
        super().__init__(f"The run {run} is {status}: {why.get(status, 'it is not over yet')}.")
        self.run = run
        self.status = status


class KindNotFound(PorticoError):
    kind = Kind.INVALID
    code = "kind_not_found"
    title = "Nothing here does such runs"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"There is no kind of run {name[:64]!r}.")
        self.fix = f"The kinds are: {', '.join(sorted(known))}"


class InvalidInput(PorticoError):
    kind = Kind.INVALID
    code = "bad_input"
    type_name = "BadInput"
    title = "The run cannot be given this"
    fix = "Mend what is named for each field of the input."

    def __init__(self, kind: str, flaws: Iterable[FieldError]) -> None:
        self.field_errors = tuple(flaws)
        wrong = "; ".join(f"{flaw.field} {flaw.message}" for flaw in self.field_errors)
        super().__init__(f"The input of a {kind}: {wrong}.")


class StepNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "step_not_found"
    title = "The run has no such step"
    fix = "See its steps: portico runs show RUN"

    def __init__(self, name: str) -> None:
        super().__init__(f"The run has no finished step {name[:100]!r}.")
        self.name = name


class StepNamedTwice(PorticoError):
    kind = Kind.INVALID
    code = "step_named_twice"
    title = "A step's name was used twice"
    fix = "Give each step of a run a name of its own; in a loop, number them."

    def __init__(self, name: str) -> None:
        super().__init__(f"The run has had a step {name[:100]!r} already.")
        self.name = name


class StepFailed(PorticoError):
    """The same the first time and each time the run goes on: the cause itself is not kept."""

    kind = Kind.UNAVAILABLE
    code = "step_failed"
    title = "A step failed"

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"The step {failure.step!r} failed: {failure.message}")
        self.failure = failure


class InvalidStepName(PorticoError):
    kind = Kind.INVALID
    code = "bad_step_name"
    type_name = "BadStepName"
    title = "Not a name for a step"
    fix = "Use 1 to 300 characters on one line; for a signal's topic, at most 200."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name[:100]!r} cannot be the name of a step.")


class InvalidEventType(PorticoError):
    kind = Kind.INVALID
    code = "bad_event_type"
    type_name = "BadEventType"
    title = "A work cannot tell this"
    fix = "Give it a dotted type of its own, such as `plan.changed`; not run.…, step.… or text.…"

    def __init__(self, type_: str) -> None:
        super().__init__(f"{type_[:100]!r} is no type of event that a work can tell.")


class OwnTopic(PorticoError):
    kind = Kind.DENIED
    code = "own_topic"
    title = "Nobody answers this by a signal"
    fix = "Answer the request, or say what became of the step: portico workflows show RUN"

    def __init__(self, topic: str) -> None:
        super().__init__(f"What the run waits for under {topic!r} is not told by a signal.")
        self.topic = topic


class RunWriteDown(PorticoError):
    kind = Kind.DENIED
    code = "run_write_down"
    title = "Less secret than what was read"

    def __init__(self, wanted: Label, read: Label) -> None:
        super().__init__(
            f"What was read in this task is {read}; the run is {wanted}.",
            fix=f"Start a run that is {read}, or leave its label out; or do it in another task.",
        )


class LedElsewhere(PorticoError):
    kind = Kind.CONFLICT
    code = "led_elsewhere"
    title = "This run is ended and taken up elsewhere"
    fix = (
        "Say it to the workflow or program: portico workflows cancel, resume or fork RUN; to an "
        "agent: portico agents stop or resume RUN"
    )

    def __init__(self, run: str, kind: str) -> None:
        super().__init__(
            f"{run} is a {kind}: it has asked for things and begun calls that are ended, or tried "
            "again, together with it."
        )
        self.run = run


class AlreadyAnswered(PorticoError):
    kind = Kind.CONFLICT
    code = "already_answered"
    title = "Somebody answered first"

    def __init__(self, topic: str) -> None:
        super().__init__(f"The run was told {topic[:100]!r} already; the first answer counts.")
        self.topic = topic
