use std::time::Duration;

use shoal_volume::{Arena, Command, Completion, Instant, Memory, Request, RequestError};

use super::*;

const BLOCK: u32 = 512;
const BUFFERS: u32 = 4;
const BUFFER_BYTES: u32 = 64 << 10;

/// Content of which some cannot be read. Answers the last request first, when it is waited for.
struct Patchy {
    content: Vec<u8>,
    bad: Vec<Range<u64>>,
    arena: Arena,
    waiting: Vec<(u64, u32, Request)>,
    /// What was asked for: offset and length.
    asked: Vec<Range<u64>>,
    most_at_once: usize,
}

impl Patchy {
    fn new(size_bytes: usize, bad: Vec<Range<u64>>) -> Self {
        let content = (0..size_bytes).map(|place| (place / 512 * 7 + place) as u8).collect();
        let arena = Arena::new((BUFFERS * BUFFER_BYTES) as usize).unwrap();
        Self { content, bad, arena, waiting: Vec::new(), asked: Vec::new(), most_at_once: 0 }
    }

    /// Copies all of it; what came, where, and how it ended.
    fn copied(&mut self, unreadable: &[Range<u64>]) -> (Vec<Option<u8>>, Vec<u64>, Copied) {
        let (mut got, mut told) = (vec![None; self.content.len()], Vec::new());
        let mut sink = |offset: u64, bytes: &[u8]| {
            for (place, byte) in (offset as usize..).zip(bytes) {
                assert_eq!(got[place].replace(*byte), None, "byte {place} comes twice");
            }
            ControlFlow::Continue(())
        };
        let mut tell = |done| {
            told.push(done);
            ControlFlow::Continue(())
        };
        let copied = copy(self, unreadable, &mut sink, &mut tell).unwrap();
        (got, told, copied)
    }

    fn is_bad(&self, range: &Range<u64>) -> bool {
        self.bad.iter().any(|bad| bad.start < range.end && range.start < bad.end)
    }
}

impl Volume for Patchy {
    fn size_bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn logical_block_bytes(&self) -> u32 {
        BLOCK
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn request_buffers(&self) -> u32 {
        BUFFERS
    }

    fn request_buffer_bytes(&self) -> u32 {
        BUFFER_BYTES
    }

    fn submit(&mut self, request: Request) {
        let Command::Read { offset, span } = request.command else { panic!("it is only read") };
        self.asked.push(offset..offset + u64::from(span.length));
        self.waiting.push((offset, span.length, request));
        self.most_at_once = self.most_at_once.max(self.waiting.len());
    }

    fn poll(
        &mut self,
        _at_least: usize,
        _timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        let (offset, length, request) = self.waiting.pop().expect("nobody waits for nothing");
        let range = offset..offset + u64::from(length);
        let result = if self.is_bad(&range) {
            Err(RequestError::Unreadable { offset })
        } else {
            let whole = self.request_memory(request.id.number as u32);
            let bytes = &self.content[range.start as usize..range.end as usize];
            self.arena.write(Memory { offset: whole.offset, length }, bytes);
            Ok(())
        };
        completions.push(Completion { id: request.id, result });
        Ok(())
    }

    fn now(&self) -> Instant {
        Instant { ns: 0 }
    }
}

#[test]
fn large_pieces_go_several_at_a_time_and_bad_blocks_alone_are_lost() {
    let bad = vec![1024..1536, 300_032..301_568, 1_000_000..1_000_001];
    let mut volume = Patchy::new(1_048_576 + 512 * 3, bad);
    let (got, told, copied) = volume.copied(&[]);
    let lost = vec![1024..1536, 300_032..301_568, 999_936..1_000_448];
    assert_eq!(copied, Copied::All { lost: lost.clone() });
    for (place, (got, is)) in got.iter().zip(&volume.content).enumerate() {
        let is_lost = lost.iter().any(|range| range.contains(&(place as u64)));
        assert_eq!(*got, (!is_lost).then_some(*is), "byte {place}");
    }
    assert_eq!(volume.most_at_once, BUFFERS as usize);
    assert!(volume.asked.len() < 17 + 3 * 2 * 10, "{} requests", volume.asked.len());
    assert!(told.is_sorted() && told.last() == Some(&volume.size_bytes()), "{told:?}");
}

#[test]
fn what_is_known_to_be_unreadable_is_not_asked_for() {
    let mut volume = Patchy::new(512 << 10, vec![0..512, 65_536..300_032, 520_000..524_288]);
    let known = [0..512, 65_536..300_032];
    let (got, told, copied) = volume.copied(&known);
    assert_eq!(copied, Copied::All { lost: vec![0..512, 65_536..300_032, 519_680..524_288] });
    assert_eq!(got.iter().filter(|byte| byte.is_none()).count(), 512 + 300_032 - 65_536 + 524_288 - 519_680);
    assert!(
        volume.asked.iter().all(|asked| known.iter().all(|known| asked.end <= known.start || known.end <= asked.start))
    );
    assert_eq!(told.first(), Some(&(512 + 300_032 - 65_536)));
}

#[test]
fn a_stop_leaves_nothing_under_way() {
    let mut volume = Patchy::new(1 << 20, Vec::new());
    let mut tell = |done| if done > 100_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let copied = copy(&mut volume, &[], &mut |_, _| ControlFlow::Continue(()), &mut tell).unwrap();
    assert_eq!(copied, Copied::Stopped);
    assert!(volume.waiting.is_empty() && volume.asked.len() < 8);
    let copied =
        copy(&mut volume, &[], &mut |_, _| ControlFlow::Break(()), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(copied, Copied::Stopped);
    assert!(volume.waiting.is_empty());
}
