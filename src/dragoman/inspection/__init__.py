"""What a model did, drawn."""

from dragoman.inspection.alignment import alignment_text

__all__ = ["alignment_text"]
