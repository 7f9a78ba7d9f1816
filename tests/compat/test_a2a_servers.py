"""CrewAI's classes for A2A servers: accepted as data, since crewgraph has no A2A server."""

import asyncio
from typing import Any

import pytest
from crewgraph_compat.stand_ins.a2a_server import APIKeyServerAuth, HTTPException, OIDCAuth, SimpleTokenAuth


def test_servers_of_your_own_know_who_asks():
    def authenticated(scheme: Any, token: str) -> Any:
        return asyncio.run(scheme.authenticate(token))

    assert authenticated(SimpleTokenAuth.model_validate({"token": "t"}), "t").scheme == "simple_token"
    assert authenticated(APIKeyServerAuth.model_validate({"api_key": "k"}), "k").scheme == "api_key"
    with pytest.raises(HTTPException) as caught:
        authenticated(APIKeyServerAuth.model_validate({"api_key": "k"}), "x")
    assert caught.value.status_code == 401


def test_tokens_that_somebody_signed_are_not_checked():
    scheme = OIDCAuth.model_validate({"issuer": "https://a.example", "audience": "me"})
    with pytest.raises(NotImplementedError, match="`OIDCAuth` is plain data"):
        asyncio.run(scheme.authenticate("t"))
