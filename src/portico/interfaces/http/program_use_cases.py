"""What the routes of programs can call."""

from dataclasses import dataclass

from portico.workflows.programs import ShowProgram, StartProgram, WaitForProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramUseCases:
    start_program: StartProgram
    show_program: ShowProgram
    wait_for_program: WaitForProgram
