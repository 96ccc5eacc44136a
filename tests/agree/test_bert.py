"""A model that learns to read beside BERT of Hugging Face with the same weights."""

import os

import numpy as np
import pytest
import torch

from dragoman import encoders, frontends, heads
from dragoman.contracts import Batch
from dragoman.data.labelled import expected as target_of
from dragoman.data.masking import collate_gaps
from dragoman.models import EncoderOnly, EncoderOnlyModel, build_model
from dragoman.nn.positions import Learned
from dragoman.objectives import Pretraining, build_objective

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

SYMBOLS, WIDTH, LAYERS, HEADS, LENGTH = 11, 8, 2, 2, 10
LAYER = {
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "around_attention.norm",
    "intermediate.dense": "feed_forward.wide",
    "output.dense": "feed_forward.output",
    "output.LayerNorm": "around_feed_forward.norm",
}
OTHERS = {
    "bert.embeddings.LayerNorm": "encoder.first_norm",
    "bert.pooler.dense": "head.follows.pooler",
    "cls.predictions.transform.dense": "head.words.dense",
    "cls.predictions.transform.LayerNorm": "head.words.norm",
}


def theirs() -> torch.nn.Module:
    """With one symbol more, which is [MASK]."""
    config = transformers.BertConfig(
        vocab_size=SYMBOLS + 1,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=3 * WIDTH,
        max_position_embeddings=LENGTH,
        layer_norm_eps=1e-5,
        initializer_range=0.5,
    )
    other = transformers.BertForPreTraining(config).eval()
    with torch.no_grad():
        for name, value in other.named_parameters():
            if name.endswith("bias") or "LayerNorm" in name:
                value.normal_(1.0, 0.3)
        other.bert.embeddings.word_embeddings.weight[0] = 0  # padding
        other.cls.predictions.bias[SYMBOLS] = -1e9  # [MASK] is nothing to guess
    return other


def ours(other: torch.nn.Module) -> EncoderOnlyModel:
    """The same numbers by our names."""
    config = EncoderOnly(
        source=frontends.Tokens(width=WIDTH),
        encoder=encoders.Transformer(
            layers=LAYERS,
            heads=HEADS,
            feed_forward=3 * WIDTH,
            activation="gelu",
            norm_place="after",
            first_norm=True,
            positions=Learned(length=LENGTH),
        ),
        head=heads.Pretraining(length=LENGTH),
        sentences="two",
    )
    model = build_model(config, SYMBOLS, SYMBOLS).eval()
    theirs = other.state_dict()
    words = theirs["bert.embeddings.word_embeddings.weight"]
    found = dict.fromkeys(("source.embedding.weight", "head.words.output.weight"), words[:SYMBOLS])
    found |= {"mask.vector": words[SYMBOLS], "head.words.output.bias": theirs["cls.predictions.bias"][:SYMBOLS]}
    found["segments.table"] = theirs["bert.embeddings.token_type_embeddings.weight"]
    found["encoder.positions.table"] = theirs["bert.embeddings.position_embeddings.weight"]
    for part in ("weight", "bias"):
        found |= {f"{own}.{part}": theirs[f"{name}.{part}"] for name, own in OTHERS.items()}
        for layer in range(LAYERS):
            place = f"bert.encoder.layer.{layer}"
            for name, own in LAYER.items():
                found[f"encoder.layers.{layer}.{own}.{part}"] = theirs[f"{place}.{name}.{part}"]
            three = [theirs[f"{place}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            found[f"encoder.layers.{layer}.attention.of_all.{part}"] = torch.cat(three)
        # Theirs says first that a text follows, ours last.
        found[f"head.follows.output.{part}"] = theirs[f"cls.seq_relationship.{part}"].flip(0)
    model.load_state_dict(found)
    assert isinstance(model, EncoderOnlyModel)
    return model


@torch.inference_mode()
def test_the_same_weights_give_the_same_words_and_next_sentences() -> None:
    """Pairs of several lengths, with words that are hidden."""
    other = theirs()
    model = ours(other)
    batch = collate_gaps([[4, 5, 3, 6, 7, 8], [9, 3, 10], [6, 6, 6, 3, 4]], [[0, 4], [2], []])
    source, hidden = batch.sources["source"], batch.sources["masked"].values
    expected = other(
        input_ids=torch.where(hidden > 0, SYMBOLS, source.values),
        attention_mask=source.mask.long(),
        token_type_ids=batch.sources["segments"].values,
    )
    states = model.read(batch).hidden
    head = model.head
    assert isinstance(head, heads.PretrainingHead)
    assert head.words is not None
    assert head.follows is not None
    found = head.words.output(head.words(states))
    theirs_of_real = expected.prediction_logits[:, :, :SYMBOLS][source.mask]
    torch.testing.assert_close(found[source.mask], theirs_of_real, rtol=1e-4, atol=1e-4)
    follows = expected.seq_relationship_logits.flip(1)
    torch.testing.assert_close(head.follows(states), follows, rtol=1e-4, atol=1e-4)


def test_their_loss_is_ours() -> None:
    """Of one batch: the mean over hidden words, and the mean over pairs."""
    other = theirs()
    model = ours(other)
    gaps = collate_gaps([[4, 5, 3, 6], [9, 3, 10, 7]], [[0, 3], [2]])
    source, hidden = gaps.sources["source"].values, gaps.sources["masked"].values.bool()
    truth = np.where(hidden.numpy(), 5, 0)
    batch = Batch(gaps.examples, gaps.sources, target_of(truth, hidden.numpy()), follows=torch.tensor([True, False]))
    losses = build_objective(Pretraining())(model.read(batch), model.head, batch)
    expected = other(
        input_ids=torch.where(hidden, SYMBOLS, source),
        token_type_ids=gaps.sources["segments"].values,
        labels=torch.where(hidden, 5, -100),
        next_sentence_label=torch.tensor([0, 1]),
    ).loss
    found = sum(loss.total / loss.count for loss in losses.values())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
