"""A flow in YAML: expressions, a router, and a state whose fields the file tells."""

from crewai.flow.flow import Flow

DECLARED = """
schema: crewai.flow/v1
name: Harbor
state:
  type: json_schema
  json_schema:
    type: object
    required: [ship]
    properties: {ship: {type: string}, tons: {type: integer, default: 3}, berths: {type: array, items: {type: string}}}
methods:
  look:
    start: true
    do: {call: expression, expr: "state.berths.filter(b, b != 'A-1').map(b, b + '!')"}
  decide:
    listen: look
    router: true
    emit: [enter, wait]
    do: {call: expression, expr: "state.tons * 2 < 10 && size(outputs.look) > 0 ? 'enter' : 'wait'"}
  berth:
    listen: enter
    do: {call: expression, expr: "state.ship + ' B-1 ' + outputs.look[0]"}
  anchor:
    listen: wait
    do: {call: expression, expr: "state.ship + ' waits'"}
  both:
    listen: {or: [berth, {and: [anchor, look]}]}
    do: {call: expression, expr: "[has(outputs.berth), has(outputs.anchor), outputs.decide]"}
"""

for tons in (3, 8):
    flow = Flow.from_declaration(contents=DECLARED)
    result = flow.kickoff(inputs={"ship": "Ann", "tons": tons, "berths": ["A-1", "A-2"]})
    print(result, flow.state.ship, flow.state.tons, flow.method_outputs)

script = {}
