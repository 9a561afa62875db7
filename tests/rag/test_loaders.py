from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.errors import InputError, TextEncodingError, UnsupportedFileError
from foveate.rag.chunking import chunk
from foveate.rag.loaders import Document, load
from foveate.rag.loaders.html import html_to_text
from foveate.rag.loaders.markdown import find_title

if TYPE_CHECKING:
    from pathlib import Path


def pdf(*pages: str, title: str = "", password: str = "") -> bytes:
    """A PDF with a line of text on each page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    name = NameObject
    font = DictionaryObject(
        {
            name("/Type"): name("/Font"),
            name("/Subtype"): name("/Type1"),
            name("/BaseFont"): name("/Helvetica"),
        }
    )
    fonts = DictionaryObject({name("/Font"): DictionaryObject({name("/F1"): font})})
    for text in pages:
        page = writer.add_blank_page(612, 792)
        page[name("/Resources")] = fonts
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode())
        page[name("/Contents")] = writer._add_object(content)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def only(path: Path) -> Document:
    (document,) = load(path)
    return document


def save(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- Kinds of files


def test_plain_text_stays_as_it_is(tmp_path: Path) -> None:
    path = save(tmp_path / "my notes.TXT", "Line one\r\nLine two \u2028 ไทย\n")
    assert only(path) == Document(
        "Line one\r\nLine two \u2028 ไทย\n", "my notes.TXT", "my notes", str(path)
    )


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert only(save(tmp_path / "a.txt", b"\xef\xbb\xbfHello")).text == "Hello"
    assert only(save(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text": "Hello"}')).text == "Hello"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Intro\n\n# The *title* #\n\n# Next", "The *title*"),
        ("The title\n=========\n\nText", "The title"),
        ("=========\nThe title\n=========\n", "The title"),
        ("The title\r\n---\r\ntext", "The title"),
        ('---\ntitle: "Front: matter"\ntags: x\n---\n# Heading\n', "Front: matter"),
        ("---\ntags: x\n---\n# Heading\n", "Heading"),
        ("```sh\n# a comment\n```\n## Real\n", "Real"),
        ("| a | b |\n|---|---|\n", ""),
        ("#hashtag and no heading", ""),
        ("", ""),
    ],
)
def test_the_first_heading_is_the_title(text: str, title: str) -> None:
    assert find_title(text) == title


def test_markdown_and_restructuredtext_are_called_by_their_heading(tmp_path: Path) -> None:
    assert only(save(tmp_path / "a.md", "# Owls\n\nThey hoot.")).title == "Owls"
    assert only(save(tmp_path / "a.rst", "Storks\n~~~~~~\n\nThey clatter.")).title == "Storks"
    assert only(save(tmp_path / "plain.md", "no heading")).title == "plain"


PAGE = """<!DOCTYPE html><html><head><title> A &amp; B </title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><!-- remark -->
<h1>Big <em>title</em><a class="headerlink" href="#x">¶</a></h1>
<p>First <b>bold</b>face, H<sub>2</sub>O.<br>Next   line.</p><script>alert("no")</script>
<ul><li>one</li><li><p>two</p><ul><li>inner</li></ul></li></ul>
<ol><li>first</li><li>second</li></ol>
<pre>def f():
    return  1</pre>
<table><thead><tr><th>k</th><th>v</th></tr></thead><tr><td>a|b</td><td>1<br>2</td></tr>
<tr><td>short</td></tr></table>
<table><tr><td><h2>Layout</h2><p>body</p></td><td>side</td></tr></table>
tail</body></html>"""

AS_TEXT = """# Big title

First boldface, H2O.
Next line.

- one
- two

  - inner

1. first
2. second

```
def f():
    return  1
```

| k | v |
|---|---|
| a\\|b | 1 2 |
| short |  |

## Layout

body

side

tail"""


def test_html_keeps_its_shape_and_drops_its_chrome(tmp_path: Path) -> None:
    document = only(save(tmp_path / "page.html", PAGE))
    assert document.title == "A & B"
    assert document.text == AS_TEXT


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ("", "")),
        ("notes.txt", ("notes.txt", "")),
        ('<?xml version="1.0"?>\n<p>strict</p>', ("strict", "")),
        ("<h1>Named here</h1>", ("# Named here", "Named here")),
        ("<p>open <b>tags", ("open tags", "")),
        ("<ul></ul><table></table><pre></pre>", ("```\n\n```", "")),
        ("<div>" * 5000 + "deep" + "</div>" * 5000, ("deep", "")),
    ],
)
def test_html_of_any_quality_is_read(html: str, expected: tuple[str, str]) -> None:
    assert html_to_text(html) == expected


@given(st.text(st.sampled_from("<>/ab =\"'&;!-\n"), max_size=60))
def test_no_html_breaks_it(html: str) -> None:
    html_to_text(html)


def test_a_pdf_gives_text_title_and_pages(tmp_path: Path) -> None:
    path = save(tmp_path / "a.pdf", pdf("The owl hunts.", "The heron waits.", title="Birds"))
    document = only(path)
    assert document.title == "Birds"
    first, second = document.pages
    assert document.text[first:second].strip() == "The owl hunts."
    assert document.text[second:].strip() == "The heron waits."
    passages = chunk(document, max_tokens=6, overlap=0)
    assert [passage.metadata["page"] for passage in passages] == [1, 2]


def test_a_pdf_encrypted_without_a_password_is_read(tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("Open to all."))))
    writer.encrypt("", owner_password="owner", algorithm="RC4-128")
    writer.write(tmp_path / "a.pdf")
    assert "Open to all." in only(tmp_path / "a.pdf").text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pdf("secret", password="x"), "encrypted"),
        (pdf("cut off")[:200], "damaged"),
        (b"%PDF-1.7 and nothing else", "damaged"),
        (b"", "damaged"),
        (pdf(""), "no text"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = save(tmp_path / "bad.pdf", content)
    with pytest.raises(UnsupportedFileError, match=f"bad.pdf.*{says}"):
        list(load(path))


def test_json_lines_are_passages(tmp_path: Path) -> None:
    lines = [
        {"text": "One.", "id": "x", "title": "T", "year": 1999},
        {"text": "Two.", "id": 7},
        {"text": "Three."},
    ]
    content = "\n\n".join(json.dumps(line) for line in lines) + "\n"
    path = save(tmp_path / "p.jsonl", content)
    documents = list(load(path))
    assert [(d.id, d.title, d.text, d.whole) for d in documents] == [
        ("x", "T", "One.", True),
        ("7", "", "Two.", True),
        ("p.jsonl#5", "", "Three.", True),
    ]
    assert documents[0].metadata == {"document": "p.jsonl", "line": 1, "year": 1999}
    (passage,) = chunk(documents[0])
    assert passage.metadata == {**documents[0].metadata, "source": str(path)}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "JSON object"),
        ("null", "JSON object"),
        ('{"title": "x"}', "no text"),
        ('{"text": " "}', "no text"),
        ('{"text": 3}', "no text"),
        ('{"text": "x", "id": [1]}', "id"),
        ('{"text": "x", "id": true}', "id"),
        ('{"text": "x", "title": 1}', "title"),
        ('{"text": "x", "score": NaN}', "NaN"),
        ('{"text": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = save(tmp_path / "p.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(InputError, match=rf"p\.jsonl, line 2 .*{says}"):
        list(load(path))


# --- Files that are not what they should be


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", "Caf\u00e9 ol\u00e9".encode("latin-1"), "0xe9 at offset 3.*iconv"),
        ("a.md", b"\xef\xbb\xbfok \xff", "0xff at offset 6"),
        ("a.html", "<p>\u00fc".encode("latin-1"), "0xfc at offset 3"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": "\xe9"}', "0xe9 at offset 25"),
        ("a.txt", "text".encode("utf-16"), "UTF-16"),
    ],
)
def test_text_that_is_not_utf8_is_refused_with_its_place(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    with pytest.raises(TextEncodingError, match=rf"{name} is not UTF-8: .*{says}"):
        list(load(save(tmp_path / name, content)))


def test_a_file_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFileError, match=r"'\.docx'.*\.pdf"):
        list(load(save(tmp_path / "a.docx", "x")))
    with pytest.raises(UnsupportedFileError, match="binary"):
        list(load(save(tmp_path / "a.txt", b"\x00\x01\x02")))


def test_a_path_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(InputError, match="on_error"):
        load(tmp_path, on_error="explode")  # type: ignore[arg-type]


# --- Folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.md", "sub/c.txt", "sub/deeper/d.html", "Z.txt"):
        save(tmp_path / "docs" / name, f"text of {name}")
    for name in (".hidden.txt", ".git/x.txt", "image.png", "LICENSE"):
        save(tmp_path / "docs" / name, "never loaded")
    save(tmp_path / "docs" / "core.txt", b"ELF\x00\x01")
    return tmp_path / "docs"


def test_a_folder_is_loaded_in_order_of_paths(folder: Path) -> None:
    assert [document.id for document in load(folder)] == [
        "docs/Z.txt",
        "docs/a.md",
        "docs/b.txt",
        "docs/sub/c.txt",
        "docs/sub/deeper/d.html",
    ]


def test_ids_do_not_depend_on_where_it_is_loaded_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert [d.id for d in load(".")] == [d.id for d in load(folder)]


def test_what_is_passed_over_is_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="foveate"):
        list(load(folder))
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert all(name in logged for name in ("image.png", "LICENSE", "core.txt"))
    assert ".hidden" not in logged


def test_one_bad_file_ends_it_or_is_left_out_as_a_whole(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save(folder / "aa.jsonl", '{"text": "good"}\n{"text": "good"}\nbad')
    with pytest.raises(InputError, match="line 3"):
        list(load(folder))
    with caplog.at_level(logging.WARNING, logger="foveate"):
        documents = list(load(folder, on_error="skip"))
    assert len(documents) == 5
    assert "aa.jsonl, line 3" in caplog.text


def test_a_bad_file_in_a_folder_leaves_the_index_as_it_was(folder: Path, tmp_path: Path) -> None:
    from foveate.rag.index import Index

    def passages(on_error: Any) -> Any:
        return (p for document in load(folder, on_error=on_error) for p in chunk(document))

    save(folder / "zz.txt", b"\xff")
    with Index.create(tmp_path / "index", embedder=None) as index:
        with pytest.raises(TextEncodingError):
            index.add(passages("raise"))
        assert len(index) == 0
        index.add(passages("skip"))
        assert len(index) == 5
        assert index.get("docs/sub/c.txt#0") is not None


def test_progress_counts_files(folder: Path) -> None:
    calls: list[Any] = []
    list(load(folder, progress=lambda *call: calls.append(call)))
    assert calls == [("load", done, 5) for done in range(6)]


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert list(load(tmp_path)) == []
