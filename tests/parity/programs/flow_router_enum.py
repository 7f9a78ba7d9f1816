"""A router that returns a member of an Enum of texts."""

from enum import Enum

from crewai.flow.flow import Flow, listen, router, start


class Way(str, Enum):
    LEFT = "left"
    RIGHT = "right"


class F(Flow):
    @start()
    def begin(self):
        return 1

    @router(begin)
    def route(self):
        return Way.RIGHT.value

    @listen("left")
    def on_left(self):
        return "L"

    @listen("right")
    def on_right(self):
        return "R"


flow = F()
result = flow.kickoff()
print(result)

script = {}
