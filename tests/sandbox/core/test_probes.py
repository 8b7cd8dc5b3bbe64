"""What is declared of each box before it is tried, and reported afterwards."""

import pytest

from portico.adapters.sandbox.probes import inside  # noqa: F401 # it knows them all
from portico.adapters.sandbox.probes.runtime import ATTEMPTS
from portico.sandbox.core.probes import (
    GROUPS,
    TRIALS,
    Backend,
    Manner,
    Probe,
    Report,
    SandboxLayer,
    Situation,
    Trial,
    Verdict,
    attempt_of,
    to_hold,
)

BOTH = {Backend.BUBBLEWRAP: SandboxLayer.MOUNTS, Backend.LANDLOCK: SandboxLayer.LANDLOCK}
HELD = Trial(name="held", sentence="Is held.", walls=BOTH, quick=True)
SLOW = Trial(name="slow", sentence="Is held, slowly.", walls=BOTH)
OPEN = Trial(
    name="open", sentence="Is open.", walls=BOTH, quick=True, open_in={Backend.LANDLOCK: "why"}
)


@pytest.mark.parametrize(
    ("trial", "backend", "situation", "verdict"),
    [
        (HELD, Backend.BUBBLEWRAP, Situation.ROOT, Verdict.HELD),
        (HELD, Backend.BUBBLEWRAP, Situation.USER, Verdict.HELD),
        (HELD, Backend.BUBBLEWRAP, Situation.NO_NAMESPACES, Verdict.ABSENT),
        (HELD, Backend.LANDLOCK, Situation.NO_NAMESPACES, Verdict.HELD),
        (OPEN, Backend.LANDLOCK, Situation.ROOT, Verdict.OPEN),
        (OPEN, Backend.LANDLOCK, Situation.NO_NAMESPACES, Verdict.OPEN),
        (OPEN, Backend.BUBBLEWRAP, Situation.USER, Verdict.HELD),
    ],
)
def test_what_is_declared_depends_on_the_box_and_on_where_it_is(
    trial: Trial, backend: Backend, situation: Situation, verdict: Verdict
) -> None:
    assert trial.declared(backend, situation) is verdict


def test_what_is_to_hold_depends_on_the_box_and_on_how_much_time_there_is() -> None:
    everything = [HELD, SLOW, OPEN]

    assert to_hold(everything, Backend.LANDLOCK, Situation.USER, quick=False) == [HELD, SLOW]
    assert to_hold(everything, Backend.BUBBLEWRAP, Situation.USER, quick=False) == everything

    trials = [HELD, SLOW, OPEN]

    assert to_hold(trials, Backend.BUBBLEWRAP, Situation.USER, quick=True) == [HELD, OPEN]

    assert to_hold([HELD], Backend.BUBBLEWRAP, Situation.NO_NAMESPACES, quick=False) == []


def test_every_trial_has_its_own_name_and_is_an_attempt() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS) >= 60
    assert sum(map(len, GROUPS.values())) == len(TRIALS)
    assert {attempt_of(trial) for trial in TRIALS} == set(ATTEMPTS)


def test_a_start_tries_every_wall_that_can_be_tried_in_a_moment() -> None:
    quick = [trial for trial in TRIALS if trial.quick]

    assert len(quick) <= 26
    assert {trial.manner for trial in quick} == {Manner.TOGETHER, Manner.PROXIED}
    for backend in Backend:
        walls = {trial.walls[backend] for trial in quick if backend not in trial.open_in}
        wanted = set(SandboxLayer) - {SandboxLayer.ENDING}
        if backend is Backend.LANDLOCK:
            wanted -= {SandboxLayer.NAMESPACES, SandboxLayer.MOUNTS}
        assert wanted <= walls


def test_what_is_open_says_what_that_means() -> None:
    for trial in TRIALS:
        for sentence in trial.open_in.values():
            assert sentence.endswith(".")
            assert len(sentence) > 40


KEPT_IN = Probe("read a file", held=True, detail="no such file")
REACHED = Probe("see a process", held=False, detail="process 1")


def test_a_box_is_offered_if_it_was_tried_and_holds_everything() -> None:
    assert Report(backend=Backend.BUBBLEWRAP, probes=[KEPT_IN]).offered

    report = Report(backend=Backend.LANDLOCK, probes=[KEPT_IN, REACHED])

    assert not report.offered
    assert report.escapes == [REACHED]

    assert not Report(backend=Backend.LANDLOCK).offered
    assert not Report(backend=Backend.LANDLOCK, probes=[KEPT_IN], missing="the kernel").offered
