"""Settings chosen from the data, for every kind of it: what a practitioner would start from, each with its reason."""
