"""Every class that crewai_tools exports can be imported."""

import crewai_tools

failed: dict[str, str] = {}
for name in crewai_tools.__all__:
    try:
        getattr(crewai_tools, name)
    except Exception as error:
        failed[name] = repr(error)
assert len(crewai_tools.__all__) > 80 and not failed, failed
