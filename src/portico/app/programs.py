"""Programs put on their doors: the interpreter, and the engines and calls that plans have too."""

from dataclasses import dataclass, field

from portico.app.assemble_workflows import WorkflowDoors
from portico.engine.runs import Kind
from portico.gateway.catalog import Catalogues
from portico.gateway.results import KeepResult
from portico.interfaces.http.use_cases import ProgramUseCases
from portico.workflows.core.programs import PROGRAM, ProgramLimits
from portico.workflows.execution import EngineSide
from portico.workflows.programs import (
    LookAhead,
    OpenInterpreter,
    RunProgram,
    ShowProgram,
    StartProgram,
    TakeBack,
    Turns,
    WaitForProgram,
)
from portico.workflows.run_queries import ShowWorkflow
from portico.workflows.step_calls import CalledWith, OneCall


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
