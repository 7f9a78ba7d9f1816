"""What people said of a method reaches the listeners of later routers, in a chain and in a loop."""

from crewai.flow import human_feedback
from crewai.flow.flow import Flow, listen, router, start


class Letter(Flow):
    @start()
    def begin(self):
        return "BEGIN-1"

    @router(begin)
    def early(self):
        return "write"

    @listen("write")
    @human_feedback(message="Good?")
    def draft(self, label):
        return f"DRAFT-1 {label}"

    @listen(draft)
    def count(self, result):
        return f"COUNT-1 {result.feedback}"

    @router(count)
    def judge(self, counted):
        print(counted)
        return "send"

    @listen("send")
    def post(self, result):
        return f"POST-1 {result.output} {result.feedback}"


class Rounds(Flow):
    number = 0

    @start("again")
    @human_feedback(message="Good?")
    def draft(self):
        self.number += 1
        return f"DRAFT-{self.number}"

    @start()
    def begin(self):
        return "BEGIN-2"

    @router(begin)
    def first(self):
        return "again"

    @router(draft)
    def judge(self, result):
        return "done" if result.feedback == "good" else "again"

    @listen("done")
    def end(self, result):
        return result


for kind in (Letter, Rounds):
    flow = kind()
    result = flow.kickoff()
    print(getattr(result, "output", result), len(flow.method_outputs))
    print([(said.method_name, said.output, said.feedback, said.outcome) for said in flow.human_feedback_history])

typed = "short\nlonger\ngood\n"
script = {}
