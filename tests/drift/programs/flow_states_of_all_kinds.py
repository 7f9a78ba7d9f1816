from dataclasses import dataclass
from typing import TypedDict

from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel


class Tide(BaseModel):
    port: str = "Brest"
    height: float = 0.0


class Typed(TypedDict, total=False):
    height: float


class WithModel(Flow[Tide]):
    @start()
    def look(self):
        self.state.height = 4.5

    @listen(look)
    def tell(self):
        return f"{self.state.port} {self.state.height} {bool(self.state.id)}"


class WithDict(Flow[dict]):
    @start()
    def look(self):
        self.state["height"] = 4.5

    @listen("look")
    def tell(self):
        return f"{self.state['height']} {bool(self.state['id'])}"


class WithTypedDict(WithDict, Flow[Typed]):
    pass


class WithInitial(Flow):
    initial_state = {"height": 1.0}

    @start()
    def look(self):
        return self.state["height"]


class WithInitialModel(Flow):
    initial_state = Tide

    @start()
    def look(self):
        return self.state.height


for flow in (WithModel(), WithDict(), WithInitial(), WithInitialModel()):
    print(flow.kickoff())

# > Brest 4.5 True
# > 4.5 True
# > 1.0
# > 0.0
