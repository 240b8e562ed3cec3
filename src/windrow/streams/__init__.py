"""Windows over rows that keep coming, with their state in a store.

    step       the rows of a step sorted by key, and its results
    log        rows that are kept: chunks in the store, all in memory or read as needed
    waiting    rows that came before their turn
    header     what the store has of a bucket, and of which query
    family     queries that keep the same: what a log has of them
    chunks     windows over chunks of rows and their states (rows=, range=)
    rows       windows over a log of rows (until=, rows= with a slide, what has no short state)
    followed   windows that hold rows behind the current one
    revised    results at once, and again where a late row changes them
    aggregates windows that only grow (unbounded, on=)
    slices     hopping windows
    sessions   sessions
    plan       which of them a stream's queries need
    description  what was asked and is kept, beside the state
    changes    what a changed query may take over of it
    bucket     all of it for many keys at a time: what one step of a stream does

Nothing here knows of Spark.
"""
