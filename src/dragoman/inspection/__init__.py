"""What a model did, drawn."""

from dragoman.inspection.alignment import alignment_svg, alignment_text

__all__ = ["alignment_svg", "alignment_text"]
