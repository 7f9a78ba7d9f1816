"""A router whose annotation names its labels."""

from typing import Literal

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        return 3

    @router(begin)
    def route(self, number) -> Literal["odd", "even"]:
        return "odd" if number % 2 else "even"

    @listen("odd")
    def on_odd(self):
        return "was odd"

    @listen("even")
    def on_even(self):
        return "was even"


flow = F()
result = flow.kickoff()
print(result)

script = {}
