"""Converters: used directly, and classes of the user's in the place of our own step."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel, Field

from crewgraph import Converter, CrewOutput, ScriptedLLM, TaskOutput
from crewgraph.definitions.task.conversion import convert_to_model
from crewgraph.errors import ConverterError
from crewgraph.testing import record_events

from .parts import agent, crew, task


class Town(BaseModel):
    name: str
    people: int = Field(alias="inhabitants", default=0)


class Point(BaseModel):
    x: int


made: list[dict[str, Any]] = []


class Own(Converter):
    """Makes a point of whatever it is given."""

    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        made.append({"text": self.text, "llm": self.llm, "model": self.model, "instructions": self.instructions})
        return self.model(x=5)


class Broken(Converter):
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        raise RuntimeError("boom")

    def to_json(self, current_attempt: int = 1) -> Any:
        return ConverterError("given back")


class Wrong(Converter):
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        return Town(name="x")

    def to_json(self, current_attempt: int = 1) -> Any:
        return {"y": 1}


@pytest.fixture(autouse=True)
def nothing_made():
    made.clear()


def ran(mode: Mode, llm: Any, **fields: Any) -> CrewOutput:
    return mode.kickoff(crew(task("one", agent(llm), **fields), checkpointer=False))


def test_a_custom_class_is_given_everything_and_makes_the_structure(mode: Mode):
    llm = ScriptedLLM(["five"])
    output = ran(mode, llm, output_pydantic=Point, converter_cls=Own)
    assert output.pydantic == Point(x=5) and output.raw == "five"
    (given,) = made
    assert (given["text"], given["llm"], given["model"]) == ("five", llm, Point)
    assert '"x": integer' in given["instructions"]


@pytest.mark.parametrize(
    ("maker", "form", "problem"),
    [
        (Broken, "output_pydantic", "`Broken` did not convert it: RuntimeError: boom"),
        (Broken, "output_json", "`Broken` did not convert it: ConverterError: given back"),
        (Wrong, "output_pydantic", "`Wrong` returned something else"),
        (Wrong, "output_json", "`Wrong` returned something else: x: Field required"),
    ],
)
def test_what_it_raises_or_makes_wrong_is_a_conversion_that_failed(
    mode: Mode, caplog: pytest.LogCaptureFixture, maker: Any, form: str, problem: str
):
    with record_events() as events:
        output = ran(mode, ScriptedLLM(["words"]), converter_cls=maker, **{form: Point})
    assert (output.raw, output.pydantic, output.json_dict) == ("words", None, None)
    assert problem in caplog.text
    assert "TaskOutputUnstructuredEvent" in [type(event).__name__ for event in events]


def test_what_it_made_is_kept_and_not_made_again(mode: Mode):
    reported: list[str] = []

    def callback(output: TaskOutput) -> None:
        reported.append(output.raw)
        if len(reported) == 1:
            raise RuntimeError("busy")

    one = task("one", agent(ScriptedLLM(["five"])), output_pydantic=Point, converter_cls=Own, callback=callback)
    whole = crew(one, checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="busy"):
        mode.kickoff(whole, thread_id="t")
    assert mode.resume(whole, "t").pydantic == Point(x=5)
    assert len(made) == 1


@pytest.mark.parametrize("value", [object, "Converter", convert_to_model])
def test_what_is_no_converter_is_refused_when_the_task_is_made(value: Any):
    with pytest.raises(ValueError, match="`converter_cls` is a subclass of `Converter`"):
        task("one", agent(None), converter_cls=value)


def test_a_converter_asks_its_model(mode: Mode):
    llm = ScriptedLLM(['{"x": 3}'], repeat_last=True)
    converter = Converter(llm=llm, text="three", model=Point, instructions="as JSON")
    assert mode.run(converter.to_pydantic, converter.ato_pydantic) == Point(x=3)
    assert mode.run(converter.to_json, converter.ato_json) == '{"x":3}'
    assert converter.convert() == Point(x=3)
    assert llm.requests[0].messages == [{"role": "system", "content": "as JSON"}, {"role": "user", "content": "three"}]


def test_it_asks_again_with_what_was_wrong_as_often_as_it_may():
    llm = ScriptedLLM(["three", '{"x": "three"}', '{"x": 3}'])
    assert Converter(llm=llm, text="three", model=Point, instructions="i").to_pydantic() == Point(x=3)
    assert "x: Input should be a valid integer" in str(llm.requests[2].messages[-1]["content"])
    llm = ScriptedLLM(["three"], repeat_last=True)
    converter = Converter(llm=llm, text="three", model=Point, instructions="i", max_attempts=2)
    with pytest.raises(ConverterError, match="not converted to `Point` in 2 attempts: it holds no JSON") as caught:
        converter.to_pydantic()
    assert isinstance(caught.value, ValueError) and caught.value.message == str(caught.value)
    assert len(llm.requests) == 2
    with pytest.raises(ConverterError):
        converter.to_pydantic(current_attempt=2)
    assert len(llm.requests) == 3


def test_a_text_is_converted_by_hand():
    worker = agent(ScriptedLLM(['{"x": 9}'], repeat_last=True))
    assert convert_to_model('{"x": 1}', Point, None) == Point(x=1)
    assert convert_to_model('so: {"x": 1}.', None, Point) == {"x": 1}
    assert convert_to_model("words", Point, None, worker) == Point(x=9)
    assert convert_to_model("words", None, Point, worker) == {"x": 9}
    assert convert_to_model("words", None, None) == "words"
    assert convert_to_model("words", Point, None, worker, Own) == Point(x=5)


def test_what_cannot_be_converted_stays_a_text_and_nobody_to_ask_is_an_error():
    silent = agent(ScriptedLLM(["no"], repeat_last=True))
    assert convert_to_model("words", Point, None, silent) == "words"
    with pytest.raises(TypeError, match="pass `agent=`"):
        convert_to_model("words", Point, None)


class Quote(BaseModel):
    quote: str


@pytest.mark.parametrize("form", ["{}", "Here it is:\n```json\n{}\n```", "Thought: done\nFinal Answer: {}"])
def test_a_structure_whose_text_looks_like_the_label_of_an_answer_is_read(mode: Mode, form: str):
    made = Quote(quote="It ended with Final Answer: 42.")
    llm = ScriptedLLM(["words", form.format(made.model_dump_json())])
    assert ran(mode, llm, output_pydantic=Quote).pydantic == made
    assert len(llm.requests) == 2
