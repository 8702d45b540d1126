"""An MCP server made with the package `mcp` from PyPI.

    server.py                 through standard input and output
    server.py http PORT       streamable HTTP on loopback
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("python", instructions="Python can add and remember.")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail(why: str) -> str:
    """Fails, with the reason it is given."""
    raise ValueError(why)


@server.resource("note://milk", mime_type="text/plain")
def milk() -> str:
    """What not to forget."""
    return "Remember the milk."


@server.prompt()
def greet(who: str) -> str:
    """Greets somebody."""
    return f"Please greet {who}."


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()
