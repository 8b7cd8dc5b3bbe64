"""The tools of the gateway in the hands of an agent."""

from portico.agents.core.happening import Noted, ToolBegan, ToolWaits
from portico.agents.core.trace import AgentRunStatus, ToolUse, WholeTrace
from portico.gateway.core.call import Answer
from portico.gateway.core.errors import UpstreamTimedOut
from portico.guard.core.approval import AnswerKind, Resolution
from portico.guard.core.rules import Rule, Ruling
from portico.testing.agents import a_call, says, wants
from tests.agents.town import ANA, Town
from tests.gateway.open_room import WRITE

READS = wants(a_call("files__read", path="/a"))
WRITES = wants(a_call("files__write", path="/a"))
DELETES = wants(a_call("files__delete", path="/a"))


def only(trace: WholeTrace) -> ToolUse:
    [use] = trace.uses
    return use


async def test_a_tool_is_called_as_the_agent_in_the_task_of_its_run() -> None:
    town = Town(WRITES, says("Done."))

    trace = await town.ran_agent()
    [kept] = town.world.calls.values()

    assert (trace.run.status, trace.run.answer) == (AgentRunStatus.COMPLETED, "Done.")
    assert (only(trace).tool, only(trace).failed) == ("files.write", False)
    assert '"did": "write"' in only(trace).text
    assert (kept.call.principal, kept.call.context) == (town.agent.principal, trace.run.context)


async def test_what_needs_approval_waits_and_goes_on_with_what_came_of_it() -> None:
    town = Town(DELETES, says("Deleted."))
    waiting = await town.ran_agent()
    run = waiting.run.run
    asked = await town.asked(run)

    await town.say(asked)
    await town.leg(run)
    trace = await town.trace(run)
    told = await town.happened(run)

    assert waiting.run.status is AgentRunStatus.WAITING
    assert (asked.asker.id, asked.asker.name) == (town.agent.principal, "clerk")
    assert trace.run.status is AgentRunStatus.COMPLETED
    assert (only(trace).failed, only(trace).approval) == (False, asked.id)
    assert town.writes == {"delete /a": 1}
    [waits] = [each for each in told if isinstance(each, ToolWaits)]
    assert (waits.approval, waits.expires_at) == (asked.id, asked.expires_at)


async def test_what_was_rejected_is_said_to_the_model() -> None:
    town = Town(DELETES, says("Then not."))
    run = (await town.ran_agent()).run.run

    await town.say(await town.asked(run), AnswerKind.REJECT)
    await town.leg(run)
    trace = await town.trace(run)

    assert trace.run.status is AgentRunStatus.COMPLETED
    assert (only(trace).failed, only(trace).code) == (True, "approval_rejected")
    assert town.writes == {}


async def test_what_is_not_on_its_list_is_refused_by_the_gate() -> None:
    town = Town(WRITES, says("I may not."), tools=("files.read",))

    trace = await town.ran_agent()
    denied = [each for each in town.audited if each["action"] == "call.denied"]

    assert (only(trace).failed, only(trace).code) == (True, "tool_not_allowed")
    assert only(trace).tool == "files.write"
    began = [each for each in await town.happened(trace.run.run) if isinstance(each, ToolBegan)]
    assert [each.tool for each in began] == ["files.write"]
    assert "portico agents edit clerk" in only(trace).text
    assert [(each["subject"], each["rule"]) for each in denied] == [("files.write", "default:list")]
    assert town.made == {}


async def test_a_tool_that_nobody_has_is_not_found() -> None:
    town = Town(wants(a_call("files__burn", path="/a")), says("There is none."))

    trace = await town.ran_agent()

    assert (only(trace).failed, only(trace).code) == (True, "tool_not_found")
    assert only(trace).tool == "files__burn"


async def test_whoever_gives_it_the_wrong_things_is_told_what_it_takes() -> None:
    town = Town(wants(a_call("files__write", path=3)), says("Well."))

    trace = await town.ran_agent()

    assert only(trace).code == "bad_arguments"
    assert "describe_tools" not in only(trace).text
    assert only(trace).text == (
        "files.write was not called, its arguments do not fit: path: must be string. "
        "It takes files.write(path?: str)"
    )


async def test_words_of_a_refusal_come_with_their_fix() -> None:
    rule = Rule(name="never", ruling=Ruling.DENY, tools=("files.write",))
    town = Town(WRITES, says("I may not."), rules=(rule,))

    trace = await town.ran_agent()

    assert only(trace).code == "refused"
    assert "portico policy explain" in only(trace).text


async def test_what_a_tool_says_of_its_failure_is_told() -> None:
    town = Town(WRITES, says("It failed."))
    town.upstreams.replies[WRITE.ref] = Answer([{"type": "text", "text": "no room"}], failed=True)

    trace = await town.ran_agent()

    assert (only(trace).failed, only(trace).code) == (True, "tool_failed")
    assert only(trace).text == "no room"


async def test_of_what_may_have_been_done_a_person_says_what_became_of_it() -> None:
    town = Town(WRITES, says("Well."))
    town.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files", 1)
    waiting = await town.ran_agent()
    run = waiting.run.run

    await town.resolve(run, "call-1-0", Resolution.DONE)
    await town.leg(run)
    trace = await town.trace(run)

    assert waiting.run.status is AgentRunStatus.WAITING
    assert only(trace).text == "It was done. Nobody knows what it answered."
    assert any(isinstance(each, Noted) for each in await town.happened(run))


async def test_what_is_too_long_is_read_page_by_page_in_its_own_run_alone() -> None:
    read_on = wants(a_call("read_result", result="call-1-0", page=2))
    town = Town(READS, read_on, says("Read."), read_on, says("Nothing."), page_size=20)

    trace = await town.ran_agent()
    other = await town.ran_agent()

    assert trace.uses[0].text.endswith('read_result(result="call-1-0", page=2)]')
    assert "[page 2 of" in trace.uses[1].text
    assert (only(other).failed, only(other).code) == (True, "result_not_found")


async def test_many_tools_are_shown_by_a_search() -> None:
    town = Town()
    caller = await town.identities.acting(ANA, await town.made_agent())

    few = await town.toolbox.offers(caller, "read a file", 10, 10_000)
    many = await town.toolbox.offers(caller, "read a file", 3, 10_000)
    tight = await town.toolbox.offers(caller, "read a file", 10, 5)

    assert [shown.name for shown in few.shown] == [
        "files__delete",
        "files__read",
        "files__write",
        "read_result",
    ]
    assert (few.searched, many.searched, tight.searched) == (False, True, True)
    own = ["search_tools", "call_tool", "read_result"]
    assert [shown.name for shown in many.shown] == own
    assert await town.toolbox.offers(caller, "read a file", 3, 10_000) == many


async def test_an_agent_without_tools_is_shown_none() -> None:
    town = Town(tools=())
    caller = await town.identities.acting(ANA, await town.made_agent())

    assert (await town.toolbox.offers(caller, "anything", 10, 10_000)).shown == ()
