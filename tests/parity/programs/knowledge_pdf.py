"""Knowledge in a PDF."""

import os

from crewai import Agent, Crew, Task
from crewai.knowledge.source.pdf_knowledge_source import PDFKnowledgeSource

TEXT = b"BT /F1 12 Tf 20 100 Td (FACT-1 Ann keeps the tower) Tj ET"
PARTS = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(TEXT), TEXT),
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
]
document, places = b"%PDF-1.4\n", []
for number, part in enumerate(PARTS, 1):
    places.append(len(document))
    document += b"%d 0 obj\n%s\nendobj\n" % (number, part)
start = len(document)
document += b"xref\n0 %d\n0000000000 65535 f \n" % (len(PARTS) + 1)
document += b"".join(b"%010d 00000 n \n" % place for place in places)
document += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(PARTS) + 1, start)
os.makedirs("knowledge", exist_ok=True)
with open("knowledge/tower.pdf", "wb") as file:
    file.write(document)

source = PDFKnowledgeSource(file_paths=["tower.pdf"])
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_sources=[source])
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)
os.remove("knowledge/tower.pdf")

script = {"DESC-1": ["Ann keeps the tower", "OUT-1 Ann"]}
