"""Hooks around the requests of an agent: messages are added, the answer is replaced, by two hooks in turn."""

from crewai import Agent, Crew, Task
from crewai.hooks import LLMCallHookContext, after_llm_call, before_llm_call


@before_llm_call
def more(context: LLMCallHookContext) -> None:
    print("asked", context.agent.role, context.iterations, context.response)
    context.messages.append({"role": "user", "content": "Mind the wind. EXTRA-1"})


@after_llm_call
def first(context):
    return context.response.replace("TIME-1", "TIME-2")


@after_llm_call
def second(context):
    print("sees", "TIME-2" in context.response)


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.")
ask = Task(description="When is high tide in Brest? DESC-1", expected_output="A time", agent=pilot)
result = Crew(agents=[pilot], tasks=[ask]).kickoff()
print(result.raw)

script = {"DESC-1": ["At 06:12 TIME-1"]}
