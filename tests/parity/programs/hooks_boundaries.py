"""Hooks at the boundaries of a crew: its inputs, a task's context and output, its result."""

from crewai import Agent, Crew, Task
from crewai.hooks import InterceptionPoint, on


@on(InterceptionPoint.INPUT)
def inputs(context):
    if context.crew is not None:
        print("input", context.inputs)
        context.inputs["harbour"] = "Calais"


@on(InterceptionPoint.PRE_STEP)
def before(context):
    if context.kind == "task":
        print("before", context.step_name, context.agent_role)


@on(InterceptionPoint.POST_STEP)
def after(context):
    if context.kind == "task":
        print("after", context.step_name, context.output.raw)


@on(InterceptionPoint.OUTPUT)
def output(context):
    if context.crew is not None:
        context.output.raw = context.output.raw + " OUT-1"


@on(InterceptionPoint.EXECUTION_END)
def end(context):
    if context.crew is not None:
        print("end", context.status)


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.")
ask = Task(name="ask", description="When is high tide in {harbour}? DESC-1", expected_output="A time", agent=pilot)
crew = Crew(agents=[pilot], tasks=[ask])
result = crew.kickoff(inputs={"harbour": "Brest"})
print(result.raw)

script = {"Calais": ["At 06:12 TIME-1"], "DESC-1": ["At 07:30 TIME-2"]}
