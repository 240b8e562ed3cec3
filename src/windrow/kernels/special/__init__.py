"""Loops specialised to one aggregation over one kind of number."""
