"""Reads invoices into a pydantic model, and checks them before anybody pays: `python main.py [FILE ...]`.

The task has `output_pydantic` and two guardrails: the sums have to be right, and what identifies the invoice has to stand in the
document. What still fails after two more attempts goes to a person. With MODEL or OPENAI_API_KEY set, that model does the work;
otherwise a scripted stand-in does.
"""

import os
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, Field
from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import GuardrailFailed

INVOICES = Path(__file__).parent / "invoices"


class Line(BaseModel):
    """A line of an invoice."""

    text: str
    quantity: Decimal
    price: Decimal = Field(description="price of one unit")
    amount: Decimal


class Invoice(BaseModel):
    """What accounts payable needs of an invoice."""

    supplier: str
    number: str = Field(description="the invoice number as it is printed")
    issued: date
    due: date
    currency: str = Field(description="ISO 4217, three letters")
    lines: list[Line]
    net: Decimal
    vat: Decimal
    total: Decimal


def adds_up(output: TaskOutput) -> tuple[bool, str]:
    """Accept an invoice if its lines, net amount, VAT and total fit together."""
    invoice = Invoice.model_validate(output.pydantic)
    lines = sum((line.amount for line in invoice.lines), Decimal(0))
    wrong = [
        f"line `{line.text}`: {line.quantity} x {line.price} is not {line.amount}"
        for line in invoice.lines
        if abs(line.quantity * line.price - line.amount) > Decimal("0.01")
    ]
    if lines != invoice.net:
        wrong.append(f"the lines sum to {lines}, and the net amount is {invoice.net}")
    if invoice.net + invoice.vat != invoice.total:
        wrong.append(f"net and VAT sum to {invoice.net + invoice.vat}, and the total is {invoice.total}")
    if invoice.due < invoice.issued:
        wrong.append(f"it is due on {invoice.due}, before it was issued on {invoice.issued}")
    return (False, "; ".join(wrong)) if wrong else (True, output.raw)


def stands_in(document: str) -> Callable[[TaskOutput], tuple[bool, str]]:
    """A guardrail that accepts an invoice only if its number and supplier stand in the document."""

    def check(output: TaskOutput) -> tuple[bool, str]:
        invoice = Invoice.model_validate(output.pydantic)
        missing = [text for text in (invoice.number, invoice.supplier) if text.casefold() not in document.casefold()]
        return (False, f"the document does not have {', '.join(missing)}") if missing else (True, output.raw)

    return check


def crew_for(llm: BaseLLM, document: str) -> Crew:
    """One agent and one task: read the document."""
    clerk = Agent(
        role="Accounts payable clerk",
        goal="Copy invoices without a mistake",
        backstory="You know how amounts are written in different countries, and never correct what a supplier has printed.",
        llm=llm,
    )
    read = Task(
        name="read",
        description="Read this invoice:\n\n{document}",
        expected_output="The invoice, amounts with a decimal point and without separators of thousands",
        agent=clerk,
        output_pydantic=Invoice,
        guardrails=[adds_up, stands_in(document)],
        guardrail_max_retries=2,
    )
    return Crew(name="invoices", agents=[clerk], tasks=[read])


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply)


def main() -> None:
    """Read the files, pay what is right, and list what a person has to look at."""
    llm, review = model(), dict[str, str]()
    for path in map(Path, sys.argv[1:] or sorted(INVOICES.glob("*.txt"))):
        document = path.read_text("utf-8")
        crew = crew_for(llm, document)
        try:
            result = crew.kickoff({"document": document})
        except GuardrailFailed as failed:
            review[path.name] = str(failed)
            continue
        invoice = Invoice.model_validate(result.pydantic)
        attempts = crew.tasks[0].retry_count + 1
        print(f"{path.name}: pay {invoice.total} {invoice.currency} to {invoice.supplier} by {invoice.due} ", end="")
        print(
            f"({invoice.number}, {len(invoice.lines)} lines, {attempts} {'attempt' if attempts == 1 else 'attempts'})"
        )
    for name, reason in review.items():
        print(f"{name}: for review: {reason}")


if __name__ == "__main__":
    main()
