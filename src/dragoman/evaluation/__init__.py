"""How good a model is: on validation data while it is trained, and on test data with intervals."""
