"""Debates behind the faces, on in-memory doors: four voices that say what they are told to."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.adapters.joins.debate_material import DebateMaterial
from portico.adapters.tokens.o200k import O200k
from portico.engine.kinds import Kind
from portico.faces.http.debate_use_cases import DebateUseCases
from portico.gateway.workflows.engines import EngineSide
from portico.guard.as_they_are import AsTheyAre
from portico.kernel.json import JsonValue
from portico.main.assemble import Doors
from portico.main.assemble_debates import DebateDoors, assemble_debates, debate_kinds
from portico.testing.bridge_memory import MemoryMemory
from portico.testing.bridge_talk import MemoryProjects
from portico.testing.debate_data import MemoryBlackboard
from portico.testing.debate_doors import (
    MemoryDebateLogs,
    MemoryDebateTalk,
    MemoryDebateTasks,
    MemoryPromotion,
    SpellingMeaning,
)
from portico.testing.debate_guests import MemorySeats
from portico.testing.debate_purse import MemoryPurse
from portico.testing.debate_records import MemoryOutcomes, MemoryPersonas
from portico.testing.debate_voices import ScriptedVoice, ScriptedVoices
from portico.testing.world import MemoryWorld

NAMES = ("openai:gpt", "anthropic:claude", "meta:llama", "qwen:qwen")


@dataclass(frozen=True)
class MemoryDebates:
    use: DebateUseCases
    kinds: Sequence[Kind]
    voices: ScriptedVoices
    talk: MemoryDebateTalk
    promotion: MemoryPromotion

    def say(self, *answers: JsonValue) -> None:
        """What each of them answers from now on, in their order."""
        for name, answer in zip(NAMES, answers, strict=True):
            self.voices.voices[name].answer = answer


def memory_debates(world: MemoryWorld, doors: Doors, engine: EngineSide) -> MemoryDebates:
    voices = ScriptedVoices(*(ScriptedVoice(name=name) for name in NAMES))
    talk, promotion = MemoryDebateTalk(), MemoryPromotion()
    made = DebateDoors(
        voices=voices,
        blackboard=MemoryBlackboard(world),
        purse=MemoryPurse(world),
        seats=MemorySeats(world),
        outcomes=MemoryOutcomes(world),
        personas=MemoryPersonas(world),
        meaning=SpellingMeaning(),
        tasks=MemoryDebateTasks(world, doors.clock, doors.entropy),
        material=DebateMaterial(
            projects=MemoryProjects(world), memory=MemoryMemory(world, doors.clock)
        ),
        promotion=promotion,
        talk=talk,
        logs=MemoryDebateLogs(),
        engine=engine,
        tokenizer=O200k(),
        together=doors.together,
        audit=doors.audit,
        as_they_are=AsTheyAre(key_ring=doors.key_ring, clock=doors.clock),
        clock=doors.clock,
        entropy=doors.entropy,
    )
    return MemoryDebates(assemble_debates(made), debate_kinds(made), voices, talk, promotion)
