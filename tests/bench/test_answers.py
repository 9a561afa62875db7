from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.answers import INSTRUCTION, Asker, generator_of, rows, run
from bench.data import load
from bench.log import Log
from foveate.blocks.errors import InputError
from foveate.rag.generators import Generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from foveate import Context, Proxy

    Write = Callable[[str, list[dict[str, Any]]], Path]


class Parrot(Generator):
    """Says the year that stands in its context, if one does, and cites the first passage."""

    name = "parrot"

    def __init__(self) -> None:
        self.seen: list[Context] = []

    def stream(self, context: Context, **_: Any) -> Any:
        self.seen.append(context)
        year = context.text.partition("1947 week ")[2][:1]
        yield f"1947 week {year} [1]" if year else "They do not say."


class Full(Generator):
    """Has no room for anything."""

    name = "full"

    def stream(self, context: Context, **_: Any) -> Any:
        raise InputError(f"the prompt has {context.tokens_after} tokens: too many")


def test_an_answer_is_judged_by_its_record(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    (record, *_) = load(write("e", evidence_rows))
    parrot = Parrot()
    entry = Asker(tiny_proxy, parrot).ask(record, "lexical", 0.7)
    assert parrot.seen[0].text.startswith("[1] ")
    assert parrot.seen[0].tokens_after <= parrot.seen[0].limit
    assert entry["answer"] == "1947 week 0 [1]"
    assert entry["f1"] == entry["exact_match"] == entry["subspan_match"] == 1.0
    assert entry["citation_precision"] == entry["citation_recall"] == entry["cited"] == 1.0


def test_the_whole_input_has_no_budget(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    log, parrot = Log(None, {}), Parrot()
    run(Asker(tiny_proxy, parrot), log, "set", load(write("e", evidence_rows), 1), ["full"], [0.2])
    (row,) = rows(log.entries, "parrot")
    assert (row["budget"], row["kept_share"]) == (1.0, 1.0)
    assert "None was hurt." in parrot.seen[0].text


def test_rows_compare_to_bm25_record_by_record(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    log = Log(None, {})
    systems, records = ["lead", "lexical"], load(write("e", evidence_rows))
    run(Asker(tiny_proxy, Parrot()), log, "set", records, systems, [0.7])
    lead, lexical = rows(log.entries, "parrot")
    assert lexical["f1"] == 1.0
    assert "minus_lexical" not in lexical
    assert lead["n"] == lead["minus_lexical"]["f1"]["n"] == 3
    assert lead["minus_lexical"]["f1"]["mean"] == pytest.approx(lead["f1"] - 1.0, abs=1e-4)


def test_records_without_room_are_counted_apart(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    log = Log(None, {})
    records = load(write("e", evidence_rows))
    run(Asker(tiny_proxy, Full()), log, "set", records, ["lexical"], [0.5])
    (row,) = rows(log.entries, "full")
    assert (row["n"], row["refused"], row["f1"], row["ms"]) == (0, 3, None, None)


def test_a_run_goes_on_where_it_was(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy, tmp_path: Path
) -> None:
    records, path, parrot = load(write("e", evidence_rows)), tmp_path / "log.jsonl", Parrot()
    run(Asker(tiny_proxy, parrot), Log(path, {}), "set", records[:2], ["lexical"], [0.7])
    again = Log(path, {})
    run(Asker(tiny_proxy, parrot), again, "set", records, ["lexical"], [0.7])
    assert [context.query[-9:] for context in parrot.seen] == [f"{n} freeze?" for n in range(3)]
    assert len(again.entries) == 3


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A loopback server with one answer to everything, and what it was asked."""
    asked: list[dict[str, Any]] = []
    message = {"role": "assistant", "content": "1947 week 0 [1]"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            payload = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_any_openai_compatible_endpoint_can_answer(
    write: Write,
    evidence_rows: list[dict[str, Any]],
    tiny_proxy: Proxy,
    endpoint: tuple[str, list[dict[str, Any]]],
) -> None:
    pytest.importorskip("openai")
    url, asked = endpoint
    (record, *_) = load(write("e", evidence_rows))
    with generator_of(tiny_proxy, "m", url) as generator:
        entry = Asker(tiny_proxy, generator, max_tokens=7).ask(record, "lexical", 0.7)
    assert entry["exact_match"] == 1.0
    assert asked[0]["messages"][0]["content"] == INSTRUCTION
    assert (asked[0]["model"], asked[0]["max_tokens"]) == ("m", 7)


def test_the_proxys_own_model_answers_where_no_endpoint_is_named(
    write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    (record, *_) = load(write("e", evidence_rows))
    with generator_of(tiny_proxy, None, None) as generator:
        entries = [Asker(tiny_proxy, generator, 4).ask(record, "lexical", 0.5) for _ in range(2)]
    assert entries[0]["refused"] is None
    assert entries[0]["answer"] == entries[1]["answer"]  # greedy
