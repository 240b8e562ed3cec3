"""The soak: one stream for half an hour, its state and memory watched, its results recalculated.

rows     what comes: keys that come and go, bursts, floods of late rows, a stuck watermark
run      the stream, and what is recorded of each micro-batch
check    sampled results against recalculation
report   whether memory and state are flat
"""
