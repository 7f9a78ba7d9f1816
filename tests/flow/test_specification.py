# pyright: basic
"""The flows that the specification prints, as it prints them; where one cannot run so, the test says what is corrected."""

import asyncio
import random

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, and_, listen, persist, router, start

from .parts import kickoff


class WorkflowState(BaseModel):
    step: str = "init"
    results: list[str] = []
    user_id: str


class PlottedFlow(Flow):
    """Printed as `MyFlow`."""

    @start()
    def init(self):
        return "start"

    @listen("start")
    def process(self, result):
        return "processed"

    @router("processed")
    def decide(self):
        return "path_a" if self.state.get("flag") else "path_b"

    @listen("path_a")
    def handle_a(self):
        pass

    @listen("path_b")
    def handle_b(self):
        pass


@pytest.mark.parametrize(("flag", "handler"), [(True, "handle_a"), (False, "handle_b")])
def test_plotted_flow(mode: Mode, flag: bool, handler: str):
    flow = PlottedFlow()
    assert kickoff(mode, flow, {"flag": flag}) is None
    assert sorted(flow._completed_methods) == sorted(["init", "process", "decide", handler])


class ConditionalFlow(Flow):
    @start(condition=lambda ctx: ctx["inputs"].get("mode") == "auto")
    def auto_start(self):
        print("auto")

    @start(condition=lambda ctx: ctx["inputs"].get("mode") == "manual")
    def manual_start(self):
        print("manual")


@pytest.mark.parametrize("chosen", ["auto", "manual"])
def test_conditional_flow(mode: Mode, chosen: str, capsys: pytest.CaptureFixture[str]):
    kickoff(mode, ConditionalFlow(), {"mode": chosen})
    assert capsys.readouterr().out == f"{chosen}\n"


def test_conditional_flow_takes_its_inputs_as_keywords(capsys: pytest.CaptureFixture[str]):
    ConditionalFlow().kickoff(mode="auto")
    asyncio.run(ConditionalFlow().kickoff_async(mode="manual"))
    assert capsys.readouterr().out == "auto\nmanual\n"


def test_conditional_flow_without_a_fitting_mode_runs_nothing(mode: Mode, capsys: pytest.CaptureFixture[str]):
    assert kickoff(mode, ConditionalFlow()) is None
    assert capsys.readouterr().out == ""


class MultiRouteFlow(Flow):
    """It is printed as its router alone; what that routes stands around it."""

    @start()
    def process(self):
        return "done"

    @router("process")
    def complex_decision(self):
        routes = []
        if self.state.get("notify_user"):
            routes.append("send_notification")
        if self.state.get("update_db"):
            routes.append("update_database")
        if self.state.get("log_event"):
            routes.append("log_to_system")
        return routes

    @listen("send_notification")
    def notify(self):
        print("notified")

    @listen("update_database")
    def update(self):
        print("updated")

    @listen("log_to_system")
    def log(self):
        print("logged")


@pytest.mark.parametrize(
    ("expected", "reported"),
    [
        ({"notify_user": True, "log_event": True}, ["logged", "notified"]),
        ({"update_db": True}, ["updated"]),
        ({"notify_user": True, "update_db": True, "log_event": True}, ["logged", "notified", "updated"]),
        ({}, []),
    ],
)
def test_multi_route_flow(
    mode: Mode, expected: dict[str, bool], reported: list[str], capsys: pytest.CaptureFixture[str]
):
    kickoff(mode, MultiRouteFlow(), expected)
    assert sorted(capsys.readouterr().out.split()) == reported


class SelectiveFlow(Flow):
    @persist
    @start()
    def critical_step(self):
        self.state["critical"] = True

    @start()
    def temp_step(self):
        pass


def test_selective_flow(mode: Mode):
    flow = SelectiveFlow()
    kickoff(mode, flow)
    assert flow.state["critical"] is True
    assert [name for name, method in flow._methods.items() if method.persistence is not None] == ["critical_step"]


class CheckpointState(BaseModel):
    """Corrected: `WorkflowState` with a default for `user_id`, which the example does not give."""

    step: str = "init"
    results: list[str] = []
    user_id: str = "123"


DOWN = {"step_two": False}


@persist(verbose=True)
class CheckpointFlow(Flow[CheckpointState]):
    @start()
    def step_one(self):
        self.state.step = "step_one"
        self.state.results.append("Step 1 done")
        return "step1_done"

    @listen("step1_done")
    def step_two(self):
        if DOWN["step_two"]:
            raise ConnectionError("step two is down")
        self.state.step = "step_two"
        self.state.results.append("Step 2 done")
        return "step2_done"


def test_checkpoint_flow(mode: Mode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(DOWN, "step_two", True)
    flow = CheckpointFlow(initial_state=CheckpointState())
    try:
        kickoff(mode, flow)
    except Exception as e:  # noqa: BLE001 - as printed
        print(f"Flow failed: {e}")
    assert "Flow failed: step two is down\n" in capsys.readouterr().out

    monkeypatch.setitem(DOWN, "step_two", False)
    flow_id = flow.state.id  # pyright: ignore[reportAttributeAccessIssue]
    recovered_flow = CheckpointFlow(initial_state=CheckpointState())
    assert recovered_flow._load_state(flow_id)  # pyright: ignore[reportAttributeAccessIssue]
    assert kickoff(mode, recovered_flow) == "step2_done"
    assert recovered_flow.state.results == ["Step 1 done", "Step 2 done"]


def test_nothing_is_loaded_under_an_unknown_id():
    assert CheckpointFlow()._load_state("nobody") is False  # pyright: ignore[reportAttributeAccessIssue]


class SimpleWorkflow(Flow):
    @start()
    def collect_data(self):
        print("Collecting data...")
        self.state["data"] = ["item1", "item2", "item3"]
        return "data_collected"

    @listen("data_collected")
    def process_data(self, result):
        print(f"Processing data: {self.state['data']}")
        self.state["processed"] = [item.upper() for item in self.state["data"]]
        return "data_processed"

    @listen("data_processed")
    def save_results(self, result):
        print(f"Saving results: {self.state['processed']}")
        return "complete"


def test_simple_workflow(mode: Mode, capsys: pytest.CaptureFixture[str]):
    assert kickoff(mode, SimpleWorkflow()) == "complete"
    assert capsys.readouterr().out.splitlines() == [
        "Collecting data...",
        "Processing data: ['item1', 'item2', 'item3']",
        "Saving results: ['ITEM1', 'ITEM2', 'ITEM3']",
    ]


class ParallelWorkflow(Flow):
    @start()
    def fetch_from_api_a(self):
        self.state["api_a_data"] = {"source": "A", "value": 100}
        return "api_a_done"

    @start()
    def fetch_from_api_b(self):
        self.state["api_b_data"] = {"source": "B", "value": 200}
        return "api_b_done"

    @start()
    def fetch_from_api_c(self):
        self.state["api_c_data"] = {"source": "C", "value": 300}
        return "api_c_done"

    @listen(and_("api_a_done", "api_b_done", "api_c_done"))
    def aggregate_results(self):
        total = (
            self.state["api_a_data"]["value"] + self.state["api_b_data"]["value"] + self.state["api_c_data"]["value"]
        )
        self.state["total"] = total
        print(f"Total: {total}")
        return total


def test_parallel_workflow(mode: Mode, capsys: pytest.CaptureFixture[str]):
    flow = ParallelWorkflow()
    assert kickoff(mode, flow) == 600
    assert flow.state["total"] == 600
    assert capsys.readouterr().out == "Total: 600\n"


class DecisionState(BaseModel):
    """Corrected: the example puts fields into `WorkflowState` that it does not declare."""

    score: float = 0.0
    has_errors: bool = False
    status: str = ""


class DecisionFlow(Flow[DecisionState]):
    @start()
    def analyze_request(self):
        self.state.score = 0.75
        self.state.has_errors = False
        return "analyzed"

    @router("analyzed")
    def route_decision(self):
        if self.state.has_errors:
            return "error_path"
        elif self.state.score > 0.8:  # noqa: RET505
            return "high_confidence"
        elif self.state.score > 0.5:
            return "medium_confidence"
        else:
            return "low_confidence"

    @listen("high_confidence")
    def auto_approve(self):
        print("✅ Auto-approved")
        self.state.status = "approved"

    @listen("medium_confidence")
    def manual_review(self):
        print("⚠️ Needs manual review")
        self.state.status = "review"

    @listen("low_confidence")
    def auto_reject(self):
        print("❌ Auto-rejected")
        self.state.status = "rejected"

    @listen("error_path")
    def handle_errors(self):
        print("🔧 Handling errors")
        self.state.status = "error"


def test_decision_flow(mode: Mode, capsys: pytest.CaptureFixture[str]):
    flow = DecisionFlow(initial_state=DecisionState())
    kickoff(mode, flow)
    print(f"Final status: {flow.state.status}")
    assert capsys.readouterr().out == "⚠️ Needs manual review\nFinal status: review\n"


def test_an_undeclared_field_of_a_state_is_an_error_that_names_the_field_and_the_method(mode: Mode):
    class AsPrinted(Flow[WorkflowState]):
        @start()
        def analyze_request(self):
            self.state.score = 0.75  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(ValueError, match='"WorkflowState" object has no field "score"') as caught:
        kickoff(mode, AsPrinted(initial_state=WorkflowState(user_id="123")))
    assert "in method `analyze_request` of flow `AsPrinted`" in caught.value.__notes__


def test_a_structured_state_whose_values_the_flow_gives(mode: Mode):
    class MyFlow(Flow[WorkflowState]):
        def __init__(self) -> None:
            super().__init__(initial_state=WorkflowState(user_id="123"))

        @start()
        def begin(self):
            return self.state.user_id

    assert kickoff(mode, MyFlow()) == "123"


class IntegratedFlow(Flow):
    """The agents of the example are given models here; it counts on one from the environment."""

    llm: ScriptedLLM

    @start()
    def data_preparation(self):
        self.state["topic"] = "AI Safety"
        self.state["requirements"] = "5 key findings"
        return "data_ready"

    @listen("data_ready")
    def run_research_crew(self, result):
        researcher = Agent(
            role="Research Analyst", goal="Find relevant information", backstory="Expert researcher", llm=self.llm
        )
        research_task = Task(
            description=f"Research {self.state['topic']}", expected_output=self.state["requirements"], agent=researcher
        )
        crew = Crew(agents=[researcher], tasks=[research_task])
        result = crew.kickoff()
        self.state["research_output"] = result.raw
        return "research_done"

    @listen("research_done")
    def run_writing_crew(self, result):
        writer = Agent(role="Content Writer", goal="Write engaging content", backstory="Skilled writer", llm=self.llm)
        write_task = Task(
            description=f"Write a blog post about: {self.state['research_output']}",
            expected_output="500-word blog post",
            agent=writer,
            markdown=True,
        )
        crew = Crew(agents=[writer], tasks=[write_task])
        result = crew.kickoff()
        self.state["final_output"] = result.raw
        return result.raw


def test_integrated_flow(mode: Mode):
    flow = IntegratedFlow()
    flow.llm = ScriptedLLM(["five findings", "# A post"])
    assert kickoff(mode, flow) == "# A post"
    assert (flow.state["research_output"], flow.state["final_output"]) == ("five findings", "# A post")
    assert "Write a blog post about: five findings" in str(flow.llm.requests[-1].messages[-1]["content"])


class IterativeFlow(Flow):
    def __init__(self) -> None:
        super().__init__()
        self.state["iteration"] = 0
        self.state["max_iterations"] = 5
        self.state["quality_threshold"] = 0.9
        self.state["current_quality"] = 0.0

    @start("loop")
    def generate_content(self):
        self.state["iteration"] += 1
        print(f"\nIteration {self.state['iteration']}")
        self.state["current_quality"] = random.uniform(0.5, 1.0)
        print(f"Quality: {self.state['current_quality']:.2f}")
        return "generated"

    @router("generated")
    def check_quality(self):
        if self.state["current_quality"] >= self.state["quality_threshold"]:
            print("✅ Quality threshold met!")
            return "success"
        elif self.state["iteration"] >= self.state["max_iterations"]:  # noqa: RET505
            print("⚠️ Max iterations reached")
            return "max_iterations"
        else:
            print("🔄 Quality not met, retrying...")
            return "loop"

    @listen("success")
    def finalize_success(self):
        print(f"Completed successfully in {self.state['iteration']} iterations")

    @listen("max_iterations")
    def finalize_failure(self):
        print("Could not reach quality threshold")


@pytest.mark.parametrize(
    ("qualities", "last"),
    [
        ([0.5, 0.6, 0.95], ["✅ Quality threshold met!", "Completed successfully in 3 iterations"]),
        ([0.5] * 5, ["⚠️ Max iterations reached", "Could not reach quality threshold"]),
    ],
)
def test_iterative_flow(
    mode: Mode,
    qualities: list[float],
    last: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    drawn = iter(qualities)
    monkeypatch.setattr(random, "uniform", lambda low, high: next(drawn))
    kickoff(mode, IterativeFlow())
    reported = [line for line in capsys.readouterr().out.splitlines() if line]
    retries = len(qualities) - 1
    assert [line for line in reported if line.startswith("Iteration")] == [
        f"Iteration {n + 1}" for n in range(retries + 1)
    ]
    assert reported.count("🔄 Quality not met, retrying...") == retries
    assert reported[-2:] == last


def some_risky_function():
    raise ConnectionError("it is down")


class RobustFlow(Flow):
    @start()
    def risky_operation(self):
        try:
            some_risky_function()
            self.state["success"] = True
            return "success"
        except Exception as e:  # noqa: BLE001 - as printed
            self.state["error"] = str(e)
            self.state["success"] = False
            return "error"

    @listen("success")
    def handle_success(self):
        print("Operation succeeded")

    @listen("error")
    def handle_error(self):
        print(f"Operation failed: {self.state['error']}")


def test_robust_flow(mode: Mode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    kickoff(mode, RobustFlow())
    assert capsys.readouterr().out == "Operation failed: it is down\n"
    monkeypatch.setitem(globals(), "some_risky_function", lambda: None)
    kickoff(mode, RobustFlow())
    assert capsys.readouterr().out == "Operation succeeded\n"


def test_the_views_of_a_flow_can_be_printed_and_not_changed():
    flow = PlottedFlow()
    flow.kickoff()
    assert list(flow._methods) == ["init", "process", "decide", "handle_a", "handle_b"]
    assert {event: [one.name for one in methods] for event, methods in flow._listeners.items()} == {
        "start": ["process"], "processed": ["decide"], "path_a": ["handle_a"], "path_b": ["handle_b"],
    }  # fmt: skip
    assert list(flow._routers) == ["decide"]
    assert flow._method_outputs == ["start", "processed", "path_b", None]
    with pytest.raises(TypeError):
        flow._methods["other"] = flow._methods["init"]  # pyright: ignore[reportIndexIssue]
