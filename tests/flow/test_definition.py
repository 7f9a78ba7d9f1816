# pyright: basic
"""Errors and probable mistakes in flows: all reported together when the flow is to run."""

import enum
from collections.abc import Callable
from typing import Any, Literal, cast

import pytest
from pydantic import BaseModel

from crewgraph.definitions.flow.method import labels_in_code, returned_labels
from crewgraph.errors import DefinitionError
from crewgraph.flow import Flow, ListenMethod, RouterMethod, StartMethod, and_, listen, or_, persist, router, start


def doubts(flow: type[Flow]) -> tuple[str, ...]:
    assert flow.topology().faults == ()
    return flow.topology().warnings


# Faults


class Faulty(Flow):
    @listen("a")
    def a(self):
        pass

    @router()
    def b(self):
        return "x"

    @listen(and_("x", or_("c", "y")))
    def c(self):
        pass


def running() -> list[Callable[[], Any]]:
    return [Faulty().kickoff, Faulty().compile, lambda: Faulty().resume("id")]


@pytest.mark.parametrize("number", range(3))
def test_all_faults_are_reported_together_whatever_is_to_be_done_with_the_flow(number: int):
    with pytest.raises(DefinitionError) as caught:
        running()[number]()
    assert str(caught.value).splitlines() == [
        "flow `Faulty` has no `@start()` method, so that nothing would run. Decorate the first method with it.",
        "method `a` of flow `Faulty` listens to `a`, which is its own name. Name the method or the label otherwise.",
        "router `b` of flow `Faulty` has no trigger. Give `@router` the method that it routes, or make it a `@start()`.",
        "method `c` of flow `Faulty` listens to `c`, which is its own name. Name the method or the label otherwise.",
    ]


def test_a_fault_is_a_value_error_too():
    with pytest.raises(ValueError, match="no `@start"):
        Faulty().kickoff()


def test_a_base_without_a_start_can_be_written_and_its_subclass_runs():
    class Base(Flow):
        @listen("begin")
        def work(self, given):
            return given + self.kind()

        def kind(self):
            raise NotImplementedError

    class Concrete(Base):
        @start()
        def begin(self):
            return "work of "

        def kind(self):
            return "mine"

    assert Concrete().kickoff() == "work of mine"
    with pytest.raises(DefinitionError, match="flow `Base` has no"):
        Base().kickoff()


def test_what_a_subclass_overrides_keeps_its_place_unless_it_is_decorated_anew():
    class Base(Flow):
        @start()
        def begin(self):
            return "base"

        @listen(begin)
        def second(self, given):
            return given + " second"

        @listen(second)
        def third(self, given):
            return given + " third"

    class Changed(Base):
        def begin(self):
            return super().begin() + " changed"

        @listen("begin")
        def third(self, given):
            return given + " third at once"

    flow = Changed()
    flow.kickoff()
    assert sorted(flow.method_outputs) == ["base changed", "base changed second", "base changed third at once"]
    assert Base().kickoff() == "base second third"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (None, "`@listen` of .*method` is given None"),
        ("", "is given ''"),
        (7, "is given 7"),
        ({}, "is given {}"),
        ({"type": "XOR", "conditions": ["a"]}, "is given"),
        ({"type": "AND", "conditions": "a"}, "is given"),
        ({"type": "AND", "conditions": ["a", 7]}, "is given 7"),
        (lambda ctx: True, "is given <function"),
    ],
)
def test_a_listener_of_what_is_no_event_is_refused_at_once(given: Any, reported: str):
    with pytest.raises(DefinitionError, match=reported):

        @listen(given)
        def method(self):
            pass


@pytest.mark.parametrize("combined", [and_, or_])
def test_a_combination_of_nothing_is_refused(combined: Any):
    with pytest.raises(DefinitionError, match=rf"`{combined.__name__}\(\)` needs at least one condition"):
        combined()
    with pytest.raises(DefinitionError, match=rf"`{combined.__name__}` is given 3"):
        combined("a", 3)


def test_persisting_what_is_no_flow_is_refused():
    with pytest.raises(DefinitionError, match="decorates `int`, which is not a flow"):
        persist(int)
    with pytest.raises(DefinitionError, match="neither a flow nor a method"):
        persist(verbose=True)(cast("Any", 3))


class Needy(BaseModel):
    topic: str


def test_a_state_that_cannot_be_made_is_an_error_that_says_what_to_give():
    class Needing(Flow[Needy]):
        @start()
        def begin(self):
            return self.state.topic

    with pytest.raises(DefinitionError, match="the state `Needy` of flow `Needing` cannot be created without values"):
        Needing()
    assert Needing(initial_state=Needy(topic="frogs")).kickoff() == "frogs"


def test_inputs_that_do_not_fit_the_state_are_an_error():
    class Sized(BaseModel):
        size: int = 0

    class Fitting(Flow[Sized]):
        @start()
        def begin(self):
            return self.state.size

    assert Fitting().kickoff({"size": "3"}) == 3
    with pytest.raises(DefinitionError, match="the inputs do not fit the state `Sized` of flow `Fitting`"):
        Fitting().kickoff({"size": "three"})


# Doubts


def test_a_misspelt_event_is_reported_with_what_was_probably_meant():
    class Misspelt(Flow):
        @start()
        def collect_data(self):
            return "data_collected"

        @listen("data_colected")
        def process(self):
            pass

        @listen("colect_data")
        def other(self):
            pass

    with pytest.warns(UserWarning) as reported:
        Misspelt().kickoff()
    assert [str(one.message) for one in reported] == [
        "method `process` of flow `Misspelt` listens to `data_colected`: there is no such method, and none returns that. "
        "Did you mean `data_collected`?",
        "method `other` of flow `Misspelt` listens to `colect_data`: there is no such method, and none returns that. "
        "Did you mean `collect_data`?",
    ]


def test_what_can_never_complete_is_reported():
    class Never(Flow):
        @start()
        def first(self):
            pass

        @listen(and_(first, "nobody"))
        def waiting(self):
            pass

        @listen(or_(first, "nobody"))
        def either(self):
            pass

    assert doubts(Never) == (
        "method `waiting` of flow `Never` listens to `nobody` and can never complete: there is no such method, and none "
        "returns that.",
        "method `either` of flow `Never` listens to `nobody`: there is no such method, and none returns that.",
    )


def test_a_doubt_is_reported_at_the_line_that_runs_the_flow():
    class Misspelt(Flow):
        @start()
        def begin(self):
            pass

        @listen("begn")
        def then(self):
            pass

    with pytest.warns(UserWarning) as reported:
        Misspelt().kickoff()
    assert reported[0].filename == __file__


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


ROUTES = {"a": "left", "b": "right"}


def test_routers_that_compute_their_labels_raise_no_doubt():
    class Computing(Flow):
        @start()
        def begin(self):
            return "a"

        @router(begin)
        def route(self, given):
            return ROUTES[given]

        @listen("left")
        def on_left(self):
            pass

        @listen("right")
        def on_right(self):
            pass

    assert doubts(Computing) == ()


def test_routers_whose_annotation_or_enum_names_the_labels_raise_no_doubt():
    class Annotated(Flow):
        @start()
        def begin(self):
            pass

        @router(begin)
        def by_literal(self) -> Literal["one", "two"]:
            return ("o" + "ne").lower()  # type: ignore[return-value]

        @router(begin)
        def by_enum(self) -> Colour:
            return Colour.RED

        @router(begin)
        def by_optional(self) -> Colour | None:
            return None

        @router(begin, emit=["three"])
        def by_emit(self):
            return ("th" + "ree").lower()

        @listen(or_("one", "two", "three", "red", "blue"))
        def hearing(self):
            pass

    assert doubts(Annotated) == ()


# What is read from code


@pytest.mark.parametrize(
    ("function", "labels"),
    [
        (lambda self: "a", {"a"}),
        (lambda self: None, set()),
        (lambda self: "a" if self else "b", {"a", "b"}),
        (lambda self: self.x, None),
        (lambda self: "a" if self else self.x, None),
        (lambda self: self.x if self else "b", None),
        (lambda self: self.x or "b", None),
        (lambda self: self and "b", None),
        (lambda self: ("a" if self.x else "b") if self.y else "c", {"a", "b", "c"}),
        (lambda self: ["a", "b"], None),
        (lambda self: ("a", "b"), {"a", "b"}),
        (lambda self: 3, {"3"}),
        (len, None),
    ],
)
def test_what_a_function_returns_is_read_from_its_code_where_that_tells(function: Any, labels: Any):
    assert labels_in_code(function) == labels


def test_annotations_that_are_only_there_for_type_checkers_are_no_obstacle():
    def route(self) -> "Missing":  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        return "a"

    assert returned_labels(route) == {"a"}


# Data


def test_a_definition_is_data_that_names_its_parts():
    class Whole(Flow):
        @start("more")
        def begin(self):
            pass

        @listen(and_(begin, or_("x", "y")))
        def second(self):
            pass

        @router(second)
        def route(self):
            return "more"

    methods = Whole.topology().methods
    assert [type(one) for one in methods.values()] == [StartMethod, ListenMethod, RouterMethod]
    assert methods["begin"].condition == "more" and methods["route"].labels == ("more",)
    assert methods["second"].trigger == and_("begin", or_("x", "y"))
