"""What a server of tools of a benchmark answers, asked over its pipes."""

import json
import subprocess
from typing import Any

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def answers_of(command: list[str], *methods: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
    ]
    asked += [
        {"id": number, "method": name, "params": params}
        for number, (name, params) in enumerate(methods, 2)
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for message in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        server.kill()
    assert [each["id"] for each in answers] == [*range(1, len(methods) + 2)]
    return answers[1:]
