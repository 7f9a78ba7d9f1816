"""Lines with the time, for programs that tell what they do."""

from datetime import datetime

from pydantic import BaseModel, Field

from crewgraph_compat.stand_ins.constants import PrinterColor
from crewgraph_compat.stand_ins.printer import PRINTER, ColoredText

__all__ = ["Logger"]


class Logger(BaseModel):
    """Prints what it is told, with the time and a level; nothing unless it is verbose."""

    verbose: bool = Field(default=False, description="Whether anything is printed")
    """Whether anything is printed."""

    default_color: PrinterColor = Field(default="bold_yellow", description="The colour of messages")
    """The colour of messages."""

    def log(self, level: str, message: str, color: PrinterColor | None = None) -> None:
        """Print a message.

        Args:
            level: such as "info".
            message: what there is to tell.
            color: its colour; None is `default_color`.
        """
        if not self.verbose:
            return
        PRINTER.print(
            [
                ColoredText(f"\n[{datetime.now():%Y-%m-%d %H:%M:%S}]", "cyan"),
                ColoredText(f"[{level.upper()}]: ", "yellow"),
                ColoredText(message, color or self.default_color),
            ]
        )
