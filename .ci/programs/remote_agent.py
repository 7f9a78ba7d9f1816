"""A crew with a remote agent, whose card this program serves as well."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from crewai import Agent, Crew, Task
from crewai.a2a import A2AClientConfig


class Harbour(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        card = {"name": "Harbour Office", "description": "Knows the tides", "version": "1", "url": f"{ADDRESS}/rpc"}
        body = json.dumps({**card, "capabilities": {}, "skills": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Harbour)
ADDRESS = f"http://127.0.0.1:{server.server_address[1]}"
Thread(target=server.serve_forever, daemon=True).start()

remote = A2AClientConfig(endpoint=ADDRESS)
pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", a2a=remote, llm="gpt-4o-mini")
look = Task(description="The tide", expected_output="A time", agent=pilot)
print(Crew(agents=[pilot], tasks=[look]).kickoff())
