"""A turn through each of two published Python clients; prints what they were answered, as JSON.

    python turns.py http://127.0.0.1:4096
"""

import asyncio
import json
import sys

from opencode import OpencodeClient, Session
from opencode_agent_sdk import AgentOptions, AssistantMessage, ResultMessage, SDKClient


async def agent_sdk(url):
    """opencode-agent-sdk: the v1 API, a prompt that is answered at once."""
    client = SDKClient(options=AgentOptions(model="echo", provider_id="demo", server_url=url))
    await client.connect()
    await client.query("hello from the agent SDK")
    texts = []
    ends = 0
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            texts += [block.text for block in message.content if hasattr(block, "text")]
        ends += isinstance(message, ResultMessage)
    await client.disconnect()
    return {"text": "".join(texts), "ends": ends}


def python_sdk(url):
    """opencode-py: a prompt through the v1 API, another through the v2 API."""
    client = OpencodeClient(base_url=url)
    healthy = client.health().healthy
    created = client.session_create()
    session = Session(client, created.id)
    first = session.prompt("hello from v1", model={"providerID": "demo", "modelID": "echo"})
    client.v2_session_prompt(created.id, {"text": "hello from v2"})
    client.v2_session_wait(created.id)
    context = client.v2_session_context(created.id)["data"]
    todos = client.session_todo(created.id)
    client.session_delete(created.id)
    text = lambda parts: "".join(part["text"] for part in parts if part["type"] == "text")
    return {
        "healthy": healthy,
        "first": text(first["content"]),
        "second": text(context[-1]["content"]),
        "kinds": [message["type"] for message in context],
        "todos": todos,
    }


url = sys.argv[1]
print(json.dumps({"agent": asyncio.run(agent_sdk(url)), "python": python_sdk(url)}))
