"""`crewgraph eject`: what it takes, what it refuses, and what it leaves to be written."""

import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from crewgraph_compat.eject import refusals

from crewgraph import Agent
from crewgraph.compiler.agent.binding import bind_agent
from eject.run_both import job_process, run_job

_CREW = """
from crewai import Agent, Crew, LLM, Task
from crewai.flow.flow import Flow, and_, listen, or_, router, start
from crewai.tools import BaseTool, tool
from pydantic import BaseModel, PrivateAttr

from prices import price

class Till(BaseTool):
    name: str = "Till"
    description: str = "Counts."
    _drawer: list[int] = PrivateAttr(default_factory=list)

    def _run(self, coins: int) -> str:
        self._drawer.append(coins)
        return str(sum(self._drawer))

class Safe(BaseTool):
    name: str = "Safe"
    description: str = "Opens."

    def __init__(self, code, **fields):
        super().__init__(**fields)
        self._code = code

    def _run(self) -> str:
        return self._code

@tool
def ask_price(of: str) -> str:
    "What something costs."
    return price(of)

def crew_of(**fields):
    agent = Agent(role="A", goal="g", backstory="b", **fields)
    return Crew(agents=[agent], tasks=[Task(name="one", description="d", expected_output="e", agent=agent)])

model = LLM("deepseek/deepseek-chat", temperature=0.5, api_key="SECRET-1")
plain = crew_of(tools=[ask_price], llm=model)
counted = crew_of(tools=[Till()], llm="gpt-4o")
locked = crew_of(tools=[Safe(["1"])], llm="gpt-4o")
hard = crew_of(planning=True, multimodal=True, llm="gpt-4o")
hard.max_cost = 1.0

class Hands(BaseModel):
    both: int = 0

class AtOnce(Flow[Hands]):
    @start()
    def left(self):
        self.state.both += 1

    @start()
    def right(self):
        self.state.both += 2

class Kept(Flow[Hands]):
    @start()
    def left(self):
        self.count = 1

class Order(Flow):
    @start()
    def take(self):
        return "take"

    @listen(take)
    def check(self):
        return "check"

class PaidOnce(Order):
    @listen(or_("take", "check"))
    def pay(self, given):
        return given

class PaidWithTwo(Order):
    @listen(or_(and_("take", "check"), "take"))
    def pay(self, given):
        return given

class PaidByLabel(Flow):
    @start()
    def take(self):
        return "take"

    @router(take)
    def ask(self):
        return "yes"

    @listen("yes")
    def check(self):
        return "check"

    @listen(or_("yes", check))
    def pay(self, given):
        return given

class PaidByItself(Flow):
    @start()
    def take(self):
        return "take"

    @listen(or_(take, "thank"))
    def pay(self, given):
        return given

    @listen(pay)
    def thank(self):
        return "thank"

class RoutedTwice(Flow):
    @start()
    def take(self):
        return "take"

    @start()
    def check(self):
        return "check"

    @router(or_(take, check))
    def pay(self):
        return "paid"

class Lacking(Flow):
    @start()
    def take(self):
        return "take"

    @listen(take)
    def pay(self, given, *, much):
        return much

class Loose(Flow):
    @start()
    def take(self, **inputs):
        return inputs

    @listen(take)
    def pay(self, *given):
        return given
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(_CREW, "utf-8")
    (tmp_path / "prices.py").write_text("def price(of: str) -> str:\n    return f'{of}: 3'\n", "utf-8")
    return tmp_path


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


Eject = Callable[..., Done]


@pytest.fixture(scope="module")
def fork_server() -> "Generator[subprocess.Popen[str]]":
    with job_process("command") as found:
        yield found


@pytest.fixture
def eject(fork_server: "subprocess.Popen[str]", project: Path, tmp_path_factory: pytest.TempPathFactory) -> Eject:
    """Runs `crewgraph eject` in the project."""

    def run(*words: str, agreed: bool = True) -> Done:
        place = tmp_path_factory.mktemp("said")
        keys = {"OPENAI_API_KEY": "SECRET-2", "DEEPSEEK_API_KEY": "SECRET-3"}
        command = [str(place), "eject", *(["--import"] if agreed else []), *words]
        run_job(fork_server, project, place / "output", keys, command)
        out, err, status = ((place / name).read_text("utf-8") for name in ("out", "err", "status"))
        return Done(int(status), out, err)

    return run


def test_nothing_is_imported_unasked(eject: Eject, project: Path):
    (project / "loud.py").write_text("from pathlib import Path\n\nPath('imported').touch()\ncrew = None\n", "utf-8")
    refused = eject("loud.py:crew", agreed=False)
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr == (
        "Error: `crewgraph eject` imports `loud.py:crew`, which runs the code of its module and of those that it imports. "
        "Pass `--import` if you trust them.\n"
    )
    assert not (project / "imported").exists()
    assert "is neither a crew nor a flow" in eject("loud.py:crew").stderr
    assert (project / "imported").exists()


def test_the_program_is_shown_or_written(eject: Eject, project: Path):
    shown = eject("shop.py:plain")
    assert (shown.returncode, shown.stderr) == (0, "")
    done = eject("shop.py:plain", "--output", "graph.py")
    assert (done.stdout, done.stderr.splitlines()[0]) == (
        "",
        "written to graph.py; it needs: langchain-core, langchain-openai, langgraph, pydantic",
    )
    assert (project / "graph.py").read_text("utf-8") == shown.stdout


def test_keys_stay_in_the_environment_and_parameters_are_written(eject: Eject, project: Path):
    source = eject("shop.py:plain").stdout
    assert "SECRET" not in source
    assert 'model="deepseek-chat"' in source and "temperature=0.5" in source and "https://api.deepseek.com" in source
    assert 'SecretStr(os.environ["DEEPSEEK_API_KEY"])' in source


def test_what_does_without_the_framework_is_imported_from_its_module(eject: Eject, project: Path):
    source = eject("shop.py:plain").stdout
    assert "from prices import price" in source
    assert "def price" not in source and "from shop" not in source


def test_a_tool_that_needs_its_object_is_taken_over_as_a_class(eject: Eject, project: Path):
    done = eject("shop.py:counted")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from langchain_core.tools import BaseTool" in done.stdout
    assert "class Till(BaseTool):" in done.stdout and "till = Till()" in done.stdout


def test_a_tool_whose_object_cannot_be_made_again_is_left_to_be_written(eject: Eject, project: Path):
    done = eject("shop.py:locked")
    assert done.returncode == 3
    assert 'raise NotImplementedError("TODO: write the tool `safe`")' in done.stdout
    assert "TODO: tool `Safe` of agent `A`: its `_run` uses `self._code` in line" in done.stderr
    assert "its class takes `code`, which its object does not keep" in done.stderr


def test_all_that_has_no_translation_is_reported_at_once(eject: Eject, project: Path):
    done = eject("shop.py:hard", "--output", "graph.py")
    assert done.returncode == 1
    assert not (project / "graph.py").exists()
    for what in ("`max_cost` of crew", "`planning` of agent `A`", "`multimodal` of agent `A`"):
        assert what in done.stderr


def test_a_field_that_eject_does_not_know_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    known: str = vars(refusals)["_AGENT"]
    monkeypatch.setattr(refusals, "_AGENT", known.replace("date_format", ""))
    found = refusals.Refusals()
    agent = Agent(role="A", goal="g", backstory="b", llm="gpt-4o", date_format="%d")
    refusals.refuse_agent(agent, bind_agent(agent), found)
    assert list(found) == ["`date_format` of agent `A`: it has no translation"]


def test_methods_that_change_the_same_field_at_once_are_refused(eject: Eject, project: Path):
    done = eject("shop.py:AtOnce")
    assert done.returncode == 1
    assert "methods `left` and `right`: they may run in parallel, and both change `both` of the state" in done.stderr


def test_attributes_of_a_flow_are_refused_with_their_line(eject: Eject, project: Path):
    done = eject("shop.py:Kept")
    assert done.returncode == 1
    assert "method `left` of flow `Kept`: it uses `self.count` in its line 2" in done.stderr


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (
            "PaidWithTwo",
            "it waits for the first of `take` with `check` and `take`, which may finish in different steps",
        ),
        ("PaidByLabel", "it runs once for `ask` with the label `yes` and `check`, but the second may run after"),
        ("PaidByItself", "it runs once for `take` and `thank`, but the second may run after the first"),
        ("RoutedTwice", "it waits for the first of `take` and `check`, which may finish in different steps"),
    ],
)
def test_a_method_that_edges_would_let_run_twice_is_refused(eject: Eject, project: Path, flow: str, why: str):
    done = eject(f"shop.py:{flow}")
    assert done.returncode == 1
    assert f"method `pay`: {why}" in done.stderr


def test_of_a_method_and_one_behind_it_the_first_triggers_a_listener_to_either(eject: Eject, project: Path):
    done = eject("shop.py:PaidOnce")
    assert (done.returncode, done.stderr) == (0, "")
    assert '.add_edge("take", "pay")' in done.stdout and '.add_edge("check", "pay")' not in done.stdout


def test_what_langchain_openai_fills_in_by_itself_is_left_to_it(eject: Eject, project: Path):
    head = "from langchain_openai import ChatOpenAI\nfrom shop import crew_of\n"
    given = 'temperature=0.2, api_key="SECRET-1", metadata={"team": "tills"}, model_kwargs={"region": "eu"}'
    hidden = 'extra_body={"api-key": "SECRET-1"}, model_kwargs={"headers": {"X": "SECRET"}}, default_headers={"X": "SECRET-1"}'
    (project / "models.py").write_text(
        f'{head}usual = crew_of(llm=ChatOpenAI(model="gpt-4o", {given}))\n'
        f'secret = crew_of(llm=ChatOpenAI(model="gpt-4o", api_key="x", {hidden}))\n',
        "utf-8",
    )
    done = eject("models.py:usual")
    assert (done.returncode, done.stderr) == (0, "")
    source = done.stdout.replace("'", '"')
    assert 'metadata={"team": "tills"}' in source and 'model_kwargs={"region": "eu"}' in source
    assert not [name for name in ("profile", "lc_versions", "stream_usage") if name in source]
    assert "SECRET" not in done.stdout
    refused = eject("models.py:secret")
    assert refused.returncode == 1 and "SECRET" not in refused.stderr
    for name in ("extra_body", "default_headers", "model_kwargs"):
        assert f"`{name}` of its `ChatOpenAI`" in refused.stderr


def test_a_parameter_that_nothing_is_known_of_is_refused(eject: Eject, project: Path):
    done = eject("shop.py:Lacking")
    assert done.returncode == 1
    assert "method `pay` of flow `Lacking`: no value is known for its parameter `much`" in done.stderr


def test_stars_that_take_what_is_passed_on_or_the_inputs_are_refused(eject: Eject, project: Path):
    done = eject("shop.py:Loose")
    assert done.returncode == 1
    assert "method `take` of flow `Loose`: its `**inputs` receives the inputs of a run" in done.stderr
    assert "method `pay` of flow `Loose`: its `*given` receives the previous result" in done.stderr
