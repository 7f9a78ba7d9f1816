"""A real MCP server, as a process of its own: `python mcp_server.py NOTES [streamable-http|sse PORT]`.

Each call of `note` is written to the file NOTES, with the number of the process.
"""

import base64
import os
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["PICTURE", "PROGRAM"]

PROGRAM = str(Path(__file__).resolve())
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()


def _serve(notes: Path, transport: str = "stdio", port: str = "0") -> None:
    from mcp.server.fastmcp import FastMCP
    from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations
    from pydantic import BaseModel

    server: Any = FastMCP("harbour", host="127.0.0.1", port=int(port), log_level="ERROR")

    class Ship(BaseModel):
        name: str
        feet: int = 1

    def depth(place: str, unit: str = "m") -> str:
        """Look up how deep the sea is."""
        return f"12 {unit} at {place}"

    def note(text: str) -> str:
        """Write something down."""
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {text}\n")
        return f"noted {text}"

    def register(ship: Ship) -> Ship:
        """Register a ship."""
        return ship

    def picture() -> list[Any]:
        """Take a picture."""
        return [
            TextContent(type="text", text="the quay"),
            ImageContent(type="image", data=PICTURE, mimeType="image/png"),
        ]

    def sound() -> CallToolResult:
        """Record a sound."""
        from mcp.types import AudioContent

        return CallToolResult(content=[AudioContent(type="audio", data="AAAA", mimeType="audio/wav")])

    def fail() -> str:
        """Fail."""
        raise ValueError("the lock is stuck")

    def wait(seconds: float) -> str:
        """Take some time."""
        time.sleep(seconds)
        return "waited"

    def end() -> str:
        """End the server."""
        os._exit(3)

    for tool in (depth, note, register, picture, sound, fail, wait, end):
        annotations = ToolAnnotations(readOnlyHint=True) if tool is depth else None
        server.tool(structured_output=False if tool is picture else None, annotations=annotations)(tool)
    server.run(transport=transport)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), *sys.argv[2:])
