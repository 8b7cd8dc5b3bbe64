"""Servers in a sandbox: what each needs to start, its environment, home and confinement."""

import json
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from portico.adapters.mcp.secrets import Command
from portico.adapters.sandbox.folders import Bounds, Reserved, fewest, of_the_system
from portico.adapters.sandbox.server_processes import (
    ConfinedServerProcesses,
    Looking,
    SandboxServerConfinement,
    Surroundings,
    fitted,
    interpreters,
    is_code,
    project_of,
    steps,
    whole_path,
)
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import FromFile, Http, Plain, ServerId, Stdio, Unsandboxed
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, Network, NetworkEndpoint, Profile
from portico.sandbox.requests import Sandbox
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.adapters.mcp.pools import AMPLE, HOME, a_pool, launched, said, target
from tests.adapters.sandbox.boxes import Made


class Machine:
    """A home with programs in it, far down enough not to be the top of a disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home" / "ana"
        self.home.mkdir(parents=True)
        self.path: list[Path] = []
        self.environment: dict[str, str] = {}

    def file(self, path: str, text: str = "", *, runs: bool = False) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if runs else 0o644)
        return file

    def program(self, path: str, text: str = "\x7fELF") -> Path:
        return self.file(path, text, runs=True)

    def link(self, path: str, target: Path | str) -> Path:
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return link

    @property
    def looking(self) -> Looking:
        hidden = (str(self.root / "home/ana/.portico"),)
        path = ":".join(map(str, self.path))
        return Looking(Reserved(str(self.home), hidden), {"PATH": path, **self.environment})

    def around(self, command: str, *arguments: str, folder: str | None = None) -> Surroundings:
        launch = Stdio(command, tuple(map(Plain, arguments)), folder=folder)
        return self.looking.surroundings(launch, command, folder)

    def needed(self, command: str, *arguments: str, folder: str | None = None) -> list[str]:
        found = self.around(command, *arguments, folder=folder).needed
        return [str(Path(each).relative_to(self.root)) for each in found]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def test_a_program_of_the_system_needs_nothing_more(machine: Machine) -> None:
    around = machine.around("/bin/sh")

    assert around.needed == ()
    assert around.program == "/bin/sh"
    assert around.folder is None


def test_a_program_is_found_by_its_name_with_all_of_its_toolchain(machine: Machine) -> None:
    machine.program(
        "home/ana/.nvm/v22/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n"
    )
    machine.link("home/ana/.nvm/v22/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js")
    machine.program("home/ana/.nvm/v22/bin/node")
    machine.path = [machine.home / ".nvm/v22/bin"]

    assert machine.needed("npx", "-y", "pkg") == ["home/ana/.nvm/v22"]
    assert machine.around("npx").program == str(machine.home / ".nvm/v22/bin/npx")


def test_a_virtual_environment_brings_the_python_that_it_was_made_with(machine: Machine) -> None:
    base = machine.program("home/ana/.pyenv/versions/3.12/bin/python3.12")
    machine.file("home/ana/.pyenv/versions/3.12/lib/python3.12/os.py")
    machine.link("home/ana/.pyenv/versions/3.12/bin/python3", "python3.12")
    machine.link("work/proj/.venv/bin/python", base)
    machine.file("work/proj/.venv/pyvenv.cfg", f"home = {base.parent}\nversion = 3.12\n")
    script = machine.program(
        "work/proj/.venv/bin/serve", f"#!{machine.root}/srv/proj/.venv/bin/python\n"
    )

    assert machine.needed(str(script)) == ["work/proj/.venv", "home/ana/.pyenv/versions/3.12"]


def test_links_on_the_way_are_given_where_they_are_looked_for(machine: Machine) -> None:
    machine.program("opt/node-22/bin/node")
    machine.file("opt/node-22/lib/x")
    machine.link("opt/node", "node-22")

    assert machine.needed(str(machine.root / "opt/node/bin/node")) == ["opt/node", "opt/node-22"]


def test_of_a_folder_that_is_too_much_only_the_program_is_given(machine: Machine) -> None:
    machine.program("home/ana/.local/bin/uvx")
    machine.program("home/ana/.local/bin/uv")
    machine.file("home/ana/.local/lib/x")
    machine.program("home/ana/bin/tool")
    machine.file("home/ana/lib/x")
    machine.path = [machine.home / ".local/bin", machine.home / "bin"]

    assert machine.needed("uvx", "pkg") == ["home/ana/.local/bin/uvx", "home/ana/.local/bin/uv"]
    assert machine.needed("tool") == ["home/ana/bin/tool"]


def test_a_bin_beside_nothing_is_no_toolchain(machine: Machine) -> None:
    program = machine.program("work/things/bin/tool")

    assert machine.needed(str(program)) == ["work/things/bin/tool"]


def test_uv_finds_the_pythons_that_it_has_installed_before(machine: Machine) -> None:
    machine.program("home/ana/.local/bin/uvx")
    machine.program("home/ana/.local/share/uv/python/cpython-3.13/bin/python3")
    machine.file("home/ana/.local/share/uv/python/cpython-3.13/lib/x")
    machine.path = [machine.home / ".local/bin"]

    around = machine.around("uvx", "pkg")

    managed = machine.home / ".local/share/uv/python/cpython-3.13"
    assert around.searched == (str(managed / "bin"),)
    assert str(managed) in around.needed


def test_a_script_comes_with_its_project(machine: Machine) -> None:
    script = machine.file("work/app/dist/index.js")
    machine.file("work/app/package.json")
    lonely = machine.file("work/tools/server.py")
    in_home = machine.file("home/ana/server.py")

    assert machine.needed("/bin/sh", str(script)) == ["work/app"]
    assert machine.needed("/bin/sh", str(lonely)) == ["work/tools"]
    assert machine.needed("/bin/sh", str(in_home)) == ["home/ana/server.py"]


def test_a_program_of_a_package_comes_with_all_that_is_installed_beside_it(
    machine: Machine,
) -> None:
    machine.program("work/app/node_modules/pkg/node_modules/x/cli.js", "#!/usr/bin/env node\n")
    script = machine.link("work/app/node_modules/.bin/pkg", "../pkg/node_modules/x/cli.js")

    assert machine.needed("/bin/sh", str(script)) == ["work/app"]
    assert machine.needed(str(script)) == ["work/app"]


def test_it_starts_where_its_launch_says_unless_that_is_too_much(machine: Machine) -> None:
    folder = machine.file("work/here/x").parent

    assert machine.around("/bin/sh", folder=str(folder)).folder == str(folder)
    assert machine.needed("/bin/sh", folder=str(folder)) == ["work/here"]
    assert machine.around("/bin/sh", folder=str(machine.home)).folder is None


def test_whom_this_machine_trusts_is_told(machine: Machine) -> None:
    trusted = machine.file("work/certs.pem")
    machine.environment = {"SSL_CERT_FILE": str(trusted), "SSL_CERT_DIR": "/no/such/folder"}

    assert machine.needed("/bin/sh") == ["work/certs.pem"]


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program", "./nothing"])
def test_what_is_not_there_is_not_found(machine: Machine, program: str) -> None:
    with pytest.raises(FileNotFoundError):
        machine.around(program)


def test_what_may_not_be_run_is_not_run(machine: Machine) -> None:
    with pytest.raises(PermissionError):
        machine.around(str(machine.file("work/notes.txt")))


def test_a_program_beside_the_folder_is_found_from_there(machine: Machine) -> None:
    machine.program("work/app/serve")

    found = whole_path("./serve", path="", folder=str(machine.root / "work/app"))

    assert found == str(machine.root / "work/app/serve")


def test_links_that_lead_in_circles_come_to_an_end(machine: Machine) -> None:
    machine.link("work/a", "b")
    machine.link("work/b", "a")

    assert len(list(steps(str(machine.root / "work/a")))) == 40


def test_by_default_named_folders_may_be_changed_and_named_files_read(machine: Machine) -> None:
    notes = machine.file("work/notes/today.md").parent
    key = machine.file("home/ana/key.json")
    script = machine.file("work/app/index.js")
    named = (str(script), str(notes), "--key=~/key.json", str(machine.root / "nowhere"), "/etc")
    environment = {"API": Plain("http://127.0.0.1:8080"), "AGAIN": Plain(str(notes / "today.md"))}

    found = machine.looking.default(Stdio("node", tuple(map(Plain, named)), environment))

    assert found == Profile(
        read=(str(key),),
        write=(str(notes),),
        network=Network.PUBLIC,
        reach=(NetworkEndpoint("127.0.0.1", 8080),),
    )


def test_what_is_too_much_is_not_given_although_it_is_named(machine: Machine) -> None:
    ours = machine.file("home/ana/.portico/client.key")
    launch = Stdio("node", tuple(map(Plain, ("/", str(machine.home), str(ours), "~"))), folder="~")

    assert machine.looking.default(launch) == Profile(network=Network.PUBLIC)


def test_what_a_file_says_gives_nothing(machine: Machine) -> None:
    notes = machine.file("work/notes/today.md").parent
    config = machine.file("work/mcp.json", f'{{"a": "{notes}"}}')
    launch = Stdio("node", (FromFile(str(config), "/a"),))

    assert machine.looking.default(launch).write == ()


def test_what_it_needs_is_read_unless_it_may_be_written_anyway() -> None:
    around = Surroundings(
        program="/opt/x/bin/x", needed=("/opt/x", "/srv/app/.venv"), folder=None, searched=()
    )

    held = around.holding(Profile(read=("/opt/x/lib",), write=("/srv/app",)))

    assert held == Profile(read=("/opt/x",), write=("/srv/app",))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#!/usr/bin/env node\n", ("node",)),
        ("#!/usr/bin/env -S A=1 uv run\n", ("uv",)),
        ("#!/opt/venv/bin/python -I\n", ("/opt/venv/bin/python",)),
        ("#!/bin/sh\n'''exec' '/a b/python' \"$0\" \"$@\"\n' '''\n", ("/bin/sh", "/a b/python")),
        ("#!\n", ()),
        ("#!/usr/bin/env\n", ()),
        ("import os\n", ()),
        ("", ()),
    ],
)
def test_the_first_lines_say_by_what_a_file_is_run(
    tmp_path: Path, text: str, found: tuple[str, ...]
) -> None:
    file = tmp_path / "file"
    file.write_text(text)

    assert interpreters(file) == found
    assert is_code(file) is bool(found)


def test_what_cannot_be_read_is_run_by_nobody_knows_what(tmp_path: Path) -> None:
    assert interpreters(tmp_path) == ()
    assert is_code(tmp_path / "server.py")


def test_a_project_that_is_too_much_is_none(machine: Machine) -> None:
    machine.file("home/ana/package.json")
    machine.file("home/ana/node_modules/pkg/cli.js")
    reserved = machine.looking.reserved

    assert project_of(str(machine.home / "x.js"), reserved) is None
    packaged = machine.home / "node_modules/pkg/cli.js"
    assert project_of(str(packaged), reserved) == str(packaged.parent)


def test_the_project_that_was_linked_into_its_own_python_is_read_and_no_other_folder(
    machine: Machine,
) -> None:
    machine.file("home/ana/mine/.venv/pyvenv.cfg", "home = /usr/bin\n")
    python = machine.program("home/ana/mine/.venv/bin/python3")
    project = machine.file("home/ana/mine/src/server.py").parent
    keys = machine.file("home/ana/.ssh/id").parent
    links = f"import site\n{project}\n{machine.home}\n{keys}\n{machine.root}/gone\n"
    machine.file("home/ana/mine/.venv/lib/python3.12/site-packages/mine.pth", links)

    assert machine.needed(str(python)) == ["home/ana/mine/.venv", "home/ana/mine/src"]


@pytest.mark.parametrize(
    "line",
    ["#!{keys}", "#!/usr/bin/env {keys}", "#!/bin/sh\n'''exec' '{keys}' x", "#!/opt/..{keys}"],
)
def test_what_a_server_writes_into_its_own_script_gives_it_nothing(
    machine: Machine, line: str
) -> None:
    keys = machine.program("home/ana/.aws/credentials", "secret")
    python = machine.program("opt/bin/python3")
    script = machine.file("home/ana/mine/server.py", line.format(keys=keys) + "\n")

    found = machine.needed(str(python), str(script), folder=str(script.parent))

    assert not [each for each in found if "aws" in each]


def test_neither_does_a_link_that_it_plants_nor_an_environment(machine: Machine) -> None:
    machine.file("home/ana/.ssh/id")
    keys = machine.program("home/ana/.ssh/bin/python3")
    python = machine.link("home/ana/mine/.venv/bin/python3", keys)
    machine.file("home/ana/mine/.venv/pyvenv.cfg", f"home = {keys.parent}\n")
    script = machine.link("home/ana/mine/server.py", keys.parent.parent / "id")

    found = machine.needed(str(python), str(script), folder=str(script.parent))

    assert not [each for each in found if "ssh" in each]


def test_a_link_to_where_toolchains_are_kept_is_followed(machine: Machine) -> None:
    kept = machine.program("home/ana/.local/share/uv/python/cpython-3.12/bin/python3.12")
    machine.file("home/ana/.local/share/uv/python/cpython-3.12/lib/x")
    python = machine.link("home/ana/mine/.venv/bin/python3", kept)
    machine.file("home/ana/mine/.venv/pyvenv.cfg", f"home = {kept.parent}\n")

    assert machine.needed(str(python)) == [
        "home/ana/mine/.venv",
        "home/ana/.local/share/uv/python/cpython-3.12",
    ]


RESERVED = Reserved("/home/ana", ("/home/ana/.config/portico", "/srv/portico/data"))


@pytest.mark.parametrize(
    ("path", "barred"),
    [
        ("/", True),
        ("/srv", True),
        ("/home", True),
        ("/home/ana", True),
        ("/home/ana/.local", True),
        ("/home/ana/.local/share", True),
        ("/home/ana/.config", True),
        ("/home/ana/.config/portico", True),
        ("/home/ana/.config/portico/client.key", True),
        ("/srv/portico/data/homes/x", True),
        ("/home/ana/notes", False),
        ("/home/ana/.pyenv", False),
        ("/home/ana/.local/share/uv/python/3.12", False),
        ("/home/anabel/notes", False),
        ("/srv/portico", False),
    ],
)
def test_the_home_what_holds_it_shared_drawers_and_our_own_are_barred(
    path: str, barred: bool
) -> None:
    assert RESERVED.bar(path) is barred


def test_what_every_box_has_is_the_systems() -> None:
    assert of_the_system("/usr/bin/python3")
    assert of_the_system("/etc/passwd")
    assert not of_the_system("/opt/node/bin/node")
    assert not of_the_system("/usrlocal")


def test_what_lies_in_another_is_not_named_twice() -> None:
    assert fewest(["/a/b", "/a", "/c", "/a"]) == ("/a", "/c")
    assert fewest(["/a/b", "/ab", "/c/d"], ["/a", "/c/d"]) == ("/ab",)


OURS = {
    "HOME": "/home/ana",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin",
    "SHELL": "/bin/zsh",
    "TMPDIR": "/run/ana",
    "USER": "ana",
    "XDG_CACHE_HOME": "/home/ana/.cache",
}
PUBLIC = Profile(network=Network.PUBLIC)


TOLD = {"LANG": "C.UTF-8", "PATH": "/usr/bin"}
DECLARED = {"HOME": "/srv/home", "XDG_CACHE_HOME": "/srv/cache", "TOKEN": "t"}
PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("declared", "searched", "told"),
    [
        ({}, [], TOLD),
        (DECLARED, [], {**TOLD, **DECLARED}),
        ({}, ["/opt/a", "/opt/b"], {**TOLD, "PATH": "/usr/bin:/opt/a:/opt/b"}),
        (
            {"HTTPS_PROXY": PROXY, "no_proxy": "a"},
            [],
            {**TOLD, "HTTPS_PROXY": PROXY, "https_proxy": PROXY, "NO_PROXY": "a", "no_proxy": "a"},
        ),
    ],
    ids=["not who and where we are", "what was declared", "further folders", "both spellings"],
)
def test_of_our_environment_a_server_is_told_what_it_needs_and_what_was_declared(
    declared: dict[str, str], searched: list[str], told: dict[str, str]
) -> None:
    given = {**OURS, **declared}

    found = fitted(given, declared, program="/usr/bin/node", profile=PUBLIC, searched=searched)

    assert found == told


@pytest.mark.parametrize(
    ("program", "profile", "offline"),
    [
        ("/usr/bin/npx", Profile(), True),
        ("/opt/uvx", Profile(reach=(NetworkEndpoint("api.example", 443),)), True),
        ("/usr/bin/npx", PUBLIC, False),
        ("/usr/bin/node", Profile(), False),
    ],
)
def test_without_a_network_what_fetches_programs_makes_do_with_what_it_has(
    program: str, profile: Profile, offline: bool
) -> None:
    found = fitted({}, {}, program=program, profile=profile, searched=())

    assert found == ({"npm_config_offline": "true", "UV_OFFLINE": "1"} if offline else {})


SHELL = target(Stdio("/bin/sh", (Plain("-c"), Plain("~/x"), Plain("--at=~/y"))))
COMMAND = Command("/bin/sh", ("-c", "~/x", "--at=~/y"), {}, None, frozenset())


async def nowhere() -> Sandbox:
    raise SandboxUnavailable("bubblewrap is not installed", fix="Install it.")


def cells(
    root: Path,
    find: Callable[[], Awaitable[Sandbox]] = nowhere,
    named: tuple[str, ...] = (),
    *,
    lacking: bool = True,
) -> ConfinedServerProcesses:
    return ConfinedServerProcesses(
        find=find,
        lacks=lambda: lacking,
        looking=Looking(Reserved("/home/ana", (str(root / "data"),)), dict(os.environ)),
        homes=root / "data" / "homes",
        limits=Limits(memory=4_000_000_000),
        named=named,
    )


async def test_where_there_is_no_box_nothing_is_started_and_the_way_out_is_said(
    tmp_path: Path,
) -> None:
    room = await cells(tmp_path).cell(SHELL, COMMAND, {})

    assert room is not None
    with pytest.raises(SandboxUnavailable, match="not installed") as refused:
        await room.__aenter__()
    assert refused.value.fix is not None
    assert refused.value.fix.startswith("Install it. ")
    assert "--unboxed" in refused.value.fix


@pytest.mark.parametrize(
    ("named", "consent", "let_out"),
    [
        (("server:pin",), None, True),
        (("others:pin", "server", "server:nip"), None, False),
        ((), "pin", True),
        ((), "another pin", False),
    ],
)
async def test_only_whoever_is_let_out_runs_without_and_that_is_logged(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    named: tuple[str, ...],
    consent: str | None,
    let_out: bool,
) -> None:
    agreed = None if consent is None else Unsandboxed(by="ana", at=BEGINNING, launch_pin=consent)

    with caplog.at_level(logging.WARNING, "portico.sandbox"):
        room = await cells(tmp_path, named=named).cell(
            replace(SHELL, unsandboxed=agreed), COMMAND, {}
        )

    assert (room is None) is let_out
    assert ("WITHOUT A BOX" in caplog.text) is let_out


async def test_consent_lets_nobody_out_where_there_is_a_box_or_one_that_does_not_work_now(
    tmp_path: Path, made: Made
) -> None:
    async def find() -> Sandbox:
        return made.box()

    agreed = replace(SHELL, unsandboxed=Unsandboxed(by="ana", at=BEGINNING, launch_pin="pin"))

    assert await cells(tmp_path, find).cell(agreed, COMMAND, {}) is not None
    assert await cells(tmp_path, lacking=False).cell(agreed, COMMAND, {}) is not None


def test_what_cannot_be_ordered_is_refused(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for name in ("keys", "data"):
        (root / name).mkdir()
    (root / "notes").symlink_to("keys")
    linked, around = (
        replace(SHELL, profile=Profile(write=(each,))) for each in (f"{root}/notes", str(root))
    )
    made = cells(root)

    with pytest.raises(InvalidProfile, match="has become a link"):
        made.order(linked, COMMAND, {})
    with pytest.raises(InvalidProfile, match="Portico's own"):
        made.order(around, COMMAND, {})
    with pytest.raises(FileNotFoundError):
        made.order(SHELL, replace(COMMAND, folder="/no/such/folder"), {})
    with pytest.raises(TypeError):
        made.order(target(Http("https://a.example")), COMMAND, {})


def test_what_is_ordered_is_what_was_approved_with_its_own_home(tmp_path: Path) -> None:
    own = replace(SHELL, id=ServerId.mint(BEGINNING, SeededEntropy()))
    made = cells(tmp_path)

    order = made.order(own, COMMAND, {"HOME": "/home/ana", "LANG": "C"})
    homes = [made.order(replace(SHELL, server=each), COMMAND, {}).home for each in ("a", "b", "a")]

    home = tmp_path / "data" / "homes" / str(HOME) / f"server-{own.id}"
    assert order.program == "/bin/sh"
    assert order.arguments == ("-c", "/home/ana/x", "--at=/home/ana/y")
    assert order.environment == {"LANG": "C"}
    assert order.folder is None
    assert order.home == str(home)
    assert order.profile == Profile(network=Network.PUBLIC)
    assert home.stat().st_mode & 0o777 == 0o700
    assert homes[0] == homes[2] != homes[1]


def test_a_stated_profile_takes_the_place_of_what_its_launch_names(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    notes = lab / "notes"
    notes.mkdir(parents=True)
    named = target(Stdio("/bin/sh", (Plain(str(lab)),), folder=str(notes)))
    command = Command("/bin/sh", (str(lab),), {}, str(notes), frozenset())

    default = cells(tmp_path).order(named, command, {})
    stated = cells(tmp_path).order(replace(named, profile=Profile()), command, {})

    assert default.profile == Profile(write=(str(lab),), network=Network.PUBLIC)
    assert stated.profile == Profile(read=(str(notes),))
    assert stated.folder == str(notes)


async def test_a_server_runs_in_a_real_box(made: Made, folder: Path) -> None:
    """Ours is in a project that it is given, as any script is."""
    homes = folder / "data" / "homes"
    homes.mkdir(mode=0o711, parents=True)
    secret = folder / "secret"
    secret.write_text("canary")
    secret.chmod(0o644)

    async def find() -> Sandbox:
        return made.box(hidden=[folder / "data"], lent=[homes])

    launch = launched("plain", SECRET=Plain("declared"))
    if made.backend is Backend.LANDLOCK and os.geteuid() == 0:
        launch = replace(launch, command="/usr/bin/python3")
    root = str(Path(__file__).parents[3])
    wanted = Profile(read=(root,))
    environment = {"PATH": os.environ["PATH"], "CANARY": "not for servers"}

    async with a_pool(confine=cells(folder, find), environment=environment) as pool:
        running = replace(target(launch), profile=wanted)
        found = json.loads(said(await pool.call(running, "environment", {}, timeout=AMPLE)))
        with pytest.raises(UpstreamDown, match="profile"):
            missing = replace(running, profile=Profile(read=(str(folder / "nothing"),)))
            await pool.call(missing, "environment", {}, timeout=AMPLE)

    assert found["environment"]["SECRET"] == "declared"
    assert "CANARY" not in found["environment"]
    assert found["folder"] == found["environment"]["HOME"]
    assert found["environment"]["HOME"] != os.environ.get("HOME")


async def test_walls_say_what_there_is(tmp_path: Path, made: Made) -> None:
    async def find() -> Sandbox:
        return made.box()

    ours = tmp_path / "data"
    ours.mkdir()
    walls = SandboxServerConfinement(
        find=find,
        lacks=lambda: True,
        looking=cells(tmp_path).looking,
        bounds=Bounds.of([ours], []),
        named=("others",),
    )

    assert await walls.offered()
    assert not await walls.lacking()
    assert not await replace(walls, find=nowhere).offered()
    assert await replace(walls, find=nowhere).lacking()
    assert not await replace(walls, find=nowhere, lacks=lambda: False).lacking()
    assert walls.home == "/home/ana"
    assert await walls.default(Stdio("x", (Plain(str(tmp_path)),))) == Profile(
        read=(str(tmp_path),), network=Network.PUBLIC
    )
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "link").symlink_to(notes)
    assert await walls.check(Profile(write=(str(tmp_path / "link"),))) == Profile(
        write=(str(notes),)
    )
    with pytest.raises(InvalidProfile, match="own"):
        await walls.check(Profile(write=(str(tmp_path),)))
    for wrong in (str(ours), str(tmp_path / "nothing"), "/etc"):
        with pytest.raises(InvalidProfile):
            await walls.check(Profile(read=(wrong,)))
