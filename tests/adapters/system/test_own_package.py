"""The program is removed by what installed it."""

import pytest

from portico.adapters.system.own_package import removal, removal_by

EDITABLE = '{"url": "file:///src/portico", "dir_info": {"editable": true}}'


@pytest.mark.parametrize(
    ("prefix", "installer", "origin", "command"),
    [
        ("/home/ana/.local/pipx/venvs/portico", "pip", None, "pipx uninstall portico"),
        ("/home/ana/.local/share/uv/tools/portico", "uv", None, "uv tool uninstall portico"),
        ("/home/ana/.cache/uv/archive-v0/x1", "uv", None, "uv cache clean portico"),
        ("/p", "uv", None, "uv pip uninstall --python /p/bin/python portico"),
        ("/my p", "pip", '{"url": "file:///x.whl"}', "'/my p/bin/python' -m pip uninstall portico"),
        ("/src/portico/.venv", "pip", EDITABLE, "rm -r /src/portico/.venv"),
    ],
)
def test_the_command_is_that_of_the_installer(
    prefix: str, installer: str, origin: str | None, command: str
) -> None:
    assert removal_by("portico", prefix=prefix, installer=installer, origin=origin) == command


def test_ours_is_known_too() -> None:
    assert removal("portico")
