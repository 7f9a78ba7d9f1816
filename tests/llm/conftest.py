import os

import pytest
from servers.fixtures import serve

__all__ = ["serve"]

_ENDINGS = (
    "_API_KEY",
    "_API_BASE",
    "_BASE_URL",
    "_APIKEY",
    "_ENDPOINT",
    "_HOST",
    "_TOKEN",
    "MODEL",
    "MODEL_NAME",
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, address or model name of the machine reaches a test."""
    for name in list(os.environ):
        if name.upper().endswith(_ENDINGS) or name.startswith(("LANGSMITH", "LANGCHAIN", "VERTEXAI", "AWS_", "AZURE")):
            monkeypatch.delenv(name)
