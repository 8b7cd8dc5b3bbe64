from portico.box.core.report import Backend, Probe, Report

HELD = Probe("read a file", held=True, detail="no such file")
REACHED = Probe("see a process", held=False, detail="process 1")


def test_a_box_that_holds_everything_is_offered() -> None:
    assert Report(backend=Backend.BUBBLEWRAP, probes=[HELD]).offered


def test_one_escape_and_it_is_not() -> None:
    report = Report(backend=Backend.LANDLOCK, probes=[HELD, REACHED])

    assert not report.offered
    assert report.escapes == [REACHED]


def test_neither_is_one_that_was_not_tried_or_cannot_be() -> None:
    assert not Report(backend=Backend.LANDLOCK).offered
    assert not Report(backend=Backend.LANDLOCK, probes=[HELD], missing="the kernel").offered
