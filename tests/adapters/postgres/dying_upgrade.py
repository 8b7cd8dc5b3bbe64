"""An upgrade of the embedded database that is killed, as by `kill -9`, at a point of its way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.postgres.addresses import read
from portico.adapters.postgres.embedded.server import Account, EmbeddedServer, Ran, account_for
from portico.adapters.postgres.embedded.upgrade import MajorUpgrade
from tests.servers import RUN_AS, wheel

POINTS = ("after initdb", "during pg_upgrade", "after pg_upgrade", "before mv", "after mv")


@dataclass(frozen=True, slots=True)
class Mortal(Account):
    """Runs what it is told to, until its time has come."""

    point: str = ""

    def run(self, arguments: Sequence[str | Path], *, timeout: float, given: str = "") -> Ran:
        programs = {Path(str(each)).name for each in arguments}
        when, _, program = self.point.partition(" ")
        if program not in programs:
            return Account.run(self, arguments, timeout=timeout, given=given)
        if when == "during":
            self._begin(arguments)
        elif when == "after":
            assert Account.run(self, arguments, timeout=timeout, given=given).ok
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def _begin(self, arguments: Sequence[str | Path]) -> None:
        """It goes on when we are gone, and is at work by then."""
        subprocess.Popen(
            [str(each) for each in arguments],
            user=self.uid if self.switch else None,
            group=self.gid if self.switch else None,
            extra_groups=[] if self.switch else None,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        made = next(
            Path(str(each).partition("=")[2])
            for each in arguments
            if str(each).startswith("--new-datadir=")
        )
        while not (made / "pg_upgrade_output.d").exists():
            time.sleep(0.01)


def main(folder: Path, point: str) -> None:
    account = account_for(RUN_AS)
    mortal = Mortal(account.name, account.uid, account.gid, account.switch, point)

    def server(major: int) -> EmbeddedServer:
        passwords = read(folder / "secrets" / "postgres.json")
        return EmbeddedServer(folder / "postgres", wheel(major), mortal, passwords)

    MajorUpgrade(folder / "postgres", server, 18).upgrade(lambda _: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
