"""Sample flows for drawings."""

import random
from typing import Any

from crewgraph.flow import Flow, and_, listen, or_, router, start

__all__ = ["LoopFlow", "MyFlow", "crowd"]


class MyFlow(Flow[dict[str, Any]]):
    """A way that divides.

    With a second paragraph.
    """

    @start()
    def init(self) -> str:
        """Where it begins."""
        return "start"

    @listen("start")
    def process(self, result: str) -> str:
        return "processed"

    @router("processed")
    def decide(self) -> str:
        return "path_a" if self.state.get("flag") else "path_b"

    @listen("path_a")
    def handle_a(self):
        pass

    @listen("path_b")
    def handle_b(self):
        return self.state["crew"].kickoff()


class LoopFlow(Flow[dict[str, Any]]):
    """Write, judge, write again."""

    @start("loop")
    def generate(self):
        return "generated"

    @router("generated")
    def check(self) -> str:
        if self.state["good"]:
            return "success"
        if self.state["late"]:
            return "too_late"
        return "loop"

    @listen("success")
    def praise(self):
        pass

    @listen("too_late")
    def regret(self):
        pass

    @listen(and_(praise, or_(regret, "elsewhere")))
    def both(self):
        return "elsewhere"

    @router(or_(both, "again"))
    def once_more(self) -> str:
        return "again" if self.state["good"] else "loop"


def crowd(size: int, seed: int = 1) -> type[Flow[Any]]:
    """A flow of many methods that wait for each other at random."""
    chance = random.Random(seed)
    methods: dict[str, Any] = {"__doc__": f"{size} methods."}
    names: list[str] = []
    labels: list[str] = []
    for number in range(size):
        near = names[-9:]
        begins, draw = number < 4, chance.random()
        kind = chance.choice(["collect", "check", "summarize_all", "write_report", "ask", "translate"])
        name = f"load_source_{number}" if begins else f"{kind}_{number}"
        condition: Any = None
        if labels and draw < 0.35:
            condition = labels.pop(0)
        elif near:
            several = chance.sample(near, min(2, len(near)))
            condition = (
                and_(*several) if draw < 0.5 else or_(several[0], chance.choice(names)) if draw < 0.6 else near[0]
            )
        routes = not begins and chance.random() < 0.15
        mine = [f"good_{number}", f"bad_{number}", *([names[3]] if draw > 0.8 else [])] if routes else None
        labels += (mine or [])[:2]

        def method(self: Any) -> Any:
            return self.state

        method.__name__ = name
        if begins:
            methods[name] = start()(method)
        else:
            methods[name] = router(condition, emit=mine)(method) if routes else listen(condition)(method)
        names.append(name)

    def back(self: Any) -> str:
        return "load_again"

    def again(self: Any) -> None:
        pass

    methods["back"] = router(names[-1], emit=["load_again"])(back)
    methods["again"] = start("load_again")(again)
    return type("Crowd", (Flow,), methods)
