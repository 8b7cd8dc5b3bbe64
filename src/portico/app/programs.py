"""Programs put on their doors: the interpreter, and the engines and calls that plans have too."""

from dataclasses import dataclass, field

from portico.app.assemble_workflows import WorkflowDoors
from portico.engine.runs import Kind
from portico.gateway.catalogue import Catalogues
from portico.gateway.core.program.program import PROGRAM, ProgramLimits
from portico.gateway.keep_result import KeepResult
from portico.gateway.programs.look_ahead import LookAhead
from portico.gateway.programs.run_program import RunProgram
from portico.gateway.programs.show_program import ShowProgram
from portico.gateway.programs.start_program import StartProgram
from portico.gateway.programs.take_back import TakeBack
from portico.gateway.programs.turns import OpenInterpreter, Turns
from portico.gateway.programs.wait_for_program import WaitForProgram
from portico.gateway.workflows.called_with import CalledWith
from portico.gateway.workflows.engines import EngineSide
from portico.gateway.workflows.one_call import OneCall
from portico.gateway.workflows.show_workflow import ShowWorkflow
from portico.interfaces.http.program_use_cases import ProgramUseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDoors:
    workflows: WorkflowDoors
    open_interpreter: OpenInterpreter
    catalogues: Catalogues
    keep_result: KeepResult
    limits: ProgramLimits = field(default_factory=ProgramLimits)

    def kind(self, step_call: OneCall, side: EngineSide) -> Kind:
        """Nobody starts one by its name: it begins with a program."""
        work = RunProgram(
            act_for=self.workflows.act_for(side),
            look_ahead=LookAhead(catalogues=self.catalogues),
            step_call=step_call,
            turns=Turns(
                open_interpreter=self.open_interpreter,
                clock=self.workflows.clock,
                limits=self.limits,
            ),
            take_back=TakeBack(
                book=side.book,
                approvals=self.workflows.approvals.approvals,
                withdraw=self.workflows.approvals.withdraw(),
            ),
        )
        return Kind(name=PROGRAM, work=work)

    def use_cases(self, show_workflow: ShowWorkflow) -> ProgramUseCases:
        show = ShowProgram(
            engines=self.workflows.engines,
            uncertain=show_workflow.uncertain,
            called_with=CalledWith(history=self.workflows.history),
            contexts=self.workflows.contexts,
            keep_result=self.keep_result,
        )
        return ProgramUseCases(
            start_program=StartProgram(
                engines=self.workflows.engines,
                catalogues=self.catalogues,
                contexts=self.workflows.contexts,
                audit=self.workflows.audit,
                together=self.workflows.together,
            ),
            show_program=show,
            wait_for_program=WaitForProgram(show=show),
        )
