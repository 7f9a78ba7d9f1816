"""Real files, and embedders that record their calls."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Counting", "write_pdf"]


class Counting:
    """Embeds by words, and records its texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        row = [0.01] * 64
        for word in text.lower().split():
            row[hashlib.sha256(word.strip(".,?:").encode()).digest()[0] % 64] += 1.0
        return row


def write_pdf(file: Path, pages: Sequence[str]) -> None:
    """Create a PDF file with a line of text on each page; an empty text makes an empty page."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    font = 3 + 2 * len(pages)
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * n} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    data, places = b"%PDF-1.4\n", list[int]()
    for number, item in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{item}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    file.write_bytes(data)
