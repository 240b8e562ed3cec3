"""Streams watched on a page of this machine: rates, times, state, and the newest results of keys.

    from windrow.spark import live_results, live_view

    view = live_view(spark)                  # port=None: 4141, or the next free one; 0: any
    view.url                                 # 'http://127.0.0.1:4141/'; in a notebook `view` shows it
    results = plugs.transform(query).transform(
        live_results, values=["peak"], partition_by="plug_id", keys=[3, 7], order_by="ts"
    )                                        # optional: the newest results of two plugs, as lines
    results.writeStream.queryName("peaks").….start().awaitTermination()
    view.close()                             # or: with live_view(spark) as view: …

All streams of the session are on the page, each under its `queryName`.
"""
