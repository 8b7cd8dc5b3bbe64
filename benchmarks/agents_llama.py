"""A real small model for `just bench agents --weights`: llama.cpp's own server.

In a process of its own, with one thread, so that it leaves a core to whoever is measured.

    python -m benchmarks.agents_llama PORT WEIGHTS
"""

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.agents_setting_up import REAL
from portico.bench.processes import answering, free_port

_PACKAGE: Final = "xllamacpp"
_SERVER: Final = (sys.executable, "-m", "benchmarks.agents_llama")


def lacking(weights: Path) -> str | None:
    """What is missing for it, if anything is."""
    if importlib.util.find_spec(_PACKAGE) is None:
        return f"{_PACKAGE} is not installed"
    return None if weights.is_file() else f"{weights} is no file"


@contextmanager
def llama(weights: Path, env: Mapping[str, str], log: Path) -> Iterator[str]:
    url = f"http://127.0.0.1:{(port := free_port())}"
    with answering([*_SERVER, str(port), str(weights)], f"{url}/health", env, log):
        yield url


def main(port: int, weights: str) -> None:
    llama_cpp: Any = importlib.import_module(_PACKAGE)
    wanted = llama_cpp.CommonParams()
    wanted.model.path = weights
    wanted.model_alias = type(wanted.model_alias)([REAL])
    wanted.n_ctx, wanted.n_parallel, wanted.port = 4096, 1, port
    wanted.cpuparams.n_threads = 1
    wanted.use_jinja = True
    server = llama_cpp.Server(wanted)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
