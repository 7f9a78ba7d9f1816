"""Declarations with faults: what is raised."""

from crewai.flow.flow import Flow

ONE = {"call": "expression", "expr": "'A'"}


def tried(methods, **more):
    try:
        return Flow.from_declaration(contents={"name": "X", "methods": methods, **more}).kickoff()
    except ValueError as error:
        return isinstance(error, ValueError)


print(tried({"a b": {"start": True, "do": ONE}}))
print(tried({"a": {"start": True, "do": {"call": "expression", "expr": "1 +"}}}))
print(tried({"a": {"start": True, "do": {"call": "expression", "expr": "sea.x"}}}))
print(tried({"a": {"start": True, "do": {"call": "expression", "expr": "state.sea"}}}))
print(tried({"a": {"start": True, "do": {"call": "zip"}}}))
print(tried({"a": {"start": True, "do": {"ref": "no_such_module:a"}}}))
print(tried({"a": {"start": True, "do": ONE}, "b": {"listen": "b", "do": ONE}}))
print(tried({"a": {"start": True, "do": {"call": "each", "in": "1", "do": [{"name": "x", "action": ONE}]}}}))
print(tried({"a": {"start": True, "do": ONE}}, schema="another"))
result = "done"

script = {}
