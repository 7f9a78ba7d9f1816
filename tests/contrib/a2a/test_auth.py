"""Authentication of requests to remote agents."""

import base64
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError
from runtime.parts import agent, crew, task
from servers.a2a_server import RemoteServer, says

from crewgraph import ScriptedLLM, ToolUse
from crewgraph.contrib.a2a import (
    A2AClientConfig,
    APIKeyAuth,
    BearerTokenAuth,
    ClientAuthScheme,
    HTTPBasicAuth,
    HTTPDigestAuth,
    OAuth2AuthorizationCode,
    OAuth2ClientCredentials,
    TLSConfig,
)
from crewgraph.errors import RemoteAgentError

Allowed = Callable[[Mapping[str, str], str], bool]


def kickoff_with(server: RemoteServer, auth: ClientAuthScheme | None) -> str:
    llm = ScriptedLLM([ToolUse("Ask Harbour Office", {"message": "When?"}), "done"])
    one = agent(llm, "Sailor", a2a=A2AClientConfig(endpoint=server.endpoint, auth=auth))
    crew(task("a", one)).kickoff()
    return llm.requests[-1].text.rpartition("Observation: ")[2]


BASIC = "Basic " + base64.b64encode(b"u:p").decode()
WAYS: list[tuple[ClientAuthScheme, Allowed]] = [
    (BearerTokenAuth(token="t"), lambda headers, path: headers.get("Authorization") == "Bearer t"),
    (HTTPBasicAuth(username="u", password="p"), lambda headers, path: headers.get("Authorization") == BASIC),
    (APIKeyAuth(api_key="k"), lambda headers, path: headers.get("X-API-Key") == "k"),
    (APIKeyAuth(api_key="k", location="query", name="q"), lambda headers, path: path.endswith("?q=k")),
    (APIKeyAuth(api_key="k", location="cookie", name="c"), lambda headers, path: headers.get("Cookie") == "c=k"),
]


@pytest.mark.parametrize(("auth", "allowed"), WAYS)
@pytest.mark.parametrize("streaming", [False, True])
def test_requests_say_who_makes_them(auth: ClientAuthScheme, allowed: Allowed, streaming: bool):
    with RemoteServer([says("six")], allowed=allowed, streaming=streaming) as server:
        assert kickoff_with(server, auth) == "six"
        with pytest.raises(RemoteAgentError, match="denies access .status 401.: it requires authentication"):
            kickoff_with(server, None)


def test_a_digest_is_made_of_what_the_server_says():
    def allowed(headers: Mapping[str, str], path: str) -> bool:
        return headers.get("Authorization", "").startswith('Digest username="u"')

    challenge = 'Digest realm="sea", nonce="abc", qop="auth", algorithm=MD5'
    with RemoteServer([says("six")], allowed=allowed, refusal=challenge) as server:
        assert kickoff_with(server, HTTPDigestAuth(username="u", password="p")) == "six"


def test_a_token_is_fetched_once_and_anew_where_it_is_refused():
    valid = ["Bearer token-1"]
    with RemoteServer(
        [says("six"), says("seven")], allowed=lambda headers, path: headers.get("Authorization") in valid
    ) as server:
        auth = OAuth2ClientCredentials(
            token_url=f"{server.url}/token", client_id="me", client_secret="hush", scopes=["sea"]
        )
        assert kickoff_with(server, auth) == "six" and server.tokens == 1
        valid[:] = ["Bearer token-2"]
        assert kickoff_with(server, auth) == "seven" and server.tokens == 2


def test_a_token_that_nobody_gives_is_reported():
    with RemoteServer([]) as server:
        with pytest.raises(RemoteAgentError, match="issued no token") as caught:
            kickoff_with(
                server,
                OAuth2ClientCredentials(token_url=f"{server.url}/nowhere?x=y", client_id="me", client_secret="hush"),
            )
        assert "hush" not in str(caught.value)


def test_a_person_may_allow_the_access():
    with RemoteServer([says("six")], allowed=lambda h, path: h.get("Authorization") == "Bearer token-1") as server:
        urls: list[str] = []
        auth = OAuth2AuthorizationCode(
            authorization_url="https://a.example/allow",
            token_url=f"{server.url}/token",
            client_id="me",
            client_secret="hush",
            redirect_uri="https://me.example/back",
        )
        with pytest.raises(RemoteAgentError, match="set_authorization_callback"):
            kickoff_with(server, auth)

        async def allow(url: str) -> str:
            urls.append(url)
            return "code"

        auth.set_authorization_callback(allow)
        assert kickoff_with(server, auth) == "six"
        assert urls[0].startswith("https://a.example/allow?response_type=code&client_id=me&redirect_uri=")


def test_certificates_are_files(tmp_path: Path):
    assert TLSConfig().get_httpx_ssl_context() is True
    unchecked = TLSConfig(verify=False).get_httpx_ssl_context()
    assert isinstance(unchecked, ssl.SSLContext) and unchecked.verify_mode is ssl.CERT_NONE
    with pytest.raises(ValidationError, match="ca_cert_path"):
        TLSConfig(ca_cert_path=tmp_path / "none.pem")
