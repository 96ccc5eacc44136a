"""Data made ready for training: hashed, tokenized and encoded once, and found again at the next start."""
