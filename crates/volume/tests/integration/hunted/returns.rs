//! Former members that come back.

use super::*;
use crate::support::world_of_slow_sticks;

/// Every book that a host has written.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<Vec<Book>>>);

impl Keeper for Books {
    fn recall(&mut self, _array: Uuid) -> Option<Book> {
        self.0.lock().unwrap().last().cloned()
    }

    fn keep(&mut self, book: Book) {
        self.0.lock().unwrap().push(book);
    }

    fn is_settled(&mut self) -> bool {
        true
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A mirror whose second drive takes its time.
fn create_beside_a_slow_one() -> ArrayVolume<SimulatedWorld> {
    let consistency = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16384) };
    let options = CreateOptions { consistency, ..create_options("1", None, 4096) };
    let (world, plan) = world_of_slow_sticks(DRIVE_BYTES, blank(2), &[100_000, 2_000_000]);
    ArrayVolume::create(world, plan, &ids(0..2), &options, &OpenOptions::writable()).unwrap()
}

/// A drive says that it has a list of bad blocks, which is read when it comes back.
fn list_bad_blocks(content: &mut Content) {
    let mut own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
    own.features = own.features | Features::BAD_BLOCKS;
    content.write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
    let list = own.bad_block_log_area().unwrap();
    content.write(list.offset_bytes, &vec![0xff; usize::try_from(list.size_bytes).unwrap()]).unwrap();
    content.flush().unwrap();
}

/// An update is written down while a former member is looked at. What that one is told, and the others, is the next one: two
/// that have the same count could not be told apart.
#[test]
fn a_member_that_comes_back_undoes_no_update_that_is_written_meanwhile() {
    for after_us in (150_000..200_500).step_by(500) {
        let books = Books::default();
        let mut array = create_beside_a_slow_one();
        array.fail_drive(DriveId(1)).unwrap();
        list_bad_blocks(array.world_mut().content_mut(1));
        array.remember_in(HostMemory::new(Box::new(books.clone()), Trust::Known));
        let span = array.request_span(0, 4096);
        assert!(ask(&mut array, Command::Write { offset: 0, span }));
        let back_at = array.now().after_ns(after_us * 1000);
        while array.now() < back_at {
            let left = back_at.since_ns(array.now());
            array.turn(Duration::from_nanos(left), &mut Vec::new()).unwrap();
        }
        array.re_add_drive(DriveId(1)).unwrap();
        finish(&mut array);
        array.rest().unwrap();
        let books = books.0.lock().unwrap();
        for pair in books.windows(2).filter(|pair| pair[0].events() == pair[1].events()) {
            assert_eq!(pair[0].members(), pair[1].members(), "back after {after_us} us: two updates of one count");
        }
    }
}
