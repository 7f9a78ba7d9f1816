"""What requests to remote agents carry along, by how they say who makes them. (Authorization: Basic dTpw; Bearer; X-API-Key.)"""

import asyncio

from crewai.a2a.auth import APIKeyAuth, BearerTokenAuth, HTTPBasicAuth

script = []

for auth in (
    BearerTokenAuth(token="t"),
    HTTPBasicAuth(username="u", password="p"),
    APIKeyAuth(api_key="k"),
    APIKeyAuth(api_key="k", location="cookie", name="sea"),
    APIKeyAuth(api_key="k", location="query", name="sea"),
):
    print(sorted(asyncio.run(auth.apply_auth(None, {"Accept": "text/plain"})).items()))
