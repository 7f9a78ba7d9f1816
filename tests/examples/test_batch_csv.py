"""Leads are scored row by row, and written as a table again."""

import csv
from pathlib import Path

from servers.openai_api import Answer, OpenAIServer, Request, error, text

from .run_example import copy_example, run_command


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_rows_are_written_with_their_scores_in_their_order(tmp_path: Path):
    folder = copy_example("batch_csv", tmp_path)
    run_command(folder, "python", "main.py")
    given, scored = rows(folder / "leads.csv"), rows(folder / "leads-scored.csv")
    assert [{name: row[name] for name in given[0]} for row in scored] == given
    assert {row["id"]: row["queue"] for row in scored if int(row["score"]) > 80} == {
        "L-301": "sales",
        "L-303": "sales",
        "L-305": "sales",
    }


def test_a_row_that_a_real_endpoint_refuses_twice_is_left_out(tmp_path: Path):
    folder = copy_example("batch_csv", tmp_path)
    (folder / "june.csv").write_text(
        "id,company,country,employees,message\nA,Alder,Spain,5,Hello\nB,Birch,Italy,7,Prices?\n", "utf-8"
    )

    def answer(request: Request) -> Answer:
        if "Score lead B" in str(request.body["messages"]):
            return error(400, "this text cannot be processed")
        return text('{"score": 40, "queue": "sales", "next_step": "Call them."}')

    with OpenAIServer(answer) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        printed = run_command(folder, "python", "main.py", "june.csv", env=env)
    assert printed.count("B failed: ") == 2
    assert "1 of 2 leads in june-scored.csv" in printed
    assert [row["id"] for row in rows(folder / "june-scored.csv")] == ["A"]
