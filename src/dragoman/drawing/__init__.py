"""Pictures of facts, as text, SVG, HTML and PNG: nothing here knows a model."""
