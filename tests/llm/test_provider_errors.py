"""Errors of the clients that other providers have: httpx, botocore, Ollama's, and what LangChain makes of them."""

from collections.abc import Callable
from copy import copy
from typing import Any

import httpx
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from modes import Mode

from crewgraph import Agent, Crew, Task
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.resolve import as_model


class ResponseError(Exception):
    """As in the package ollama: its text has the status."""

    def __init__(self, error: str, status_code: int) -> None:
        super().__init__(error)
        self.error, self.status_code = error, status_code

    def __str__(self) -> str:
        return f"{self.error} (status code: {self.status_code})"


class BotoError(Exception):
    """As in the package botocore: it is pickled by a function of its own."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __reduce__(self) -> Any:
        return _restored, (type(self), None, {"text": str(self)})


class EndpointConnectionError(BotoError):
    pass


def _restored(kind: Callable[[str], object], args: object, keywords: dict[str, str]) -> object:
    return kind(keywords["text"])


class HTTPClientError(EndpointConnectionError):
    pass


def not_found() -> Exception:
    """An error whose class is made as it runs, so that it cannot be imported by name."""
    return type("ResourceNotFoundException", (BotoError,), {})("no such model")


class Failing(FakeListChatModel):
    responses: list[str] = []
    raises: Any

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        raise self.raises()


def failed(mode: Mode, raises: Callable[[], Exception]) -> Exception:
    model = as_model(Failing(raises=raises))
    message: Any = {"role": "user", "content": "x"}
    with pytest.raises(Exception) as caught:
        mode.run(lambda: model.complete([message], (), (), {}), lambda: model.acomplete([message], (), (), {}))
    return caught.value


def refused() -> Exception:
    request = httpx.Request("POST", "http://box:11434/api/chat")
    return httpx.ConnectError("Connection refused", request=request)


def test_an_unreachable_server_is_a_connection_error_whatever_the_client(mode: Mode):
    error = failed(mode, refused)
    assert isinstance(error, httpx.ConnectError)
    assert isinstance(error, ConnectionError)
    assert str(error).startswith("The model `fake-list-chat-model` at http://box:11434 could not be reached")
    assert "Connection refused" in str(error)
    assert isinstance(failed(mode, lambda: httpx.ReadTimeout("slow")), ConnectionError)
    assert isinstance(failed(mode, lambda: HTTPClientError("Could not connect")), ConnectionError)


def test_a_model_that_the_server_does_not_have_is_a_value_error_whatever_the_client(mode: Mode):
    for raises in (lambda: ResponseError("model 'x' not found", 404), not_found):
        error = failed(mode, raises)
        assert isinstance(error, ValueError)
        assert str(error).startswith("The model `fake-list-chat-model` was not found: ")
    assert not isinstance(failed(mode, lambda: ResponseError("stopped", 500)), ValueError)


def test_errors_of_clients_can_be_copied(mode: Mode):
    for raises in (
        refused,
        lambda: ResponseError("model 'x' not found", 404),
        lambda: ResponseError("stopped", 500),
        lambda: HTTPClientError("Could not connect"),
        not_found,
    ):
        error = failed(mode, raises)
        copied = copy(error)  # by the means of pickle
        assert str(copied) == str(error)
        for kind in (ValueError, ConnectionError):
            assert isinstance(copied, kind) is isinstance(error, kind)


@pytest.mark.parametrize(
    "text",
    [
        "prompt too long; exceeded max context length by 512 tokens",
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, please reduce your message size",
        "Request exceeds the maximum size",
    ],
)
def test_conversations_that_a_provider_finds_too_long_are_recognized(mode: Mode, text: str):
    assert isinstance(failed(mode, lambda: ResponseError(text, 413)), ContextLengthExceeded)


class Busy(FakeListChatModel):
    """Fails as the client of Mistral's models does, which does not retry, and then answers."""

    failures: list[Any]
    max_retries: int = 2

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return super()._call(messages, *args, **kwargs)


def busy(status: int) -> Exception:
    request = httpx.Request("POST", "http://box/v1/chat/completions")
    response = httpx.Response(status, headers={"Retry-After": "0.1"}, request=request)
    return httpx.HTTPStatusError("too many", request=request, response=response)


def crew_of(model: FakeListChatModel, **more: Any) -> Crew:
    agent = Agent(role="r", goal="g", backstory="b", llm=model, **more)
    return Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])


def test_a_busy_server_is_asked_again_where_the_client_does_not(mode: Mode):
    crew = crew_of(Busy(responses=["done"], failures=[busy(429), busy(503)]))
    assert mode.run(crew.kickoff, crew.akickoff).raw == "done"
    for failures, retries in (([busy(401)], 2), ([busy(429)], 0)):
        model = Busy(responses=["done"], failures=failures, max_retries=retries)
        refused = crew_of(model, max_retry_limit=0)
        with pytest.raises(httpx.HTTPStatusError):
            mode.run(refused.kickoff, refused.akickoff)
