"""What the routes of programs can call."""

from dataclasses import dataclass

from portico.gateway.programs.show_program import ShowProgram
from portico.gateway.programs.start_program import StartProgram
from portico.gateway.programs.wait_for_program import WaitForProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramUseCases:
    start_program: StartProgram
    show_program: ShowProgram
    wait_for_program: WaitForProgram
