//! Files that were cut short or deleted while they are open.

use super::*;

/// What it held is lost, or goes with the last who has it open: "flushed" would be a lie.
#[test]
fn a_file_that_was_cut_short_or_deleted_is_not_flushed() {
    with_each(4, |io_loop, _arena, directory| {
        let (short, deleted) = (file_of(directory, MIB), file_of(directory, MIB));
        let drives = [add(io_loop, &short), add(io_loop, &deleted)];
        short.as_file().set_len(MIB / 2).unwrap();
        std::fs::remove_file(deleted.path()).unwrap();
        for (token, drive) in (0..).zip(drives) {
            io_loop.submit(Io { token, drive, kind: IoKind::Write(memory(0, 4096)), offset: MIB / 2 });
        }
        drain_without_errors(io_loop, 2);
        for (token, drive) in (0..).zip(drives) {
            io_loop.submit(Io { token, drive, kind: IoKind::Flush, offset: 0 });
        }
        let results = drain(io_loop);
        let kind = |token| results[&token].as_ref().unwrap_err().kind();
        assert_eq!([0, 1].map(kind), [io::ErrorKind::UnexpectedEof, io::ErrorKind::NotFound]);
        // As long again, it has not got back what it held.
        short.as_file().set_len(MIB).unwrap();
        io_loop.submit(Io { token: 0, drive: drives[0], kind: IoKind::Write(memory(0, 4096)), offset: 0 });
        io_loop.submit(Io { token: 1, drive: drives[0], kind: IoKind::Flush, offset: 0 });
        io_loop.submit(Io { token: 2, drive: drives[0], kind: IoKind::Read(memory(1, 4096)), offset: 0 });
        let results = drain(io_loop);
        let is_lost = |token| results[&token].as_ref().unwrap_err().kind() == io::ErrorKind::UnexpectedEof;
        assert!(is_lost(0) && is_lost(1) && results[&2].is_ok(), "{results:?}");
    });
}

/// Whoever heals what could not be read would make the file as long as before.
#[test]
fn a_file_that_a_read_finds_cut_short_takes_no_changes() {
    with_each(4, |io_loop, _arena, directory| {
        let short = file_of(directory, MIB);
        let drive = add(io_loop, &short);
        short.as_file().set_len(MIB / 2).unwrap();
        io_loop.submit(Io { token: 0, drive, kind: IoKind::Read(memory(0, 4096)), offset: MIB - 4096 });
        assert_eq!(drain(io_loop)[&0].as_ref().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        io_loop.submit(Io { token: 1, drive, kind: IoKind::Write(memory(0, 4096)), offset: MIB - 4096 });
        assert_eq!(drain(io_loop)[&1].as_ref().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(io_loop.drive(drive).has_lost_content());
    });
}
