"""The attempts as one text that runs in any Python, where nothing of Portico is to be seen."""

from functools import cache
from importlib.resources import files
from typing import Final

_PARTS: Final = (
    "trying",
    "out_of_files",
    "out_of_kernel",
    "out_of_limits",
    "out_of_network",
    "out_of_processes",
    "to_be_ended",
    "inside",
)
_HEAD: Final = """\
import json, sys, types
package = "portico.adapters.sandbox.probes".split(".")
names = [".".join(package[:depth]) for depth in range(1, len(package) + 1)]
for name in names:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
def part(name, text):
    full = names[-1] + "." + name
    module = sys.modules[full] = types.ModuleType(full)
    setattr(sys.modules[names[-1]], name, module)
    exec(compile(text, name, "exec"), module.__dict__)
"""


@cache
def bundled() -> bytes:
    """To be read from standard input; its one argument is the task as JSON."""
    folder = files("portico.adapters.sandbox.probes")
    texts = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in _PARTS}
    parts = "".join(f"part({name!r}, {text!r})\n" for name, text in texts.items())
    last = f"sys.modules[names[-1] + '.{_PARTS[-1]}'].main(json.loads(sys.argv[1]))\n"
    return f"{_HEAD}{parts}{last}".encode()
