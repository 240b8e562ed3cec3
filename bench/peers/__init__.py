"""What users would pick instead: one file an experiment, named after the kind of data first."""
