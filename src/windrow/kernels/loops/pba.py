"""PBA, compiled: at most 3 ⊕ a row in the caller's thread, the passes over chunks in a second one.

    positions   head ─── front ───── last ───── opened ─── end
    ring        lcs, to `front` │ closed chunk │ closed │ slices     csa = ⊕ of [opened, end)

A boundary is drawn at each multiple of cursors[STEP], or at each of `edges`. There the open chunk
is closed, and becomes a job: its slices turn into lcs in place, from the right. They are waited for
when the window's head enters the chunk, half a window later. Up to two closed chunks lie whole in
the window; `middle` is the aggregate of both.

Once the head is inside the front chunk and the next one is closed, every result would take two ⊕
of three parts. So the rest of the front's lcs, but for a quarter, is a job before that: they are
joined with the middle (those from `joined` on), and one ⊕ is left.

The jobs are numbered, and done in order by the same function in a second thread, with
cursors[HELPS]. The two tell each other in `progress` how far they are:

    progress[JOBS]   how many jobs there are so far     progress[LISTED …]   what they are
    progress[TAKEN]  how many are begun, by either      progress[DONE]       how many the second did
    progress[OVER]   no more will come

A job that is needed before the second thread has begun it is taken from it: lcs are computed then,
and what would be joined is left as it is. So the caller waits only for work that is going on.
Without a second thread (unless cursors[HELPED]) it takes all of them.
"""

from windrow.kernels.atomics import claimed, let_others_run, publish, published
from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 4)}
INDICES = {"progress": (0, 40), "edges": (0, 0)}  # the edges are the caller's
ROUNDED = False

FRONT, LAST, OPENED, JOINED, EDGE, STEP, HELPS, HELPED = 3, 4, 5, 6, 8, 9, 10, 11  # cursors
WANTED, JOIN = 12, 13  # the jobs to wait for: the older closed chunk's, and the front's (0: none)
JOBS, OVER, MINE, DONE, TAKEN, LISTED = 0, 1, 2, 8, 16, 24  # in progress, in lines apart
CSA, MIDDLE, CHUNK, RESULT = 0, 1, 2, 3  # in spare; CHUNK is the aggregate of the last closed one
FEW = 512  # slices of a chunk that is not worth another thread
PATIENCE = 4095  # how often to look before the processor is given away (a power of two less one)
NEVER = 1 << 62


@inner
def compute_lcs(ring, capacity, progress, number):
    """Turn the states of a job into aggregates from each of them to the last."""
    at = LISTED + 4 * (number & 3)
    begin, end = progress[at], progress[at + 1]
    place = (end - 1) % capacity
    suffix = load(ring, place)
    for _ in range(begin, end - 1):
        place = place - 1 if place > 0 else capacity - 1
        suffix = combine(load(ring, place), suffix, slot(ring, place))
        keep(ring, place, suffix)


@inner
def wait_for(ring, capacity, progress, jobs):
    """Return when the first `jobs` jobs are done or dropped; whether one that joins was dropped."""
    dropped = False
    number = published(progress, TAKEN)
    while number < jobs:
        if claimed(progress, TAKEN, number):
            progress[MINE] += 1
            if progress[LISTED + 4 * (number & 3) + 2]:
                dropped = True
            else:
                compute_lcs(ring, capacity, progress, number)
        number = published(progress, TAKEN)
    theirs = number - progress[MINE]
    waited = 0
    while published(progress, DONE) < theirs:
        waited += 1
        if waited & PATIENCE == 0:
            let_others_run()
    return dropped


@inner
def add_job(progress, begin, end, joins):
    """List one more job; of those before it, two at most are not done."""
    at = LISTED + 4 * (progress[JOBS] & 3)
    progress[at], progress[at + 1], progress[at + 2] = begin, end, joins
    publish(progress, JOBS, progress[JOBS] + 1)


@inner
def do_jobs(ring, spare, progress, capacity):
    """Do all jobs that are not taken until no more will come."""
    done, waited = progress[DONE], 0
    while True:
        over = published(progress, OVER)
        number = published(progress, TAKEN)
        if number < published(progress, JOBS):
            if claimed(progress, TAKEN, number):
                at = LISTED + 4 * (number & 3)
                if progress[at + 2]:
                    middle = load(spare, MIDDLE)
                    place = progress[at] % capacity
                    for _ in range(progress[at], progress[at + 1]):
                        keep(ring, place, combine(load(ring, place), middle, slot(ring, place)))
                        place = place + 1 if place + 1 < capacity else 0
                else:
                    compute_lcs(ring, capacity, progress, number)
                done += 1
                publish(progress, DONE, done)
        elif over:
            break
        else:
            waited += 1
            if waited & PATIENCE == 0:
                let_others_run()


def run(
    row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, progress, edges, out, valid
):
    capacity = cursors[2]
    if cursors[HELPS]:
        do_jobs(ring, spare, progress, capacity)
        return
    head, end = cursors[0], cursors[1]
    front, last, opened = cursors[FRONT], cursors[LAST], cursors[OPENED]
    joined, wanted, join = cursors[JOINED], cursors[WANTED], cursors[JOIN]
    edge, step, turn = cursors[EDGE], cursors[STEP], 0
    if step == 0:
        while turn < edges.size and edges[turn] < end:
            turn += 1
        edge = edges[turn] if turn < edges.size else NEVER
    oldest_place, place = head % capacity, end % capacity
    csa, middle = load(spare, CSA), load(spare, MIDDLE)
    r = row
    while r < stop:
        first, past = window(r, row, w, lo, hi)
        oldest_place += first - head
        if oldest_place >= capacity:
            oldest_place -= capacity
        head = first
        needed = join if head >= joined else 0
        if head > front:
            if opened < head < end:  # far into the open chunk
                add_job(progress, head, end, 0)
            needed = wanted if head <= last else progress[JOBS]
        if needed > 0:
            if wait_for(ring, capacity, progress, needed):
                joined = front
            join = 0
        if head > front:
            if head <= last:
                front = last
            else:
                if head >= opened:
                    opened = end if opened < head else head
                front = last = opened
            joined = front
            if front < opened:
                middle = copied(spare, MIDDLE, load(spare, CHUNK))
        while end < past:
            if end >= edge:
                # no more than a part of a chunk and a whole one, or two whole ones, are closed
                if opened < end and (front == opened or (head >= front and front == last)):
                    store(spare, CHUNK, csa)
                    wanted = progress[JOBS]
                    if front < opened:
                        middle = combine(middle, csa, slot(spare, MIDDLE))
                        keep(spare, MIDDLE, middle)
                    else:
                        middle = copied(spare, MIDDLE, csa)
                    last, opened = opened, end
                    if cursors[HELPED] and opened - last >= FEW and front - head >= FEW:
                        joined = head + 1 + (front - head) // 4
                        add_job(progress, joined, front, 1)
                        join = progress[JOBS]
                    add_job(progress, last + 1, opened, 0)
                while edge <= end:
                    turn += 1
                    if step:
                        edge += step
                    else:
                        edge = edges[turn] if turn < edges.size else NEVER
            state = inserted(ring, place, columns, nulls, base, end)
            csa = extended(spare, CSA, csa, state, end == opened)
            end += 1
            place += 1
            if place == capacity:
                place = 0
        if head >= front:
            oldest = middle
        elif head < joined and front < opened:
            oldest = combine(load(ring, oldest_place), middle, slot(spare, RESULT))
        else:
            oldest = load(ring, oldest_place)
        emit_both(
            out, valid, r - row, oldest, csa, head < opened, opened < end, slot(spare, RESULT)
        )
        r += 1
        if head >= front or opened == end:
            continue
        # rows that cross nothing, nor the end of the ring
        parts = 3 if head < joined and front < opened else 2
        last_first = min(joined if parts == 3 else front, head + capacity - oldest_place) - 1
        last_past = min(edge, end + capacity - place)
        oldest_place, place = oldest_place - head, place - end
        if BY_ROWS:  # both ends move by one: a loop that knows its length takes a fifth less
            quiet = min(last_first - head, last_past - end, stop - r)
            for i in range(1, quiet + 1):
                state = inserted(ring, end + place, columns, nulls, base, end)
                csa = combine(csa, state, slot(spare, CSA))
                end += 1
                oldest = load(ring, head + i + oldest_place)
                if parts == 3:
                    oldest = combine(oldest, middle, slot(spare, RESULT))
                emit(out, valid, r - row + i - 1, combine(oldest, csa, slot(spare, RESULT)))
            head, r = head + max(quiet, 0), r + max(quiet, 0)
        else:
            while r < stop:
                first, past = window(r, row, w, lo, hi)
                if first > last_first or past > last_past:
                    break
                while end < past:
                    state = inserted(ring, end + place, columns, nulls, base, end)
                    csa = combine(csa, state, slot(spare, CSA))
                    end += 1
                head = first
                oldest = load(ring, head + oldest_place)
                if parts == 3:
                    oldest = combine(oldest, middle, slot(spare, RESULT))
                emit(out, valid, r - row, combine(oldest, csa, slot(spare, RESULT)))
                r += 1
        keep(spare, CSA, csa)
        oldest_place, place = oldest_place + head, (place + end) % capacity
    cursors[0], cursors[1] = head, end
    cursors[FRONT], cursors[LAST], cursors[OPENED] = front, last, opened
    cursors[JOINED], cursors[WANTED], cursors[JOIN], cursors[EDGE] = joined, wanted, join, edge
