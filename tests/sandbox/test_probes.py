"""The story of finding out which boxes hold."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import Backend, Probe, Report, Situation, Trial
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import Outcome
from portico.sandbox.probes import SelfTest
from portico.sandbox.requests import Sandbox, SandboxProcess

LANDLOCK = Report(backend=Backend.LANDLOCK, cgroup=True)
BUBBLEWRAP = Report(backend=Backend.BUBBLEWRAP)


@dataclass(frozen=True)
class ReportedBox:
    """Only says what it is: what is tried of it is the attempts' business."""

    report: Report

    def cell(
        self, order: SandboxCommand, limits: Limits
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        raise AssertionError

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        raise AssertionError


@dataclass
class ScriptedAttempts:
    reach: Sequence[str] = ()
    refused: SandboxUnavailable | InvalidProfile | None = None
    made: list[str] = field(default_factory=list)

    async def make(self, box: Sandbox, trials: Sequence[Trial]) -> Sequence[Probe]:
        if self.refused is not None:
            raise self.refused
        self.made += [trial.name for trial in trials]
        return [Probe(each.name, held=each.name not in self.reach, detail="") for each in trials]


def self_test(attempts: ScriptedAttempts) -> SelfTest:
    return SelfTest(attempts=attempts, situation=Situation.USER)


async def test_a_box_that_holds_everything_is_offered() -> None:
    attempts = ScriptedAttempts()

    (report,) = await self_test(attempts)([ReportedBox(LANDLOCK)])

    assert report.offered
    assert report.cgroup
    assert [probe.name for probe in report.probes] == attempts.made


async def test_a_box_that_lets_one_thing_through_is_not() -> None:
    attempts = ScriptedAttempts(reach=["loopback"])

    reports = await self_test(attempts)([ReportedBox(BUBBLEWRAP), ReportedBox(LANDLOCK)])

    assert [report.offered for report in reports] == [False, False]
    assert [[probe.name for probe in each.escapes] for each in reports] == [["loopback"]] * 2


async def test_a_box_that_is_not_there_is_not_tried() -> None:
    attempts, missing = ScriptedAttempts(), Report(backend=Backend.BUBBLEWRAP, missing="no bwrap")

    assert await self_test(attempts)([ReportedBox(missing)]) == [missing]
    assert attempts.made == []


async def test_a_box_that_cannot_be_set_up_says_why() -> None:
    refused = SandboxUnavailable("the kernel gives no namespaces", fix="Allow them.")

    (report,) = await self_test(ScriptedAttempts(refused=refused))([ReportedBox(BUBBLEWRAP)])

    assert report.missing == "the kernel gives no namespaces"
    assert report.fix == "Allow them."
    assert not report.offered


async def test_a_box_that_cannot_see_what_the_attempts_need_is_not_offered() -> None:
    refused = InvalidProfile("our Python is where its account may not go")

    (report,) = await self_test(ScriptedAttempts(refused=refused))([ReportedBox(LANDLOCK)])

    assert report.missing == "our Python is where its account may not go"
    assert not report.offered


async def test_what_is_known_to_be_open_is_not_held_against_a_box() -> None:
    attempts = ScriptedAttempts(reach=["guess_process", "see_outside"])

    quick = await self_test(attempts)([ReportedBox(LANDLOCK)])
    (whole,) = await self_test(attempts)([ReportedBox(LANDLOCK)], quick=False)

    assert quick[0].offered
    assert whole.offered
    assert len(whole.probes) > len(quick[0].probes)
