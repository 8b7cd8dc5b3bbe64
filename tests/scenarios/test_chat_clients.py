"""Programs of others talk to our agents: OpenAI's own client, and an AG-UI client, each with an
approval in the middle."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.installation import installation
from tests.scenarios.agent_house import AgentHouse, agent_house
from tests.scenarios.node_packages import installed, node
from tests.scenarios.scripted_model import calls, play, says, scripted_model

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

PATIENCE: Final = 4
"""Seconds that a chat goes on while something waits."""
DOCS: Final = Path(__file__).parents[2] / "docs"
CLIENT: Final = Path(__file__).with_name("ag_ui_client.mjs")
LEND: Final = ("library__lend_book", {"book_id": "b1"})
FIND: Final = ("library__find_books", {"topic": "herons"})


@pytest.fixture(scope="module")
def house() -> Iterator[AgentHouse]:
    with scripted_model() as model, installation() as home:
        settings = home.home / "config" / "portico.toml"
        before = settings.read_text() if settings.exists() else ""
        settings.write_text(f"{before}\n[agents]\nchat_patience_seconds = {PATIENCE}\n")
        with agent_house(model, home) as made:
            made.agent("clerk", description="Lends books.")
            yield made


@pytest.fixture
def client(house: AgentHouse) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{house.house.url}/v1", api_key=house.house.key) as made:
        yield made


def test_the_program_in_the_docs_prints_the_answer(house: AgentHouse, tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "chat-from-any-program.md").read_text()
    [program] = re.findall(r'```python title="ask.py"\n(.*?)```', page, re.DOTALL)
    here = program.replace("http://127.0.0.1:3100", house.house.url)
    (tmp_path / "ask.py").write_text(here.replace("ptc_…", house.house.key))

    ran = subprocess.run(
        [sys.executable, "ask.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "You said: Write to Bob that the books are back." in ran.stdout


def asked(*messages: str) -> list[Any]:
    """What the user said, what was answered, and so on in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": each} for at, each in enumerate(messages)]


def content(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)


def reasoning(chunks: list[ChatCompletionChunk]) -> str:
    deltas = [each.choices[0].delta for each in chunks if each.choices]
    return "".join(getattr(each, "reasoning_content", None) or "" for each in deltas)


def test_each_agent_is_a_model_and_so_is_each_way_to_debate(client: openai.OpenAI) -> None:
    debates = ["debate/vote", "debate/debate", "debate/quorum"]
    assert [each.id for each in client.models.list()] == ["agent/clerk", *debates]
    assert client.models.retrieve("agent/clerk").owned_by
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("agent/nobody")


def test_an_answer_whole_and_in_chunks(client: openai.OpenAI) -> None:
    plan = play(calls(FIND, say="I look."), says("There are some."))
    whole = client.chat.completions.create(model="agent/clerk", messages=asked(plan))
    chunks = [
        *client.chat.completions.create(
            model="agent/clerk",
            messages=asked(f"{plan}again"),
            stream=True,
            stream_options={"include_usage": True},
        )
    ]

    assert (whole.choices[0].message.content or "").strip() == "There are some."
    assert whole.usage is not None
    assert whole.usage.total_tokens > 0
    assert [part.strip() for part in content(chunks).split("\n\n")] == [
        "I look.",
        "There are some.",
    ]
    assert "library.find_books" in reasoning(chunks)
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens > 0


def test_what_is_refused_is_raised_as_the_client_knows_it(
    client: openai.OpenAI, house: AgentHouse
) -> None:
    url = f"{house.house.url}/v1"
    with pytest.raises(openai.BadRequestError) as unsupported:
        client.chat.completions.create(model="agent/clerk", messages=asked("Hello"), n=2)
    with (
        openai.OpenAI(base_url=url, api_key="nonsense") as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-5", messages=asked("Hello"))

    assert unsupported.value.param == "n"
    assert unsupported.value.code == "not_supported"


def test_a_stream_says_what_waits_and_goes_on_when_it_is_answered(
    client: openai.OpenAI, house: AgentHouse
) -> None:
    plan = play(calls(LEND, say="I lend it."), says("It is lent."), say="in time")
    chunks: list[ChatCompletionChunk] = []
    answering: threading.Thread | None = None
    for chunk in client.chat.completions.create(
        model="agent/clerk", messages=asked(plan), stream=True
    ):
        chunks.append(chunk)
        found = re.search(r"approve (apr_\w+)", content(chunks))
        if found is not None and answering is None:
            answering = threading.Thread(target=house.answer, args=(found[1], "once"))
            answering.start()
    assert answering is not None
    answering.join()

    assert "waits for approval of library.lend_book" in content(chunks)
    assert f"{house.house.url}/api/v1/approvals/" in content(chunks)
    assert content(chunks).strip().endswith("It is lent.")
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_the_protocols_own_client_takes_every_event_and_answers_an_interrupt(
    house: AgentHouse,
) -> None:
    library = installed("@ag-ui/client", "1.0.0") / "dist" / "index.mjs"
    url = f"{house.house.url}/api/v1/agents/clerk/ag-ui"
    plan = play(calls(FIND, LEND, say="I lend it."), says("It is lent."), say="by node")

    done = node(CLIENT, library, url, house.house.key, plan, "And now?", timeout=120)

    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout)
    spoken = [each for each in heard["messages"] if each["role"] != "tool"]
    tools = [each for each in heard["messages"] if each["role"] == "tool"]
    assert heard["asked"] == ["May the agent use library.lend_book?"]
    assert heard["outcomes"] == ["interrupt", "success", "success"]
    assert [each["role"] for each in spoken][-2:] == ["user", "assistant"]
    assert [each.get("content", "").strip() for each in spoken].count("It is lent.") == 1
    assert len(tools) == 2
