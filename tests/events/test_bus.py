import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any

import processes
import pytest
from waiting import LONG

from crewgraph.errors import RunError
from crewgraph.events import (
    BaseEvent,
    BaseEventListener,
    EventBus,
    TaskCompletedEvent,
    TaskFailedEvent,
    TaskStartedEvent,
    crewai_event_bus,
    event_bus,
)

FAILED = TaskFailedEvent(error="no")
DONE = TaskCompletedEvent(output="yes")


@pytest.fixture
def bus() -> Iterator[EventBus]:
    made = EventBus()
    yield made
    made.shutdown()


# Who hears what


def test_there_is_one_bus_with_two_names():
    assert crewai_event_bus is event_bus


def test_a_handler_gets_the_source_and_the_event(bus: EventBus):
    received: list[tuple[Any, BaseEvent]] = []

    @bus.on(TaskFailedEvent)
    def handler(source: Any, event: TaskFailedEvent) -> None:
        received.append((source, event))

    bus.emit("me", FAILED)
    bus.emit("me", DONE)
    assert received == [("me", FAILED)]
    assert handler.__name__ == "handler"


def test_a_handler_of_a_base_class_hears_its_subclasses(bus: EventBus):
    received: list[str] = []
    bus.register_handler(BaseEvent, lambda _, event: received.append(f"all {event.type}"))
    bus.register_handler(TaskFailedEvent, lambda _, event: received.append(f"own {event.type}"))
    bus.emit(None, FAILED)
    bus.emit(None, DONE)
    assert received == ["all task_failed", "own task_failed", "all task_completed"]


def test_handlers_run_in_the_order_they_were_registered(bus: EventBus):
    received: list[int] = []
    for n in range(20):
        bus.register_handler(BaseEvent if n % 2 else TaskFailedEvent, lambda _, __, n=n: received.append(n))
    bus.emit(None, FAILED)
    assert received == list(range(20))


def test_a_handler_registered_twice_is_called_once(bus: EventBus):
    received: list[BaseEvent] = []

    def handler(_: Any, event: BaseEvent) -> None:
        received.append(event)

    for event_type in (TaskFailedEvent, TaskFailedEvent, BaseEvent):
        bus.register_handler(event_type, handler)
    bus.emit(None, FAILED)
    assert received == [FAILED]


def test_off_takes_a_handler_back_even_a_method(bus: EventBus):
    class Ear:
        received = 0

        def hear(self, _: Any, __: BaseEvent) -> None:
            self.received += 1

    ear = Ear()
    bus.register_handler(TaskFailedEvent, ear.hear)
    bus.emit(None, FAILED)
    bus.off(TaskFailedEvent, ear.hear)
    bus.off(TaskFailedEvent, ear.hear)
    bus.emit(None, FAILED)
    assert ear.received == 1


# What goes wrong


def test_a_failing_handler_is_logged_and_the_others_run(bus: EventBus, caplog: pytest.LogCaptureFixture):
    received: list[BaseEvent] = []

    @bus.on(TaskFailedEvent)
    def breaks(_: Any, __: BaseEvent) -> None:
        raise ValueError("handler broke")

    bus.register_handler(TaskFailedEvent, lambda _, event: received.append(event))
    bus.emit(None, FAILED)
    asyncio.run(bus.aemit(None, FAILED))
    assert received == [FAILED, FAILED]
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    name = "test_a_failing_handler_is_logged_and_the_others_run.<locals>.breaks"
    assert caplog.messages[0] == f"The event handler `{name}` failed on the event `task_failed`; the run continues."
    assert "ValueError: handler broke" in caplog.text
    assert str(Path("crewgraph") / "events" / "bus.py") not in caplog.text  # only frames of the user's code
    assert callable(breaks)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes(bus: EventBus, stop: type[BaseException]):
    def handler(_: Any, __: BaseEvent) -> None:
        raise stop

    bus.register_handler(TaskFailedEvent, handler)
    with pytest.raises(stop):
        bus.emit(None, FAILED)


# Threads


def test_fifty_threads_emit_at_once_and_nothing_is_lost(bus: EventBus):
    received: dict[int, list[int]] = {n: [] for n in range(50)}
    start = threading.Barrier(50)

    @bus.on(BaseEvent)
    def handler(source: int, event: BaseEvent) -> None:
        received[source].append(int(event.task_name or -1))

    def emitter(n: int) -> None:
        start.wait()
        for i in range(100):
            bus.emit(n, TaskStartedEvent(context=None, task_name=str(i)))

    threads = [threading.Thread(target=emitter, args=(n,)) for n in range(50)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert received == {n: list(range(100)) for n in range(50)}
    assert callable(handler)


# Async handlers


def test_an_async_handler_runs_on_the_loop_of_the_emitter(bus: EventBus):
    received: list[tuple[asyncio.AbstractEventLoop, str]] = []

    @bus.on(TaskFailedEvent)
    async def handler(_: Any, event: BaseEvent) -> None:
        await asyncio.sleep(0)
        received.append((asyncio.get_running_loop(), threading.current_thread().name))

    async def main() -> None:
        done = bus.emit(None, FAILED)
        assert received == []
        assert done is not None
        await asyncio.wrap_future(done)
        assert received == [(asyncio.get_running_loop(), threading.current_thread().name)]

    asyncio.run(main())
    assert callable(handler)


def test_an_async_handler_runs_in_the_background_for_a_thread_without_a_loop(bus: EventBus):
    received: list[tuple[str, str | None]] = []

    @bus.on(TaskFailedEvent)
    async def handler(_: Any, event: TaskFailedEvent) -> None:
        await asyncio.sleep(0.01)
        received.append((threading.current_thread().name, event.task_name))

    for n in range(5):
        bus.emit(None, TaskFailedEvent(error="no", task_name=str(n)))
    assert bus.flush()
    assert received == [("crewgraph-events", str(n)) for n in range(5)]
    assert bus.flush(0)
    assert callable(handler)


def test_aemit_waits_for_async_handlers(bus: EventBus):
    received: list[str] = []

    @bus.on(TaskFailedEvent)
    async def slow(_: Any, __: BaseEvent) -> None:
        await asyncio.sleep(0.02)
        received.append("slow")

    @bus.on(TaskFailedEvent)
    def prompt(_: Any, __: BaseEvent) -> None:
        received.append("prompt")

    asyncio.run(bus.aemit(None, FAILED))
    assert received == ["prompt", "slow"]
    assert callable(slow) and callable(prompt)


def test_context_variables_reach_every_kind_of_handler(bus: EventBus):
    user: ContextVar[str] = ContextVar("user", default="nobody")
    received: list[str] = []

    async def awaited(_: Any, __: BaseEvent) -> None:
        received.append(f"async {user.get()}")

    bus.register_handler(TaskFailedEvent, lambda _, __: received.append(f"sync {user.get()}"))
    bus.register_handler(TaskFailedEvent, awaited)

    async def main() -> None:
        user.set("ada")
        bus.emit(None, FAILED)
        user.set("someone else")
        await bus.aflush()

    asyncio.run(main())

    def sync() -> None:
        user.set("bob")
        bus.emit(None, FAILED)

    copy_context().run(sync)
    assert bus.flush()
    assert received == ["sync ada", "async ada", "sync bob", "async bob"]


def test_flush_refuses_to_wait_for_its_own_loop(bus: EventBus):
    async def handler(_: Any, __: BaseEvent) -> None:
        await asyncio.sleep(0)

    bus.register_handler(TaskFailedEvent, handler)

    async def main() -> None:
        bus.emit(None, FAILED)
        with pytest.raises(RunError, match="await bus.aflush"):
            bus.flush()
        await bus.aflush()
        assert bus.flush()

    asyncio.run(main())


def test_a_loop_closed_over_its_handlers_blocks_nobody(bus: EventBus, caplog: pytest.LogCaptureFixture):
    async def handler(_: Any, __: BaseEvent) -> None:
        await asyncio.sleep(60)

    bus.register_handler(TaskFailedEvent, handler)
    loop = asyncio.new_event_loop()

    async def main() -> Any:
        done = bus.emit(None, FAILED)
        await asyncio.sleep(0)
        return done

    done = loop.run_until_complete(main())
    assert not bus.flush(), "the loop does not run, so the handler cannot come to its end"
    task = asyncio.all_tasks(loop).pop()
    object.__setattr__(task, "_log_destroy_pending", False)  # it is destroyed, as asyncio would say at the end
    loop.close()
    assert bus.flush()
    assert done.done()
    assert "were cut off" in caplog.text


def test_shutdown_waits_or_cancels_and_the_bus_can_continue(bus: EventBus, caplog: pytest.LogCaptureFixture):
    received: list[str] = []

    @bus.on(TaskFailedEvent)
    async def handler(source: float, _: BaseEvent) -> None:
        await asyncio.sleep(source)
        received.append(threading.current_thread().name)

    bus.emit(0.01, FAILED)
    bus.shutdown()
    assert received == ["crewgraph-events"]
    bus.emit(100.0, FAILED)
    began = time.monotonic()
    bus.shutdown(wait=False)
    assert time.monotonic() - began < LONG
    assert "were cut off" in caplog.text
    bus.emit(0.0, FAILED)
    assert bus.flush()
    assert received == ["crewgraph-events"] * 2
    assert callable(handler)


def test_handlers_are_finished_before_the_program_ends():
    code = """
import asyncio
from crewgraph.events import TaskFailedEvent, crewai_event_bus
@crewai_event_bus.on(TaskFailedEvent)
async def late(source, event):
    await asyncio.sleep(0.1)
    print("late")
crewai_event_bus.emit(None, TaskFailedEvent(error="no"))
print("end")
"""
    ran = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("end\nlate\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_has_a_bus_of_its_own():
    code = """
import asyncio, os
from crewgraph.events import TaskFailedEvent, crewai_event_bus as bus
@bus.on(TaskFailedEvent)
async def handler(source, event):
    while source == "parent" and not done:
        await asyncio.sleep(0.01)
    print(source, flush=True)
done = []
bus.emit("parent", TaskFailedEvent(error="no"))
if child := os.fork():
    os.waitpid(child, 0)
    done.append(True)
    bus.flush()
else:
    done.append(True)
    bus.emit("child", TaskFailedEvent(error="no"))
    bus.flush(60)
    os._exit(0)
"""
    ran = processes.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=250)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("child\nparent\n", "", 0)


# Scopes


def test_a_scope_puts_earlier_handlers_aside_and_brings_them_back(bus: EventBus):
    received: list[str] = []
    bus.register_handler(TaskFailedEvent, lambda _, __: received.append("outside"))
    with bus.scoped_handlers():
        assert not bus.wants(TaskFailedEvent)
        bus.register_handler(TaskFailedEvent, lambda _, __: received.append("inside"))
        bus.emit(None, FAILED)
        with bus.scoped_handlers():
            bus.emit(None, FAILED)
            bus.register_handler(TaskFailedEvent, lambda _, __: received.append("innermost"))
            bus.emit(None, FAILED)
        bus.emit(None, FAILED)
    bus.emit(None, FAILED)
    assert received == ["inside", "innermost", "inside", "outside"]


def test_of_two_scopes_the_latest_applies_and_they_are_left_in_any_order(bus: EventBus):
    received: list[str] = []
    first, second = bus.scoped_handlers(), bus.scoped_handlers()
    bus.register_handler(TaskFailedEvent, lambda _, __: received.append("outside"))
    first.__enter__()
    bus.register_handler(TaskFailedEvent, lambda _, __: received.append("first"))
    second.__enter__()
    bus.register_handler(TaskFailedEvent, lambda _, __: received.append("second"))
    bus.emit(None, FAILED)
    first.__exit__(None, None, None)
    bus.emit(None, FAILED)
    second.__exit__(None, None, None)
    bus.emit(None, FAILED)
    assert received == ["second", "second", "outside"]


# Listeners


def test_a_listener_registers_itself_on_the_one_bus():
    class Clock(BaseEventListener):
        def __init__(self) -> None:
            self.received: list[str] = []
            super().__init__()

        def setup_listeners(self, crewai_event_bus: EventBus) -> None:
            @crewai_event_bus.on(TaskFailedEvent)
            def _failed(source: Any, event: TaskFailedEvent) -> None:
                self.received.append(event.error)

            assert callable(_failed)

    with crewai_event_bus.scoped_handlers():
        clock = Clock()
        crewai_event_bus.emit(None, FAILED)
    crewai_event_bus.emit(None, FAILED)
    assert clock.received == ["no"]
    assert clock.verbose is False


def test_emitting_is_cheap(bus: EventBus):
    def best(function: Callable[[Any, BaseEvent], object], n: int = 2000) -> float:
        times: list[float] = []
        for _ in range(10):
            began = time.thread_time()
            for _ in range(n):
                function(None, FAILED)
            times.append((time.thread_time() - began) / n)
        return min(times)

    def nothing(source: Any, event: BaseEvent) -> None:
        pass

    assert best(bus.emit) < 60 * best(nothing), "measured: seven times"
    bus.register_handler(TaskFailedEvent, nothing)
    assert best(bus.emit) < 150 * best(nothing), "measured: ten times"
