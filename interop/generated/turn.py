"""A turn through a client that openapi-python-client made of the server's own document."""

import json
import sys

from made.sturdy import Client
from made.sturdy.api.default import session_create, session_messages, session_prompt, v2_session_history, v2_session_prompt, v2_session_wait
from made.sturdy.models import Admit, AdmitPrompt, CreateSession, Prompt, PromptPartText, PromptPartTextType

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
session = session_create.sync(client=client, body=CreateSession(title="generated"))
admitted = v2_session_prompt.sync(session.id, client=client, body=Admit(prompt=AdmitPrompt(text="generated")))
v2_session_wait.sync_detailed(session.id, client=client)
history = v2_session_history.sync(session.id, client=client)
part = PromptPartText(text="typed", type_=PromptPartTextType.TEXT)
session_prompt.sync(session.id, client=client, body=Prompt(parts=[part], no_reply=True))
messages = session_messages.sync(session.id, client=client)
print(json.dumps({
    "title": session.title,
    "kinds": [event.type_ for event in history.data],
    "roles": [message.info.role for message in messages],
}))
