"""Hooks as programs use them (1.15): they count, redact, add to messages, change and block tool calls."""

from crewai import Agent, Crew, Task
from crewai.hooks import (
    LLMCallHookContext,
    ToolCallHookContext,
    after_llm_call,
    after_tool_call,
    before_llm_call,
    before_tool_call,
    clear_all_global_hooks,
    get_before_llm_call_hooks,
)
from crewai.tools import tool

seen = []


@before_llm_call
def count(context: LLMCallHookContext):
    seen.append(
        (
            "before",
            context.agent.role,
            context.task.description if context.task else None,
            context.iterations,
            len(context.messages),
            type(context.crew).__name__,
            type(context.llm).__name__ != "",
        )
    )
    context.messages[-1]["content"] += " HOOK-1"


@after_llm_call
def redact(context):
    seen.append(("after", context.response is not None))
    if isinstance(context.response, str) and "SECRET-1" in context.response:
        return context.response.replace("SECRET-1", "[gone]")
    return None


@before_tool_call(tools=["erase", "lookup"])
def guard(context: ToolCallHookContext):
    seen.append(
        (
            "tool",
            context.tool_name,
            dict(context.tool_input),
            context.agent.role,
            context.task is not None,
            context.crew is not None,
            context.tool.name,
        )
    )
    if context.tool_name == "erase":
        return False
    context.tool_input["word"] = context.tool_input["word"].upper()
    return None


@after_tool_call(agents=["Clerk"])
def shorten(context):
    seen.append(("tool after", context.tool_name, "LOOK-1" in context.tool_result))
    if context.tool_name == "lookup":
        return context.tool_result + " HOOKED-1"
    return None


@tool("lookup")
def lookup(word: str) -> str:
    """Looks up."""
    return f"LOOK-1 {word}"


@tool("erase")
def erase(path: str) -> str:
    """Erases."""
    print("erased!")
    return "erased"


def run(**kw):
    agent = Agent(role="Clerk", goal="g", backstory="b", tools=[lookup, erase])
    return Crew(agents=[agent], tasks=[Task(description="Do DESC-1", expected_output="e", agent=agent)], **kw).kickoff()


result = run()
print(result.raw)
for one in seen:
    print(one)
print(len(get_before_llm_call_hooks()))
clear_all_global_hooks()
print(len(get_before_llm_call_hooks()))

script = {"DESC-1": [{"tool": ["lookup", {"word": "sea"}]}, {"tool": ["erase", {"path": "/"}]}, "the SECRET-1 is out"]}
