"""Who shows a token to a server of one's own."""

import asyncio

from crewai.a2a.auth.server_schemes import APIKeyServerAuth, SimpleTokenAuth

script = []

print(asyncio.run(SimpleTokenAuth(token="t").authenticate("t")))
print(asyncio.run(APIKeyServerAuth(api_key="k").authenticate("k")))
