"""Keeping a server up, scripted: what runs is what a test says, and ends when it is told to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from portico.interfaces.cli.services import AtLogin, Ended, Running, SupervisorStatus
from portico.kernel.json import JsonObject

URL = "http://127.0.0.1:9"
SINCE = "2026-05-04T10:00:00.000+00:00"


def running(pid: int = 70, url: str = URL, **changed: object) -> Running:
    usual = Running(pid=pid, url=url, since=SINCE, started_by="up", unsaved_settings={})
    return replace(usual, **changed)  # type: ignore[arg-type] # as the test says


def keeper(**changed: object) -> SupervisorStatus:
    usual = SupervisorStatus(
        pid=60,
        alive=True,
        url=URL,
        since=SINCE,
        restarts=0,
        deaths=0,
        died_at=None,
        why=None,
        gave_up=False,
        unsaved_settings={},
        words=None,
    )
    return replace(usual, **changed)  # type: ignore[arg-type] # as the test says


@dataclass
class ScriptedLaunch:
    gone: bool


class ScriptedKeeping:
    def __init__(self, root: Path) -> None:
        self.running: list[Running] = []
        self.kept: SupervisorStatus | None = None
        self.starts = 0
        self.stays = 0
        self.after_start: SupervisorStatus | None = keeper()
        """What there is once it was started; None: it ended at once, and left nothing."""
        self.killed: set[int] = set()
        self.orphaned = False
        self.heeded = False
        self.left_out: Sequence[str] = ()
        self.unit = root / "systemd" / "portico.service"

    def servers(self) -> Sequence[Running]:
        return self.running

    def keeper(self) -> SupervisorStatus | None:
        return self.kept

    def start(self) -> ScriptedLaunch:
        self.starts += 1
        self.kept = self.after_start
        if self.kept is not None and self.kept.alive and not self.kept.deaths:
            self.running.append(running(71))
        return ScriptedLaunch(gone=self.kept is None or not self.kept.alive)

    def stay(self) -> NoReturn:
        self.stays += 1
        raise SystemExit(0)

    def end(self, progress: Callable[[str], None], *, only: str | None = None) -> Sequence[Ended]:
        progress("ending")
        gone = [each for each in self.running if only in {None, each.url}]
        self.running = [each for each in self.running if each not in gone]
        if self.kept is not None and only in {None, self.kept.url}:
            self.kept = replace(self.kept, alive=False)
        return [
            Ended(
                pid=each.pid,
                url=each.url,
                started_by=each.started_by,
                killed=each.pid in self.killed,
            )
            for each in gone
        ]

    async def settle(self) -> bool:
        return self.orphaned

    def at_login(self) -> AtLogin:
        return AtLogin(
            file=self.unit,
            text="[Unit]\n",
            switch_on="systemctl --user enable portico.service",
            switch_off="systemctl --user disable portico.service",
            left_out=self.left_out,
            fleeting=bool(self.left_out),
        )

    def write_at_login(self) -> bool:
        self.unit.parent.mkdir(parents=True, exist_ok=True)
        self.unit.write_text("[Unit]\n")
        return self.heeded

    def remove_at_login(self) -> bool:
        there = self.unit.exists()
        self.unit.unlink(missing_ok=True)
        return there


WORDS: Mapping[str, str] = {
    "code": "not_provisioned",
    "title": "The database is not set up",
    "detail": "This installation has no database yet.",
    "fix": "Set it up: portico init",
}


def died(words: JsonObject | None = None) -> SupervisorStatus:
    return keeper(deaths=1, died_at=SINCE, why="it was ended by SIGKILL", words=words)
