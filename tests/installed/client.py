"""Run by the guest's interpreter: one tool call with the official MCP client; the answer is JSON.

client.py stdio COMMAND …
client.py http URL KEY
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent


async def call(client: Client) -> object:
    async with client:
        listed = await client.list_tools()
        asked = {"tool": "builtin.run_code", "arguments": {"program": "6 * 7"}}
        answer = await client.call_tool("call_read", asked)
    text = "".join(each.text for each in answer.content if isinstance(each, TextContent))
    return {
        "tools": [each.name for each in listed.tools],
        "failed": bool(answer.is_error),
        "text": text,
    }


async def main(way: str, *where: str) -> object:
    if way == "stdio":
        program, *arguments = where
        return await call(
            Client(
                StdioServerParameters(
                    command=program, args=arguments, env=dict(os.environ), cwd=Path.cwd()
                )
            )
        )
    url, key = where
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http:
        return await call(Client(streamable_http_client(url, http_client=http)))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
