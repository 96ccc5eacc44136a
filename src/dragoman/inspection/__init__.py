"""What a model did, drawn."""

from dragoman.inspection.alignment import alignment_svg, alignment_text
from dragoman.inspection.tree import search_tree, tree_record

__all__ = ["alignment_svg", "alignment_text", "search_tree", "tree_record"]
