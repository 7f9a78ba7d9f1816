"""The real crewai_tools: tools for the web, models, code and servers, called by a model in a crew, and alone."""

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, crew, served, task
from servers import mcp_server
from servers.any_host import AnyHost
from servers.docker_program import put_docker
from servers.openai_api import OpenAIServer

from crewgraph import ScriptedLLM
from crewgraph.errors import ToolFailed
from tools_package.parts import REAL, lacking, observed

pytestmark = [*REAL, pytest.mark.usefixtures("files")]


def test_the_web_is_searched_with_serper(mode: Mode, tools: Any, web: AnyHost):
    assert "at noon" in observed(mode, tools.SerperDevTool(n_results=3), {"search_query": "tide"})
    (request,) = web.asked
    assert (request.method, request.url) == ("POST", "https://google.serper.dev/search")
    assert request.json["q"] == "tide" and request.headers["X-API-KEY"] == "key of SERPER"
    assert tools.SerperDevTool().run(search_query="tide")["organic"][0]["snippet"] == "at noon"


def test_a_page_is_read(mode: Mode, tools: Any, web: AnyHost):
    assert "keeper of the lock" in observed(mode, tools.ScrapeWebsiteTool(), {"website_url": f"{web.address}/"})
    assert "keeper of the lock" in observed(mode, tools.ScrapeWebsiteTool(website_url=f"{web.address}/"), {})
    element = tools.ScrapeElementFromWebsiteTool(website_url=f"{web.address}/", css_element="#k")
    assert observed(mode, element, {}) == "Observation: The keeper of the lock is Wiebke."


def test_a_page_is_searched(mode: Mode, tools: Any, web: AnyHost):
    given = {"website": f"{web.address}/", "search_query": "keeper of the lock"}
    assert "Wiebke" in observed(mode, tools.WebsiteSearchTool(), given)
    assert "Wiebke" in tools.WebsiteSearchTool(website=f"{web.address}/").run("keeper of the lock")
    docs = tools.CodeDocsSearchTool(docs_url=f"{web.address}/")
    assert "Wiebke" in observed(mode, docs, {"search_query": "keeper of the lock"})


@pytest.mark.parametrize("kind", ["VisionTool", "OCRTool"])
def test_a_model_looks_at_a_picture(mode: Mode, tools: Any, files: Path, serve: Callable[..., OpenAIServer], kind: str):
    (files / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    server = serve(["a red dot"])
    made = getattr(tools, kind)(llm=served(server.url))
    assert observed(mode, made, {"image_path_url": "p.png"}) == "Observation: a red dot"
    (content,) = [one["content"] for one in server.requests[0].body["messages"] if isinstance(one["content"], list)]
    assert content[-1]["image_url"]["url"].startswith("data:image/")


def test_code_runs_in_docker(mode: Mode, tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bin").mkdir()
    put_docker(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer packages have it no longer, so it is an old name there
        made = tools.CodeInterpreterTool()
    assert "42" in observed(mode, made, {"code": "print(6 * 7)", "libraries_used": []})


def test_code_runs_nowhere_else(mode: Mode, tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = tools.CodeInterpreterTool
    for unsafe in ({"unsafe_mode": True}, {"user_dockerfile_path": "."}, {"user_docker_base_url": "unix://x"}):
        with pytest.raises(ValueError, match="rejected|builds no image"):
            kind(**unsafe)
    assert kind(default_image_tag="python:3").image == "python:3"
    monkeypatch.setenv("PATH", str(tmp_path))
    made = crew(task("a", agent(ScriptedLLM(["done"]), tools=[kind()])))
    with pytest.raises(ToolFailed, match="there is no `docker` here"):
        mode.kickoff(made)
    with pytest.raises(ToolFailed, match="the code was not run"):
        kind().run(code="print(1)")


@lacking("mcpadapt")
def test_the_tools_of_a_server_are_used(mode: Mode, tools: Any, tmp_path: Path):
    stdio = importlib.import_module("mcp").StdioServerParameters
    command = stdio(command=sys.executable, args=[mcp_server.PROGRAM, str(tmp_path / "notes")], env={**os.environ})
    with tools.MCPServerAdapter(command) as there:
        assert {"depth", "note"} <= {one.name for one in there}
        assert "noted hello" in observed(mode, there["note"], {"text": "hello"})
        assert "noted twice" in there["note"].run(text="twice")


class _Ports(BaseModel):
    port: str


class _OfLlamaIndex:
    """What such a tool is made of."""

    class metadata:
        name = "tides"
        description = "Tells the tide"
        fn_schema = _Ports

    def __call__(self, port: str) -> str:
        return f"tide of {port}: noon"


def test_a_tool_of_llamaindex_is_used(mode: Mode, tools: Any):
    texts = {"name": "tides", "description": "Tells the tide"}
    made = tools.LlamaIndexTool(**texts, args_schema=_Ports, llama_index_tool=_OfLlamaIndex())
    assert "tide of Kiel: noon" in observed(mode, made, {"port": "Kiel"})
