"""Event classes are built when the first of their events is made, wherever that happens."""

import gc
import sys
from enum import Enum
from typing import Any

import processes
import pytest

from crewgraph.events import BaseEvent

AT_ONCE = """
import threading
from pydantic import BaseModel
from crewgraph import events
from crewgraph.events import BaseEvent

named = [getattr(events, name) for name in events.__all__]
kinds = [kind for kind in named if isinstance(kind, type) and issubclass(kind, BaseEvent)]
assert sum(not kind.__pydantic_complete__ for kind in kinds) > 100, "none is built before it is used"
begin, wrong = threading.Barrier(8), []

def make():
    begin.wait()
    for kind in kinds:
        given = {name: None for name, field in kind.model_fields.items() if field.is_required()}
        for said in (lambda: kind(**given), lambda: kind.model_validate(given)):
            try:
                made = said()
            except ValueError as refused:  # a None that it does not take is told by this class, and no other
                if getattr(refused, "title", "") != kind.__name__:
                    wrong.append((kind, refused))
            else:
                if set(kind.model_fields) - set(vars(made)) or made.model_extra or not made.to_json():
                    wrong.append((kind, made))

threads = [threading.Thread(target=make) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(wrong)
"""


def test_several_threads_make_the_first_event_of_a_class_at_once():
    ran = processes.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, timeout=250, check=False)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_a_class_made_in_a_function_knows_its_types_when_the_function_is_over():
    def made() -> type[BaseEvent]:
        class Wind(Enum):
            NORTH = "north"

        class Gust(BaseEvent):
            type: str = "gust"
            wind: "Wind"

        return Gust

    kind = made()
    gc.collect()
    north: dict[str, Any] = {"wind": "north"}
    assert kind(**north).to_json()["wind"] == "north"
    with pytest.raises(ValueError, match="Gust"):
        kind.model_validate({"wind": "west"})
