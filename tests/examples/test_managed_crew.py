"""A manager hands work to agents, and a mail is sent only if a person allows it."""

from pathlib import Path

from servers.openai_api import OpenAIServer

from .run_example import copy_example, run_command, stand_in


def test_a_real_endpoint_is_asked_as_the_manager_and_as_each_agent(tmp_path: Path):
    folder = copy_example("managed_crew", tmp_path)
    with OpenAIServer(stand_in("managed_crew")) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        printed = run_command(folder, "python", "main.py", env=env)
    assert "asks whether it may call `send_mail(" in printed
    assert "sent:   1 mail\n        Crew Manager: 3 requests\n" in printed
    assert len(server.bodies) == 7


def test_a_mail_that_is_not_allowed_is_not_sent(tmp_path: Path):
    folder = copy_example("managed_crew", tmp_path)
    program = (folder / "main.py").read_text("utf-8")
    assert '"yes")' in program
    (folder / "main.py").write_text(program.replace('"yes")', '"no, I call her myself")'), "utf-8")
    replies = (folder / "stand_in.py").read_text("utf-8")
    (folder / "stand_in.py").write_text(replies.replace('"sent to" in said', '"I call her myself" in said'), "utf-8")
    assert "sent:   0 mail\n" in run_command(folder, "python", "main.py")
