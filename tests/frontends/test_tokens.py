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


def test_noise_is_a_share_of_each_vector() -> None:
    """Two symbols, one ten times as long: the noise of each has 0.2 of its root mean square."""
    frontend = build_frontend(Tokens(width=4000, dropout=0.0, noise=0.2), size=3)
    frontend.embedding.weight.data[2] *= 10
    ids = torch.tensor([[1, 2, 0]])
    clean, noisy = frontend.embedding(ids).detach(), frontend(ids).detach()
    found = (noisy - clean).square().mean(-1).sqrt() / clean.square().mean(-1).sqrt()
    torch.testing.assert_close(found[0, :2], torch.tensor([0.2, 0.2]), rtol=0.05, atol=0)
    assert abs(float((noisy - clean)[0, 0].mean())) < 0.02 * float(clean[0, 0].square().mean().sqrt())
    assert torch.equal(noisy[0, 2], torch.zeros(4000))
    assert not torch.equal(frontend(ids), noisy)
    assert torch.equal(frontend.eval()(ids), clean)


def test_nothing_is_learnt_through_noise() -> None:
    frontend = build_frontend(Tokens(width=4, dropout=0.0, noise=0.5), size=3)
    frontend(torch.tensor([[1, 2, 0]])).sum().backward()
    assert torch.equal(frontend.embedding.weight.grad[1:], torch.ones(2, 4))
    assert not frontend.embedding.weight.grad[0].any()


def test_without_noise_no_random_number_is_taken() -> None:
    frontend = build_frontend(Tokens(width=4, dropout=0.0), size=3)
    before = torch.get_rng_state()
    frontend(torch.tensor([[1, 2, 0]]))
    assert torch.equal(torch.get_rng_state(), before)
