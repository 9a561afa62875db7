"""In the terminal kept text has the colour of its score, and no passage takes over the screen."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from rich.style import Style

from foveate.blocks.errors import MissingExtraError
from foveate.rag.terminal import MAX_TEXT, SHADES, show

if TYPE_CHECKING:
    from foveate.rag.context import Context

    from .conftest import MakeContext

HIGH, LOW, DIM = Style.parse(SHADES[-1]), Style.parse(SHADES[0]), Style(dim=True)


def colourful(**options: bool) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        width=120,
        record=True,
        **options,
    )


def styles(context: Context) -> dict[str, Style | None]:
    """The style of every piece of text that was printed."""
    console = colourful()
    show(context, console)
    return {segment.text.strip(): segment.style for segment in console._record_buffer}


def plain_text(context: Context) -> str:
    console = Console(file=io.StringIO(), width=80, color_system=None)
    show(context, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_kept_text_is_coloured_by_its_score_and_dropped_text_is_dim(
    make_context: MakeContext,
) -> None:
    shown = styles(
        make_context(
            [("a", "", [("Sure. ", 0.95, True), ("No. ", 0.5, False), ("Hm.", 0.1, True)])]
        )
    )

    assert shown["Sure."] == HIGH
    assert shown["Hm."] == LOW
    assert shown["No."] == DIM


def test_the_head_tells_counts_timings_and_the_reason_for_degrading(
    make_context: MakeContext,
) -> None:
    context = make_context(degraded_reason="DeadlineExceededError: late")

    text = plain_text(context)

    counts = f"{context.tokens_before} → {context.tokens_after}"
    assert context.query in text
    assert counts in text
    assert "2 of 3 passages" in text
    assert "3 of 6 units" in text
    assert "encode 12.5 ms · read 3.25 ms · total 18.2 ms" in text
    assert "degraded: DeadlineExceededError: late" in text


def test_passages_stand_in_the_order_of_the_context_with_those_left_out_last(
    make_context: MakeContext,
) -> None:
    text = plain_text(make_context(order=[2, 0]))

    assert re.findall(r"^\[(\d)\]", text, flags=re.MULTILINE) == ["3", "1", "2"]
    assert "The Louvre is a museum." not in text
    assert "left out, 5 tokens" in text


def test_without_colours_dropped_text_is_marked(make_context: MakeContext) -> None:
    text = plain_text(make_context())

    assert "‹It was painted eighteen times.›" in text
    assert "‹The Eiffel Tower stands in Paris.›" not in text
    assert "\x1b" not in text


def test_no_color_is_honoured(make_context: MakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=120)

    show(make_context(), console)

    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert not re.search(r"\x1b\[[\d;]*(3[0-7]|38|9[0-7])[;m]", output)


@pytest.mark.parametrize("attack", ["\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\u202e", "\r", "\x00"])
def test_control_characters_of_a_passage_never_reach_the_terminal(
    make_context: MakeContext, attack: str
) -> None:
    context = make_context(
        [("id" + attack, "title" + attack, [(f"text{attack} end", 0.9, True)])],
        query="q" + attack,
        degraded_reason="r" + attack,
    )

    text = plain_text(context)

    assert not [char for char in attack if char in text and char.isprintable() is False]


def test_markup_in_a_passage_is_text(make_context: MakeContext) -> None:
    text = plain_text(make_context([("a", "[red]", [("[bold]x[/bold] :smile:", 0.9, True)])]))

    assert "[bold]x[/bold] :smile:" in text
    assert "[red]" in text


def test_lone_surrogates_can_be_printed(make_context: MakeContext) -> None:
    text = plain_text(make_context([("a", "\ud800", [("x\udfffy", 0.9, True)])], query="\ud83d?"))

    text.encode("utf-8")
    assert "x\ufffdy" in text


def test_a_long_input_is_cut_to_what_is_kept_and_says_so(make_context: MakeContext) -> None:
    units = [(f"Sentence {i} is here. ", 0.5, i == 1000) for i in range(2_000)]

    text = plain_text(make_context([("a", "", units)]))

    assert "Sentence 1000 is here." in text
    assert "‹Sentence 999 is here.›" in text
    assert "Sentence 998 is here." not in text
    assert "… 999 units not shown …" in text
    assert "only kept units and their neighbours" in text
    assert len(text) < MAX_TEXT


def test_a_context_shows_itself_on_standard_output(
    make_context: MakeContext, capsys: pytest.CaptureFixture[str]
) -> None:
    make_context().show()

    assert "Eiffel Tower" in capsys.readouterr().out


def test_without_rich_the_extra_is_named(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)

    with pytest.raises(MissingExtraError, match=r"foveate\[cli\]"):
        show(make_context())
