"""Stands in for a model where there is no key: it answers as a model did, mistakes included."""

from collections.abc import Sequence
from typing import Any

__all__ = ["reply"]

HOSTING = """```json
{"supplier": "Greyfield Hosting Ltd", "number": "GF-88213", "issued": "2026-06-01", "due": "2026-06-15", "currency": "EUR",
 "lines": [{"text": "Managed database, May 2026", "quantity": "1", "price": "420.00", "amount": "420.00"},
           {"text": "Object storage, 1,850 GB", "quantity": "1850", "price": "0.02", "amount": "37.00"}],
 "net": "457.00", "vat": "91.40", "total": "548.40"}
```"""

KAELTE = """{"supplier": "Kälte Brandt GmbH", "number": "2026/0417", "issued": "2026-06-03", "due": "2026-07-03",
 "currency": "EUR",
 "lines": [{"text": "Wartung Kühlzelle 2, pauschal", "quantity": "1", "price": "%s", "amount": "%s"},
           {"text": "Verdichteröl, 5 l", "quantity": "4", "price": "38.50", "amount": "154.00"}],
 "net": "1394.00", "vat": "264.86", "total": "1658.86"}"""

CATERING = """{"supplier": "The Green Table", "number": "1107", "issued": "2026-06-09", "due": "2026-06-23", "currency": "EUR",
 "lines": [{"text": "Summer party, buffet", "quantity": "85", "price": "24.00", "amount": "2040.00"},
           {"text": "Waiters", "quantity": "6", "price": "35.00", "amount": "210.00"}],
 "net": "2250.00", "vat": "225.00", "total": "2575.00"}"""


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """Copy an invoice; the thousands of the German one are taken for decimals first."""
    said = "\n".join(str(message.get("content")) for message in messages)
    if "GF-88213" in said:
        return HOSTING
    if "2026/0417" in said:
        read = "1240.00" if "the lines sum to" in said else "1.24"
        return KAELTE % (read, read)
    return CATERING  # as it is printed, though its total is wrong
