"""Scopes of a Memory: what is where, a tree of it, views on parts of it."""

from crewai import Memory

memory = Memory()
memory.remember("FACT-1 the tide of Brest is six", scope="/tides/brest", categories=["sea"], importance=0.5)
memory.remember("FACT-2 the tide of Cadiz is three", scope="/tides/cadiz", categories=["sea"], importance=0.5)
memory.remember("FACT-3 Ann keeps the tower", scope="/people", categories=["staff"], importance=0.5)
print(memory.list_scopes("/"))
print(memory.list_scopes("/tides"))
print(memory.list_categories())
print([line.split()[0] for line in str(memory.tree()).splitlines()])
info = memory.info("/tides")
print(info.path, info.record_count, info.categories, info.child_scopes)
tides = memory.scope("/tides")
print(sorted(match.record.content for match in tides.recall("the tide")))
tides.remember("FACT-4 the tide of Dover is five", scope="/dover", categories=["sea"], importance=0.5)
print(sorted(record.scope for record in memory.list_records()))
view = memory.slice(scopes=["/people", "/tides/brest"], read_only=True)
print(sorted(match.record.content for match in view.recall("Ann and the tide")))
try:
    view.remember("FACT-5 no", scope="/people")
except PermissionError:
    print("refused")
print(memory.forget(scope="/tides/brest"), len(memory.list_records()))

script = {}
remembered = {}
