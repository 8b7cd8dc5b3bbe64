"""The console entry: hands the house to the command line."""

import gc
import sys


def main() -> None:
    # A command is mostly loading, which makes a hundred thousand objects and no garbage: the usual
    # looks through all of them take a tenth of its time.
    gc.set_threshold(50_000, 20, 100)
    try:
        sys.exit(_run())
    except KeyboardInterrupt:  # while something was still being loaded
        from portico.interfaces.cli.errors import Exit

        sys.exit(Exit.INTERRUPTED)


def _run() -> int:
    # By name, because benchmarks stand above everything and nothing may know them.
    extra = {"bench": ("portico.bench.command:app", "Measure the figures that the docs quote.")}
    if sys.argv[1:] in ([], ["--help"], ["-h"]):
        from portico.interfaces.cli.commands import overview

        return _shown(overview(extra))

    from portico.app.cli_services import PorticoServices
    from portico.interfaces.cli.app import run

    return run(PorticoServices(), sys.argv[1:], extra=extra)


def _shown(text: str) -> int:
    from portico.interfaces.cli.errors import Exit, nobody_reads

    try:
        print(text, flush=True)
    except BrokenPipeError:
        return nobody_reads()
    return Exit.OK


if __name__ == "__main__":
    main()
