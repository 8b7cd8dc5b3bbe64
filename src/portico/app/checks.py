"""What can be wrong with the house as a whole: whether the key in the drawer opens its door, and
whether there is a box that holds."""

import asyncio
from dataclasses import dataclass

from portico.app.entered import entered
from portico.app.ground import Ground
from portico.engine.core.store import Finding, State
from portico.kernel.errors import Kind, PorticoError
from portico.sandbox.core.errors import BoxUnavailable


@dataclass(frozen=True, slots=True)
class CheckKey:
    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # `init` makes a new one
        file = self.ground.loaded.paths.key_file
        fix = "portico init"
        try:
            async with entered(self.ground) as (_, caller):
                detail = f"opens as {caller.name}"
        except OSError:
            detail = f"there is no readable key in {file}"
            return Finding(check="key", state=State.BROKEN, detail=detail, fix=fix)
        except PorticoError as error:
            if error.kind is Kind.DENIED:
                detail = f"the key in {file} opens nothing"
                return Finding(check="key", state=State.BROKEN, detail=detail, fix=fix)
            return Finding(check="key", state=State.BROKEN, detail=str(error), fix=error.fix)
        return Finding(check="key", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckRunning:
    """Whether what runs is what is installed: after an upgrade the old one goes on at first."""

    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # whoever started it ends it
        from portico.adapters.system.bind_address import told_version

        private, installed = self.ground.private_socket, self.ground.version
        port = self.ground.loaded.settings.server.port
        key = self.ground.loaded.paths.key_file
        runs = None
        if private is not None and key.exists():
            runs = await asyncio.to_thread(told_version, private, port, key.read_text().strip())
        if runs is None:
            return Finding(check="running", state=State.GOOD, detail="no server runs")
        if runs == installed:
            return Finding(check="running", state=State.GOOD, detail=f"{runs}, as installed")
        return Finding(
            check="running",
            state=State.WARNING,
            detail=f"the server is {runs}, and {installed} is installed",
            fix="End it and start it anew: portico serve",
        )


@dataclass(frozen=True, slots=True)
class CheckBox:
    """Tries to get out of the box, as a server does when it starts. None is a warning: much can
    be done without, and what cannot says so itself."""

    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # what is missing is the system's
        from portico.app.box import Boxes

        boxes = Boxes(self.ground)
        try:
            report = (await boxes.find()).report
        except BoxUnavailable as error:
            return Finding(check="box", state=State.WARNING, detail=str(error), fix=error.fix)
        held = f"{report.backend}, {len(report.probes)} probes held"
        unboxed = self.ground.loaded.settings.box.unboxed
        if unboxed:
            detail = f"{held}; without a box run: {', '.join(unboxed)}"
            fix = "portico config unset box.unboxed"
            return Finding(check="box", state=State.WARNING, detail=detail, fix=fix)
        return Finding(check="box", state=State.GOOD, detail=held)
