"""Each kind of source, with real files."""

from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import pytest
from combinations import of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crewgraph import extras
from crewgraph.errors import MissingExtra, SourceError
from crewgraph.extras import load
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, StringKnowledgeSource, TextFileKnowledgeSource
from crewgraph.knowledge.source.documents import ExcelKnowledgeSource, PDFKnowledgeSource, pdf_pages
from crewgraph.knowledge.source.kinds import as_sources
from crewgraph.knowledge.source.text_files import CSVKnowledgeSource, JSONKnowledgeSource, MarkdownKnowledgeSource
from crewgraph.knowledge.source.url import URLKnowledgeSource

from .parts import write_pdf


def test_a_text_is_cut_and_keeps_its_metadata():
    source = StringKnowledgeSource(content="One two. Six ten.", metadata={"by": "Bo"}, chunk_size=10, chunk_overlap=1)
    assert source.passages() == [Passage("One two. ", {"by": "Bo"}), Passage(" Six ten.", {"by": "Bo"})]


def test_tables_say_what_each_value_is(folder: Path):
    (folder / "crew.csv").write_text("name;age\nBo;5\n", "utf-8")
    [passage] = CSVKnowledgeSource(file_paths=["crew.csv"]).passages()
    assert passage == Passage("name: Bo, age: 5", {"source": "crew.csv"})


def test_json_is_read_and_what_is_none_is_reported(folder: Path):
    (folder / "a.json").write_text('{"crew": [{"name": "Bo"}]}')
    (folder / "b.json").write_text('{"crew": ')
    (folder / "c.json").write_text("[" * 100_000)
    assert JSONKnowledgeSource(file_paths="a.json").passages()[0].text == "crew[0].name: Bo"
    for name in ("b.json", "c.json"):
        with pytest.raises(SourceError, match=f"`{name}` is not a readable JSON"):
            JSONKnowledgeSource(file_paths=name)


def test_markdown_says_under_which_heading_something_stands(folder: Path):
    (folder / "a.md").write_text("# Mill\n## Hours\nUntil noon.\n")
    [passage] = MarkdownKnowledgeSource(file_paths="a.md").passages()
    assert passage == Passage("Mill > Hours\nUntil noon.", {"source": "a.md", "heading": "Mill > Hours"})


def test_pages_of_a_pdf_have_their_numbers(folder: Path):
    write_pdf(folder / "a.pdf", ["The mill closes at noon.", "", "The harbour opens at six."])
    with pytest.warns(UserWarning, match="`a.pdf` is not read whole: it has pages without text, such as scans: 2; "):
        source = PDFKnowledgeSource(file_paths=["a.pdf"])
    assert source.passages() == [
        Passage("The mill closes at noon.", {"source": "a.pdf", "page": 1}),
        Passage("The harbour opens at six.", {"source": "a.pdf", "page": 3}),
    ]
    assert list(source.content.values()) == ["The mill closes at noon.\n\nThe harbour opens at six."]


def test_a_pdf_without_text_and_one_that_is_none_are_reported(folder: Path):
    write_pdf(folder / "scan.pdf", [""])
    (folder / "no.pdf").write_bytes(b"not a pdf at all")
    with pytest.raises(SourceError, match="`scan.pdf` contains no text, only images; `CrewDoclingSource` reads those"):
        PDFKnowledgeSource(file_paths=["scan.pdf"])
    with pytest.raises(SourceError, match="`no.pdf` is not a readable PDF file"):
        PDFKnowledgeSource(file_paths=["no.pdf"])


def test_all_sheets_of_an_excel_file_are_read(folder: Path):
    book: Any = load("openpyxl").Workbook()
    book.active.title = "Hours"
    for row in (["place", "closes"], ["mill", 12], ["harbour", None]):
        book.active.append(row)
    book.create_sheet("Crew").append(["name"])
    book.create_sheet("Nothing")
    book.save(folder / "a.xlsx")
    source = ExcelKnowledgeSource(file_paths=["a.xlsx"])
    assert source.passages() == [
        Passage("Hours\nplace: mill, closes: 12\nplace: harbour", {"source": "a.xlsx", "sheet": "Hours"}),
        Passage("Crew\nname", {"source": "a.xlsx", "sheet": "Crew"}),
    ]
    assert [*source.content.values()] == [
        {"Hours": "Hours\nplace: mill, closes: 12\nplace: harbour", "Crew": "Crew\nname"}
    ]


def test_merged_cells_share_their_label_and_formulas_without_a_value_are_told(folder: Path):
    book: Any = load("openpyxl").Workbook()
    for row in (["port", "tide", "sum"], ["Husum", 1, "=A1"], [None, 2, 3]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(folder / "a.xlsx")
    with pytest.warns(
        UserWarning, match="formulas without a stored value, `Sheet!C2`; save it with a spreadsheet program"
    ):
        source = ExcelKnowledgeSource(file_paths=["a.xlsx"])
    assert source.passages()[0].text == "Sheet\nport: Husum, tide: 1\nport: Husum, tide: 2, sum: 3"


def test_a_formula_with_a_value_is_not_told(folder: Path):
    book: Any = load("openpyxl").Workbook()
    book.active.append(["a", "b", "=1", '=""'])
    book.save(folder / "a.xlsx")
    with ZipFile(folder / "a.xlsx") as parts:
        texts = {name: parts.read(name).decode() for name in parts.namelist()}
    sheet = texts["xl/worksheets/sheet1.xml"]
    sheet = sheet.replace('<c r="C1"><f>1</f><v></v></c>', '<c r="C1"><f>1</f><v>1</v></c>')
    sheet = sheet.replace('<c r="D1"><f>""</f><v></v></c>', '<c r="D1" t="str"><f>""</f><v></v></c>')
    with ZipFile(folder / "b.xlsx", "w") as parts:
        for name, text in {**texts, "xl/worksheets/sheet1.xml": sheet}.items():
            parts.writestr(name, text)
    assert ExcelKnowledgeSource(file_paths=["b.xlsx"]).passages()[0].text == "Sheet\na, b, 1"


def test_json_lines_and_huge_fields_of_a_table_are_read(folder: Path):
    (folder / "a.jsonl").write_text('\n{"port": "Husum\u2028"}\n\n{"port": "Emden"}\n', "utf-8")
    (folder / "bad.jsonl").write_text('{"port": 1}\n{"port": \n', "utf-8")
    (folder / "a.csv").write_text(f"port,log\nHusum,{'x' * 200_000}\n")
    [source] = as_sources(["a.jsonl"])
    assert source.passages()[0].text == "[0].port: Husum\u2028\n[1].port: Emden"
    with pytest.raises(SourceError, match="line 2"):
        as_sources(["bad.jsonl"])
    assert len(CSVKnowledgeSource(file_paths=["a.csv"]).content[Path("knowledge/a.csv")]) > 200_000


def test_an_excel_file_that_is_none_is_reported(folder: Path):
    (folder / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0 old")
    with pytest.raises(SourceError, match="`old.xls` is not a readable Excel file"):
        ExcelKnowledgeSource(file_paths=["old.xls"])


@pytest.mark.parametrize(
    ("kind", "module", "extra"), [(PDFKnowledgeSource, "pypdf", "pdf"), (ExcelKnowledgeSource, "openpyxl", "excel")]
)
def test_a_missing_package_is_reported_with_the_pip_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type[BaseFileKnowledgeSource], module: str, extra: str
):
    (folder / "a.bin").write_bytes(b"x")

    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=rf'the package `{module}`.*pip install "crewgraph\[{extra}\]"'):
        kind(file_paths=["a.bin"])


def test_a_file_that_has_changed_is_read_again(folder: Path):
    file = folder / "a.txt"
    file.write_text("at noon")
    source = TextFileKnowledgeSource(file_paths=["a.txt"])
    file.write_text("at seven")
    source.refresh()
    assert [passage.text for passage in source.passages()] == ["at seven"]
    file.unlink()
    with pytest.raises(FileNotFoundError):
        source.refresh()


def test_what_stands_for_a_source_becomes_one(folder: Path):
    (folder / "a.txt").write_text("x")
    (folder / "b.md").write_text("x")
    sources = [
        "The mill. It closes.", "a.txt", Path("b.md"), "https://example.org/x",
        {"source_type": "string", "content": "x"},
    ]  # fmt: skip
    kinds: list[Any] = [type(item) for item in as_sources(sources)]
    assert kinds == [
        StringKnowledgeSource, TextFileKnowledgeSource, MarkdownKnowledgeSource, URLKnowledgeSource,
        StringKnowledgeSource,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (3, "is not a source of knowledge"),
        (Path("x.exe"), "files that end as `x.exe` are not read"),
        ({"content": "x"}, "needs a `source_type`"),
    ],
)
def test_what_is_no_source_is_refused(given: Any, reported: str):
    with pytest.raises(ValueError, match=reported):
        as_sources([given])


@given(st.integers(0, 10_000))
@settings(max_examples=of(20, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_pdf_is_read_or_told(tmp_path: Path, seed: int):
    write_pdf(tmp_path / "a.pdf", ["one", "two"])
    chance, data = Random(seed), bytearray((tmp_path / "a.pdf").read_bytes())
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(data))
        data[at : at + chance.choice([1, 20])] = bytes([chance.randrange(256)])
    try:
        pdf_pages(bytes(data), "a.pdf")
    except SourceError as error:
        assert "`a.pdf`" in str(error)
