"""Hooks around the methods of a flow, first and second."""

from crewai.flow.flow import Flow, listen, start
from crewai.hooks import InterceptionPoint, on


@on(InterceptionPoint.PRE_STEP)
def before(context):
    print("before", context.kind, context.step_name, context.payload)


@on(InterceptionPoint.POST_STEP)
def after(context):
    if context.step_name == "first":
        return "high"
    return None


@on(InterceptionPoint.OUTPUT)
def output(context):
    return context.output.upper()


class Tides(Flow):
    @start()
    def first(self):
        return "low"

    @listen(first)
    def second(self, tide):
        return f"{tide} tide"


result = Tides().kickoff()
print(result)

script = {}
