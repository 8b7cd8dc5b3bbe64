"""`python -m benchmarks NAME`, from the root of the checkout."""

import gc
import sys

from portico.app.cli_services import PorticoServices
from portico.interfaces.cli.app import run


def main() -> int:
    gc.set_threshold(50_000, 20, 100)  # as Portico's own entry has it
    extra = {"bench": ("benchmarks.command:app", "Measure the figures that the docs quote.")}
    return run(PorticoServices(), ["bench", *sys.argv[1:]], extra=extra)


if __name__ == "__main__":
    sys.exit(main())
