"""What computes answers beside torch: engines that have a search of their own."""
