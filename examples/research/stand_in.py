"""Stands in for a model where there is no key: it answers as a model did, and goes by what it is told in the conversation."""

from collections.abc import Sequence
from typing import Any

from crewgraph import ToolUse
from crewgraph.llm.scripted import Entry

__all__ = ["reply"]

FINDINGS = """\
- From 1 March 2027, vans with tailpipe emissions pay 60 euros a day inside the ring road; from 1 January 2029 they are banned \
between 07:00 and 19:00. [zero-emission-zone]
- The city grants 4,000 euros for each electric van ordered by 30 September 2026. [zero-emission-zone]
- In the winter pilot the range never fell below {range} km, and the longest route was 131 km. [van-pilot]
- Energy costs 0.09 euros per km instead of 0.17 euros. [van-pilot]
- With load management, 24 vans charge overnight on 200 kW; the twelve charge points cost 86,400 euros. [charging-quote]
- The depot has 160 kW, of which up to 70 kW are in use at night. Raising it to 315 kW costs 31,000 euros and takes 9 to 12 \
months. [grid-connection]
- An electric van leases for 612 euros a month with service, a diesel one for 498 euros plus 41 euros for service, and delivery \
takes 5 to 7 months. [lease-offer]"""

BRIEF = """\
**Recommendation.** Order the 24 electric vans and the larger grid connection now, and lease no further diesel vans. Every van \
that is still diesel on 1 March 2027 costs 60 euros for each day inside the ring road [zero-emission-zone].

**The vans can do the work.** On the coldest day of the pilot the range was 148 km, and the longest route is 131 km [van-pilot].

**The grid is the bottleneck.** At night the depot has 90 kW to spare and needs 200 kW [grid-connection] [charging-quote]. The \
upgrade takes up to 12 months, so it has to be ordered before the vans [grid-connection].

**Money.** A van costs 73 euros more a month than a diesel one with service [lease-offer], and saves 0.08 euros per km in energy \
[van-pilot]. The grant of 4,000 euros a van is lost if we order after 30 September 2026 [zero-emission-zone].

**Open question.** Which routes stay diesel if the connection is late? None of the sources says what a temporary supply costs."""


def reply(messages: Sequence[dict[str, Any]]) -> Entry:
    """Search, read what was found, list the findings; then write the brief."""
    said = "\n".join(str(message.get("content")) for message in messages)
    if "Write a brief" in said:
        return BRIEF
    if "158" in said:  # the guardrail has sent it back
        return FINDINGS.format(range="148")
    if "zero-emission-zone:" not in said:  # nothing found yet
        queries = [
            "zero emission zone rules vans",
            "electric van range winter",
            "depot charging grid connection",
            "lease",
        ]
        return [ToolUse("search_sources", {"query": query}) for query in queries]
    if "Aldermoor Grid, 22 May 2026" not in said:  # nothing read yet
        names = ["zero-emission-zone", "van-pilot", "charging-quote", "grid-connection", "lease-offer"]
        return [ToolUse("read_source", {"source": name}) for name in names]
    # A slip of the kind that models make, which the guardrail finds: 158 for 148.
    return FINDINGS.format(range="158")
