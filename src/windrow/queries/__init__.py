"""What is asked: queries as values, written in Python or in CQL, alone or shared."""
