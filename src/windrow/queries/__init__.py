"""Queries as values: written in Python, in CQL or in SQL, alone or shared, and their plans."""
