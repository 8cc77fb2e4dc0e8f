"""The journal: what was written comes back; a torn end is cut off, damage in the middle is refused."""

import pytest

from thalweg.serve.journal import Journal


def payloads(n, start=0):
    return [f"entry {start + k}".encode() * (1 + (start + k) % 7) for k in range(n)]


def read(folder, **given):
    journal = Journal(folder, **given)
    found = [entry.payload for entry in journal.read()]
    journal.close()
    return found


@pytest.mark.parametrize("sync", ["always", "interval", "never"])
def test_what_was_written_comes_back(tmp_path, sync):
    journal = Journal(tmp_path, sync=sync, segment=1 << 12)
    for start in range(0, 1_000, 10):
        assert journal.append(payloads(10, start)) == start + 1
    journal.close()
    assert len(list(tmp_path.iterdir())) > 5
    assert read(tmp_path, segment=1 << 12) == payloads(1_000)
    again = Journal(tmp_path, segment=1 << 12)
    assert [entry.position for entry in again.read(after=990)] == list(range(991, 1_001))
    assert again.nbytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    again.forget(500)
    assert again.first <= 501
    assert next(iter(again.read(after=500))).position == 501
    with pytest.raises(ValueError, match="it begins at"):
        list(again.read(after=0))
    again.append([b"more"])
    again.close()
    assert read_from(tmp_path, 1_000) == [b"more"]


def read_from(folder, after):
    journal = Journal(folder, segment=1 << 12)
    found = [entry.payload for entry in journal.read(after)]
    journal.close()
    return found


def test_a_torn_end_is_cut_off_wherever_it_is_torn(tmp_path):
    journal = Journal(tmp_path / "a", sync="never")
    journal.append(payloads(5))
    journal.close()
    (path,) = (tmp_path / "a").iterdir()
    whole = path.read_bytes()
    for length in range(len(whole)):
        folder = tmp_path / f"cut {length}"
        folder.mkdir()
        (folder / path.name).write_bytes(whole[:length])
        journal = Journal(folder)
        found = [entry.payload for entry in journal.read()]
        assert found == payloads(len(found))
        journal.append([b"next"])
        journal.close()
        assert read(folder) == [*found, b"next"]


def test_damage_of_what_was_on_the_disk_is_refused(tmp_path):
    journal = Journal(tmp_path, sync="always")
    for start in range(5):
        journal.append(payloads(1, start))
    journal.close()
    (path,) = tmp_path.iterdir()
    whole = bytearray(path.read_bytes())
    end = len(whole)
    last = 24 + len(payloads(1, 4)[0])
    for at in range(24, end - last):  # every byte of every entry but the last
        damaged = whole.copy()
        damaged[at] ^= 0x41
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            read(tmp_path)
    damaged = whole.copy()
    damaged[end - 1] ^= 0x41  # nothing says that the last one was on the disk
    path.write_bytes(damaged)
    assert read(tmp_path) == payloads(4)


def test_entries_that_were_never_on_the_disk_may_be_lost_in_any_order(tmp_path):
    journal = Journal(tmp_path, sync="never")
    for start in range(5):
        journal.append(payloads(1, start))
    journal.close()
    (path,) = tmp_path.iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[24:48] = bytes(24)  # a page that never reached the disk, while those behind it did
    path.write_bytes(damaged)
    assert read(tmp_path) == []
