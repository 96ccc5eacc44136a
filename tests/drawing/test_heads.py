"""Maps of heads: what is picked, what a head does, and the page that shows all of them."""

import json
import re
from dataclasses import replace
from math import log

import pytest

from dragoman.drawing.doings import Doing, doing, doings
from dragoman.drawing.heads import Heads, Kind, Layers, Map
from dragoman.drawing.heads_grid import small_map
from dragoman.drawing.heads_page import heads_page
from dragoman.drawing.heads_text import heads_text
from dragoman.errors import ConfigError
from inspection.pages import Checked

DIAGONAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
EVEN = ((0.25, 0.25, 0.5), (0.25, 0.25, 0.5))
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e&amp;'\""


def heads(weights: dict[Kind, Layers] | None = None, tokens: tuple[str, ...] = ("a", "b", "END")) -> Heads:
    """Two symbols, x and END; one layer with two heads unless other maps are given."""
    given: dict[Kind, Layers] = weights or {"source": ((DIAGONAL, EVEN),)}
    return Heads("ab", "x", tokens, ("x", "END"), given, -0.5, (-0.25, -0.5))


def target(*rows: tuple[float, ...]) -> Map:
    symbols = ("x", "y", "END")
    return Map("target", 1, 1, symbols, ("START", "x", "y"), rows)


def encoder(*rows: tuple[float, ...]) -> Map:
    tokens = ("a", "b", "END")
    return Map("encoder", 1, 1, tokens, tokens, rows)


def test_one_head_the_mean_of_a_layer_and_of_all() -> None:
    found = heads({"source": ((DIAGONAL, EVEN), (EVEN, EVEN))})
    assert found.map("source", 1, 1).weights == DIAGONAL
    assert found.map("source", 1).weights == ((0.625, 0.125, 0.25), (0.125, 0.625, 0.25))
    assert found.map().weights[0] == (0.4375, 0.1875, 0.375)
    names = [found.map("source", layer, head).name for layer, head in ((2, 1), (2, None), (None, None))]
    assert names == [
        "source, layer 2, head 1",
        "source, layer 2, mean of the heads",
        "source, all layers, mean of the heads",
    ]


def test_rows_and_columns_have_the_words_of_their_kind() -> None:
    square = ((1.0, 0.0), (0.5, 0.5))
    found = heads({"source": ((DIAGONAL,),), "target": ((square,),), "encoder": (((*EVEN, EVEN[0]),),)})
    assert (found.map("source").rows, found.map("source").columns) == (("x", "END"), ("a", "b", "END"))
    assert (found.map("target").rows, found.map("target").columns) == (("x", "END"), ("START", "x"))
    assert found.map("encoder").rows == found.map("encoder").columns == ("a", "b", "END")
    assert found.map("target").log_probabilities == (-0.25, -0.5)
    assert found.map("encoder").log_probabilities == ()
    unfinished = replace(found, symbols=("x", "y"), finished=False)
    assert unfinished.map("target").columns == ("START", "x")


def test_what_there_is_not_is_a_sentence() -> None:
    found = heads()
    for asked, said in (
        (("sauce", None, None), r"No kind of attention is called 'sauce'\. Did you mean 'source'\?"),
        (("encoder", 1, 1), r"no heads of the kind encoder \(the source looks at itself\).* source \(layer 1 with 2 h"),
        (("source", 2, None), r"There is no layer 2 of the kind source\. There are: source \(layer 1 with 2 heads\)\."),
        (("source", 0, None), r"There is no layer 0"),
        (("source", 1, 3), r"Layer 1 of the kind source has no head 3: its heads are 1 to 2\."),
        (("source", None, 1), r"Head 1 of which layer\? Give a layer as well, 1 to 1"),
    ):
        with pytest.raises(ConfigError, match=said):
            found.map(*asked)


def test_habits_of_self_attention() -> None:
    before = target((1.0, 0.0, 0.0), (0.75, 0.25, 0.0), (0.0, 0.75, 0.25))
    found = doing(before, before)
    assert (found.before, found.same, found.behind, found.first) == (0.75, 0.25, None, 0.375)
    assert found.mostly() == "previous"
    following = encoder((0.0, 1.0, 0.0), (0.0, 0.5, 0.5), (0.0, 0.0, 1.0))
    found = doing(following, following)
    assert (found.before, found.behind, found.last) == (0.0, 0.75, 0.5)
    assert found.same == pytest.approx(0.5)
    assert found.mostly() == "next"
    assert found.kendall_tau is found.agreement is None


def test_entropy_is_a_share_of_what_may_be_seen() -> None:
    """The second row sees two symbols and looks at both alike; the first has no choice and does not count."""
    found = doing(one := target((1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.0, 0.5, 0.5)), one)
    assert found.entropy_share == pytest.approx((1 + log(2) / log(3)) / 2)


def test_alignment_of_a_head() -> None:
    symbols, tokens = ("x", "y", "z", "END"), ("a", "b", "c", "END")
    along = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    whole = Map("source", None, None, symbols, tokens, (along[0], along[1], along[1], along[3]))
    found = doing(Map("source", 1, 1, symbols, tokens, along), whole)
    assert (found.kendall_tau, found.monotonicity, found.last) == (1.0, 1.0, 0.25)
    assert found.agreement == pytest.approx(2 / 3)  # END stands for nothing
    assert found.mostly() == "in order"
    turned = doing(Map("source", 1, 1, symbols, tokens, (*along[2::-1], along[3])), whole)
    assert turned.mostly() == "in reverse"
    assert Doing(0.95, None, None, None, None, 0.1, 0.5, 0.0, 0.5).mostly() == "everywhere"


def test_the_table_has_a_line_a_head() -> None:
    text = heads_text(heads())
    lines = text.splitlines()
    assert lines[0] == "source: the answer looks at the source"
    assert lines[1].split() == ["layer", "head", "entropy", "END", "not", "back", "tau", "as", "the", "mean", "mostly"]
    assert lines[2].split()[:3] == ["1", "1", "0%"]
    assert lines[3].split() == ["2", "95%", "50%", "100%", "–", "0%", "END"]
    assert len(doings(heads(), "source")) == 2


def test_a_small_map_draws_runs_of_one_colour() -> None:
    drawn = small_map(((0.0, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 1.0)))
    assert re.findall(r' d="([^"]*)"', drawn) == ["M1 0h2M0 1h1M3 1h1"]
    assert "<path" not in small_map(((0.0, 0.0),))


def data_of(page: str) -> list[dict[str, object]]:
    [found] = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    kinds: list[dict[str, object]] = json.loads(found)
    return kinds


def test_the_page_holds_all_maps() -> None:
    square = ((1.0, 0.0), (0.5, 0.5))
    page = heads_page([heads({"source": ((DIAGONAL, EVEN),), "target": ((square,), (square,))})])
    checked = Checked(page)
    assert checked.links == []
    assert page.count('<button type="button" data-kind="source"') == 2
    assert 'data-kind="target" data-layer="2" data-head="1"' in page
    source, own = data_of(page)
    assert source["rows"] == ["x", "END"]
    assert source["layers"] == [[[1000, 0, 0, 0, 1000, 0], [250, 250, 500, 250, 250, 500]]]
    assert own["columns"] == ["START", "x"]
    assert "the answer looks at itself so far" in checked.text
    assert page.count("http://") == page.count("http://www.w3.org/2000/svg")
    assert "https://" not in page


def test_only_our_script_runs() -> None:
    page = heads_page([heads()])
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert re.fullmatch(
        r"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]{44}'", policy
    )


def test_hostile_tokens_are_text() -> None:
    hostile = replace(heads(tokens=(HOSTILE, "b", "END")), source=HOSTILE, answer=HOSTILE, symbols=(HOSTILE, "END"))
    page = heads_page([hostile])
    checked = Checked(page)
    assert "img" not in checked.tags
    assert checked.tags.count("script") == 2
    [kind] = data_of(page)
    assert kind["columns"] == ["</script><img␣src=x␣onerror=alert(1)>�&amp;'\"", "b", "END"]
    frame = hostile._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"')
    assert Checked(frame).tags == ["iframe"]
