"""A crew that knows a PDF file."""

from pathlib import Path

from crewai import Agent, Crew, Task
from crewai.knowledge.source.pdf_knowledge_source import PDFKnowledgeSource

words = b"BT /F1 12 Tf 20 100 Td (High tide in Brest is at noon) Tj ET"
objects = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(words), words),
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
]
data, places = b"%PDF-1.4\n", list[int]()
for number, item in enumerate(objects, 1):
    places.append(len(data))
    data += b"%d 0 obj\n%s\nendobj\n" % (number, item)
table = b"".join(b"%010d 00000 n \n" % place for place in places)
trailer = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(data)
Path("knowledge").mkdir()
Path("knowledge/tides.pdf").write_bytes(data + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer)

source = PDFKnowledgeSource(file_paths=["tides.pdf"])
pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", llm="gpt-4o-mini")
look = Task(description="The tide", expected_output="A time", agent=pilot)
crew = Crew(agents=[pilot], tasks=[look], knowledge_sources=[source])
print(crew.kickoff())
assert "noon" in str(crew.query_knowledge(["high tide"]))
