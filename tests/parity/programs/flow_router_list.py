"""A router that returns two labels."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def one(self):
        pass

    @router(one)
    def route(self):
        return ["left", "right"]

    @listen("left")
    def on_left(self):
        print("left")

    @listen("right")
    def on_right(self):
        print("right")


F().kickoff()

parallel = True
script = {}
