"""llama.cpp's own server in this process, until it is ended: python -m … FILE PORT SLOTS ALIAS."""

import signal
import sys
from importlib import import_module
from typing import Any

xllamacpp: Any = import_module("xllamacpp")
_, file, port, slots, alias = sys.argv
given = xllamacpp.CommonParams()
given.model.path = file
given.model_alias = type(given.model_alias)([alias])
given.n_parallel = int(slots)
given.n_ctx = 2048 * int(slots)
given.cpuparams.n_threads = 1
given.use_jinja = True
given.port = int(port)
given.n_predict = 512
server = xllamacpp.Server(given)
print("ready", flush=True)
signal.pause()
