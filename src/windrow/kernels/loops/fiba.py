"""FiBA, compiled: a B-tree in flat arrays, entered at its ends; O(log d) ⊕ for a row d late.

Node x has the slots x·W … x·W + W − 1 of `keys`, in order of time. A leaf has its `values` there,
an inner node its children in `kids`, whose keys are the lowest that belong to them. In use are the
slots from FIRST up to COUNT: what leaves the window does so at the first.

Own and chain of a node are those of `windrow.algorithms.fiba`, by its role. Here the leftmost leaf
has the suffixes of its values instead (in `spare`), so that an evict costs no ⊕, and the nodes of
the left spine are not filled up when they run empty. The others are half full at least.

Rows come in order, each with its position for a key. Or, with cursors[KEYED], one a row, its key in
`hi`, and what is below `lo` leaves; the loop then stops where the nodes run out, at the row
cursors[REACHED], and goes on from there with larger buffers.
"""

from windrow.kernels.loops.protocol import *

W = 64
STATES = {"values": (3, 16 * W), "own": (1, 32), "chain": (1, 32), "spare": (0, W + 2)}
INDICES = {"keys": (3, 16 * W), "kids": (3, 16 * W), "meta": (1, 128), "free": (1, 32)}
LAYOUT = dict.fromkeys([*STATES, *INDICES], "places")

PARENT, FIRST, COUNT, ROLE = 0, 1, 2, 3  # of a node, in meta
INNER, LEFT, RIGHT, ROOT = 0, 1, 2, 3  # the roles; the root is on both spines
OWN, CHAIN = 4, 8  # added to the role where there is one
TREE, LEFTMOST, RIGHTMOST, USED, FREE, KEYED = 3, 4, 5, 6, 7, 8  # cursors
REACHED, HEIGHT, SIZE, STARTED = 9, 10, 11, 12


@inner
def role_of(meta, x):
    return meta[4 * x + ROLE] & 3


@inner
def set_role(meta, x, role):
    meta[4 * x + ROLE] = meta[4 * x + ROLE] & ~3 | role


@inner
def new_node(meta, cursors, free, role):
    """Take a node that is free, or the next that was never used."""
    if cursors[FREE]:
        cursors[FREE] -= 1
        x = free[cursors[FREE]]
    else:
        cursors[USED] += 1
        x = cursors[USED]
    meta[4 * x + PARENT] = -1
    meta[4 * x + FIRST] = 0
    meta[4 * x + COUNT] = 0
    meta[4 * x + ROLE] = role
    return x


@inner
def free_node(cursors, free, x):
    free[cursors[FREE]] = x
    cursors[FREE] += 1


@inner
def renew_leaf(meta, values, own, x):
    """Aggregate the values of a leaf: its own part."""
    first, count = x * W + meta[4 * x + FIRST], x * W + meta[4 * x + COUNT]
    folded(values, -1, first, count, own, x)
    meta[4 * x + ROLE] |= OWN


@inner
def renew_inner(meta, kids, own, x):
    """Aggregate the children of an inner node that its role makes its own part."""
    role = meta[4 * x + ROLE] & 3
    first, past = x * W + meta[4 * x + FIRST], x * W + meta[4 * x + COUNT]
    if role & LEFT:
        first += 1
    if role & RIGHT:
        past -= 1
    if first >= past:
        meta[4 * x + ROLE] &= ~OWN
        return
    total = copied(own, x, load(own, kids[first]))
    for i in range(first + 1, past):
        total = combine(total, load(own, kids[i]), slot(own, x))
    keep(own, x, total)
    meta[4 * x + ROLE] |= OWN


@inner
def renew_chain(meta, own, chain, x):
    """Aggregate a node of a spine with those above it, short of the root."""
    above = meta[4 * x + PARENT]
    has = meta[4 * x + ROLE] & OWN
    if meta[4 * above + ROLE] & 3 == ROOT or not meta[4 * above + ROLE] & CHAIN:
        if has:
            store(chain, x, load(own, x))
    elif not has:
        store(chain, x, load(chain, above))
        has = 1
    elif meta[4 * x + ROLE] & LEFT:
        keep(chain, x, combine(load(own, x), load(chain, above), slot(chain, x)))
    else:
        keep(chain, x, combine(load(chain, above), load(own, x), slot(chain, x)))
    if has:
        meta[4 * x + ROLE] |= CHAIN
    else:
        meta[4 * x + ROLE] &= ~CHAIN


@inner
def renew_right(meta, kids, own, chain, x, rightmost):
    """Renew the chains of the right spine from x down."""
    while x != rightmost:
        if meta[4 * x + ROLE] & 3 != ROOT:
            renew_chain(meta, own, chain, x)
        x = kids[x * W + meta[4 * x + COUNT] - 1]
        set_role(meta, x, RIGHT)
    if meta[4 * x + ROLE] & 3 != ROOT:
        renew_chain(meta, own, chain, x)


@inner
def renew_left(meta, kids, own, chain, x, height):
    """Renew what the left spine has aggregated from x, so high, down; return the leaf below."""
    while height:
        if meta[4 * x + ROLE] & 3 != ROOT:
            set_role(meta, x, LEFT)
            renew_inner(meta, kids, own, x)
            renew_chain(meta, own, chain, x)
        x = kids[x * W + meta[4 * x + FIRST]]
        height -= 1
    set_role(meta, x, LEFT)
    return x


@inner
def renew_left_chains(meta, kids, own, chain, x, leftmost):
    """Renew the chains of the left spine from x down, short of the leaf."""
    while x != leftmost:
        if meta[4 * x + ROLE] & 3 != ROOT:
            renew_chain(meta, own, chain, x)
        x = kids[x * W + meta[4 * x + FIRST]]


@inner
def renew_suffixes(meta, values, spare, x):
    """Aggregate the values of the leftmost leaf, each with those behind it."""
    first, count = meta[4 * x + FIRST], meta[4 * x + COUNT]
    suffix = copied(spare, count - 1, load(values, x * W + count - 1))
    for i in range(count - 2, first - 1, -1):
        suffix = combine(load(values, x * W + i), suffix, slot(spare, i))
        keep(spare, i, suffix)


@inner
def insert_child(meta, keys, kids, p, child, behind, key):
    """Put a child behind another in an inner node that has room."""
    i = p * W + meta[4 * p + COUNT]
    while kids[i - 1] != behind:
        kids[i] = kids[i - 1]
        keys[i] = keys[i - 1]
        i -= 1
    kids[i] = child
    keys[i] = key
    meta[4 * p + COUNT] += 1
    meta[4 * child + PARENT] = p


@inner
def halve(meta, keys, cursors, free, x, at):
    """Return a new node for the slots of x from `at` on; the roles of both are set."""
    role = meta[4 * x + ROLE] & 3
    y = new_node(meta, cursors, free, RIGHT if role & RIGHT else INNER)
    for i in range(at, meta[4 * x + COUNT]):
        keys[y * W + i - at] = keys[x * W + i]
    meta[4 * y + COUNT] = meta[4 * x + COUNT] - at
    meta[4 * x + COUNT] = at
    set_role(meta, x, role & LEFT)
    return y


@inner
def attach(meta, keys, kids, own, cursors, free, x, y, key, packed):
    """Make y the sibling behind x, and halve what is full above; return the last that changed.

    `packed`: what is full stays so, and y goes on in a new node.
    """
    while True:
        p = meta[4 * x + PARENT]
        if p < 0:
            p = new_node(meta, cursors, free, ROOT)
            kids[p * W] = x
            keys[p * W] = keys[x * W]
            meta[4 * p + COUNT] = 1
            meta[4 * x + PARENT] = p
            cursors[TREE] = p
            cursors[HEIGHT] += 1
        first, count = meta[4 * p + FIRST], meta[4 * p + COUNT]
        if count == W and first:  # of the left spine: room at its beginning
            for i in range(first, count):
                kids[p * W + i - first] = kids[p * W + i]
                keys[p * W + i - first] = keys[p * W + i]
            meta[4 * p + FIRST] = 0
            count -= first
            meta[4 * p + COUNT] = count
        if count < W:
            insert_child(meta, keys, kids, p, y, x, key)
            renew_inner(meta, kids, own, p)
            return p
        at = W if packed else W // 2
        q = halve(meta, keys, cursors, free, p, at)
        for i in range(at, W):
            kid = kids[p * W + i]
            kids[q * W + i - at] = kid
            meta[4 * kid + PARENT] = q
        if packed:
            kids[q * W] = y
            keys[q * W] = key
            meta[4 * q + COUNT] = 1
            meta[4 * y + PARENT] = q
        else:
            insert_child(meta, keys, kids, meta[4 * x + PARENT], y, x, key)
        renew_inner(meta, kids, own, p)
        renew_inner(meta, kids, own, q)
        x, y, key = p, q, keys[q * W]


@inner
def compact_leaf(meta, keys, values, x):
    """Move the values of a leaf to its beginning; return how many there are."""
    first, count = meta[4 * x + FIRST], meta[4 * x + COUNT]
    for i in range(x * W + first, x * W + count):
        keys[i - first] = keys[i]
        store(values, i - first, load(values, i))
    meta[4 * x + FIRST] = 0
    meta[4 * x + COUNT] = count - first
    return count - first


@inner
def split_leaf(meta, keys, kids, values, own, chain, cursors, free, x, left, right):
    """Return a new leaf behind x with the newer half of its values."""
    y = halve(meta, keys, cursors, free, x, W // 2)
    for i in range(W // 2, W):
        store(values, y * W + i - W // 2, load(values, x * W + i))
    renew_leaf(meta, values, own, x)
    renew_leaf(meta, values, own, y)
    height = cursors[HEIGHT]
    p = attach(meta, keys, kids, own, cursors, free, x, y, keys[y * W], False)
    if role_of(meta, p) & RIGHT:
        renew_right(meta, kids, own, chain, p, y if x == right else right)
    if cursors[HEIGHT] != height:
        renew_left(meta, kids, own, chain, p, cursors[HEIGHT])
    elif role_of(meta, p) & LEFT:
        renew_left_chains(meta, kids, own, chain, p, left)
    return y


@inner
def leaf_of(meta, keys, kids, cursors, rightmost, key):
    """Return the leaf to which a key belongs: up from the right finger, and down."""
    x, height, root = rightmost, 0, cursors[TREE]
    while x != root:
        p = meta[4 * x + PARENT]
        if key >= keys[p * W + meta[4 * p + COUNT] - 1]:
            break
        x = p
        height += 1
    while height:
        i = first = x * W + meta[4 * x + FIRST]
        for j in range(first + 1, x * W + meta[4 * x + COUNT]):
            i += keys[j] <= key
        x = kids[i]
        height -= 1
    return x


@inner
def drop_leaf(meta, kids, values, own, chain, spare, cursors, free, left, right):
    """Remove the leftmost leaf, which is empty, and return the next."""
    height, p = 0, left
    while True:
        z, p = p, meta[4 * p + PARENT]
        free_node(cursors, free, z)
        meta[4 * p + FIRST] += 1
        height += 1
        if meta[4 * p + FIRST] < meta[4 * p + COUNT]:
            break
    root = cursors[TREE]
    if p == root:
        while cursors[HEIGHT] and meta[4 * root + COUNT] - meta[4 * root + FIRST] == 1:
            free_node(cursors, free, root)
            root = kids[root * W + meta[4 * root + FIRST]]
            meta[4 * root + PARENT] = -1
            set_role(meta, root, ROOT)
            cursors[HEIGHT] -= 1
        if cursors[HEIGHT] == 0:
            cursors[TREE] = root
            return root
        renew_inner(meta, kids, own, root)
        if root != cursors[TREE]:
            renew_right(meta, kids, own, chain, root, right)
        cursors[TREE] = root
        height = cursors[HEIGHT]
        p = root
    left = renew_left(meta, kids, own, chain, p, height)
    renew_suffixes(meta, values, spare, left)
    return left


def run(
    row, stop, base, w, lo, hi, columns, nulls, cursors,
    values, own, chain, spare, keys, kids, meta, free, out, valid,
):  # fmt: skip
    head, end, keyed = cursors[0], cursors[1], cursors[KEYED]
    if not cursors[STARTED]:
        cursors[STARTED] = 1
        meta[PARENT], meta[ROLE] = -1, ROOT
    left, right, size = cursors[LEFTMOST], cursors[RIGHTMOST], cursors[SIZE]
    nodes = keys.size // W - 8
    cursors[REACHED] = stop
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        key = end
        if keyed:
            if cursors[USED] + 2 * cursors[HEIGHT] - cursors[FREE] > nodes:
                cursors[REACHED] = r
                break
            key, end = past, r
            past = r + 1 if key >= first else r
        while size and keys[left * W + meta[4 * left + FIRST]] < first:
            meta[4 * left + FIRST] += 1
            size -= 1
            if meta[4 * left + FIRST] == meta[4 * left + COUNT]:
                if left == right:
                    meta[4 * left + FIRST] = meta[4 * left + COUNT] = 0
                else:
                    left = drop_leaf(
                        meta, kids, values, own, chain, spare, cursors, free, left, right
                    )
        while end < past:
            state = inserted(spare, W, columns, nulls, base, end)
            count = meta[4 * right + COUNT]
            if size == 0 or key >= keys[right * W + count - 1]:
                if count == W and left == right and meta[4 * left + FIRST]:
                    count = compact_leaf(meta, keys, values, left)
                if count < W:
                    keys[right * W + count] = key
                    store(values, right * W + count, state)
                    meta[4 * right + COUNT] = count + 1
                    if left != right:
                        keep(own, right, combine(load(own, right), state, slot(own, right)))
                        keep(chain, right, combine(load(chain, right), state, slot(chain, right)))
                else:
                    y = new_node(meta, cursors, free, RIGHT)
                    keys[y * W] = key
                    store(values, y * W, state)
                    meta[4 * y + COUNT] = 1
                    renew_leaf(meta, values, own, y)
                    height = cursors[HEIGHT]
                    set_role(meta, right, LEFT if left == right else INNER)
                    attach(meta, keys, kids, own, cursors, free, right, y, key, True)
                    right = y
                    if cursors[HEIGHT] != height:
                        left = renew_left(meta, kids, own, chain, cursors[TREE], cursors[HEIGHT])
                        renew_suffixes(meta, values, spare, left)
                    renew_right(meta, kids, own, chain, cursors[TREE], right)
            else:
                x = leaf_of(meta, keys, kids, cursors, right, key)
                if meta[4 * x + COUNT] == W:
                    if meta[4 * x + FIRST]:
                        compact_leaf(meta, keys, values, x)
                    else:
                        y = split_leaf(
                            meta, keys, kids, values, own, chain, cursors, free, x, left, right
                        )
                        if x == right:
                            right = y
                        if key >= keys[y * W]:
                            if x == left:
                                renew_suffixes(meta, values, spare, left)
                            x = y
                i, floor = x * W + meta[4 * x + COUNT], x * W + meta[4 * x + FIRST]
                while i > floor and keys[i - 1] > key:
                    keys[i] = keys[i - 1]
                    store(values, i, load(values, i - 1))
                    i -= 1
                keys[i] = key
                store(values, i, state)
                meta[4 * x + COUNT] += 1
                if x == left:
                    if left != right:
                        renew_suffixes(meta, values, spare, left)
                else:
                    if COMMUTATIVE:
                        keep(own, x, combine(load(own, x), state, slot(own, x)))
                    else:
                        renew_leaf(meta, values, own, x)
                    while role_of(meta, x) == INNER:
                        x = meta[4 * x + PARENT]
                        if COMMUTATIVE:
                            keep(own, x, combine(load(own, x), state, slot(own, x)))
                        else:
                            renew_inner(meta, kids, own, x)
                    if role_of(meta, x) == RIGHT:
                        renew_right(meta, kids, own, chain, x, right)
                    elif role_of(meta, x) == LEFT:
                        renew_left_chains(meta, kids, own, chain, x, left)
            size += 1
            end += 1
            key = end
        head = first
        if size == 0:
            emit_nothing(out, valid, r - row)
            continue
        oldest = meta[4 * left + FIRST]
        if left == right:
            begin, stop_at = left * W + oldest, left * W + meta[4 * left + COUNT]
            emit(out, valid, r - row, folded(values, -1, begin, stop_at, spare, W + 1))
            continue
        total = copied(spare, W + 1, load(spare, oldest))
        p, root = meta[4 * left + PARENT], cursors[TREE]
        if p != root and meta[4 * p + ROLE] & CHAIN:
            total = combine(total, load(chain, p), slot(spare, W + 1))
        if meta[4 * root + ROLE] & OWN:
            total = combine(total, load(own, root), slot(spare, W + 1))
        emit(out, valid, r - row, combine(total, load(chain, right), slot(spare, W + 1)))
    cursors[0], cursors[1], cursors[SIZE] = head, end, size
    cursors[LEFTMOST], cursors[RIGHTMOST] = left, right
