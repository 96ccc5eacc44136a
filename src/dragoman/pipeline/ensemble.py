"""Several runs that write one answer together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.contracts import Batch, Padded
from dragoman.data.collate import collate_sources
from dragoman.errors import ConfigError
from dragoman.pipeline.pipeline import Pipeline
from dragoman.pipeline.rows import Row
from dragoman.pipeline.together import Mean, Together


class Ensemble(Pipeline):
    """Runs with one target vocabulary; source vocabularies may differ, and how much is read of a conversation. Limits,
    search and rules are the first one's."""

    def __init__(self, members: Sequence[Pipeline], mean: Mean = "logarithms") -> None:
        first = members[0]
        for number, member in enumerate(members[1:], start=2):
            if member.target.hash != first.target.hash:
                raise ConfigError(
                    f"Run {number} of the ensemble writes other symbols than the first ({member.target.size:,} and "
                    f"{first.target.size:,}, or another order): log-probabilities of different vocabularies have no "
                    "mean. Train them on one vocabulary: target.kind=file with the tokenizers/target.json of the first."
                )
        if len({member.alone for member in members}) > 1:
            raise ConfigError(
                "An ensemble is of translators or of language models, not of both: they read other things."
            )
        if len({member.talks for member in members}) > 1:
            raise ConfigError(
                "An ensemble is of models that read conversations or of models that read texts, not of both "
                "(conversation.turns is 0 in one of them): name runs of one kind."
            )
        models = [member.model for member in members if not isinstance(member.model, Together)]
        together = Together(models, mean).eval()
        tokenizers = (first.source, first.target)
        super().__init__(together, *tokenizers, first.settings, first.device, files=first.files)
        self.members = tuple(members)

    @staticmethod
    def load_all(paths: Sequence[str | Path], mean: Mean = "logarithms", device: str = "auto") -> "Ensemble":
        return Ensemble([Pipeline.load(path, device) for path in paths], mean)

    def require_attention(self) -> None:
        for number, member in enumerate(self.members, start=1):
            if not member.attends:
                raise ConfigError(
                    f"Run {number} of the ensemble has no attention, and an alignment is the mean of all. Leave it "
                    "out, or ask without alignments."
                )
            if not self.reads_the_same(member):
                raise ConfigError(
                    f"Run {number} of the ensemble reads other symbols than the first, so that their alignments have "
                    "no mean. Leave it out, or ask without alignments."
                )

    def reads_the_same(self, member: Pipeline) -> bool:
        """As the first: the same symbols and, of a conversation, as much."""
        one, other = member.source, self.source
        return (one.hash, one.reading) == (other.hash, other.reading)

    def batch_of(self, rows: Sequence[Row], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """With a source more for each member that reads other symbols, or other turns."""
        batch = super().batch_of(rows, targets)
        further: dict[str, Padded] = {}
        for number, member in enumerate(self.members):
            if not self.reads_the_same(member):
                limit = member.settings.limits.source
                own = [row[:limit] for row in member.source.encode([row.text for row in rows])]
                further[f"source.{number}"] = collate_sources(own).to(self.device).sources["source"]
        return replace(batch, sources={**batch.sources, **further})
