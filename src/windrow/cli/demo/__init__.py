"""`windrow demo`: a story on made-up data, and a page that shows it.

command    the options; the acts, and what they found: in words, as JSON, and as files
questions  the queries, and how Spark's own functions would ask one of them
arrivals   the readings as files that come in one by one, and which rows come too late
run        the acts: in this process, on Spark, a stream that is killed and goes on
job        Spark's side of them, a process of its own
agreement  two tables of results, row for row
chart      the picture
"""
