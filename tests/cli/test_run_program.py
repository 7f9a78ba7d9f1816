"""`crewgraph run`: a program sees the same as under `python`."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import processes
import pytest
from cli.conftest import ROOT, Python

RUN = ("-m", "crewgraph", "run")
COMPAT = ("-m", "crewgraph_compat")

CREW = """
import sys
from pathlib import Path

from crewai import Agent, BaseLLM, Crew, CrewOutput, Process, Task
from crewai.tools import BaseTool, tool


class Scripted(BaseLLM):
    def __init__(self, answers):
        super().__init__(model="scripted")
        self.answers = list(answers)
        self.seen = []

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **kwargs):
        self.seen.append(messages if isinstance(messages, str) else "\\n".join(str(m["content"]) for m in messages))
        return self.answers.pop(0)


class Price(BaseTool):
    name: str = "price"
    description: str = "The price of a fruit in cents."

    def _run(self, fruit: str) -> str:
        return {"apple": "30", "pear": "40"}[fruit]


@tool("stock")
def stock(fruit: str) -> str:
    \"\"\"How many of a fruit are there.\"\"\"
    return Path("stock.txt").read_text().strip()


llm = Scripted([
    'Thought: look\\nAction: price\\nAction Input: {"fruit": "apple"}',
    'Thought: look\\nAction: stock\\nAction Input: {"fruit": "apple"}',
    "Thought: done\\nFinal Answer: 12 apples for 30 cents each",
    "Thought: done\\nFinal Answer: Apples cost 3.60 in all",
])
clerk = Agent(role="Clerk", goal="Know the shelves", backstory="Ten years in", llm=llm, tools=[Price(), stock])
writer = Agent(role="Writer", goal="Write plainly", backstory="Ten more", llm=llm, allow_delegation=False)
look = Task(description="Look at the {fruit}s", expected_output="Count and price", agent=clerk)
tell = Task(description="Tell it", expected_output="One line", agent=writer, context=[look])
crew = Crew(agents=[clerk, writer], tasks=[look, tell], process=Process.sequential)
result = crew.kickoff(inputs={"fruit": sys.argv[1]})
assert isinstance(result, CrewOutput)
assert "Look at the apples" in llm.seen[0]
assert "12 apples for 30 cents each" in llm.seen[3]
print(f"{result.tasks_output[0].raw} / {result.raw}")
"""

FACTS = """
import builtins, json, sys, threading
import local
def later():
    return [sys.argv, sys.modules["__main__"].__dict__ is globals()]
print(json.dumps({
    "argv": sys.argv,
    "path": sys.path[0],
    "name": __name__,
    "file": __file__,
    "package": __package__,
    "spec": None if __spec__ is None else [__spec__.name, __spec__.origin, __spec__.parent],
    "loader": type(__loader__).__name__,
    "doc": __doc__,
    "cached": __cached__ if "__cached__" in globals() else "none",
    "builtins": __builtins__ is builtins,
    "main": sys.modules["__main__"].__dict__ is globals(),
    "hook": sys.excepthook is sys.__excepthook__,
    "code": later.__code__.co_filename,
    "local": local.__file__,
}))
"""


def write(folder: Path, **programs: str) -> None:
    for name, text in programs.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text))


def same(
    python: Python, *arguments: str, runners: tuple[tuple[str, ...], ...] = (RUN,)
) -> subprocess.CompletedProcess[str]:
    """Run a program by `python` and by crewgraph: all that is seen is the same."""
    expected = python(*arguments, fresh=True)
    for runner in runners:
        done = python(*runner, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    return expected


@pytest.mark.parametrize("runner", [RUN, COMPAT], ids=["run", "compat"])
def test_an_unmodified_program_runs(python: Python, tmp_path: Path, runner: tuple[str, ...]):
    write(tmp_path, shop=CREW)
    (tmp_path / "stock.txt").write_text("12\n")
    done = python(*runner, "shop.py", "apple")
    assert done.stderr == ""
    assert done.stdout == "12 apples for 30 cents each / Apples cost 3.60 in all\n"
    assert done.returncode == 0


def test_a_script_sees_what_python_shows_it(python: Python, tmp_path: Path):
    write(tmp_path, sub__in__facts=f'"""A doc."""\n{FACTS}', sub__in__local="")
    facts = json.loads(same(python, "sub/facts.py", "a", "--b", "--", "-m", "*", runners=(RUN, COMPAT)).stdout)
    assert facts["argv"] == ["sub/facts.py", "a", "--b", "--", "-m", "*"]
    assert facts["path"] == str(tmp_path / "sub")
    assert facts["file"] == str(tmp_path / "sub" / "facts.py")


def test_a_linked_script_finds_what_is_next_to_its_file(python: Python, tmp_path: Path):
    write(tmp_path, real__in__facts=FACTS, real__in__local="")
    (tmp_path / "link.py").symlink_to(tmp_path / "real" / "facts.py")
    assert json.loads(same(python, "link.py").stdout)["path"] == str(tmp_path / "real")


def test_a_module_sees_what_python_shows_it(python: Python, tmp_path: Path):
    write(tmp_path, pkg__in____init__="", pkg__in__facts=FACTS, local="")
    facts = json.loads(same(python, "-m", "pkg.facts", "--verbose", "-m", "x").stdout)
    assert facts["argv"] == [str(tmp_path / "pkg" / "facts.py"), "--verbose", "-m", "x"]
    assert facts["spec"][0] == "pkg.facts" and facts["package"] == "pkg"


@pytest.mark.parametrize("runner", [RUN, COMPAT], ids=["run", "compat"])
@pytest.mark.parametrize("arguments", [("-m", "shop.main"), ("src/shop/main.py",)], ids=["module", "file"])
def test_the_package_of_a_project_is_found_in_src(
    python: Python, tmp_path: Path, runner: tuple[str, ...], arguments: tuple[str, ...]
):
    write(
        tmp_path,
        src__in__shop__in____init__="",
        src__in__shop__in__main="from shop.crew import name\nprint(name)",
        src__in__shop__in__crew="name = 'found'",
        src__in__json="raise ImportError('it shadows the standard library')",
    )
    done = python(*runner, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "found\n", "")


def test_a_safe_path_stays_safe(python: Python, tmp_path: Path):
    write(tmp_path, safe="import sys; print(sys.flags.safe_path, sys.path[0], sys.path[2])")
    done = python(*RUN, "safe.py", flags=("-P",))
    assert done.stdout == f"True {ROOT} {ROOT / 'compat'}\n"


def test_data_files_are_relative_to_where_it_was_started(python: Python, tmp_path: Path):
    write(tmp_path, sub__in__reader="import sys; print(open(sys.argv[1]).read())")
    (tmp_path / "data.txt").write_text("data")
    assert same(python, "sub/reader.py", "data.txt").stdout == "data\n"


@pytest.mark.parametrize(
    ("last_line", "status", "message"),
    [
        ("sys.exit(3)", 3, ""), ("sys.exit()", 0, ""), ("sys.exit('so be it')", 1, "so be it\n"),
        ("raise SystemExit(None)", 0, ""), ("os._exit(7)", 7, ""),
    ],
)  # fmt: skip
def test_exit_codes_are_the_programs_own(python: Python, tmp_path: Path, last_line: str, status: int, message: str):
    write(tmp_path, ends=f"import os, sys\n{last_line}\n")
    done = same(python, "ends.py")
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.parametrize(
    "program",
    [
        "def inner():\n    raise ValueError('no')\ninner()",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('later') from error",
        "import broken",
        "x = = 1",
        "import nothing_of_that_name",
        "raise KeyboardInterrupt",
        "input()",
        "open('nothing.txt')",
        "raise BrokenPipeError",
        "import asyncio\nasync def main():\n    raise OSError('down')\nasyncio.run(main())",
        "raise ExceptionGroup('both', [ValueError(1), TypeError(2)])",
        "class Odd(Exception):\n    __slots__ = ()\n    def __setattr__(self, *_):\n        raise TypeError\nraise Odd",
        "import sys\nsys.excepthook = lambda kind, error, trace: print(kind, error, trace.tb_lineno)\nraise OSError('seen')",
        "import warnings\nwarnings.warn('old', DeprecationWarning)",
        "import typer\ntyper.run(lambda: 1 / 0)",
    ],
)
def test_errors_look_as_under_python(python: Python, tmp_path: Path, program: str):
    write(tmp_path, fails=program, broken="raise RuntimeError('broken')")
    done = same(python, "fails.py")
    assert "crewgraph" not in done.stderr


def test_what_crewgraph_lacks_is_reported_without_its_frames(python: Python, tmp_path: Path):
    write(tmp_path, asks="from crewai import plus_api", imports="import crewai.plus_api")
    done = python(*RUN, "asks.py")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path / "asks.py"}", line 1, in <module>',
        "    from crewai import plus_api",
        "ImportError: `crewai.plus_api` is not provided by crewgraph, which stands in for crewai here. It is part of the client "
        "for CrewAI's hosted platform, which crewgraph does not use.",
    ]
    done = python(*RUN, "imports.py")
    assert [line for line in done.stderr.splitlines() if line.startswith("  File")] == [
        f'  File "{tmp_path / "imports.py"}", line 1, in <module>'
    ]
    write(tmp_path, tries="try:\n    import crewai.plus_api\nexcept ImportError:\n    1 / 0")
    done = python(*RUN, "tries.py")
    assert [line for line in done.stderr.splitlines() if line.startswith("  File")] == [
        f'  File "{tmp_path / "tries.py"}", line {n}, in <module>' for n in (2, 4)
    ]


def test_the_program_is_main_until_the_last_thread_and_exit_handler(python: Python, tmp_path: Path):
    write(
        tmp_path,
        late="""
        import atexit, sys, threading, time
        def tell(who):
            print(who, sys.argv, sys.modules["__main__"].__dict__ is globals())
        def later():
            threading.main_thread().join()
            tell("thread")
        threading.Thread(target=later).start()
        atexit.register(tell, "exit")
        """,
    )
    assert same(python, "late.py", "x").stdout == "thread ['late.py', 'x'] True\nexit ['late.py', 'x'] True\n"


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_worker_processes_see_the_same_crewai(python: Python, tmp_path: Path, method: str):
    write(
        tmp_path,
        workers=f"""
        import multiprocessing
        from crewai import Process
        def work(n):
            from crewai.tools import BaseTool
            return Process.__module__, BaseTool.__module__
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(set(pool.map(work, range(4))))
        """,
    )
    done = python(*RUN, "workers.py")
    expected = "{('crewgraph.definitions.crew.process', 'crewgraph.tools.base')}\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_an_interrupt_ends_it_as_python_would(tmp_path: Path):
    write(tmp_path, waits="import time\nprint('on', flush=True); time.sleep(100)\n")
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'compat'}"}
    with processes.Popen(
        [sys.executable, *RUN, "waits.py"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        assert process.wait(250) == -signal.SIGINT
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert f'File "{tmp_path / "waits.py"}", line 2' in stderr and "cli" not in stderr


def test_an_installed_crewai_is_not_used(python: Python, tmp_path: Path):
    write(
        tmp_path,
        site__in__crewai__in____init__="raise RuntimeError('the real one')",
        which="import crewai, crewgraph\nprint(crewai.Agent is crewgraph.Agent)",
    )
    assert python(*RUN, "which.py", PYTHONPATH=str(tmp_path / "site")).stdout == "True\n"


@pytest.mark.parametrize("runner", [RUN, COMPAT], ids=["run", "compat"])
def test_a_crewai_that_is_already_imported_is_refused(python: Python, tmp_path: Path, runner: tuple[str, ...]):
    write(tmp_path, site__in__crewai__in____init__="", site__in__sitecustomize="import crewai", which="print('ran')")
    done = python(*runner, "which.py", fresh=True, PYTHONPATH=str(tmp_path / "site"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: `crewai` is already imported (from ")


@pytest.mark.parametrize("runner", [RUN, COMPAT], ids=["run", "compat"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.py",), "Cannot open `nothing.py` in "),
        (("folder",), "`folder` has no `__main__.py`."),
        (("-m", "nothing"), "Module `nothing` not found in "),
        (("-m", "pkg.nothing"), "Module `pkg.nothing` not found in "),
        (("-m", "pkg.script.py"), "Use the module name without `.py`."),
        (("-m", "pkg"), "`pkg` is a package without a `__main__`"),
        (("-m", ".relative"), "`.relative` is not an absolute module name."),
        (("-m",), "-m"),
        (("--nothing", "script.py"), "--nothing"),
    ],
)
def test_what_cannot_be_run_is_reported(
    python: Python, tmp_path: Path, runner: tuple[str, ...], arguments: tuple[str, ...], message: str
):
    write(tmp_path, pkg__in____init__="", pkg__in__script="", folder__in__other="", script="print('ran')")
    done = python(*runner, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
