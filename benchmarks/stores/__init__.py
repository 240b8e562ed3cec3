"""What it costs to keep a window in a store: memory, time an event, and evicting many at once.

    python -m benchmarks.stores [--quick] [--only memory events] [--redis URL]
                                [--json FILE] [--markdown FILE]

Memory and evictions are measured in a process of their own for each store, which fills one window
up to 2^23 values and then empties it: half at once, half one by one. Events are timed in rounds,
one contender after the other and then again, so that a disturbance of the machine meets all.
"""
