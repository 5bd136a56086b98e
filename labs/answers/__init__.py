"""What students would hand in, right and wrong: one module per function they write."""
