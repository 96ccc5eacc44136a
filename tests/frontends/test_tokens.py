import torch

from dragoman.frontends import Tokens, build_frontend


def test_each_symbol_has_its_vector_and_padding_none() -> None:
    frontend = build_frontend(Tokens(width=3), size=5).eval()
    vectors = frontend(torch.tensor([[4, 1, 0], [2, 0, 0]]))
    assert torch.equal(vectors[0, 0], frontend.embedding.weight[4])
    assert not vectors[0, 2].any()
    assert not vectors[1, 1:].any()


def test_only_training_drops() -> None:
    frontend, ids = build_frontend(Tokens(width=8, dropout=0.5), size=5), torch.tensor([[1, 2, 3, 4]])
    assert (frontend(ids) == 0).any()
    assert (frontend.eval()(ids) != 0).all()
