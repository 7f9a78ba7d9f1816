import json
from http.client import HTTPConnection
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from servers.embeddings import vector_of
from servers.openai_api import OpenAIServer, Request, error


def asked(server: OpenAIServer, path: str, body: dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(urlsplit(server.root).netloc, timeout=10)
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    reported = json.loads(answer.read())
    connection.close()
    return answer.status, reported


def test_openai_and_ollama_ways_give_the_same_vectors():
    with OpenAIServer(vector_size=16) as server:
        _, one = asked(server, "/v1/embeddings", {"input": ["red fox"], "model": "m"}, Authorization="Bearer k")
        _, two = asked(server, "/api/embed", {"input": ["red fox", "x"], "model": "m"})
        _, three = asked(server, "/api/embeddings", {"prompt": "red fox", "model": "m"})
        azure = "/openai/deployments/d/embeddings?api-version=1"
        _, four = asked(server, azure, {"input": "red fox", "dimensions": 16}, **{"api-key": "k"})
    expected = vector_of("Red fox!", 16)
    assert [one["data"][0]["embedding"], two["embeddings"][0], three["embedding"], four["data"][0]["embedding"]] == [
        expected
    ] * 4
    assert [request.path for request in server.requests] == ["/v1/embeddings", "/api/embed", "/api/embeddings", azure]


def test_it_fails_or_is_slow_where_a_test_says_so():
    def grumpy(request: Request) -> Any:
        return error(429, retry_after=1) if request.body["input"] == "a" else None

    with OpenAIServer(embeddings=[error(500), 0.1]) as server:
        assert asked(server, "/api/embed", {"input": "a"})[0] == 500
        started = perf_counter()
        assert asked(server, "/api/embed", {"input": "a"})[0] == 200
        assert perf_counter() - started >= 0.1
        assert asked(server, "/api/embed", {"input": "a"})[0] == 200
    with OpenAIServer(embeddings=grumpy) as server:
        assert [asked(server, "/api/embed", {"input": text})[0] for text in "ab"] == [429, 200]


def test_a_key_is_asked_for_as_the_services_do():
    with OpenAIServer(key="secret") as server:
        body = {"input": "a"}
        assert asked(server, "/v1/embeddings", body)[0] == 401
        assert asked(server, "/v1/embeddings", body, Authorization="Bearer secret")[0] == 200
        assert asked(server, "/v1/embeddings", body, **{"api-key": "wrong"})[0] == 401
        assert asked(server, "/api/embed", body)[0] == 401
