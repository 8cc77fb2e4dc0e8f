"""Half as many rows for the long-term memory: k-means++ in each class. See sam_memory_jit.py for the tables."""

import math

from thalweg.jit.compile import called, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.windows.sam_memory_jit import M_LONG, Clusters, Memory, measure

PASSES = 100
SUMMED_TOGETHER = 64  # rows whose squared distances are added up together
LARGEST_SQUARE = 1e300  # squared distances beyond are taken for this, so that sums stay finite
BOUND_SLACK = 1e-9  # for rounding, where a bound spares a comparison


@called
def compress(memory: Memory, clusters: Clusters, classes: int) -> None:
    """Let the centres of half as many clusters as it has rows stand for each class, class after class."""
    sort_by_class(memory, clusters, classes)
    n = 0
    for c in range(classes):
        first, end = clusters.ends[c], clusters.ends[c + 1]
        if end == first:
            continue
        count = 1
        if end - first > 1:
            count = draw_centres(memory, clusters, first, end, max(1, (end - first) // 2))
            run_lloyd(memory, clusters, first, end, count)
        else:
            copy_column(clusters, first, 0)
            clusters.counts[0] = 1
        for i in range(count):
            if clusters.counts[i] > 0:
                for f in range(len(memory.rows)):
                    memory.rows[f, n] = clusters.centres[f, i]
                memory.codes[n] = c
                n += 1
    memory.head[M_LONG] = n


@inlined
def copy_column(clusters: Clusters, row: int, centre: int) -> None:
    """Let a row be a centre."""
    for f in range(len(clusters.old)):
        clusters.centres[f, centre] = clusters.old[f, row]


@inlined
def sort_by_class(memory: Memory, clusters: Clusters, classes: int) -> None:
    """Copy the rows out, class after class, in each in the order they have."""
    long, codes, ends = memory.head[M_LONG], memory.codes, clusters.ends
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
            clusters.old[f, to] = memory.rows[f, i]
    for c in range(classes, 0, -1):
        ends[c] = ends[c - 1]
    ends[0] = 0


@called
def draw_centres(memory: Memory, clusters: Clusters, first: int, end: int, most: int) -> int:
    """Draw rows as centres, each by its squared distance from those before (k-means++); fewer where rows coincide."""
    least, second, own, blocks = clusters.least, clusters.second, clusters.own, clusters.blocks
    n = end - first
    row = first + integer(memory.seeds, 0, n)
    for i in range(first, end):
        least[i], second[i], own[i] = LARGEST_SQUARE, LARGEST_SQUARE, 0
    count = 0
    while True:
        for f in range(len(clusters.x)):
            clusters.x[f] = clusters.old[f, row]
        measure(clusters.old, memory.nominal, clusters.x, first, end, clusters.sums)
        copy_column(clusters, row, count)
        add_centre(clusters, first, end, count)
        count += 1
        if count == most:
            break
        total, b = 0.0, 0
        for a in range(first, end, SUMMED_TOGETHER):
            s = 0.0
            for i in range(a, min(a + SUMMED_TOGETHER, end)):
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
        row = first + b * SUMMED_TOGETHER
        until = min(row + SUMMED_TOGETHER, end) - 1
        while row < until and pick >= least[row]:
            pick -= least[row]
            row += 1
    return count


@inlined
def add_centre(clusters: Clusters, first: int, end: int, centre: int) -> None:
    """Let each row change to a centre that is nearer than its own."""
    sums, least = clusters.sums[first:end], clusters.least[first:end]
    second, own = clusters.second[first:end], clusters.own[first:end]
    for i in range(end - first):
        far, near = min(sums[i], LARGEST_SQUARE), least[i]
        second[i] = min(second[i], max(far, near))
        own[i] = centre if far < near else own[i]
        least[i] = min(far, near)


@called
def run_lloyd(memory: Memory, clusters: Clusters, first: int, end: int, count: int) -> None:
    """Let centres become the means of their rows, and rows change to nearer centres, until none does (Lloyd).

    Most comparisons are spared. At first by how far all other centres are at least: that falls by the longest way that
    a centre goes (Hamerly). Later a row whose centre stays looks only at the centres that have moved.
    """
    least, second, own, moved, x = clusters.least, clusters.second, clusters.own, clusters.moved, clusters.x
    for step in range(PASSES):
        way, movers = move_centres(memory, clusters, first, end, count)
        changed = False
        for i in range(first, end):
            mine = own[i]
            stays = moved[mine] == 0
            if stays and movers == 0:
                continue
            for f in range(len(x)):
                x[f] = clusters.old[f, i]
            measure(clusters.centres, memory.nominal, x, mine, mine + 1, clusters.sums)
            far = min(clusters.sums[mine], LARGEST_SQUARE)
            least[i] = far
            if step == 0 and (math.sqrt(far) + way) * (1.0 + BOUND_SLACK) < math.sqrt(second[i]):
                continue
            a, b = (count, count + movers) if stays else (0, count)
            measure(clusters.centres, memory.nominal, x, a, b, clusters.sums)
            best = a
            for c in range(a + 1, b):
                if clusters.sums[c] < clusters.sums[best]:
                    best = c
            if min(clusters.sums[best], LARGEST_SQUARE) < far:
                own[i], changed = clusters.heads[best - count] if stays else best, True
        if not changed:
            break
    for c in range(count):
        clusters.counts[c] = 0
    for i in range(first, end):
        clusters.counts[own[i]] += 1


@called
def move_centres(memory: Memory, clusters: Clusters, first: int, end: int, count: int) -> tuple[float, int]:
    """Move each centre to the mean of its rows, where nominal to the most frequent value.

    Give the longest way, and how many have moved: ``heads`` has them, and copies of them follow the last centre.
    """
    own, counts, sums, moved = clusters.own, clusters.counts, clusters.sums, clusters.moved
    for c in range(count):
        counts[c], moved[c], clusters.blocks[c] = 0, 0, 0.0
    for i in range(first, end):
        counts[own[i]] += 1
    chain_up(clusters, first, end, count)
    for f in range(len(memory.rows)):
        row, centres = clusters.old[f], clusters.centres[f]
        for c in range(count):
            sums[c] = 0.0
        if memory.nominal[f] != 0:
            find_modes(clusters, count, f)
        else:
            for i in range(first, end):
                sums[own[i]] += row[i] / counts[own[i]]
        for c in range(count):
            if counts[c] > 0 and sums[c] != centres[c]:
                gap = sums[c] - centres[c] if memory.nominal[f] == 0 else 1.0
                clusters.blocks[c] += gap * gap
                centres[c], moved[c] = sums[c], 1
    longest, movers = 0.0, 0
    for c in range(count):
        if moved[c] != 0:
            longest = max(longest, clusters.blocks[c])
            clusters.heads[movers] = c
            for f in range(len(memory.rows)):
                clusters.centres[f, count + movers] = clusters.centres[f, c]
            movers += 1
    return math.sqrt(longest), movers


@inlined
def chain_up(clusters: Clusters, first: int, end: int, count: int) -> None:
    """Chain the rows of each centre: ``heads`` has the first, ``chain`` the next, -1 ends it."""
    for c in range(count):
        clusters.heads[c] = -1
    for i in range(end - 1, first - 1, -1):
        clusters.chain[i] = clusters.heads[clusters.own[i]]
        clusters.heads[clusters.own[i]] = i


@called
def find_modes(clusters: Clusters, count: int, f: int) -> None:
    """Write the most frequent value of each cluster to the sums; the least among equals."""
    row, chain = clusters.old[f], clusters.chain
    for c in range(count):
        most, i = 0, clusters.heads[c]
        while i >= 0:
            times, j = 0, clusters.heads[c]
            while j >= 0:
                if row[j] == row[i]:
                    times += 1
                j = chain[j]
            if times > most or (times == most and row[i] < clusters.sums[c]):
                most, clusters.sums[c] = times, row[i]
            i = chain[i]
