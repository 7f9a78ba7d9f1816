"""Questions about a folder: what its files say now is what is answered."""

from pathlib import Path

from servers.openai_api import OpenAIServer

from .run_example import copy_example, run_command, stand_in

JAPAN = "What is my daily allowance in Japan?"


def test_what_is_added_to_a_file_is_found_in_the_next_run(tmp_path: Path):
    folder = copy_example("rag_over_a_folder", tmp_path)
    assert "A: The handbook does not say." in run_command(folder, "python", "main.py", JAPAN)
    with (folder / "handbook" / "allowances.csv").open("a", encoding="utf-8") as table:
        table.write("Japan,70,180\n")
    assert "A: For Japan the daily allowance is 70 euros." in run_command(folder, "python", "main.py", JAPAN)


def test_a_file_of_another_kind_is_read_too(tmp_path: Path):
    folder = copy_example("rag_over_a_folder", tmp_path)
    (folder / "handbook" / "news").mkdir()
    (folder / "handbook" / "news" / "june.txt").write_text("From June the rest after a night on-call is twelve hours.")
    assert "news/june.txt" in run_command(folder, "python", "main.py", "How long is the rest after a night?")


def test_a_real_endpoint_answers_where_there_is_a_key(tmp_path: Path):
    folder = copy_example("rag_over_a_folder", tmp_path)
    with OpenAIServer(stand_in("rag_over_a_folder")) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url, "MODEL": "openai/some-model"}
        printed = run_command(folder, "python", "main.py", "What is my daily allowance in Denmark?", env=env)
    assert "A: You get 30 euros." in printed
    assert [body["model"] for body in server.bodies] == ["some-model"] * 2
