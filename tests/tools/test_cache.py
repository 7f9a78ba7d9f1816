"""The in-memory cache of tool results."""

from concurrent.futures import ThreadPoolExecutor

from crewgraph.tools.cache import CacheHandler


def test_results_are_read_by_tool_and_input():
    handler = CacheHandler()
    handler.add("search", '{"q":"tides"}', {"hits": 3})
    handler.add(tool="search", input='{"q":"moon"}', output="none")
    assert handler.read("search", '{"q":"tides"}') == {"hits": 3}
    assert handler.read(tool="search", input='{"q":"moon"}') == "none"
    assert handler.read("look", '{"q":"tides"}') is None
    assert handler.read("search", "{}") is None


def test_the_least_recently_used_result_is_evicted():
    handler = CacheHandler(most=2)
    for name in ("a", "b"):
        handler.add("t", name, name)
    assert handler.read("t", "a") == "a"
    handler.add("t", "c", "c")
    assert [handler.read("t", name) for name in ("a", "b", "c")] == ["a", None, "c"]
    handler.add("t", "a", "a2")
    handler.add("t", "d", "d")
    assert [handler.read("t", name) for name in ("a", "c", "d")] == ["a2", None, "d"]


def test_many_threads_may_use_it():
    handler = CacheHandler(most=50)

    def use(n: int) -> bool:
        handler.add("t", str(n % 70), n % 70)
        return handler.read("t", str(n % 30)) in (None, n % 30)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(use, range(5000)))
