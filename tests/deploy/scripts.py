"""The scripts of `.ci`, which are no package."""

import importlib.util
from types import ModuleType

from tests.deploy.dockerfile import ROOT


def script(path: str) -> ModuleType:
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
