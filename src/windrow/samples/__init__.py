"""Data to try windrow on, made up from a seed: the same call gives the same rows everywhere."""
