"""Which files there are in a box: what was granted, and of the rest nothing."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from portico.adapters.sandbox import folders, runner
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Profile, SandboxCommand
from tests.adapters.sandbox.boxes import ROOM, Made, python, shell


def a_folder(path: Path, *, mode: int = 0o777) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


def a_file(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o644)
    return path


async def test_a_folder_that_may_be_read_may_not_be_changed(made: Made, folder: Path) -> None:
    granted = a_folder(folder / "granted")
    a_file(granted / "known", "hello\n").chmod(0o666)
    script = (
        f"cat {granted}/known; echo x > {granted}/known; touch {granted}/new; rm {granted}/known"
    )

    outcome = await made.shell(script, profile=Profile(read=(str(granted),)))

    assert outcome.output == b"hello\n"
    assert [(each.name, each.read_text()) for each in granted.iterdir()] == [("known", "hello\n")]


async def test_a_folder_that_may_be_changed_is_changed(made: Made, folder: Path) -> None:
    granted = a_folder(folder / "granted")
    script = (
        f"mkdir {granted}/deep && echo new > {granted}/deep/file && mv {granted}/deep {granted}/d"
    )

    outcome = await made.shell(script, profile=Profile(write=(str(granted),)))

    assert outcome.code == 0, outcome.errors
    assert (granted / "d" / "file").read_text() == "new\n"


async def test_what_is_beside_a_granted_folder_is_not_there(made: Made, folder: Path) -> None:
    granted, other = a_folder(folder / "granted"), a_folder(folder / "granted-secrets")
    a_file(other / "key", "a canary\n")
    script = f"cat {granted}/../granted-secrets/key {other}/key; echo x > {other}/new"

    outcome = await made.shell(script, profile=Profile(write=(str(granted),)))

    assert b"canary" not in outcome.output
    assert [each.name for each in other.iterdir()] == ["key"]


async def test_a_link_leads_nowhere_that_was_not_granted(made: Made, folder: Path) -> None:
    granted, other = a_folder(folder / "granted"), a_folder(folder / "other")
    a_file(other / "key", "a canary\n")
    (granted / "link").symlink_to(other / "key")

    outcome = await made.shell(
        f"cat {granted}/link; ln -s {other} {granted}/l2; cat {granted}/l2/key",
        profile=Profile(write=(str(granted),)),
    )

    assert outcome.output == b""


async def test_a_link_that_was_planted_is_not_followed(made: Made, folder: Path) -> None:
    granted, other = a_folder(folder / "granted"), a_folder(folder / "other")
    (granted / "venv").symlink_to(other)

    with pytest.raises(InvalidProfile, match="a link in a folder that the box may change"):
        await made.shell(
            "true", profile=Profile(write=(str(granted),), read=(str(granted / "venv"),))
        )


async def test_files_and_links_are_seen_where_they_were_named(made: Made, folder: Path) -> None:
    real, one, two = (a_folder(folder / name) for name in ("real", "one", "two"))
    for path in (real / "file", two / "file", folder / "granted", folder / "beside"):
        a_file(path, f"{path.name} of {path.parent.name}\n")
    (folder / "named").symlink_to(real)
    (one / "link").symlink_to(two)
    paths = ("named", "one", "one/link", "granted")

    outcome = await made.shell(
        f"cd {folder}; cat named/file one/link/file granted beside",
        profile=Profile(read=tuple(str(folder / path) for path in paths)),
    )

    assert outcome.output.decode() == f"file of real\nfile of two\ngranted of {folder.name}\n"


async def test_some_folders_are_never_given_and_only_whole_paths_of_what_is_there(
    made: Made,
) -> None:
    never = ("/", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm", "/etc", "/run", "/run/lock")
    for path in never:
        for profile in (Profile(read=(path,)), Profile(write=(path,))):
            with pytest.raises(InvalidProfile, match="never given"):
                await made.shell("true", profile=profile)
    for path in ("relative", "/usr/../etc", "/usr//bin", "/no/such/folder", "", "~"):
        with pytest.raises(InvalidProfile):
            await made.shell("true", profile=Profile(read=(path,)))


async def test_what_is_ours_is_never_given(made: Made, folder: Path) -> None:
    ours = a_folder(folder / "portico" / "data")
    (folder / "link").symlink_to(ours)
    box = made.box(hidden=[folder / "portico"])

    for path in (folder / "portico", ours, folder / "link"):
        with pytest.raises(InvalidProfile, match="Portico's own"):
            await box.run(shell("true", profile=Profile(read=(str(path),))), ROOM)
        with pytest.raises(InvalidProfile, match="Portico's own"):
            await box.run(SandboxCommand(program="/bin/true", home=str(path)), ROOM)


async def test_what_is_ours_is_not_seen_in_a_folder_that_holds_it(made: Made, folder: Path) -> None:
    ours = a_folder(folder / "project" / "portico")
    a_file(ours / "key", "a canary\n")
    a_file(folder / "project" / "readme", "hello\n")
    box = made.box(hidden=[ours])
    project = folder / "project"
    order = shell(
        f"cat {project}/readme {ours}/key; ls {ours}; echo x > {ours}/key",
        profile=Profile(read=(str(project),)),
    )

    if made.backend is Backend.LANDLOCK:
        with pytest.raises(InvalidProfile, match="Portico's own"):
            await box.run(order, ROOM)
    else:
        outcome = await box.run(order, ROOM)
        assert outcome.output == b"hello\n"
        assert (ours / "key").read_text() == "a canary\n"


async def test_a_file_of_ours_cannot_be_kept_covered_up(made: Made, folder: Path) -> None:
    """Once it is replaced by another, that one would be seen."""
    project = a_folder(folder / "project")
    box = made.box(hidden=[a_file(project / "portico.toml", "a canary\n")])

    with pytest.raises(InvalidProfile, match="Portico's own"):
        await box.run(shell("true", profile=Profile(read=(str(project),))), ROOM)


async def test_what_is_ours_is_hidden_by_every_name_of_its_folder(folder: Path) -> None:
    ours = a_folder(folder / "project" / "portico")
    a_file(ours / "key", "a canary\n")
    a_file(folder / "project" / "readme", "hello\n")
    (folder / "named").symlink_to(folder / "project")
    box = Made(Backend.BUBBLEWRAP).box(hidden=[ours])
    named = folder / "named"
    script = f"cat {named}/readme {named}/portico/key {ours}/key; ls {named}/portico {ours}"

    outcome = await box.run(shell(script, profile=Profile(read=(str(named),))), ROOM)

    assert outcome.output == b"hello\n"


async def test_what_may_be_changed_must_not_hold_what_is_ours(made: Made, folder: Path) -> None:
    """It would be moved away, and something else put in its place."""
    home = a_folder(folder / "home")
    config = a_folder(home / ".config" / "portico")
    a_file(config / "settings", "ours\n")
    box = made.box(hidden=[config])
    plant = f"cd {home} && mv .config old && mkdir -p {config} && echo planted > {config}/settings"

    with pytest.raises(InvalidProfile, match="Portico's own"):
        await box.run(shell(plant, profile=Profile(write=(str(home),))), ROOM)
    with pytest.raises(InvalidProfile, match="Portico's own"):
        await box.run(shell(plant, home=str(home)), ROOM)

    assert (config / "settings").read_text() == "ours\n"


async def test_what_is_ours_and_not_there_yet_cannot_be_covered_up(
    made: Made, folder: Path
) -> None:
    home = a_folder(folder / "home")
    ours = home / ".config" / "portico"
    box = made.box(hidden=[ours])
    order = shell(f"ls {home}", profile=Profile(read=(str(home),)))

    with pytest.raises(InvalidProfile, match="Portico's own"):
        await box.run(order, ROOM)

    if made.backend is Backend.BUBBLEWRAP:
        a_file(a_folder(ours) / "key", "a canary\n")
        reading = shell(f"cat {ours}/key; ls {ours}", profile=order.profile)
        assert (await box.run(reading, ROOM)).output == b""


async def test_what_is_lent_is_a_home_and_in_no_profile(made: Made, folder: Path) -> None:
    data = a_folder(folder / "data", mode=0o711)
    work = a_folder(a_folder(data / "workspaces", mode=0o711) / "ben", mode=0o700)
    a_file(work / "file", "of Ben\n")
    box = made.box(hidden=[data], lent=[data / "workspaces"])

    for profile in (Profile(read=(str(work),)), Profile(write=(str(work),))):
        with pytest.raises(InvalidProfile, match="Portico's own"):
            await box.run(shell(f"cat {work}/file", profile=profile), ROOM)

    assert (await box.run(shell("cat file", home=str(work)), ROOM)).output == b"of Ben\n"


async def test_of_ours_what_is_lent_can_be_given(made: Made, folder: Path) -> None:
    data = a_folder(folder / "data", mode=0o711)
    homes = a_folder(data / "homes", mode=0o711)
    own, other = a_folder(homes / "one", mode=0o700), a_folder(homes / "two", mode=0o700)
    a_file(other / "secret", "a canary\n")
    a_file(data / "key", "a canary\n")
    box = made.box(hidden=[data], lent=[homes])
    script = f"echo mine > ~/file; cat ~/file; cat {other}/secret {data}/key; ls {data} {homes}"

    outcome = await box.run(shell(script, home=str(own)), ROOM)

    assert outcome.output == b"mine\n"
    assert (own / "file").read_text() == "mine\n"
    with pytest.raises(InvalidProfile, match="Portico's own"):
        await box.run(shell("true", home=str(homes)), ROOM)


async def test_a_home_that_is_not_given_is_gone_afterwards(made: Made) -> None:
    outcome = await made.shell("pwd; echo x > file; ls; ls -d $HOME")

    lines = outcome.output.decode().splitlines()
    assert lines[0] == lines[2]
    assert lines[1] == "file"
    assert not await asyncio.to_thread(Path(lines[0]).exists)


async def test_a_home_is_where_its_environment_says(folder: Path) -> None:
    home = a_folder(folder / "home")
    order = shell("echo x > $HOME/file; pwd", home=str(home), environment={"HOME": "/home/ana"})

    outcome = await Made(Backend.BUBBLEWRAP).box().run(order, ROOM)

    assert outcome.output == b"/home/ana\n"
    assert (home / "file").read_text() == "x\n"


async def test_it_begins_in_its_folder_also_in_one_of_its_home(made: Made, folder: Path) -> None:
    granted = a_folder(folder / "granted" / "deep")
    home = a_folder(folder / "home" / "work").parent
    home.chmod(0o777)
    profile = Profile(read=(str(folder / "granted"),))

    outcome = await made.shell("pwd", profile=profile, folder=str(granted))
    at_home = await made.shell("pwd; echo $HOME", home=str(home), folder=str(home / "work"))

    place, seen = at_home.output.decode().splitlines()
    assert outcome.output.decode().strip() == str(granted)
    assert place == f"{seen}/work"
    with pytest.raises(InvalidProfile, match="may not see"):
        await made.shell("pwd", profile=profile, folder=str(folder))


async def test_little_of_etc_is_there(made: Made) -> None:
    secret = ["shadow", "gshadow", "ssh", "machine-id", "sudoers", "ssl/private", "fstab"]
    script = f"""
import os
def readable(path):
    try:
        (os.listdir if os.path.isdir(path) else open)(path)
    except OSError:
        return False
    return True
print([name for name in {secret} if readable("/etc/" + name)])
print(readable("/etc/passwd"), readable("/etc/ssl/certs") or not os.path.exists("/etc/ssl/certs"))
"""
    outcome = await made.python(script)

    assert outcome.output == b"[]\nTrue True\n"


async def test_its_tmp_is_as_large_as_it_may_be() -> None:
    limits = ROOM.__class__(seconds=30, output=10_000, scratch=2_000_000)

    outcome = await Made(Backend.BUBBLEWRAP).shell(
        "head -c 9000000 /dev/zero > /tmp/big; wc -c < /tmp/big; "
        "head -c 9000000 /dev/zero > /dev/shm/big; wc -c < /dev/shm/big",
        limits,
    )

    assert all(int(line) <= 2_100_000 for line in outcome.output.split())


async def test_the_system_itself_cannot_be_changed(made: Made) -> None:
    outcome = await made.shell(
        "for p in / /usr /etc /dev /proc /run; do touch $p/new && echo $p; done"
    )

    assert outcome.output == b""


async def test_programs_of_the_system_run_and_have_room_for_a_while(made: Made) -> None:
    outcome = await made.shell(
        "ls /usr/bin > /dev/null && python3 -c 'import ssl, json' && id -u && mktemp > /dev/null"
    )

    assert outcome.code == 0, outcome.errors
    assert outcome.output.strip() != b"0"


async def test_our_own_interpreter_will_do_where_the_system_has_none(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "of_the_system", runner.own)

    outcome = await made.shell("echo hello")

    assert outcome.output == b"hello\n"


async def test_a_folder_that_its_account_may_not_enter_is_refused_without_namespaces(
    folder: Path,
) -> None:
    granted = a_folder(folder / "private" / "granted")
    granted.parent.chmod(stat.S_IRWXU)
    profile = Profile(read=(str(granted),))

    plain = Made(Backend.LANDLOCK).box()
    if os.geteuid() == 0:
        with pytest.raises(InvalidProfile, match="may not enter"):
            await plain.run(shell("true", profile=profile), ROOM)
    else:
        assert (await plain.run(shell("true", profile=profile), ROOM)).code == 0
    seen = await Made(Backend.BUBBLEWRAP).shell(f"ls -d {granted}", profile=profile)
    assert seen.code == 0


async def test_its_account_is_the_only_one_there_is() -> None:
    outcome = (
        await Made(Backend.BUBBLEWRAP)
        .box()
        .run(python("import getpass, pwd; print(len(pwd.getpwall()), getpass.getuser())"), ROOM)
    )

    assert outcome.output.decode().split() == ["1", folders.NAME]
