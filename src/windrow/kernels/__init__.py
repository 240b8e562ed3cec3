"""The compiled path: the algorithms' loops specialised for an aggregation by Numba."""
