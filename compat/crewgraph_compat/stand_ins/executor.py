"""The agent loop as an object, for CrewAI programs that create and invoke it themselves."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.agent import Agent
from crewgraph.compiler.agent.binding import AgentBinding, guarded_tools
from crewgraph.core.messages import Message
from crewgraph.core.operations import Program, adrive, drive, user_call
from crewgraph.definitions.task.conversion import convert_to_model
from crewgraph.errors import RunError
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import get_scoped_hooks, scoped_hooks
from crewgraph.overrides import overridable
from crewgraph.prompts.i18n import default_book
from crewgraph.runtime.agent.standalone import next_answer_program
from crewgraph.text import slug

_PLACEHOLDERS = ("input", "tool_names", "tools")


class CrewAgentExecutor(BaseModel):
    """Call a model and the tools it chooses until it answers.

    Agents do this automatically with the same loop, including its events, limits and reply repairs. Budgets,
    checkpoints and memories belong to tasks.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    crew: Any = Field(default=None, exclude=True)
    """The crew that the executor works for."""

    agent: Any = Field(default=None, exclude=True)
    """The agent that owns the loop."""

    task: Any = Field(default=None, exclude=True)
    """The current task."""

    iterations: int = 0
    """The number of model replies used by the last call."""

    max_iter: int = 25
    """The maximum number of steps before the agent must answer."""

    messages: list[Any] = Field(default_factory=list[Any])
    """The messages of the last call."""

    llm: Any = Field(default=None, exclude=True)
    """The model; None uses the agent's model."""

    prompt: Any = Field(default=None, exclude=True)
    """The result of `Prompts(...).task_execution()`, or a dict with "prompt", or with "system" and "user"."""

    tools: list[Any] = Field(default_factory=list[Any], exclude=True)
    """The available tools."""

    tools_names: str = ""
    """The tool names, for `{tool_names}`."""

    stop: list[str] = Field(default_factory=list[str])
    """Stop words; ignored, because the loop sets its own."""

    stop_words: list[str] = Field(default_factory=list[str])
    """The form of `stop` in older programs; ignored."""

    tools_description: str = ""
    """The tool descriptions, for `{tools}`."""

    tools_handler: Any = Field(default=None, exclude=True)
    """The handler whose `cache` stores tool results."""

    step_callback: Any = Field(default=None, exclude=True)
    """Called with each `AgentAction`, and with the `AgentFinish`."""

    original_tools: list[Any] = Field(default_factory=list[Any], exclude=True)
    """The tools as they were passed to the agent; used if `tools` is empty."""

    function_calling_llm: Any = Field(default=None, exclude=True)
    """The model that repairs unreadable tool arguments."""

    respect_context_window: bool = False
    """Whether a conversation that exceeds the context window is summarized."""

    request_within_rpm_limit: Callable[[], bool] | None = Field(default=None, exclude=True)
    """Ignored: requests respect the `max_rpm` of the agent and the crew."""

    callbacks: list[Any] = Field(default_factory=list[Any], exclude=True)
    """Ignored: listen to `crewai.events` for requests; the agent's `usage_metrics` counts them."""

    response_model: type[BaseModel] | None = Field(default=None, exclude=True)
    """The response model."""

    before_llm_call_hooks: list[Any] = Field(default_factory=list[Any], exclude=True)
    """Hooks called before each request, after the global ones."""

    after_llm_call_hooks: list[Any] = Field(default_factory=list[Any], exclude=True)
    """Hooks called after each request."""

    ask_for_human_input: bool = False
    """Whether a person reviews the answer of the last call."""

    log_error_after: int = 3
    """Ignored."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(**dict(zip(_POSITIONS, args, strict=False)), **fields)

    @overridable
    def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the loop.

        Args:
            inputs: "input", "tools" and "tool_names" for the placeholders of the prompt; with "ask_for_human_input" a person
                reviews the answer.

        Returns:
            The answer as "output".

        Raises:
            RunError: There is no agent.
            Exception: The model's own exception.
        """
        with self._hooked():
            return drive(self._invoked(inputs))

    @overridable
    async def ainvoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run `invoke` on the current event loop."""
        with self._hooked():
            return await adrive(self._invoked(inputs))

    def _invoked(self, inputs: Mapping[str, Any]) -> Program[dict[str, Any]]:
        self.ask_for_human_input = bool(inputs.get("ask_for_human_input", False))
        engagement = self._engagement()
        opening = _opening(self.prompt, self._texts(inputs))
        done = yield from self._worked(engagement, opening)
        while self.ask_for_human_input and (feedback := (yield user_call(_ask_for_feedback, done["answer"]))):
            message = engagement.book.slice("human_feedback", human_feedback=feedback)
            again: list[Message] = [*done["said"], {"role": "user", "content": message}]
            done = yield from self._worked(engagement, again)
        self.messages = done["messages"]
        self.iterations = sum(item["role"] == "assistant" for item in self.messages)
        if self.response_model is None:
            return {"output": done["answer"]}
        return {"output": convert_to_model(done["answer"], self.response_model, None, engagement.agent)}

    @contextmanager
    def _hooked(self) -> Generator[None]:
        """Activate the executor's own hooks within the block."""
        if not self.before_llm_call_hooks and not self.after_llm_call_hooks:
            yield
            return
        table = {point: list(get_scoped_hooks(point)) for point in InterceptionPoint}
        table[InterceptionPoint.PRE_MODEL_CALL] += self.before_llm_call_hooks
        table[InterceptionPoint.POST_MODEL_CALL] += self.after_llm_call_hooks
        with scoped_hooks(table):
            yield

    def _worked(self, engagement: AgentBinding, opening: Sequence[Message]) -> Program[dict[str, Any]]:
        return (yield from next_answer_program(engagement, self.task, opening))

    def _engagement(self) -> AgentBinding:
        if not isinstance(self.agent, Agent):
            raise RunError("an executor needs an agent: pass `agent=`")
        tools = list(self.tools or self.original_tools)
        inputs: dict[str, Any] = {
            "llm": self.agent.llm if self.llm is None else self.llm,
            "max_iter": self.max_iter,
            "respect_context_window": self.respect_context_window,
            "agent_executor": None,
            "executor_class": None,
            "tools": tools,
        }
        own = {
            "step_callback": self.step_callback,
            "function_calling_llm": self.function_calling_llm,
            "cache_handler": getattr(self.tools_handler, "cache", None),
        }
        agent = self.agent.model_copy(update=inputs | {name: item for name, item in own.items() if item is not None})
        where = f"the executor of {agent.called_as(agent.role)}"
        return AgentBinding(
            crew=self.crew,
            agent=agent,
            slug=slug(agent.role, taken={"inputs"}),
            given_tools=tools,
            tools=guarded_tools(tools, {}, where),
        )

    def _texts(self, inputs: Mapping[str, Any]) -> dict[str, str]:
        own = {"input": "", "tool_names": self.tools_names, "tools": self.tools_description}
        return {name: str(inputs.get(name, own[name])) for name in _PLACEHOLDERS}


_POSITIONS = (
    *("llm", "task", "crew", "agent", "prompt", "max_iter", "tools", "tools_names", "stop_words", "tools_description"),
    *("tools_handler", "step_callback", "original_tools", "function_calling_llm", "respect_context_window"),
    *("request_within_rpm_limit", "callbacks"),
)


def _ask_for_feedback(answer: str) -> str:
    """Ask for feedback on an answer at the terminal; an empty reply accepts it."""
    return input(default_book().slice("getting_input", final_answer=answer) + "\n").strip()


def _opening(prompt: Any, texts: Mapping[str, str]) -> list[Message]:
    parts: Any = prompt or {"prompt": "{input}"}
    if "system" in parts:
        return [
            {"role": "system", "content": _filled(parts["system"], texts)},
            {"role": "user", "content": _filled(parts["user"], texts)},
        ]
    return [{"role": "user", "content": _filled(parts["prompt"], texts)}]


def _filled(text: str, texts: Mapping[str, str]) -> str:
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text
