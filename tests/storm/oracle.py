"""The outside world: a process of its own that notes every effect in a file of its own.

It is told a key with each, and remembers which it has had: what a server that honours idempotency
keys would do. It notes the repeated ones as well, to be counted.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any


async def serve(socket: Path, ledger: Path) -> None:
    stream = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                os.write(stream, line)
                writer.write(b"noted\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(attend, socket)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


def effects(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()]


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
