"""Half as many rows for the long-term memory: k-means++ in each class. See sam_memory_jit.py for the tables."""

import math

from thalweg.jit.compile import called, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.windows.sam_memory_jit import LONG, Bench, Memory, measure

PASSES = 100
SUMMED = 64  # rows whose squared distances are added up together
LARGEST = 1e300  # squared distances beyond are taken for this, so that sums stay finite
SLACK = 1e-9  # for rounding, where a bound spares a comparison


@called
def compress(memory: Memory, bench: Bench, classes: int) -> None:
    """Let the centres of half as many clusters as it has rows stand for each class, class after class."""
    sort_by_class(memory, bench, classes)
    n = 0
    for c in range(classes):
        first, end = bench.ends[c], bench.ends[c + 1]
        if end == first:
            continue
        count = 1
        if end - first > 1:
            count = draw_centres(memory, bench, first, end, max(1, (end - first) // 2))
            settle(memory, bench, first, end, count)
        else:
            copy_column(bench, first, 0)
            bench.counts[0] = 1
        for i in range(count):
            if bench.counts[i] > 0:
                for f in range(len(memory.rows)):
                    memory.rows[f, n] = bench.centres[f, i]
                memory.codes[n] = c
                n += 1
    memory.head[LONG] = n


@inlined
def copy_column(bench: Bench, row: int, centre: int) -> None:
    """Let a row be a centre."""
    for f in range(len(bench.old)):
        bench.centres[f, centre] = bench.old[f, row]


@inlined
def sort_by_class(memory: Memory, bench: Bench, classes: int) -> None:
    """Copy the rows out, class after class, in each in the order they have."""
    long, codes, ends = memory.head[LONG], memory.codes, bench.ends
    for c in range(classes + 1):
        ends[c] = 0
    for i in range(long):
        ends[codes[i] + 1] += 1
    for c in range(classes):
        ends[c + 1] += ends[c]
    for i in range(long):
        to = ends[codes[i]]
        ends[codes[i]] = to + 1
        for f in range(len(memory.rows)):
            bench.old[f, to] = memory.rows[f, i]
    for c in range(classes, 0, -1):
        ends[c] = ends[c - 1]
    ends[0] = 0


@called
def draw_centres(memory: Memory, bench: Bench, first: int, end: int, most: int) -> int:
    """Draw rows as centres, each by its squared distance from those before (k-means++); fewer where rows coincide."""
    least, second, own, blocks = bench.least, bench.second, bench.own, bench.blocks
    n = end - first
    row = first + integer(memory.seeds, 0, n)
    for i in range(first, end):
        least[i], second[i], own[i] = LARGEST, LARGEST, 0
    count = 0
    while True:
        for f in range(len(bench.x)):
            bench.x[f] = bench.old[f, row]
        measure(bench.old, memory.nominal, bench.x, first, end, bench.sums)
        copy_column(bench, row, count)
        admit(bench, first, end, count)
        count += 1
        if count == most:
            break
        total, b = 0.0, 0
        for a in range(first, end, SUMMED):
            s = 0.0
            for i in range(a, min(a + SUMMED, end)):
                s += least[i]
            blocks[b] = s
            total += s
            b += 1
        if not total > 0.0:
            break
        pick, last = uniform(memory.seeds, 0) * total, b - 1
        b = 0
        while b < last and pick >= blocks[b]:
            pick -= blocks[b]
            b += 1
        row = first + b * SUMMED
        until = min(row + SUMMED, end) - 1
        while row < until and pick >= least[row]:
            pick -= least[row]
            row += 1
    return count


@inlined
def admit(bench: Bench, first: int, end: int, centre: int) -> None:
    """Let each row change to a centre that is nearer than its own."""
    sums, least = bench.sums[first:end], bench.least[first:end]
    second, own = bench.second[first:end], bench.own[first:end]
    for i in range(end - first):
        far, near = min(sums[i], LARGEST), least[i]
        second[i] = min(second[i], max(far, near))
        own[i] = centre if far < near else own[i]
        least[i] = min(far, near)


@called
def settle(memory: Memory, bench: Bench, first: int, end: int, count: int) -> None:
    """Let centres become the means of their rows, and rows change to nearer centres, until none does (Lloyd).

    Most comparisons are spared. At first by how far all other centres are at least: that falls by the longest way that
    a centre goes (Hamerly). Later a row whose centre stays looks only at the centres that have moved.
    """
    least, second, own, moved, x = bench.least, bench.second, bench.own, bench.moved, bench.x
    for step in range(PASSES):
        way, movers = move_centres(memory, bench, first, end, count)
        changed = False
        for i in range(first, end):
            mine = own[i]
            stays = moved[mine] == 0
            if stays and movers == 0:
                continue
            for f in range(len(x)):
                x[f] = bench.old[f, i]
            measure(bench.centres, memory.nominal, x, mine, mine + 1, bench.sums)
            far = min(bench.sums[mine], LARGEST)
            least[i] = far
            if step == 0 and (math.sqrt(far) + way) * (1.0 + SLACK) < math.sqrt(second[i]):
                continue
            a, b = (count, count + movers) if stays else (0, count)
            measure(bench.centres, memory.nominal, x, a, b, bench.sums)
            best = a
            for c in range(a + 1, b):
                if bench.sums[c] < bench.sums[best]:
                    best = c
            if min(bench.sums[best], LARGEST) < far:
                own[i], changed = bench.heads[best - count] if stays else best, True
        if not changed:
            break
    for c in range(count):
        bench.counts[c] = 0
    for i in range(first, end):
        bench.counts[own[i]] += 1


@called
def move_centres(memory: Memory, bench: Bench, first: int, end: int, count: int) -> tuple[float, int]:
    """Move each centre to the mean of its rows, where nominal to the most frequent value.

    Give the longest way, and how many have moved: ``heads`` has them, and copies of them follow the last centre.
    """
    own, counts, sums, moved = bench.own, bench.counts, bench.sums, bench.moved
    for c in range(count):
        counts[c], moved[c], bench.blocks[c] = 0, 0, 0.0
    for i in range(first, end):
        counts[own[i]] += 1
    chain_up(bench, first, end, count)
    for f in range(len(memory.rows)):
        row, centres = bench.old[f], bench.centres[f]
        for c in range(count):
            sums[c] = 0.0
        if memory.nominal[f] != 0:
            find_modes(bench, count, f)
        else:
            for i in range(first, end):
                sums[own[i]] += row[i] / counts[own[i]]
        for c in range(count):
            if counts[c] > 0 and sums[c] != centres[c]:
                gap = sums[c] - centres[c] if memory.nominal[f] == 0 else 1.0
                bench.blocks[c] += gap * gap
                centres[c], moved[c] = sums[c], 1
    longest, movers = 0.0, 0
    for c in range(count):
        if moved[c] != 0:
            longest = max(longest, bench.blocks[c])
            bench.heads[movers] = c
            for f in range(len(memory.rows)):
                bench.centres[f, count + movers] = bench.centres[f, c]
            movers += 1
    return math.sqrt(longest), movers


@inlined
def chain_up(bench: Bench, first: int, end: int, count: int) -> None:
    """Chain the rows of each centre: ``heads`` has the first, ``chain`` the next, -1 ends it."""
    for c in range(count):
        bench.heads[c] = -1
    for i in range(end - 1, first - 1, -1):
        bench.chain[i] = bench.heads[bench.own[i]]
        bench.heads[bench.own[i]] = i


@called
def find_modes(bench: Bench, count: int, f: int) -> None:
    """Write the most frequent value of each cluster to the sums; the least among equals."""
    row, chain = bench.old[f], bench.chain
    for c in range(count):
        most, i = 0, bench.heads[c]
        while i >= 0:
            times, j = 0, bench.heads[c]
            while j >= 0:
                if row[j] == row[i]:
                    times += 1
                j = chain[j]
            if times > most or (times == most and row[i] < bench.sums[c]):
                most, bench.sums[c] = times, row[i]
            i = chain[i]
