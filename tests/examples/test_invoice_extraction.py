"""Invoices are read into a model, and what does not add up is sent back or goes to a person."""

from pathlib import Path

from servers.openai_api import OpenAIServer

from .run_example import copy_example, run_command, stand_in


def test_a_refusal_goes_back_to_a_real_endpoint_with_its_reason(tmp_path: Path):
    folder = copy_example("invoice_extraction", tmp_path)
    with OpenAIServer(stand_in("invoice_extraction")) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        printed = run_command(folder, "python", "main.py", "invoices/kaelte.txt", env=env)
    assert "pay 1658.86 EUR to Kälte Brandt GmbH by 2026-07-03 (2026/0417, 2 lines, 2 attempts)" in printed
    assert "the lines sum to 155.24, and the net amount is 1394.00" in str(server.bodies[1]["messages"])


def test_an_invoice_that_is_not_in_the_document_is_not_paid(tmp_path: Path):
    folder = copy_example("invoice_extraction", tmp_path)
    (folder / "empty.txt").write_text("Dear customer,\n\nplease find our invoice attached.\n")
    hosting = (folder / "invoices" / "hosting.txt").read_text("utf-8")
    (folder / "other.txt").write_text(hosting.replace("Greyfield", "Greenfield"))
    printed = run_command(folder, "python", "main.py", "empty.txt", "other.txt")
    assert "pay" not in printed
    assert "other.txt: for review:" in printed
    assert "the document does not have Greyfield Hosting Ltd" in printed
