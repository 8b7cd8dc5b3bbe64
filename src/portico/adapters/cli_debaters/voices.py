"""Voices of a debate that are programs: asked by their standard input, heard line by line, ended
with all that they have started. Nothing holds them to a maximum: what they spend is shown."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.availability import Availability
from portico.adapters.cli_debaters.dialect import Heard, table
from portico.adapters.cli_debaters.program import CLEARANCE, Program
from portico.adapters.cli_debaters.running import Running, SaidTooMuch, started
from portico.adapters.system.removing import remove_tree
from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind, VoiceReply, VoiceState
from portico.debate.core.errors import VoiceAway, VoiceBroke, VoiceNotCleared, VoiceNotFound
from portico.kernel.budget import Cost
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.kernel.redaction import blacked_out
from portico.kernel.tokens import Tokenizer, Tokens

PREFIX: Final = "program:"
USUAL_OUTPUT: Final = 4_096
"""Tokens that are reserved for an answer: it thinks, and may take more."""
AT_ONCE: Final = 4
"""Each is a whole program, of hundreds of megabytes."""
_WORDS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramVoices:
    programs: Mapping[str, Program]
    environment: Mapping[str, str]
    """Ours; of which each is given only what it needs."""
    availability: Availability
    tokenizer: Tokenizer
    clearance: Label = CLEARANCE
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[VoiceState]:  # noqa: ARG002 # they are the machine's, and the same for all
        async with asyncio.TaskGroup() as asked:
            tasks = {
                program.name: asked.create_task(self.availability.why_away(program, fresh=fresh))
                for program in self.programs.values()
            }
        return [
            VoiceState(
                voice=self._voice(self.programs[name]),
                available=task.result() is None,
                why=task.result(),
            )
            for name, task in tasks.items()
        ]

    async def named(self, caller: Principal, target: str) -> Voice:  # noqa: ARG002 # the same for all
        """Raises `VoiceNotFound`, `VoiceAway`."""
        program = self.programs.get(target.removeprefix(PREFIX))
        if program is None:
            raise VoiceNotFound(target)
        why = await self.availability.why_away(program)
        if why is not None:
            raise VoiceAway(target, why)
        return self._voice(program)

    async def ask(self, ask: VoiceAsk, hear: Callable[[str], None]) -> VoiceReply:
        name, program = ask.voice.name, self.programs.get(ask.voice.target)
        if program is None:
            gone = f"debate.programs has no {ask.voice.target!r} any more. Set it again."
            raise VoiceAway(name, gone)
        if not self.clearance.covers(ask.label):
            raise VoiceNotCleared(name, ask.label)
        heard = Heard()
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()), self._turns:
                why = await self._spoken(program, ask, heard, hear)
        except TimeoutError as error:
            late = f"it had not answered within {ask.timeout.total_seconds():.0f} seconds."
            raise VoiceBroke(name, late, self._known(ask, heard)) from error
        except SaidTooMuch as error:
            much = "it said more than anybody reads."
            raise VoiceBroke(name, much, self._known(ask, heard)) from error
        except OSError as error:
            gone = f"it cannot be started ({error.strerror}). See `portico debate voices --fresh`."
            raise VoiceAway(name, gone) from error
        if why is not None or not heard.text.strip():
            raise VoiceBroke(name, why or "its answer is empty.", self._known(ask, heard))
        return self._replied(ask, heard)

    async def _spoken(
        self, program: Program, ask: VoiceAsk, heard: Heard, hear: Callable[[str], None]
    ) -> str | None:
        """Why it gave no answer, if it did not. Raises `SaidTooMuch`, `OSError`."""
        folder = await asyncio.to_thread(_private_folder)
        try:
            call = await asyncio.to_thread(program.dialect.call, ask, folder)
            room = folder / "room"
            await asyncio.to_thread(room.mkdir)
            async with started(
                [*program.command, *call.arguments],
                environment={**program.environment(self.environment), **call.environment},
                folder=room,
                given=call.given,
            ) as running:
                await self._heard(program, running, heard, hear)
                code = 0 if heard.ended else await running.ended()
                return _why(heard, code, running.complaint)
        finally:
            await asyncio.to_thread(remove_tree, folder)

    async def _heard(
        self, program: Program, running: Running, heard: Heard, hear: Callable[[str], None]
    ) -> None:
        async with aclosing(running.lines()) as lines:
            async for line in lines:
                event = _event(line)
                if event and (piece := program.dialect.hear(event, heard)):
                    hear(piece)
                if heard.ended:
                    return

    def _voice(self, program: Program) -> Voice:
        return Voice(
            name=f"{PREFIX}{program.name}",
            kind=VoiceKind.PROGRAM,
            target=program.name,
            family=program.dialect.family,
            bounded=False,
            most_output=USUAL_OUTPUT,
            clearance=self.clearance,
        )

    def _replied(self, ask: VoiceAsk, heard: Heard) -> VoiceReply:
        prompt, output = self._tokens(ask, heard)
        return VoiceReply(
            text=heard.text,
            prompt_tokens=prompt,
            output_tokens=output,
            cost=self._cost(ask, heard),
            overrun=max(prompt + output - ask.prompt_tokens - ask.most_output, 0),
            model=heard.model or ask.voice.target,
        )

    def _tokens(self, ask: VoiceAsk, heard: Heard) -> tuple[int, int]:
        """It reads more than it is told: instructions of its own, and what it said before."""
        written = self.tokenizer.count(heard.text)
        return max(heard.input, ask.prompt_tokens), max(heard.output, written)

    def _known(self, ask: VoiceAsk, heard: Heard) -> Cost | None:
        """None of one that did not come to say what it has used."""
        return self._cost(ask, heard) if heard.ended else None

    def _cost(self, ask: VoiceAsk, heard: Heard) -> Cost:
        prompt, output = self._tokens(ask, heard)
        return Cost(tokens=Tokens(prompt + output), money=heard.money, calls=1)


def _private_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="portico-voice-"))


def _event(line: bytes) -> JsonObject:
    """Nothing of a line that is no JSON object: some say a word to people in between."""
    try:
        return table(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _why(heard: Heard, code: int, complained: str) -> str | None:
    if heard.problem is None and code == 0:
        return None
    last = next((line for line in reversed(complained.splitlines()) if line.strip()), "")
    said = blacked_out(" ".join((heard.problem or last or "it said nothing").split()))[:_WORDS]
    return said if heard.ended else f"it ended with {code}: {said}"
