# pyright: basic
"""Every extension point that takes a function, or an object with methods: what may be async is awaited.

Each gets an async function in sync runs, in async runs, and in sync runs inside a running event loop; and one that returns
a coroutine. Sync functions are what all other tests use.
"""

import asyncio
import functools
import gc
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from crewgraph_compat.stand_ins.agent_adapters import BaseAgentAdapter
from langchain_core.embeddings import Embeddings
from memory.test_custom_storage import Notebook
from memory.unified_parts import words
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, call

from crewgraph import LLM, Agent, BaseLLM, ConditionalTask, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.compiler.agent.human_review import SyncHumanInputProvider, reset_provider, set_provider
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.flow.feedback import flow_config
from crewgraph.definitions.flow.persistence import FlowPersistence, set_flow_persistence_factory
from crewgraph.definitions.task.conversion import Converter
from crewgraph.definitions.task.task import process_content, set_processor
from crewgraph.events import TaskStartedEvent, crewai_event_bus
from crewgraph.events.bus import BaseEventListener
from crewgraph.flow import Flow, human_feedback, listen, persist, router, start
from crewgraph.hooks import InterceptionPoint, clear_all_hooks, register_hook
from crewgraph.hooks.registry import register_for_owner, register_scoped, scoped_hooks
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import SearchResult
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage, set_knowledge_storage_factory
from crewgraph.llm.connection import BaseInterceptor
from crewgraph.memory.backend import set_memory_storage_factory
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.memory.memory import Memory
from crewgraph.project import CrewBase, after_kickoff, agent, before_kickoff, crew, task
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph.tools.base import BaseTool, Tool
from crewgraph.tools.mcp.server import ToolFilterContext, is_offered
from crewgraph.tools.structured import CrewStructuredTool

WAYS = (("async", "sync"), ("async", "async"), ("async", "inside a loop"), ("returns a coroutine", "sync"))
"""How functions are written, and how they are run."""


class Use:
    """One use of an extension point.

    Args:
        kind: how the user's functions are written.
        mode: how they are run.
    """

    def __init__(self, kind: str, mode: str) -> None:
        self.kind, self.mode = kind, mode
        self.calls: list[str] = []
        self.loops: list[Any] = []
        """The loops on which async functions ran."""

        self.own_loop: Any = None

    def fn(self, function: Callable[..., Any]) -> Any:
        """Return the function in the way that users write it."""

        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(function.__name__)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            self.loops.append(asyncio.get_running_loop())
            return noted(*args, **kwargs)

        if self.kind == "async":
            return later

        @functools.wraps(function)
        def returning(*args: Any, **kwargs: Any) -> Any:
            return later(*args, **kwargs)

        return returning

    def kind_of(self, base: Any, **methods: Callable[..., Any]) -> Any:
        """Return a subclass with these methods."""
        for name, method in methods.items():
            method.__name__ = name
        return type(f"Own{getattr(base, '__name__', '')}", (base,), {k: self.fn(m) for k, m in methods.items()})

    def run(self, work: Callable[[], Any], awork: Callable[[], Any]) -> Any:
        """Do something in the mode."""
        if self.mode == "sync":
            return work()

        async def main() -> Any:
            self.own_loop = asyncio.get_running_loop()
            result = work() if self.mode == "inside a loop" else await awork()
            await crewai_event_bus.aflush()  # handlers that are async run on the loop of the emitter
            return result

        return asyncio.run(main())

    def crew(self, made: Crew, inputs: Any = None) -> Any:
        return self.run(lambda: made.kickoff(inputs), lambda: made.akickoff(inputs))

    def flow(self, made: Flow[Any], inputs: Any = None) -> Any:
        return self.run(lambda: made.kickoff(inputs), lambda: made.akickoff(inputs))


POINTS: dict[str, Callable[[Use], None]] = {}


def point(case: Callable[[Use], None]) -> Callable[[Use], None]:
    POINTS[case.__name__] = case
    return case


def worker(*script: Any, **fields: Any) -> Agent:
    llm = ScriptedLLM([*script] or (lambda _: "Final Answer: six"), **fields.pop("llm_fields", {}))
    return Agent(role="Pilot", goal="Pilot", backstory="At sea.", llm=llm, **fields)


def crew_of(made: Any = None, crew_fields: dict[str, Any] | None = None, **fields: Any) -> Crew:
    made = made or worker()
    fields = {"name": "ask", "description": "When?", "expected_output": "A time", "agent": made, **fields}
    return Crew(agents=[made], tasks=[Task(**fields)], **(crew_fields or {}))


def using(name: str, **args: Any) -> list[str]:
    import json

    return [f"Thought: look\nAction: {name}\nAction Input: {json.dumps(args)}", "Final Answer: six"]


# Tasks, crews, agents


@point
def guardrail_of_a_task(use: Use) -> None:
    assert use.crew(crew_of(guardrail=use.fn(lambda output: (True, f"{output.raw}!")))).raw == "six!"


@point
def guardrail_of_an_agent(use: Use) -> None:
    made = worker(guardrail=use.fn(lambda output: (True, f"{output.raw}!")))
    assert use.run(lambda: made.kickoff("When?"), lambda: made.akickoff("When?")).raw == "six!"


@point
def condition(use: Use) -> None:
    made = crew_of()
    made.tasks.append(
        ConditionalTask(
            description="Then?", expected_output="A", agent=made.agents[0], condition=use.fn(lambda output: False)
        )
    )
    assert [output.raw for output in use.crew(made).tasks_output] == ["six", ""]


@point
def callbacks_of_tasks_and_crews(use: Use) -> None:
    def of_task(output: Any) -> None: ...
    def of_crew(output: Any) -> None: ...
    def of_step(step: Any) -> None: ...

    use.crew(
        crew_of(
            callback=use.fn(of_task), crew_fields={"task_callback": use.fn(of_crew), "step_callback": use.fn(of_step)}
        )
    )
    assert sorted(use.calls) == ["of_crew", "of_step", "of_task"]


@point
def before_and_after_a_kickoff(use: Use) -> None:
    made = crew_of(description="When in {place}?")
    made.before_kickoff_callbacks, made.after_kickoff_callbacks = (
        [use.fn(lambda inputs: {**inputs, "place": "Brest"})],
        [use.fn(lambda result: result.model_copy(update={"raw": "seven"}))],
    )
    assert use.crew(made, {}).raw == "seven"
    assert "When in Brest?" in made.agents[0].llm.requests[0].text


@point
def methods_of_a_project(use: Use) -> None:
    def before(self: Any, inputs: Any) -> Any:
        return {**inputs, "place": "Brest"}

    def after(self: Any, result: Any) -> Any:
        return result.model_copy(update={"raw": "seven"})

    def a_pilot(self: Any) -> Agent:
        return worker()

    def ask(self: Any) -> Task:
        return Task(description="When in {place}?", expected_output="A", agent=self.a_pilot())

    def a_crew(self: Any) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)

    body: dict[str, Any] = {
        "agents_config": {}, "tasks_config": {}, "before": before_kickoff(use.fn(before)), "after": after_kickoff(use.fn(after)),
        "a_pilot": agent(use.fn(a_pilot)), "ask": task(use.fn(ask)), "crew": crew(use.fn(a_crew)),
    }  # fmt: skip
    project: Any = CrewBase(type("Project", (), body))()

    def made() -> Crew:
        return project.crew()

    assert use.run(lambda: made().kickoff({}), lambda: made().akickoff({})).raw == "seven"


@point
def converter(use: Use) -> None:
    class Tide(BaseModel):
        time: str

    made = crew_of(
        output_pydantic=Tide,
        converter_cls=use.kind_of(Converter, to_pydantic=lambda self, current_attempt=1: Tide(time="06:12")),
    )
    assert use.crew(made).pydantic == Tide(time="06:12")


@point
def processor_of_texts(use: Use) -> None:
    set_processor(use.kind_of(object, process=lambda self, content, context=None: content.upper())())
    try:
        assert process_content("a") == "A"
    finally:
        from crewgraph.definitions.task.task import NoOpContentProcessor

        set_processor(NoOpContentProcessor())


@point
def overridden_kickoff_of_a_crew(use: Use) -> None:
    kind = use.kind_of(Crew, kickoff=lambda self, inputs=None, **_: "own")
    made = kind(agents=[one := worker()], tasks=[Task(description="a", expected_output="b", agent=one)])
    if use.mode == "async":
        assert use.run(made.kickoff, made.kickoff_async) == "own"


@point
def agent_adapter(use: Use) -> None:
    body = {name: lambda self, *_, **__: None for name in BaseAgentAdapter.__abstractmethods__ - {"execute_task"}}
    kind = type(
        "Own",
        (BaseAgentAdapter,),
        {**body, "execute_task": use.fn(lambda self, task, context=None, tools=None: "seven")},
    )
    assert use.crew(crew_of(kind(role="A", goal="b", backstory="c"))).raw == "seven"


@point
def foreign_agent(use: Use) -> None:
    assert (
        use.crew(crew_of(use.kind_of(object, execute_task=lambda self, task, context=None, tools=None: "seven")())).raw
        == "seven"
    )


@point
def task_of_an_own_class(use: Use) -> None:
    def execute_sync(self: Any, agent: Any = None, context: Any = None, tools: Any = None) -> Any:
        from crewgraph import TaskOutput

        return TaskOutput(description="a", agent="b", raw="seven")

    kind = use.kind_of(Task, execute_sync=execute_sync)
    made = Crew(agents=[one := worker()], tasks=[kind(description="a", expected_output="b", agent=one)])
    assert use.crew(made).raw == "seven"


@point
def agent_executor(use: Use) -> None:
    assert use.crew(crew_of(worker(agent_executor=use.fn(lambda prompt: "seven")))).raw == "seven"


# People


@point
def feedback_provider_of_a_method(use: Use) -> None:
    provider = use.kind_of(object, request_feedback=lambda self, context, flow: "approved")()

    class Draft(Flow[Any]):
        @start()
        @human_feedback("Send?", emit=["rejected", "approved"], default_outcome="rejected", provider=provider)
        def write(self) -> str:
            return "draft"

        @listen("approved")
        def send(self, result: Any) -> str:
            return f"sent, {result.feedback}"

    assert use.flow(Draft()) == "sent, approved"


@point
def feedback_provider_of_the_process(use: Use) -> None:
    class Draft(Flow[Any]):
        @start()
        @human_feedback("Send?")
        def write(self) -> str:
            return "draft"

        @listen(write)
        def send(self, result: Any) -> str:
            return result.feedback

    with patch.object(
        flow_config, "hitl_provider", use.kind_of(object, request_feedback=lambda self, context, flow: "fine")()
    ):
        assert use.flow(Draft()) == "fine"


@point
def input_providers(use: Use) -> None:
    class Asking(Flow[Any]):
        @start()
        def first(self) -> Any:
            return self.ask("Where?")

        @listen(first)
        async def second(self, value: Any) -> Any:
            return value, self.ask("Where?", timeout=5)

    provider = use.kind_of(object, request_input=lambda self, message, flow, metadata=None: "Brest")()
    flow = Asking()
    flow.input_provider = provider
    assert use.flow(flow) == ("Brest", "Brest")
    with patch.object(flow_config, "input_provider", provider):
        assert use.flow(Asking()) == ("Brest", "Brest")


@point
def human_input_provider(use: Use) -> None:
    methods = {
        "setup_messages": lambda self, context: False,
        "post_setup_messages": lambda self, context: context.messages.append({"role": "user", "content": "ADDED"}),
        "handle_feedback": lambda self, formatted_answer, context: AgentFinish(
            thought="", output="seven", text="seven"
        ),
    }
    token = set_provider(use.kind_of(SyncHumanInputProvider, **methods)())
    try:
        made = crew_of(human_input=True)
        assert use.crew(made).raw == "seven"
        assert "ADDED" in made.agents[0].llm.requests[0].text
    finally:
        reset_provider(token)


# Hooks


@point
def hooks_of_all_points(use: Use) -> None:
    points = [point for point in InterceptionPoint]

    for point in points:
        register_hook(point, use.fn(lambda context: None))
    tool = Tool(name="look", description="Look.", func=lambda: "06:12")
    use.crew(crew_of(worker(*using("look"), tools=[tool])))
    assert len(use.calls) == len(points) + 2  # two requests


@point
def hooks_of_a_crew_and_of_a_block(use: Use) -> None:
    made = crew_of(description="When in {place} and {other}?")
    register_for_owner(made, InterceptionPoint.INPUT, use.fn(lambda context: {**context.inputs, "place": "Brest"}))

    with scoped_hooks():
        register_scoped(
            InterceptionPoint.EXECUTION_START, use.fn(lambda context: {**context.inputs, "other": "Calais"})
        )
        use.crew(made, {})
    assert "When in Brest and Calais?" in made.agents[0].llm.requests[0].text


@point
def hooks_by_decorators(use: Use) -> None:
    from crewgraph.hooks import after_llm_call, after_tool_call, before_llm_call, before_tool_call

    def before_tool(context: Any) -> None:
        context.tool_input["port"] = "Calais"

    before_llm_call(use.fn(lambda context: context.messages.append({"role": "user", "content": "ADDED"})))
    after_llm_call(agents=["Pilot"])(use.fn(lambda context: context.response.replace("six", "seven")))
    before_tool_call(tools=["look"])(use.fn(before_tool))
    after_tool_call(use.fn(lambda context: f"{context.tool_result}!"))

    made = crew_of(
        worker(*using("look", port="Brest"), tools=[Tool(name="look", description="Look.", func=lambda port: port)])
    )
    assert use.crew(made).raw == "seven"
    assert "ADDED" in made.agents[0].llm.requests[0].text and "Calais!" in made.agents[0].llm.requests[-1].text


# Tools


@point
def tools(use: Use) -> None:
    def look() -> str:
        return "06:12"

    class Look(BaseTool):
        name: str = "look"
        description: str = "Look."

        def _run(self) -> str:
            raise NotImplementedError

    class Empty(BaseModel): ...

    for tool in (
        Tool(name="look", description="Look.", func=use.fn(look)),
        use.kind_of(Look, _run=lambda self: "06:12")(),
        CrewStructuredTool("look", "Look.", Empty, use.fn(look)),
    ):
        made = crew_of(worker(*using("look"), tools=[tool]))
        use.crew(made)
        assert "Observation: 06:12" in made.agents[0].llm.requests[-1].text


@point
def cache_function_and_cache_handler(use: Use) -> None:
    def cacheable(args: Any, result: Any) -> bool:
        return True

    def read(self: Any, tool: str, input: str) -> Any:
        return self.__dict__.get(input)

    def add(self: Any, tool: str, input: str, output: Any) -> None:
        self.__dict__[input] = output

    counted: list[int] = []
    tool = Tool(
        name="look", description="Look.", func=lambda: counted.append(1) or "06:12", cache_function=use.fn(cacheable)
    )
    made = crew_of(worker(using("look")[0], *using("look"), tools=[tool]))
    use.crew(made)
    assert (len(counted), use.calls) == (1, ["cacheable"])
    handler = use.kind_of(object, read=read, add=add)()
    made = crew_of(worker(using("look")[0], *using("look"), tools=[tool]), crew_fields={"cache_handler": handler})
    use.crew(made)
    assert len(counted) == 2


@point
def require_approval(use: Use) -> None:
    def never(args: Any) -> bool:
        return False

    counted: list[int] = []
    tool = Tool(name="look", description="Look.", func=lambda: counted.append(1) or "a", require_approval=use.fn(never))
    use.crew(crew_of(worker(*using("look"), tools=[tool])))
    assert (counted, use.calls) == ([1], ["never"])


@point
def texts_of_results(use: Use) -> None:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look."

        def _run(self) -> str:
            return "06:12"

    tool = use.kind_of(Look, format_output_for_agent=lambda self, raw_result: f"<{raw_result}>")()
    made = crew_of(worker(*using("look"), tools=[tool]))
    use.crew(made)
    assert "<06:12>" in made.agents[0].llm.requests[-1].text


@point
def filters_of_mcp_tools(use: Use) -> None:
    context = ToolFilterContext(agent=None, server_name="s")
    assert not is_offered(use.fn(lambda context, tool: False), context, {"name": "a"})
    assert not is_offered(use.fn(lambda tool: False), context, {"name": "a"})


# Models


@point
def own_models(use: Use) -> None:
    own = use.kind_of(BaseLLM, call=lambda self, messages, *_, **__: "Final Answer: seven")(model="own")
    for llm in (own, use.kind_of(object, call=lambda self, messages: "Final Answer: seven")()):
        made = Agent(role="A", goal="b", backstory="c", llm=llm)
        assert use.crew(crew_of(made)).raw == "seven"
    judged = crew_of(guardrail="It is a number.")
    judged.tasks[0].guardrail = None
    assert use.run(lambda: Agent(role="A", goal="b", backstory="c", llm=own).kickoff("x"),
                   lambda: Agent(role="A", goal="b", backstory="c", llm=own).akickoff("x")).raw == "seven"  # fmt: skip


@point
def interceptors(use: Use) -> None:
    def on_outbound(self: Any, message: Any) -> Any:
        message.headers["x-stamp"] = "harbour"
        return message

    own = use.kind_of(BaseInterceptor, on_outbound=on_outbound, on_inbound=lambda self, message: message)()
    with OpenAIServer(["one"]) as server:
        llm = LLM("openai/gpt-4o", base_url=server.url, api_key="key", interceptor=own)
        assert use.run(lambda: llm.call("Hi"), lambda: llm.acall("Hi")) == "one"
        assert server.requests[0].headers["x-stamp"] == "harbour"


@point
def functions_that_a_models_call_executes(use: Use) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "string"}}}
    spec: Any = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": schema}}
    with OpenAIServer([call("look", {"port": "Brest"})]) as server:
        llm = LLM("openai/gpt-4o", base_url=server.url, api_key="key")
        given: Any = {"tools": [spec], "available_functions": {"look": use.fn(lambda port: f"{port}: 06:12")}}
        assert use.run(lambda: llm.call("Hi", **given), lambda: llm.acall("Hi", **given)) == "Brest: 06:12"


@point
def scripted_models(use: Use) -> None:
    made = Agent(role="A", goal="b", backstory="c", llm=ScriptedLLM(use.fn(lambda request: "Final Answer: seven")))
    assert use.crew(crew_of(made)).raw == "seven"


@point
def rate_limiters(use: Use) -> None:
    def check_or_wait(self: Any) -> bool:
        return True

    made = crew_of()
    made.rpm_controller = use.kind_of(object, check_or_wait=check_or_wait)()
    use.crew(made)
    assert use.calls == ["check_or_wait"]


# Memory and knowledge


@point
def embedding_functions(use: Use) -> None:
    embeddings = embedder_of(use.fn(lambda texts: [[1.0, 0.0] for _ in texts])).embeddings
    assert use.run(lambda: embeddings.embed_documents(["a"]), lambda: embeddings.aembed_documents(["a"])) == [
        [1.0, 0.0]
    ]
    assert use.run(lambda: embeddings.embed_query("a"), lambda: embeddings.aembed_query("a")) == [1.0, 0.0]


@point
def embedding_objects(use: Use) -> None:
    own = use.kind_of(
        Embeddings,
        embed_documents=lambda self, texts: [[1.0, 0.0] for _ in texts],
        embed_query=lambda self, text: [1.0, 0.0],
    )()
    embeddings = embedder_of(own).embeddings
    assert use.run(lambda: embeddings.embed_documents(["a"]), lambda: embeddings.aembed_documents(["a"])) == [
        [1.0, 0.0]
    ]
    assert use.run(lambda: embeddings.embed_query("a"), lambda: embeddings.aembed_query("a")) == [1.0, 0.0]


@point
def storages_of_a_memory(use: Use) -> None:
    methods = {
        name: method
        for name, method in vars(Notebook).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    backend = use.kind_of(
        Notebook,
        **{
            name: method
            for name, method in methods.items()
            if name in ("save", "search", "list_records", "get_record", "delete", "update")
        },
    )
    if "list_records" in methods:
        del backend.list_records  # `search` of the notebook calls it
    made = backend()

    set_memory_storage_factory(use.fn(lambda spec: made))
    try:
        memory = Memory(embedder=words)
        remember: Any = {"scope": "/a", "categories": ["c"], "importance": 0.5}
        use.run(
            lambda: memory.remember("The mill closes.", **remember),
            lambda: memory.aremember("The mill closes.", **remember),
        )
        found = use.run(
            lambda: memory.recall("The mill closes.", depth="shallow"),
            lambda: memory.arecall("The mill closes.", depth="shallow"),
        )
        assert [match.record.content for match in found] == ["The mill closes."]
    finally:
        set_memory_storage_factory(None)


@point
def storages_of_the_former_memories(use: Use) -> None:
    def reset(self: Any) -> None: ...

    kept: list[Any] = []
    own = use.kind_of(
        object,
        save=lambda self, value, metadata=None, **_: kept.append(value),
        search=lambda self, query, **_: [{"content": "KEPT", "score": 1.0}],
        reset=reset,
    )
    made = crew_of(crew_fields={
        "memory": True, "short_term_memory": ShortTermMemory(storage=own()), "entity_memory": EntityMemory(storage=own()),
        "external_memory": ExternalMemory(storage=own()),
    })  # fmt: skip
    use.crew(made)
    assert kept and "KEPT" in made.agents[0].llm.requests[0].text

    def load(self: Any, task: str, latest_n: int) -> Any:
        return [{"task_description": task, "score": 1.0, "datetime": "", "metadata": {"suggestions": ["MORE"]}}]

    memory = LongTermMemory(storage=use.kind_of(object, load=load, save=lambda self, **_: None, reset=reset)())
    assert use.run(lambda: memory.search("a"), lambda: memory.asearch("a"))


@point
def storages_of_knowledge(use: Use) -> None:
    def save(self: Any, documents: list[str]) -> None:
        self.kept = documents

    def search(
        self: Any, query: list[str], limit: int = 5, metadata_filter: Any = None, score_threshold: float = 0.6
    ) -> Any:
        return [SearchResult(content=self.kept[0], score=1.0, metadata={}, id="a")]

    def reset(self: Any) -> None:
        self.kept = []

    own = use.kind_of(BaseKnowledgeStorage, save=save, search=search, reset=reset)

    set_knowledge_storage_factory(use.fn(lambda embedder, name: own()))
    try:
        knowledge = Knowledge("mill", ["The mill closes at noon."])
        found = use.run(lambda: knowledge.query(["mill"]), lambda: knowledge.aquery(["mill"]))
        assert [result["content"] for result in found] == ["The mill closes at noon."]
        use.run(knowledge.reset, knowledge.areset)
    finally:
        set_knowledge_storage_factory(None)


@point
def sources_of_knowledge(use: Use) -> None:
    def add(self: Any) -> None:
        self.chunks = ["The mill closes at noon."]
        return self._save_documents()

    for own in (
        use.kind_of(BaseKnowledgeSource, load_content=lambda self: "The mill closes at noon."),
        use.kind_of(BaseKnowledgeSource, add=add),
    ):
        knowledge = Knowledge("mill", [own()], embedder=lambda texts: [[1.0, 0.0] for _ in texts])
        found = use.run(partial(knowledge.query, ["mill"]), partial(knowledge.aquery, ["mill"]))
        assert [result["content"] for result in found] == ["The mill closes at noon."]
        knowledge.reset()


# Flows


@point
def methods_of_a_flow(use: Use) -> None:
    def first(self: Any) -> str:
        return "first"

    def choose(self: Any, value: Any) -> str:
        return f"label_{value}"

    def last(self: Any) -> str:
        return "last"

    body = {
        "first": (begin := start()(use.fn(first))),
        "choose": router(begin)(use.fn(choose)),
        "last": listen("label_first")(use.fn(last)),
    }
    assert use.flow(type("Own", (Flow,), body)()) == "last"


@point
def start_conditions(use: Use) -> None:
    class Two(Flow[Any]):
        @start()
        def one(self) -> str:
            return "one"

        @start(use.fn(lambda context: False))
        def two(self) -> str:
            raise AssertionError

    assert use.flow(Two()) == "one"


@point
def persistence_backends(use: Use) -> None:
    states: dict[str, Any] = {}

    def save_state(self: Any, flow_uuid: str, method_name: str, state_data: Any) -> None:
        states[flow_uuid] = dict(state_data)

    backend = use.kind_of(
        FlowPersistence, save_state=save_state, load_state=lambda self, flow_uuid: states.get(flow_uuid)
    )
    backend.init_db = lambda self: None
    backend.__abstractmethods__ = frozenset()
    set_flow_persistence_factory(use.fn(lambda: backend()))
    try:

        @persist
        class Counting(Flow[Any]):
            @start()
            def count(self) -> int:
                self.state["n"] = self.state.get("n", 0) + 1
                return self.state["n"]

    finally:
        set_flow_persistence_factory(None)
    first = Counting(checkpointer=False)
    assert use.flow(first) == 1
    assert states[first.state["id"]]["n"] == 1
    states["other"] = {"id": "other", "n": 41}
    assert use.flow(Counting(checkpointer=False), {"id": "other"}) == 42


@point
def questions_kept_by_a_backend(use: Use) -> None:
    calls: list[str] = []

    own = use.kind_of(
        FlowPersistence,
        save_state=lambda self, flow_uuid, method_name, state_data: None,
        load_state=lambda self, flow_uuid: None,
        save_pending_feedback=lambda self, flow_uuid, context, state_data: calls.append("save"),
        clear_pending_feedback=lambda self, flow_uuid: calls.append("clear"),
    )
    own.init_db = lambda self: None
    own.__abstractmethods__ = frozenset()

    class Draft(Flow[Any]):
        @start()
        @human_feedback("Send?")
        def write(self) -> str:
            return "draft"

    flow = persist(own())(Draft)()
    pending = use.flow(flow)
    again = Draft()
    use.run(lambda: again.resume(pending.flow_id, "yes"), lambda: again.aresume(pending.flow_id, "yes"))
    assert calls == ["save", "clear"]


@point
def extensions_of_remote_agents(use: Use) -> None:
    from crewgraph.contrib.a2a import A2AClientConfig
    from crewgraph.contrib.a2a.tool import remote_tools

    def inject_tools(self: Any, agent: Any) -> None: ...
    def extract_state_from_history(self: Any, history: Any) -> Any:
        return "state"

    def augment_prompt(self: Any, base_prompt: str, state: Any) -> str:
        return f"{base_prompt} {state}"

    def process_response(self: Any, response: Any, state: Any) -> Any:
        return f"{response} {state}"

    def prepare_message_metadata(self: Any, state: Any) -> Any:
        return {"is": state}

    extension = use.kind_of(object, **{
        "inject_tools": inject_tools, "extract_state_from_history": extract_state_from_history,
        "augment_prompt": augment_prompt, "process_response": process_response,
        "prepare_message_metadata": prepare_message_metadata,
    })()  # fmt: skip
    remote = A2AClientConfig(endpoint="https://a2a.example", client_extensions=[extension])
    (tool,) = remote_tools([remote], [{"name": "Office"}], ())
    assert tool.description.endswith(" None") and tool.read("b") == "b state"
    assert tool.message("m", "1")["metadata"] == {"is": "state"}


# Events


@point
def event_handlers(use: Use) -> None:
    def noted(source: Any, event: Any) -> None: ...

    handler = use.fn(noted)

    class Listener(BaseEventListener):
        def setup_listeners(self, crewai_event_bus: Any) -> None:
            crewai_event_bus.on(TaskStartedEvent)(handler)

    with crewai_event_bus.scoped_handlers():
        Listener()
        use.crew(crew_of())
        crewai_event_bus.flush(60)
        assert use.calls == ["noted"]


@point
def stream_sinks(use: Use) -> None:
    from crewgraph.events.stream_context import add_stream_sink, reset_stream_sinks

    token = add_stream_sink(use.fn(lambda source, event: None))
    try:
        use.crew(crew_of())
        crewai_event_bus.flush(60)
        assert use.calls
    finally:
        reset_stream_sinks(token)


@pytest.fixture(autouse=True)
def no_hooks_left() -> Iterator[None]:
    yield
    clear_all_hooks()


@pytest.mark.parametrize(("kind", "mode"), WAYS)
@pytest.mark.parametrize("name", POINTS)
def test_user_code_may_be_async(name: str, kind: str, mode: str):
    use = Use(kind, mode)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        POINTS[name](use)
        gc.collect()
    assert [str(one.message) for one in caught if "never awaited" in str(one.message)] == []


def test_async_code_is_awaited_on_the_loop_of_an_async_run():
    use = Use("async", "async")
    for name in ("feedback_provider_of_a_method", "feedback_provider_of_the_process", "guardrail_of_a_task"):
        POINTS[name](use)
        assert use.loops and set(use.loops) == {use.own_loop}, name
        use.loops.clear()


def test_a_crew_that_an_async_tool_kicks_off_may_call_async_tools_in_parallel():
    async def inner(number: int) -> str:
        await asyncio.sleep(0.01)
        return str(number)

    async def outer() -> str:
        llm = ScriptedLLM(
            [[ToolUse("inner", {"number": 1}), ToolUse("inner", {"number": 2})], "done"], native_tools=True
        )
        made = Agent(
            role="A", goal="b", backstory="c", llm=llm, tools=[Tool(name="inner", description="In.", func=inner)]
        )
        return crew_of(made).kickoff().raw

    tool = Tool(name="outer", description="Out.", func=outer)
    made = crew_of(worker(*using("outer"), tools=[tool]))
    made.kickoff()
    assert "Observation: done" in made.agents[0].llm.requests[-1].text
