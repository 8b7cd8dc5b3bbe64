"""Find out how a debate would be held: what is asked of whom, how secret it is, within what bounds.
Everything that can be refused cheaply is refused here, before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.debate.choose_voices import ChooseVoices, LeftOut
from portico.debate.core.errors import BadDebate, NoVoices
from portico.debate.core.estimate import Plan
from portico.debate.core.persona import Persona
from portico.debate.core.personas import BUILT_IN, dealt
from portico.debate.core.question import Question
from portico.debate.core.rules import Cap, Preset, Rules
from portico.debate.core.sheets import SHORTEST
from portico.debate.core.skip_words import MATERIAL
from portico.debate.core.spending import Count, Left, left_of
from portico.debate.core.voice import Voice
from portico.debate.core.wish import DebateWish, Usual
from portico.debate.core.wish_checks import (
    LEAST,
    MOST,
    cap_of,
    checked,
    deadline_of,
    question_of,
    rules_for,
)
from portico.debate.places import at_start
from portico.debate.ports import Material, Personas, Purse, Tasks
from portico.kernel.budget import NOTHING
from portico.kernel.label import PUBLIC, Label, join, meet
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    caller: Principal
    """Where they are when they begin it."""
    question: Question
    rules: Rules
    voices: tuple[Voice, ...]
    personas: dict[str, Persona]
    cap: Cap
    left: Left
    """Of the cap and of the project's, whichever is less."""
    deadline: timedelta
    label: Label
    untrusted: bool
    project: str | None
    left_out: tuple[LeftOut, ...]
    guests: int = 0
    parts: int = 0

    @property
    def plan(self) -> Plan:
        return Plan(
            question=self.question,
            rules=self.rules,
            voices=self.voices,
            personas=self.personas,
            cap=Cap(tokens=self.left.tokens, money=self.left.money),
            seconds=round(self.deadline.total_seconds()),
            parts=self.parts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareDebate:
    choose_voices: ChooseVoices
    personas: Personas
    material: Material
    tasks: Tasks
    purse: Purse
    usual: Usual

    async def __call__(self, caller: Principal, wish: DebateWish) -> Prepared:
        """Raises `BadDebate`, `ProjectNotFound`, `MemoryNotFound`, `VoiceNotFound`, `VoiceAway`,
        `VoiceUnbounded`, `VoiceNotCleared`, `NoVoices`, `PersonaNotFound`."""
        checked(wish)
        project, inside = await self._project(caller, wish)
        caller = at_start(caller, project)
        read, secret, strange = await self._read(caller, wish, project)
        task = await self.tasks.at(caller)
        label = join([task.label, inside, secret, wish.label or PUBLIC])
        if not caller.clearance.covers(label):
            raise BadDebate(
                f"A debate that is {label} is above your clearance, which is {caller.clearance}.",
                f"Label it {caller.clearance} at most, or have somebody start it who is cleared.",
            )
        question = question_of(wish, material_of(wish.material, read))
        rules = rules_for(wish, question.kind, self.usual)
        known = await self._known(caller)
        chosen = await self.choose_voices(caller, wish, label, rules)
        voices = dealt(chosen.voices, wish.roles, known) if chosen.voices else ()
        if len(voices) + wish.guests < LEAST:
            left_out = [*map(str, chosen.left_out)]
            raise NoVoices(len(voices) + wish.guests, LEAST, left_out)
        if len(voices) > MOST:
            raise BadDebate(f"A debate has at most {MOST} voices.", "Name fewer roles.")
        _check_families(rules, voices, wish.guests)
        cap = cap_of(wish, self.usual)
        return Prepared(
            caller=caller,
            question=question,
            rules=rules,
            voices=voices,
            personas=known,
            cap=cap,
            left=await self._left(caller, label, cap, project),
            deadline=deadline_of(wish, self.usual),
            label=label,
            untrusted=task.untrusted or strange,
            project=project,
            left_out=chosen.left_out,
            guests=wish.guests,
            parts=wish.parts_most if wish.analyze else 0,
        )

    async def _project(self, caller: Principal, wish: DebateWish) -> tuple[str | None, Label]:
        if wish.project is None:
            return None, PUBLIC
        return await self.material.project(caller, wish.project)

    async def _read(
        self, caller: Principal, wish: DebateWish, project: str | None
    ) -> tuple[str, Label, bool]:
        """What of the project's memory is read: whoever asks for it has read it."""
        if project is None or not wish.memory:
            return "", PUBLIC, False
        text, label, strange = await self.material.of(caller, project, wish.memory)
        await self.tasks.read(caller, label, untrusted=strange)
        return text, label, strange

    async def _known(self, caller: Principal) -> dict[str, Persona]:
        own = await self.personas.all(caller)
        return {**{each.name: each for each in own}, **BUILT_IN}

    async def _left(self, caller: Principal, label: Label, cap: Cap, project: str | None) -> Left:
        """With what those could know of the project's spending who may read the debate: else a
        refusal would tell of what is hidden from them."""
        own = left_of(cap, NOTHING)
        if project is None:
            return own
        looking = replace(caller, clearance=meet(caller.clearance, label))
        its_cap, spent, told = await self.purse.project(looking, project)
        least = own.least(left_of(its_cap, spent))
        if least != own:
            # Whoever starts it is told how much is left, and so what was spent.
            await self.tasks.read(caller, told, untrusted=False)
        return least


def within_windows(prepared: Prepared, count: Count) -> Prepared:
    """Without voices whose windows have no room for what is asked; of those that have room for the
    beginning of the material it is said. Raises `NoVoices`, `BadDebate`."""
    desk, whole = prepared.plan.desk(count), len(prepared.question.material)
    voices, told = [], []
    for voice in prepared.voices:
        shown, window = desk.shown_to(voice), f"its window of {voice.window or 0:,} tokens has"
        if desk.first(voice).beyond(voice, count) or shown < min(whole, SHORTEST):
            told.append(LeftOut(voice.name, f"{window} no room for what is asked."))
            continue
        voices.append(voice)
        if shown < whole:
            room = f"{window} room for {shown:,} of {whole:,} characters."
            told.append(LeftOut(voice.name, room, MATERIAL))
    left_out, seated = (*prepared.left_out, *told), len(voices) + prepared.guests
    if seated < LEAST:
        raise NoVoices(seated, LEAST, [*map(str, left_out)])
    _check_families(prepared.rules, voices, prepared.guests)
    return replace(prepared, voices=tuple(voices), left_out=left_out)


def _check_families(rules: Rules, voices: Sequence[Voice], guests: int) -> None:
    """Raises `BadDebate` for a quorum that could never come together."""
    families = {voice.family for voice in voices} | ({"guest"} if guests else set())
    if rules.preset is Preset.QUORUM and len(families) < rules.quorum_families:
        raise BadDebate(
            f"A quorum takes {rules.quorum_families} families of models, and all voices here are "
            f"of the family {', '.join(families)}.",
            "Name voices of another family, or choose the preset `vote`.",
        )


def material_of(*texts: str) -> str:
    """As it is kept."""
    parts: Sequence[str] = [text.replace("\x00", "").strip() for text in texts]
    whole = "\n\n".join(part for part in parts if part)
    return whole.encode("utf-8", "replace").decode("utf-8")
