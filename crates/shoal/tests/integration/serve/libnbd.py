"""What libnbd's own tests ask of a server, asked of shoal: the lists are its tests/ and python/t/. Exits 0 if all is well.

Usage: libnbd.py SOCKET IMAGE, where an export `pond` holds at least 8 MiB and begins as IMAGE does, and `ice` is a part
of it from 1 MiB on, 2 MiB long, that nobody may write.
"""

import errno
import random
import sys

import nbd

SOCKET, IMAGE = sys.argv[1], open(sys.argv[2], "rb").read()
MIB = 1 << 20


def handle(export="pond", options=False, strict=True):
    it = nbd.NBD()
    it.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    it.set_export_name(export)
    it.set_opt_mode(options)
    if not strict:
        it.set_strict_mode(0)
    it.connect_unix(SOCKET)
    return it


def fails(number, call, *arguments, **more):
    """The call fails with this errno, and whatever it was called on goes on."""
    try:
        call(*arguments, **more)
    except nbd.Error as error:
        assert error.errnum == number, (call, arguments, error)
        return
    raise AssertionError(f"{call} {arguments} did not fail")


def completed(it, cookie):
    while not it.aio_command_completed(cookie):
        it.poll(-1)


def options_before_anything_is_opened():
    it = handle(options=True)
    assert it.aio_is_negotiating() and it.get_structured_replies_negotiated()
    names = []
    assert it.opt_list(lambda name, description: names.append((name, description))) == 2
    assert [name for name, _ in names] == ["pond", "ice"]
    it.opt_info()
    size = it.get_size()
    assert size >= 8 * MIB and not it.is_read_only()
    it.set_export_name("ice")
    it.opt_info()
    assert it.get_size() == 2 * MIB and it.is_read_only()
    it.set_export_name("nowhere")
    fails(errno.ENOENT, it.opt_info)
    fails(errno.ENOENT, it.opt_go)
    contexts = []
    it.set_export_name("pond")
    it.clear_meta_contexts()
    assert it.opt_list_meta_context(lambda name: contexts.append(name)) == 1
    assert contexts == ["base:allocation"]
    it.add_meta_context("x-nobody:knows")
    assert it.opt_list_meta_context(lambda name: None) == 0
    it.add_meta_context("base:allocation")
    it.opt_go()
    assert it.get_size() == size and it.can_meta_context("base:allocation")
    assert not it.can_meta_context("x-nobody:knows")
    it.shutdown()
    it = handle(options=True)
    it.opt_abort()
    assert it.aio_is_closed()


def what_an_export_can():
    it = handle()
    for able in [it.can_flush, it.can_fua, it.can_trim, it.can_zero, it.can_fast_zero, it.can_df, it.can_cache, it.can_multi_conn]:
        assert able(), able
    assert not it.is_rotational() and it.get_protocol() == "newstyle-fixed" and not it.get_tls_negotiated()
    assert it.get_block_size(nbd.SIZE_MINIMUM) == 1 and it.get_block_size(nbd.SIZE_PREFERRED) >= 512
    assert it.get_block_size(nbd.SIZE_MAXIMUM) == 32 * MIB
    it.shutdown()


def clients_without_structured_replies():
    it = nbd.NBD()
    it.set_export_name("pond")
    it.set_request_structured_replies(False)
    it.connect_unix(SOCKET)
    assert not it.can_df() and not it.get_structured_replies_negotiated()
    assert it.pread(3 * MIB + 1, 5) == IMAGE[5 : 5 + 3 * MIB + 1]
    it.shutdown()
    old = nbd.NBD()
    old.set_handshake_flags(0)
    old.set_export_name("")
    try:
        old.connect_unix(SOCKET)
    except nbd.Error:
        return
    raise AssertionError("only fixed newstyle is spoken, and this was another")


def mistakes_are_told_and_the_connection_goes_on():
    it = handle(strict=False)
    size = it.get_size()
    fails(errno.EINVAL, it.pread, 0, 0)
    fails(errno.EINVAL, it.pread, 512, size - 511)
    fails(errno.EINVAL, it.pread, 512, (1 << 63) - 512)
    fails(errno.ENOSPC, it.pwrite, bytes(512), size - 511)
    fails(errno.EINVAL, it.trim, 512, size)
    fails(errno.EINVAL, it.pread, 512, 0, flags=1 << 9)
    fails(errno.EINVAL, it.pread, 512, 0, flags=nbd.CMD_FLAG_REQ_ONE)
    fails(errno.ENOTSUP, it.zero, 512, 0, flags=nbd.CMD_FLAG_FAST_ZERO)
    ice = handle("ice", strict=False)
    fails(errno.EPERM, ice.pwrite, bytes(512), 0)
    fails(errno.EPERM, ice.zero, 512, 0)
    fails(errno.EPERM, ice.trim, 512, 0)
    assert ice.pread(70_000, 3) == IMAGE[MIB + 3 : MIB + 70_003]
    assert it.pread(1, 77) == IMAGE[77:78]
    it.shutdown()
    ice.shutdown()


def reads_in_chunks():
    it = handle()
    for offset, length, flags in [(0, 512, 0), (513, 9001, 0), (4096, 4096, nbd.CMD_FLAG_DF), (100_001, 2_000_003, 0)]:
        seen = []

        def chunk(data, at, status, error):
            assert status in (nbd.READ_DATA, nbd.READ_HOLE) and error.value == 0
            seen.append((at, len(data)))

        assert it.pread_structured(length, offset, chunk, flags) == IMAGE[offset : offset + length]
        assert sum(count for _, count in seen) == length and (len(seen) == 1 or flags == 0)
        assert len({at for at, _ in seen}) == len(seen)
    fails(errno.EOVERFLOW, it.pread_structured, 4 * MIB, 0, lambda *_: 0, nbd.CMD_FLAG_DF)
    it.shutdown()


def blocks_are_told_as_data():
    it = handle()
    covered = []

    def extent(context, offset, entries, error):
        assert context == "base:allocation" and error.value == 0
        covered.append((offset, entries))

    it.block_status(it.get_size(), 0, extent)
    assert covered == [(0, [it.get_size(), 0])]
    it.block_status(10_000, 777, extent, nbd.CMD_FLAG_REQ_ONE)
    assert covered[1] == (777, [10_000, 0])
    it.shutdown()


def writes_of_all_kinds():
    it = handle()
    base = 6 * MIB
    bytes_ = random.Random(1).randbytes(300_001)
    it.pwrite(bytes_, base + 7, nbd.CMD_FLAG_FUA)
    it.zero(1001, base + 20_000, nbd.CMD_FLAG_NO_HOLE)
    it.trim(4096, base + (1 << 19))
    it.cache(4096, base)
    it.flush()
    expected = bytes_[: 20_000 - 7] + bytes(1001) + bytes_[21_001 - 7 :]
    assert it.pread(len(bytes_), base + 7) == expected
    it.shutdown()
    fails(errno.EINVAL, it.flush)


def many_requests_on_many_connections():
    """As aio-parallel: each connection has its own part, and whatever is read is what was written there last."""
    chance = random.Random(2)
    connections = [handle() for _ in range(4)]
    parts = [(4 * MIB + number * (MIB >> 1), bytearray(IMAGE[4 * MIB + number * (MIB >> 1) :][: MIB >> 1])) for number in range(4)]
    for _ in range(40):
        under_way = []
        for it, (base, content) in zip(connections, parts):
            for slot in range(16):
                # Slots do not overlap, as the order of requests that are under way together is nobody's promise.
                start = slot * 32_768 + chance.randrange(8_000)
                length = chance.randrange(1, 24_000)
                if chance.random() < 0.5:
                    data = chance.randbytes(length)
                    content[start : start + length] = data
                    under_way.append((it, it.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), base + start), None, None))
                else:
                    buffer = nbd.Buffer(length)
                    expected = bytes(content[start : start + length])
                    under_way.append((it, it.aio_pread(buffer, base + start), buffer, expected))
        for it, cookie, buffer, expected in under_way:
            completed(it, cookie)
            assert buffer is None or buffer.to_bytearray() == expected
    # What one has written and flushed, another reads.
    connections[0].flush()
    for base, content in parts:
        assert connections[3].pread(len(content), base) == content
    for it in connections:
        it.shutdown()


def who_hangs_up_with_requests_under_way():
    for _ in range(20):
        it = handle()
        for number in range(32):
            it.aio_pread(nbd.Buffer(65_536), number * 65_536)
        del it
    it = handle()
    cookies = [it.aio_pread(nbd.Buffer(65_536), number * 65_536) for number in range(32)]
    it.aio_disconnect()
    for cookie in cookies:
        completed(it, cookie)  # what was asked before the goodbye is answered
    assert handle().pread(512, 0) == IMAGE[:512]


for check in [
    options_before_anything_is_opened,
    what_an_export_can,
    clients_without_structured_replies,
    mistakes_are_told_and_the_connection_goes_on,
    reads_in_chunks,
    blocks_are_told_as_data,
    who_hangs_up_with_requests_under_way,
    writes_of_all_kinds,
    many_requests_on_many_connections,
]:
    check()
    print(check.__name__, "ok", flush=True)
