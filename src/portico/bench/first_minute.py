"""The first minute: from a wheel to the first answered call, as somebody who has never had it."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self

from cyclopts import Parameter

from portico.bench.newcomer import (
    CLIENTS,
    FIRST,
    SERVERS,
    Newcomer,
    Server,
    Unprepared,
    entries,
    newcomer,
    prepare_home,
)
from portico.bench.processes import free_port
from portico.bench.report import Report, skipped
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

_ARGUMENTS: Final = {"timezone": "UTC"}
_OFFLINE: Final = {"UV_OFFLINE": "1"}
"""What is measured is not how far away the registries are."""


@dataclass(frozen=True, slots=True)
class _Took:
    """A clock that is read now is compared to one that was read before."""

    seconds: float
    cpu_s: float
    """Of what was started, as far as it has ended; what else runs here does not count."""

    @classmethod
    def now(cls) -> Self:
        used = os.times()
        return cls(time.perf_counter(), used.children_user + used.children_system)

    def since(self, before: "_Took") -> "_Took":
        return _Took(self.seconds - before.seconds, self.cpu_s - before.cpu_s)


@dataclass(frozen=True, slots=True)
class _Minute:
    install: "_Took"
    init: "_Took"
    first_call_s: float
    taken: JsonObject
    """What `init` says."""
    answered: JsonObject
    """What the client was answered."""
    baseline: JsonObject


def first_minute(
    *,
    wheel: Annotated[Path | None, Parameter(help="What is installed: a wheel of Portico.")] = None,
    servers: Annotated[int, Parameter(help="How many of the fifteen real servers.")] = 15,
    account: Annotated[
        str | None,
        Parameter(help="Who does it, if root runs this; else the account of database.run_as."),
    ] = None,
    caches: Annotated[
        Path | None, Parameter(help="Where fetched packages are kept for the next time.")
    ] = None,
    compile_bytecode: Annotated[
        bool, Parameter(help="Have uv compile everything while it installs.")
    ] = False,
    at: At,
) -> int:
    """Install, `init --yes`, and the first answered call, by a fresh user with full caches."""
    settings = {each.path: each.value for each in at.services.settings()}
    who = (account or str(settings["database.run_as"] or "")) if os.geteuid() == 0 else None
    if wheel is None or not wheel.is_file():
        return skipped(at, "first-minute", "no wheel; make one (just build) and name it: --wheel")
    if who == "":
        return skipped(at, "first-minute", "root is no fresh user; name another: --account")
    chosen = _chosen(servers)
    try:
        with newcomer(who, caches) as user, at.working("preparing") as progress:
            packed = _prepared(user, wheel, chosen, progress)
            found = _minute(user, packed, chosen, progress, compile_bytecode=compile_bytecode)
    except Unprepared as reason:
        return skipped(at, "first-minute", str(reason))
    return _told(at, found, chosen, compile_bytecode=compile_bytecode)


def _chosen(count: int) -> Sequence[Server]:
    """The one that is called first is always among them."""
    called = FIRST.partition(".")[0]
    first = [each for each in SERVERS if each.name == called]
    return [*first, *(each for each in SERVERS if each.name != called)][: max(1, count)]


def _prepared(
    user: Newcomer, wheel: Path, servers: Sequence[Server], progress: Callable[[str], None]
) -> Path:
    """Everything is fetched, and each server was started once, as by clients until today."""
    progress("getting uv")
    packed = user.home / wheel.name
    packed.write_bytes(wheel.read_bytes())
    user.take(packed)
    user.run(user.python, "-m", "venv", "tools")
    user.run("tools/bin/pip", "install", "--quiet", "uv")
    user.needs(["uv", "uvx", "npx"] if any(each.node for each in servers) else ["uv", "uvx"])
    prepare_home(user, servers)
    wanted = [wheel.name, *(each.package for each in servers)]
    if set(wanted) <= set(_filled(user)):
        return packed
    progress("fetching what Portico needs")
    _installed(user, "before", str(packed))
    progress(f"fetching {len(servers)} servers")
    listed_bare(user, user.home / "before" / "bin", servers, offline=False)
    _marker(user).write_text("\n".join({*wanted, *_filled(user)}), encoding="utf-8")
    return packed


def _filled(user: Newcomer) -> Sequence[str]:
    """What the caches had in them when they were last filled."""
    return _marker(user).read_text(encoding="utf-8").split() if _marker(user).exists() else []


def _marker(user: Newcomer) -> Path:
    return user.caches / "filled.txt"


def _minute(
    user: Newcomer,
    packed: Path,
    servers: Sequence[Server],
    progress: Callable[[str], None],
    *,
    compile_bytecode: bool,
) -> _Minute:
    flags = ["--compile-bytecode"] if compile_bytecode else []
    home = {"PORTICO_SERVER__PORT": str(free_port())}
    progress("installing")
    started = _Took.now()
    _installed(user, "portico", str(packed), *flags, **_OFFLINE)
    installed = _Took.now()
    programs = user.home / "portico" / "bin"
    progress("init --yes")
    taken = set_up(user, programs, **home)
    set_up_at = _Took.now()
    progress("the first call")
    answered = first_answer(user, programs, **home)
    progress("the same without Portico")
    without = _Took.now()
    bare = listed_bare(user, programs, servers, offline=True)
    alone = _Took.now()
    _installed(user, "alone", "mcp", *flags, **_OFFLINE)
    return _Minute(
        install=installed.since(started),
        init=set_up_at.since(installed),
        first_call_s=answered["first_call_s"],
        taken=taken,
        answered=answered,
        baseline={
            "list_one_after_another_s": round(bare["seconds"], 2),
            "list_one_after_another_cpu_s": round(alone.since(without).cpu_s, 2),
            "tools_listed": sum(bare["tools"].values()),
            "install_mcp_alone_s": round(_Took.now().since(alone).seconds, 2),
        },
    )


def _installed(user: Newcomer, folder: str, *what: str, **changes: str) -> None:
    user.run("uv", "venv", "--quiet", folder, **changes)
    python = f"--python={user.home / folder / 'bin' / 'python'}"
    user.run("uv", "pip", "install", "--quiet", python, *what, **changes)


def set_up(user: Newcomer, programs: Path, **changes: str) -> JsonObject:
    """What `init` says that it took. Nobody is there who could be asked."""
    taken: JsonObject = json.loads(
        user.run(programs / "portico", "init", "--yes", "--json", **changes)
    )
    return taken


def first_answer(user: Newcomer, programs: Path, **changes: str) -> dict[str, Any]:
    """By the official client, from nothing that runs. Raises `Unprepared` if it is none."""
    called = ["call", FIRST, json.dumps(_ARGUMENTS), str(programs / "portico"), "stdio", "--start"]
    answered = _client(user, programs, *called, **changes)
    if answered["failed"]:
        raise Unprepared(f"{FIRST} was not answered: {answered['said'][:300]}")
    return answered


def listed_bare(
    user: Newcomer, programs: Path, servers: Sequence[Server], *, offline: bool, **changes: str
) -> dict[str, Any]:
    """One server after another, by the official client alone."""
    written = json.dumps(entries(user, servers, offline=offline))
    return _client(user, programs, "list", written, **changes)


def _client(user: Newcomer, programs: Path, *arguments: str, **changes: str) -> dict[str, Any]:
    run = ("-m", "portico.bench.first_minute_client", *arguments)
    said = user.run(programs / "python", *run, **changes)
    found: dict[str, Any] = json.loads(said)
    return found


def _told(at: At, found: _Minute, servers: Sequence[Server], *, compile_bytecode: bool) -> int:
    context: Any = found.taken["context"]
    outcomes: Any = found.taken["servers"]
    listed = [each["name"] for each in outcomes if each["listed"]]
    node = sum(each.node for each in servers)
    return Report(
        benchmark="first-minute",
        corpus=f"{len(servers)} published servers, {node} of npm by npx and "
        f"{len(servers) - node} of PyPI by uvx, in the files of {min(len(CLIENTS), len(servers))} "
        f"clients; {FIRST} is called",
        figures={
            "install_s": round(found.install.seconds, 2),
            "init_s": round(found.init.seconds, 2),
            "first_call_s": round(found.first_call_s, 2),
            "total_s": round(found.install.seconds + found.init.seconds + found.first_call_s, 2),
            "install_cpu_s": round(found.install.cpu_s, 2),
            "init_cpu_s": round(found.init.cpu_s, 2),
            "context_before": context["tokens_before"],
            "context_after": context["tokens_after"],
            "tools": context["tools"],
            "servers_listed": len(listed),
            "not_listed": {each["name"]: each["reason"] for each in outcomes if not each["listed"]},
        },
        baseline=found.baseline,
        conditions={
            "caches": "filled; uv and npm are offline",
            "compile_bytecode": compile_bytecode,
            "tokenizer": context["tokenizer"],
            "surface": found.answered["tools"],
        },
    ).tell(at)
