"""A server that says what it was given, wherever it can say anything."""

import os

from tests.adapters.mcp.servers.speech import Message, Speaker, content

NESTED = {"deep": [{"deeper": None}]}


def secret() -> str:
    return os.environ["KEY"]


class Gossip(Speaker):
    def __init__(self) -> None:
        super().__init__(capabilities={"tools": {}, "resources": {}, "prompts": {}})
        self.tools |= {"everywhere": everywhere, "aloud": aloud, "refuse": everywhere}

    def greeting(self) -> Message:
        return {**super().greeting(), "instructions": f"Use {secret()}."}

    def listed(self) -> list[Message]:
        told = {"description": f"Uses {secret()}.", "inputSchema": {"type": "object"}}
        return [{"name": name, **told} for name in self.tools]

    def result(self, request: Message) -> Message | None:
        match request["method"]:
            case "resources/list" | "prompts/list" | "resources/templates/list":
                return {"result": {}}
            case "resources/read":
                return {"result": {"contents": [{"uri": "x:/", "text": f"it is {secret()}"}]}}
            case "prompts/get":
                said = {"role": "user", "content": {"type": "text", "text": f"Say {secret()}"}}
                return {"result": {"messages": [said]}}
            case "completion/complete":
                return {"error": {"code": -32603, "message": f"no {secret()}", "data": secret()}}
            case "tools/call" if request["params"]["name"] == "refuse":
                return {"error": {"code": -32603, "message": f"login failed with {secret()}"}}
            case _:
                return super().result(request)


def everywhere(_speaker: Speaker, _params: Message) -> Message:
    return {
        **content(f'password={secret()}, and "{secret()}" again; the other password=hunter2'),
        "structuredContent": {secret(): [{"deep": {"deeper": [1, None, f"<{secret()}>"]}}]},
        "_meta": {"x/y": secret()},
    }


def aloud(speaker: Speaker, params: Message) -> Message:
    told = {"progressToken": params["_meta"]["progressToken"], "progress": 1}
    speaker.send(
        {"method": "notifications/progress", "params": {**told, "message": f"with {secret()}"}}
    )
    logged = {"level": "info", "data": {"env": [secret()]}}
    speaker.send({"method": "notifications/message", "params": logged})
    question = {"message": f"Is it {secret()}?", "requestedSchema": {}}
    speaker.ask("elicitation/create", question)
    return content("said")


def main() -> None:
    Gossip().run()
