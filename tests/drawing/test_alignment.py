"""Links, which other tools read as 0-0 2-1."""

from dragoman.drawing.alignment import Alignment


def test_links_go_from_source_to_output_in_the_order_of_the_output():
    weights = ((0.1, 0.7, 0.1, 0.1), (0.8, 0.1, 0.1, 0.0), (0.0, 0.4, 0.4, 0.2), (0.0, 0.0, 0.0, 1.0))
    assert Alignment(("a", "b", "c", "</s>"), ("x", "y", "z", "END"), weights).links() == ((1, 0), (0, 1), (1, 2))


def test_ends_have_no_links():
    """Neither the output's END, wherever it looks, nor a symbol that looks most at the source's."""
    assert Alignment(("a", "</s>"), ("x", "y", "END"), ((0.4, 0.6), (0.6, 0.4), (1.0, 0.0))).links() == ((0, 1),)


def test_an_unfinished_answer_links_its_last_symbol():
    assert Alignment(("a", "</s>"), ("x",), ((0.9, 0.1),), finished=False).links() == ((0, 0),)


def test_a_symbol_that_looked_nowhere_has_no_link():
    assert Alignment(("a", "</s>"), ("x", "END"), ((0.0, 0.0), (1.0, 0.0))).links() == ()
    assert Alignment(("a", "</s>"), (), (), finished=False).links() == ()
